//! The number of workloads, counted on the model without a file system.

use std::collections::HashMap;

use explode_ramdisk::files::OpenFiles;
use explode_runtime::check::digest;

use super::alphabet::Alphabet;
use crate::fs::model::Abstract;
use crate::fs::reasonable::free::Free;
use crate::fs::start::Start;
use crate::fs::topology::{Limits, TopologyCall};

/// The files of a workload between two calls. They determine which calls can follow.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    pub fs: Abstract,
    pub free: Free,
    pub open: OpenFiles,
    pub writes: u32,
}

impl ModelFiles {
    /// Returns the files after a call that has succeeded.
    pub fn after(&self, call: &TopologyCall) -> ModelFiles {
        let mut next = self.with(call);
        next.free.follow(&self.fs, &next.fs);
        next
    }

    /// Returns the files after a call, but still with the free names before it. They only matter if
    /// another call follows.
    fn with(&self, call: &TopologyCall) -> ModelFiles {
        let mut next = self.clone();
        next.writes += u32::from(call.writes());
        for call in call.calls(&call.bytes(&self.fs, next.writes)) {
            next.fs.apply(&call);
            next.open.follow(&call);
        }
        next.fs.nameless_mut().clear();
        next
    }
}

/// Counts workloads of one alphabet from one start.
pub struct Counter {
    alphabet: Alphabet,
    start: Start,
    limits: Limits,
    /// The number of calls that may still be applied to the model.
    left: u64,
    /// The numbers of workloads that were counted, by files and number of calls.
    known: HashMap<(Vec<u8>, u32), u128>,
}

impl Counter {
    /// Returns a counter that gives up after `most` calls on the model.
    pub fn new(alphabet: Alphabet, start: Start, limits: Limits, most: u64) -> Counter {
        Counter { alphabet, start, limits, left: most, known: HashMap::new() }
    }

    /// Returns the number of workloads of exactly `calls` calls, at least one, if each call
    /// succeeds. Workloads that differ in a way of forcing count separately. `None` if counting
    /// takes too long.
    pub fn count(&mut self, files: &ModelFiles, calls: u32) -> Option<u128> {
        let key = (digest((&files.fs, &files.free, &files.open, files.writes)), calls);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let Counter { alphabet, start, limits, .. } = *self;
        let new = |id| files.free.next(&files.fs, id);
        let mut all = 0;
        for call in alphabet.calls(&files.fs, start, &files.open, &limits, &new) {
            self.left = self.left.checked_sub(1)?;
            let next = if calls > 1 { files.after(&call) } else { files.with(&call) };
            let forcings = alphabet.forcings(&call, &files.fs, &next.fs, &next.open).len() as u128;
            let below = if calls > 1 { self.count(&next, calls - 1)? } else { 1 };
            all += forcings * below;
        }
        self.known.insert(key, all);
        Some(all)
    }
}
