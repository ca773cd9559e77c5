//! The tasks that have caused the last events of the kernel's log (EX-74). Their names explain a
//! trace.
//!
//! A name is looked up when the log is read, so it is unknown for a task that has ended by then.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The largest number of events with a known issuer.
const MOST: usize = 4096;

/// The issuers of the last events.
#[derive(Debug, Default)]
pub(crate) struct EventTasks {
    names: BTreeMap<u32, Option<Rc<str>>>,
    last: VecDeque<Option<Rc<str>>>,
}

impl EventTasks {
    /// Records the issuer of an event by thread id, or an unknown one.
    pub fn note(&mut self, pid: Option<u32>) {
        let name = pid.and_then(|pid| self.names.entry(pid).or_insert_with(|| name(pid)).clone());
        self.last.push_back(name);
        if self.last.len() > MOST {
            self.last.pop_front();
        }
    }

    /// Returns the issuers of the last `events` events, oldest first. `None` for an unknown one.
    pub fn of_last(&self, events: usize) -> Vec<Option<String>> {
        let unknown = events.saturating_sub(self.last.len());
        let known = self.last.iter().skip(self.last.len() - (events - unknown));
        let known = known.map(|name| name.as_deref().map(str::to_owned));
        std::iter::repeat_n(None, unknown).chain(known).collect()
    }
}

fn name(pid: u32) -> Option<Rc<str>> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().into())
}

#[cfg(test)]
mod tests {
    use super::{EventTasks, MOST};

    #[test]
    fn the_last_events_have_their_issuers() {
        let own = std::process::id();
        let name = std::fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned();
        let mut issuers = EventTasks::default();
        assert_eq!(issuers.of_last(1), [None]);
        issuers.note(Some(own));
        issuers.note(None);
        assert_eq!(issuers.of_last(1), [None]);
        assert_eq!(issuers.of_last(3), [None, Some(name.clone()), None]);
        (0..MOST).for_each(|_| issuers.note(Some(own)));
        assert_eq!(issuers.of_last(MOST + 1)[..2], [None, Some(name)]);
    }
}
