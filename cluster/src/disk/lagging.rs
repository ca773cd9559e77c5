//! A write set that follows the log of its disk when it is asked for. After its last crash a host
//! never asks.

use std::cell::{Ref, RefCell};

use explode_ramdisk::Event;
use explode_runtime::base::StepError;
use explode_runtime::writeset::WriteSet;

/// The number of events that may wait.
const MOST: usize = 4096;

/// A write set and the events that it has not followed yet.
#[derive(Debug)]
pub(super) struct LaggingWriteSet {
    write_set: RefCell<WriteSet>,
    behind: RefCell<Vec<Event>>,
}

impl LaggingWriteSet {
    /// Returns a write set that lags behind no event.
    pub fn new(write_set: WriteSet) -> LaggingWriteSet {
        LaggingWriteSet { write_set: RefCell::new(write_set), behind: RefCell::default() }
    }

    /// Adds events that have happened.
    ///
    /// # Errors
    /// The log contradicts itself. It can be found out later, too: see [`get`](Self::get).
    pub fn add(&self, events: Vec<Event>) -> Result<(), StepError> {
        let mut behind = self.behind.borrow_mut();
        if behind.is_empty() {
            *behind = events;
        } else {
            behind.extend(events);
        }
        let is_full = behind.len() > MOST;
        drop(behind);
        if is_full { self.get().map(drop) } else { Ok(()) }
    }

    /// Returns the write set after all events.
    ///
    /// # Errors
    /// The log contradicts itself.
    pub fn get(&self) -> Result<Ref<'_, WriteSet>, StepError> {
        let behind = self.behind.take();
        apply(&mut self.write_set.borrow_mut(), &behind)?;
        Ok(self.write_set.borrow())
    }
}

/// Applies events.
///
/// # Errors
/// The log contradicts itself.
pub(super) fn apply(write_set: &mut WriteSet, events: &[Event]) -> Result<(), StepError> {
    events.iter().try_for_each(|event| {
        write_set.apply(event).map_err(|error| StepError::new(format!("{event:?}: {error}")))
    })
}
