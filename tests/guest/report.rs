//! The messages of cases, from the guest to the host: one JSON object per line.

use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

/// A line from the guest.
#[derive(Debug, Serialize, Deserialize)]
pub enum Line {
    /// The end of a case, with the reason if it failed.
    Case(String, Option<String>),
    /// A trace that is to be replayed in a fresh guest.
    Trace(String, String),
    /// A log of the kernel's dm-log-writes target, and the final contents of its device.
    Logged(String, Vec<u8>, Vec<u8>),
    /// The labels of the kernel's choices in a workload.
    Points(String, Vec<String>),
    /// The log of a workload on a file system: the number of events, and a hash of them.
    Log(String, u64, u64),
    /// All cases have ended. The guest is lost after this.
    End,
}

/// Runs cases and reports their results to the host.
pub struct Report {
    port: File,
    only: String,
}

impl Report {
    /// Returns a report to this character device, for cases whose name contains `only`.
    pub fn to(port: &str, only: String) -> Report {
        let port = File::options().write(true).open(port).expect("the port to the host");
        Report { port, only }
    }

    /// Runs a case.
    pub fn case(&mut self, name: &str, case: impl FnOnce(&mut Report)) {
        if !name.contains(&self.only) {
            return;
        }
        let ended = catch_unwind(AssertUnwindSafe(|| case(self)));
        let why = ended.err().map(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default()
        });
        self.say(&Line::Case(name.to_owned(), why));
    }

    /// Sends a line.
    pub fn say(&mut self, line: &Line) {
        let mut text = serde_json::to_vec(line).expect("a line is plain data");
        text.push(b'\n');
        self.port.write_all(&text).expect("the host listens");
    }
}
