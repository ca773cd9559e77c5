//! The result of a test whose requirements are not there: it passes with a message; in CI it fails.

use std::io::Write as _;

/// Says what is missing, past the capture of a test's output.
///
/// # Panics
/// Where the environment variable `CI` is set: there everything has to be.
pub fn unsupported(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "unsupported: {what}");
    // If standard error is gone, the message is lost.
    let _ = writeln!(std::io::stderr(), "unsupported: {what}");
}
