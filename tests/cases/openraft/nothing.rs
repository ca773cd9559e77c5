//! The case is a test.
