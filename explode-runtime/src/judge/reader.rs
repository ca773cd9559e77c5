//! The log of a unit for its checker: all events since the start, and the checker's marks (EX-65).

use explode_ramdisk::{Damage, Event};

use super::contradiction::{contradiction, tool};
use crate::base::StepError;
use crate::writeset::{LogContradiction, WriteSet};

/// The prefix of the checker's marks in the log.
const MARK: &str = "checker ";

/// The events of a unit, for its checker.
#[derive(Clone)]
pub(super) struct LogReader {
    /// The write set before the first event.
    begun: WriteSet,
    events: Vec<Event>,
    /// The damage to devices, each with the number of events before.
    damages: Vec<(usize, u32, Damage)>,
    /// The number of events that the checker has read.
    read: usize,
}

/// The log up to a mark.
#[derive(Clone)]
pub(super) struct AtMark {
    /// The write set at the mark.
    pub write_set: WriteSet,
    /// The events from the previous mark, the start or the last request for crash checks up to this
    /// mark.
    pub recent: Vec<Event>,
    /// The number of events before the mark, since the start or the last chop.
    pub settled: usize,
}

/// Returns the event of a mark of this name.
pub(super) fn mark(name: &str) -> Event {
    Event::Mark { name: format!("{MARK}{name}") }
}

impl LogReader {
    /// Returns the reader of a log that begins with this write set.
    pub fn new(begun: WriteSet) -> LogReader {
        LogReader { begun, events: Vec::new(), damages: Vec::new(), read: 0 }
    }

    /// Appends events.
    pub fn extend(&mut self, events: &[Event]) {
        self.events.extend_from_slice(events);
    }

    /// Records damage to a device at this point of the log.
    pub fn damage(&mut self, dev: u32, damage: Damage) {
        self.damages.push((self.events.len(), dev, damage));
    }

    /// Returns the events since the last call.
    pub fn unread(&mut self) -> Vec<Event> {
        let unread = self.events[self.read..].to_vec();
        self.read = self.events.len();
        unread
    }

    /// Returns the log up to the last mark of this name.
    ///
    /// # Errors
    /// There is no such mark, or an event contradicts the log before it.
    pub fn at(&self, name: &str) -> Result<AtMark, StepError> {
        let wanted = mark(name);
        let at = self.events.iter().rposition(|event| *event == wanted);
        let at = at.ok_or_else(|| {
            tool(format!(
                "crash checks at the mark '{name}', which is not in the log; call Cx::mark first"
            ))
        })?;
        let is_mark =
            |event: &Event| matches!(event, Event::Mark { name } if name.starts_with(MARK));
        let from = self.events[..at].iter().rposition(is_mark).map_or(0, |before| before + 1);
        let mut write_set = self.begun.clone();
        let mut damages = self.damages.iter().peekable();
        for (index, event) in self.events[..at].iter().enumerate() {
            while let Some((_, dev, damage)) = damages.next_if(|damage| damage.0 <= index) {
                write_set.damage(*dev, damage);
            }
            write_set
                .apply(event)
                .map_err(|error| contradiction(LogContradiction { index, error }))?;
        }
        for (_, dev, damage) in damages.filter(|damage| damage.0 <= at) {
            write_set.damage(*dev, damage);
        }
        Ok(AtMark { write_set, recent: self.events[from..at].to_vec(), settled: at })
    }
}
