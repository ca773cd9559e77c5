//! Scripts that show what a trace shows, without us: a stand-alone one for a shell, and a test in the style of the suite xfstests
//! (`docs/reporting.md`).
//!
//! A worker runs the trace's way with the calls of its checker written down ([`CallLog`]), stands still at the crash, and says what
//! was done, which disks there are, and what the check demands ([`Evidence`]). The rest is text. Invariants: the crash disk of a
//! script is the trace's, byte for byte, and the script makes sure of it; what a shell cannot show is refused ([`Refused`]), not
//! approximated; only the workload may be done by commands in place of the calls, since nothing is concluded from it. But for tests of
//! the suite that drop writes in place of a recorded disk: these are made where the drop left that very disk in the trace.

mod blocks;
mod case;
mod data;
mod demands;
mod evidence;
mod log;
mod notes;
mod recorded;
mod sh;
mod steps;
mod what;
mod xfstests;

pub use case::{Case, Refused, gather};
pub use evidence::{Block, Disks, Evidence};
pub use log::{CallLog, FailedStep};
pub use what::{Done, How, What};
pub use xfstests::Test;

/// A word of the shell that is this text.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A path of the file system, as a word of the shell.
fn path(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%, ".contains(c);
    if path.chars().all(plain) { format!("\"$mnt{path}\"") } else { format!("\"$mnt\"{}", word(path)) }
}

/// Bytes as getfattr(1) writes them with `-e hex`, and setfattr(1) takes them.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
