//! The result of a test without its requirements: it passes with a message. In CI it fails.

use std::io::Write as _;

/// Prints the missing requirement, past the capture of a test's output.
///
/// # Panics
/// The environment variable `CI` is set, where every requirement must be met.
pub fn unsupported(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "unsupported: {what}");
    // If standard error is gone, the message is lost.
    let _ = writeln!(std::io::stderr(), "unsupported: {what}");
}
