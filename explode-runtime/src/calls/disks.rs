//! The disks that calls leave, as the calls are repeated; and what of that is an event.

use std::collections::BTreeMap;

use bytes::Bytes;
use explode_ramdisk::{BLOCK_BYTES, Event, Image, SECTOR_BYTES, operation_of};

use super::call::Call;
use super::repeat::Trouble;
use crate::base::{Blame, Fault};

/// The calls since the disks that a live stack began with, and what the first of them leave.
#[derive(Clone, Debug)]
pub(crate) struct Disks {
    base: Image,
    calls: Vec<Call>,
    /// What so many calls leave, as far as it was asked for and may be asked for again.
    left: BTreeMap<usize, Image>,
}

/// Repeats calls on a disk; returns what they leave.
pub(crate) type Repeater<'a> = dyn Fn(&Image, &[Call]) -> Result<Image, (Trouble, String)> + 'a;

impl Disks {
    /// No call yet.
    pub fn new(base: Image) -> Disks {
        Disks { base, calls: Vec::new(), left: BTreeMap::new() }
    }

    /// More calls.
    pub fn extend(&mut self, calls: Vec<Call>) {
        self.calls.extend(calls);
    }

    /// What the calls before the first mark of `log` leave; and the log with what each call changes before its mark.
    ///
    /// # Errors
    /// A call that cannot be repeated.
    pub fn follow(&mut self, log: &[Event], repeat: &Repeater<'_>) -> Result<(Image, Vec<Event>), Fault> {
        let operations: Vec<usize> =
            (0..self.calls.len()).filter(|call| self.calls[*call].is_operation()).collect();
        let marks = log.iter().filter(|event| operation_of(event).is_some()).count();
        let first = operations
            .len()
            .checked_sub(marks)
            .ok_or_else(|| Fault::new("the log has operations that no call has made").blame(Blame::Tool))?;
        let before = first.checked_sub(1).map_or(0, |last| operations[last] + 1);
        let begin = self.after(before, repeat)?;
        self.left.retain(|calls, _| *calls >= before);
        let mut events = Vec::new();
        let mut now = begin.clone();
        let mut next = operations[first..].iter();
        for event in log {
            if operation_of(event).is_some() {
                let then = self.after(next.next().expect("as many as marks") + 1, repeat)?;
                differences(&now, &then, &mut events);
                now = then;
            }
            // The log has nothing but marks, or differences that were put in before.
            if matches!(event, Event::Mark { .. }) {
                events.push(event.clone());
            }
        }
        Ok((begin, events))
    }

    /// What the first so many calls leave.
    fn after(&mut self, calls: usize, repeat: &Repeater<'_>) -> Result<Image, Fault> {
        if let Some(image) = self.left.get(&calls) {
            return Ok(image.clone());
        }
        let start = (0, &self.base);
        let (done, from) = self.left.range(..calls).next_back().map_or(start, |(done, image)| (*done, image));
        let mut image = if calls == done { Ok(from.clone()) } else { repeat(from, &self.calls[done..calls]) };
        if matches!(image, Err((Trouble::Nameless, _))) && done > 0 {
            // The file lost its name before: from the beginning on it is held open.
            image = repeat(&self.base, &self.calls[..calls]);
        }
        let image = image.map_err(|(trouble, what)| {
            let why = match trouble {
                Trouble::Nameless => "its file had no name from the beginning on".to_owned(),
                Trouble::Failed(why) => why,
            };
            Fault::new(format!("a call cannot be repeated on a crash disk: {what}: {why}")).blame(Blame::Tool)
        })?;
        self.left.insert(calls, image.clone());
        Ok(image)
    }
}

/// What has changed on the disks, block by block.
fn differences(before: &Image, after: &Image, events: &mut Vec<Event>) {
    let mut devices: Vec<u32> = before.devices().chain(after.devices()).collect();
    devices.sort_unstable();
    devices.dedup();
    for dev in devices {
        let (old, new) = (before.disk(dev), after.disk(dev));
        let nothing = explode_ramdisk::Disk::new();
        let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
        for block in new.changed_blocks(old) {
            if new.block(block) != old.block(block) {
                let sector = block * (BLOCK_BYTES / SECTOR_BYTES) as u64;
                events.push(Event::Dirty { dev, sector, data: Bytes::copy_from_slice(new.block(block)) });
            }
        }
    }
}
