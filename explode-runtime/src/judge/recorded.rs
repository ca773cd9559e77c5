//! The log of a run up to a request for crash checks. With it the crash disks of the request are
//! built again without the system.

use explode_ramdisk::{Event, Image};

use crate::crash::Instants;

/// The log of a run up to a request for crash checks.
#[derive(Clone, Debug)]
pub struct RecordedLog {
    /// The disks before the first event.
    pub base: Image,
    /// All events since then.
    pub events: Vec<Event>,
    /// The number of events before the instants of the request.
    pub settled: usize,
    /// The number of events from there to the last instant.
    pub interval: usize,
    /// The instants of the request.
    pub when: Instants,
}

impl RecordedLog {
    /// Returns the log of a run that begins on these disks.
    pub(super) fn new(base: Image) -> RecordedLog {
        let (settled, interval, when) = (0, 0, Instants::Now);
        RecordedLog { base, events: Vec::new(), settled, interval, when }
    }
}
