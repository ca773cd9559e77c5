//! redb's crash test as its users would write it, and the same on an engine with a bug: found, made smaller, and replayed by the
//! command that is printed.

mod crash_test;
mod seeded;
