//! The times of files: a logical clock, so that two runs of a program see the same times.
//!
//! The clock begins at a fixed moment and goes on by a microsecond with each change. Times are kept
//! in memory. After a crash each file has the time of the first moment.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first moment in seconds since 1970: 2024-01-01.
const BEGIN: u64 = 1_704_067_200;

/// The times of one node.
#[derive(Clone, Copy, Debug)]
pub struct FileTimes {
    /// Of the last read that was set by a call.
    pub accessed: SystemTime,
    /// Of the last change of the contents.
    pub modified: SystemTime,
    /// Of the last change of the contents or the attributes.
    pub changed: SystemTime,
}

/// The clock, and the times of the nodes that were changed.
#[derive(Debug, Default)]
pub struct FileClock {
    ticks: u64,
    times: HashMap<u32, FileTimes>,
}

impl FileClock {
    /// Returns the next moment.
    pub fn tick(&mut self) -> SystemTime {
        self.ticks += 1;
        first() + Duration::from_micros(self.ticks)
    }

    /// Returns the times of a node.
    pub fn times(&self, number: u32) -> FileTimes {
        let first = FileTimes { accessed: first(), modified: first(), changed: first() };
        self.times.get(&number).copied().unwrap_or(first)
    }

    /// Sets the times of a node.
    pub fn set(&mut self, number: u32, times: FileTimes) {
        self.times.insert(number, times);
    }

    /// Records a change of the contents of a node, or of its attributes only.
    pub fn touch(&mut self, number: u32, contents: bool) {
        let now = self.tick();
        let times = self.times(number);
        let modified = if contents { now } else { times.modified };
        self.set(number, FileTimes { modified, changed: now, ..times });
    }

    /// Records that a node was made.
    pub fn born(&mut self, number: u32) {
        let now = self.tick();
        self.set(number, FileTimes { accessed: now, modified: now, changed: now });
    }
}

fn first() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(BEGIN)
}
