//! Soft crashes on a kernel: the disks after repeated calls, and the events between them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use explode_ramdisk::{BLOCK_BYTES, Event, Image, SECTOR_BYTES, operation_of};
use itertools::Itertools as _;

use crate::calls::{CallReplay, CallReplayError, KernelCall, KernelCallKind};
use crate::kernel::KernelDisks;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::{DiskSet, OnStack, SoftCrashLog};

/// The calls since the initial disks of a live stack, and the disks after the first of them.
#[derive(Clone, Debug)]
pub(crate) struct SoftCrashes {
    base: Image,
    calls: Vec<KernelCall>,
    /// The disks after a number of calls, if they were built and may be needed again.
    left: BTreeMap<usize, Image>,
}

impl SoftCrashes {
    /// Returns an empty list of calls on these disks.
    pub fn new(base: Image) -> SoftCrashes {
        SoftCrashes { base, calls: Vec::new(), left: BTreeMap::new() }
    }
}

impl SoftCrashLog for SoftCrashes {
    fn take(&mut self, live: &dyn DiskSet, hash: &mut dyn FnMut(&[u8])) {
        let disks = live.as_any().downcast_ref::<KernelDisks>();
        let calls = disks.map_or_else(Vec::new, KernelDisks::take_calls);
        for call in &calls {
            if let KernelCallKind::Write(_, data)
            | KernelCallKind::Store(_, data)
            | KernelCallKind::SetAttribute(_, data) = &call.kind
            {
                hash(data);
            }
        }
        self.calls.extend(calls);
    }

    fn follow(
        &mut self,
        log: &[Event],
        on_stack: &OnStack<'_>,
    ) -> Result<(Image, Vec<Event>), StepError> {
        let operations: Vec<usize> =
            (0..self.calls.len()).filter(|call| self.calls[*call].is_operation()).collect();
        let marks = log.iter().filter(|event| operation_of(event).is_some()).count();
        let first = operations.len().checked_sub(marks).ok_or_else(|| {
            StepError::new("the log has operations that no call has made").blame(Blame::Tool)
        })?;
        let before = first.checked_sub(1).map_or(0, |last| operations[last] + 1);
        let begin = self.after(before, on_stack)?;
        self.left.retain(|calls, _| *calls >= before);
        let mut events = Vec::new();
        let mut now = begin.clone();
        let mut next = operations[first..].iter();
        for event in log {
            if operation_of(event).is_some() {
                let then = self.after(next.next().expect("as many as marks") + 1, on_stack)?;
                differences(&now, &then, &mut events);
                now = then;
            }
            // The other events of the log are differences that were inserted earlier.
            if matches!(event, Event::Mark { .. }) {
                events.push(event.clone());
            }
        }
        Ok((begin, events))
    }

    fn fork(&self) -> Box<dyn SoftCrashLog> {
        Box::new(self.clone())
    }
}

impl SoftCrashes {
    /// Returns the disks after the first `calls` calls.
    fn after(&mut self, calls: usize, on_stack: &OnStack<'_>) -> Result<Image, StepError> {
        if let Some(image) = self.left.get(&calls) {
            return Ok(image.clone());
        }
        let start = (0, &self.base);
        let (done, from) =
            self.left.range(..calls).next_back().map_or(start, |(done, image)| (*done, image));
        let mut image = if calls == done {
            Ok(from.clone())
        } else {
            repeat(from, &self.calls[done..calls], on_stack)
        };
        if matches!(image, Err((CallReplayError::Nameless, _))) && done > 0 {
            // The file lost its name earlier. A repetition from the start holds it open.
            image = repeat(&self.base, &self.calls[..calls], on_stack);
        }
        let image = image.map_err(|(trouble, call)| {
            let why = match trouble {
                CallReplayError::Nameless => {
                    "its file had no name from the beginning on".to_owned()
                }
                CallReplayError::Failed(why) => why,
            };
            StepError::new(format!("a call cannot be repeated on a crash disk: {call}: {why}"))
                .blame(Blame::Tool)
        })?;
        self.left.insert(calls, image.clone());
        Ok(image)
    }
}

/// Repeats calls on a disk. Returns the disks afterwards, or the call that could not be repeated.
fn repeat(
    image: &Image,
    calls: &[KernelCall],
    on_stack: &OnStack<'_>,
) -> Result<Image, (CallReplayError, String)> {
    let mut trouble = None;
    let left = on_stack(image, &mut |roots| {
        repeat_all(roots, calls).map_err(|found| {
            trouble = Some(found);
            StepError::new("a call")
        })
    });
    left.map_err(|error| {
        // Without a failed call the stack itself failed, and its error gives the place.
        trouble
            .unwrap_or_else(|| (CallReplayError::Failed(error.to_string()), "the stack".to_owned()))
    })
}

fn repeat_all(roots: &[PathBuf], calls: &[KernelCall]) -> Result<(), (CallReplayError, String)> {
    let repeat = CallReplay::new(roots, calls);
    let mut repeat = repeat.map_err(|trouble| (trouble, "its file system".to_owned()))?;
    calls
        .iter()
        .try_for_each(|call| repeat.call(call).map_err(|trouble| (trouble, call.to_string())))
}

/// Appends the changes on the disks to `events`, block by block.
fn differences(before: &Image, after: &Image, events: &mut Vec<Event>) {
    for dev in before.devices().chain(after.devices()).sorted_unstable().dedup() {
        let (old, new) = (before.disk(dev), after.disk(dev));
        let nothing = explode_ramdisk::Disk::new();
        let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
        for block in new.changed_blocks(old) {
            if new.block(block) != old.block(block) {
                let sector = block * (BLOCK_BYTES / SECTOR_BYTES) as u64;
                events.push(Event::Dirty {
                    dev,
                    sector,
                    data: Bytes::copy_from_slice(new.block(block)),
                });
            }
        }
    }
}
