//! Random logs, written as scripts of actions. Every script makes a valid log.
//!
//! An action names its operand by an index modulo the number of candidates (the request to
//! complete, the bytes to write again). Every part of a script is therefore a script, and shrinking
//! omits actions. An action that would need too many disks is omitted as well, because brute force
//! has to follow it.

use explode_ramdisk::{Event, Flags, Payload};

use super::case::{Case, DEVICES};
use super::machine::Machine;
use super::{Rules, SECTOR, Token, blank, bytes};

const LARGEST_ID: u64 = 6;
const MOST_WAITING: usize = 3;

/// The inputs from which a log is made.
#[derive(Clone, Debug)]
pub struct Script {
    pub rules: Rules,
    pub sectors: u64,
    /// The durable contents before the first event: one token per sector, repeated.
    pub base: Vec<Token>,
    pub actions: Vec<Action>,
    /// The kinds of actions that are omitted: bit n for kind n.
    pub off: u16,
    /// The index of the mark `from`, modulo the number of places for it, and the number of events
    /// from there to the mark `to`. The end of the log limits it.
    pub from: usize,
    pub to: usize,
    /// The maximal number of combinations of an instant.
    pub most_combinations: u128,
}

/// A step of a [`Script`].
#[derive(Clone, Debug)]
pub enum Action {
    Dirty(Write),
    DirtyAgain(usize),
    Clean(Spot),
    Lock(Spot),
    Unlock(Spot),
    Submit(Write, Flags),
    SubmitAgain(usize, Flags),
    Zeroes(Spot, Flags),
    Discard(Spot, Flags),
    EmptyPreflush { dev: u32, fua: bool },
    Complete { which: usize, error: bool },
    Flush { dev: u32 },
    Mark,
}

/// A range, cut at the end of the device.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub dev: u32,
    pub sector: u64,
    pub sectors: u64,
}

/// A range and the tokens to write, repeated.
#[derive(Clone, Debug)]
pub struct Write {
    pub spot: Spot,
    pub tokens: Vec<Token>,
}

impl Script {
    /// Returns the log that this script makes.
    pub fn case(&self) -> Case {
        let device =
            self.base.iter().copied().cycle().take(self.sectors as usize).collect::<Vec<Token>>();
        let base: Vec<Vec<u8>> = (0..DEVICES).map(|_| bytes(&device)).collect();
        let mut log = vec![];
        let mut machine = Machine::new(blank(self.sectors, DEVICES, &base), self.rules);
        for action in self.actions.iter().filter(|action| self.off >> action.kind() & 1 == 0) {
            let Some(event) = self.event(action, &log, &machine) else { continue };
            let mut next = machine.clone();
            next.apply(&event);
            if next.waiting().len() <= MOST_WAITING && next.combinations() <= self.most_combinations
            {
                machine = next;
                log.push(event);
            }
        }
        let from = self.from % (log.len() + 1);
        let to = from + self.to.min(log.len() - from);
        log.insert(to, Event::Mark { name: "to".into() });
        log.insert(from, Event::Mark { name: "from".into() });
        Case { rules: self.rules, sectors: self.sectors, base, log, interval: (from + 1, to + 1) }
    }

    /// Returns the event of the action after this log; `None` if there is no such event.
    fn event(&self, action: &Action, log: &[Event], machine: &Machine) -> Option<Event> {
        let free = (1..=LARGEST_ID).find(|id| !machine.requests.contains_key(id));
        let submit = |dev, sector, payload, flags: &Flags| {
            Some(Event::Submit { id: free?, dev, sector, payload, flags: *flags })
        };
        let range = |spot: &Spot| {
            let sector = spot.sector % self.sectors;
            let sectors = spot.sectors.min(self.sectors - sector);
            (spot.dev % DEVICES, sector, sectors * SECTOR)
        };
        let data = |write: &Write| {
            let (dev, sector, len) = range(&write.spot);
            let tokens: Vec<Token> =
                write.tokens.iter().copied().cycle().take((len / SECTOR) as usize).collect();
            (dev, sector, bytes(&tokens))
        };
        match action {
            Action::Dirty(write) => {
                let (dev, sector, data) = data(write);
                Some(Event::Dirty { dev, sector, data: data.into() })
            }
            Action::DirtyAgain(which) => {
                let (dev, sector, data) = earlier(log, *which)?;
                Some(Event::Dirty { dev, sector, data: data.into() })
            }
            Action::Clean(spot) => {
                let (dev, sector, len) = range(spot);
                Some(Event::Clean { dev, sector, len })
            }
            Action::Lock(spot) => {
                let (dev, sector, len) = range(spot);
                Some(Event::Lock { dev, sector, len })
            }
            Action::Unlock(spot) => {
                let (dev, sector, len) = range(spot);
                Some(Event::Unlock { dev, sector, len })
            }
            Action::Submit(write, flags) => {
                let (dev, sector, data) = data(write);
                submit(dev, sector, Payload::Data(data.into()), flags)
            }
            Action::SubmitAgain(which, flags) => {
                let (dev, sector, data) = earlier(log, *which)?;
                submit(dev, sector, Payload::Data(data.into()), flags)
            }
            Action::Zeroes(spot, flags) => {
                let (dev, sector, len) = range(spot);
                submit(dev, sector, Payload::Zeroes(len), flags)
            }
            Action::Discard(spot, flags) => {
                let (dev, sector, len) = range(spot);
                submit(dev, sector, Payload::Discard(len), flags)
            }
            Action::EmptyPreflush { dev, fua } => submit(
                dev % DEVICES,
                0,
                Payload::Data(vec![].into()),
                &Flags { fua: *fua, preflush: true },
            ),
            Action::Complete { which, error } => {
                let id =
                    *machine.requests.keys().nth(which.checked_rem(machine.requests.len())?)?;
                Some(Event::Complete { id, error: *error })
            }
            Action::Flush { dev } => Some(Event::Flush { id: free?, dev: dev % DEVICES }),
            Action::Mark => Some(Event::Mark { name: "x".into() }),
        }
    }
}

impl Action {
    /// Returns the bit of the action in [`Script::off`].
    fn kind(&self) -> u32 {
        match self {
            Action::Dirty(_) => 0,
            Action::DirtyAgain(_) => 1,
            Action::Clean(_) => 2,
            Action::Lock(_) => 3,
            Action::Unlock(_) => 4,
            Action::Submit(..) => 5,
            Action::SubmitAgain(..) => 6,
            Action::Zeroes(..) => 7,
            Action::Discard(..) => 8,
            Action::EmptyPreflush { .. } => 9,
            Action::Complete { .. } => 10,
            Action::Flush { .. } => 11,
            Action::Mark => 12,
        }
    }
}

/// Returns device, sector and bytes of one of the log's events with bytes.
fn earlier(log: &[Event], which: usize) -> Option<(u32, u64, Vec<u8>)> {
    let with_bytes = log.iter().filter_map(|event| match event {
        Event::Dirty { dev, sector, data } => Some((*dev, *sector, data.to_vec())),
        Event::Submit { dev, sector, payload: Payload::Data(data), .. } if !data.is_empty() => {
            Some((*dev, *sector, data.to_vec()))
        }
        _ => None,
    });
    let all: Vec<_> = with_bytes.collect();
    // The latest comes first, so that small indices find what is probably still pending.
    all.into_iter().rev().cycle().nth(which % log.len().max(1))
}
