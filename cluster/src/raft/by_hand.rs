//! The replicated map in a loop written by hand: the same nodes, clients, faults and promises, and
//! no choice that can be recorded, named or replayed. `explode bench` compares walks with it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use explode_ramdisk::files::Granule;
use explode_ramdisk::{Event, Image, Recording, SimFiles, Storage};
use explode_runtime::choose::Draws;
use explode_runtime::crash::{LegalDisks, SampleLimits};
use explode_runtime::writeset::{DeviceRules, WriteSet};
use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{RawNode, StateRole};
use xxhash_rust::xxh3::xxh3_64;

use super::entry::{applied, decoded, encoded};
use super::log::RaftLog;
use super::map::{CALLS, CLIENTS, FAULTS, HOSTS, STEPS, TAIL};
use super::node::config;
use super::ready::{Wanted, raw_node, work_off};
use crate::by_hand::HandRun;
use crate::client::{CallHistory, MapCall, MapReply, MapSpec, not_linearizable};
use crate::fault::FaultBudget;
use crate::node::{CallId, NodeId};

/// Makes walks, and returns what they did.
///
/// # Panics
/// A promise is broken, which no walk does.
pub fn raft_by_hand(seed: u64, walks: std::ops::Range<u64>) -> HandRun {
    let mut run = HandRun::default();
    for walk in walks {
        let mut walk = HandWalk::new(Draws::new(seed, walk));
        for step in 1..=STEPS {
            walk.step(STEPS.saturating_sub(TAIL + step));
        }
        run.steps += u64::from(STEPS);
        run.crashes += walk.crashes;
        run.replies += walk.replies;
    }
    run
}

/// A host: its disk, and the node that runs on it.
struct HandHost {
    storage: Storage,
    write_set: WriteSet,
    node: Option<HandNode>,
}

struct HandNode {
    raw: RawNode<MemStorage>,
    log: RaftLog,
    map: BTreeMap<u64, u64>,
    waiting: BTreeSet<CallId>,
}

/// The effects of a handler.
#[derive(Default)]
struct HandEffects {
    /// The messages, each with the number of events on the disk before it.
    sent: Vec<(u64, Message)>,
    replies: Vec<(CallId, MapReply)>,
    applied: Vec<(u64, u64, u64)>,
}

#[derive(Clone, Copy)]
struct HandClient {
    left: u32,
    waits: Option<(CallId, usize)>,
}

struct HandWalk {
    draws: Draws,
    hosts: Vec<HandHost>,
    messages: Vec<Message>,
    /// The group of each host, as bits.
    parted: Option<u64>,
    clients: [HandClient; CLIENTS],
    history: CallHistory<MapCall, MapReply>,
    leaders: BTreeMap<u64, usize>,
    entries: BTreeMap<u64, (u64, u64)>,
    left: FaultBudget,
    fresh: u64,
    crashes: u64,
    replies: u64,
}

/// An event that a step draws.
enum HandEvent {
    Start(usize),
    Deliver(usize),
    Tick(usize),
    Call(usize),
    GiveUp(usize),
}

fn host_on(image: Image) -> HandHost {
    let write_set = WriteSet::new(image.clone(), DeviceRules::default());
    HandHost { storage: Storage::new(image, Recording::On), write_set, node: None }
}

impl HandWalk {
    fn new(draws: Draws) -> HandWalk {
        HandWalk {
            draws,
            hosts: (0..HOSTS).map(|_| host_on(Image::new())).collect(),
            messages: Vec::new(),
            parted: None,
            clients: [HandClient { left: CALLS, waits: None }; CLIENTS],
            history: CallHistory::default(),
            leaders: BTreeMap::new(),
            entries: BTreeMap::new(),
            left: FAULTS,
            fresh: 0,
            crashes: 0,
            replies: 0,
        }
    }

    /// Makes a step. Faults may still happen in `steps` steps.
    fn step(&mut self, steps: u32) {
        if self.parted.is_some() && (steps == 0 || self.draws.below(64) == 0) {
            self.parted = None;
        } else if self.happens(self.left.partitions, steps) {
            self.left.partitions -= 1;
            self.parted = Some(1 + self.draws.below((1 << (HOSTS - 1)) - 1));
            let parted = self.parted;
            self.messages.retain(|one| !separates(parted, one.from, one.to));
        }
        match self.event() {
            HandEvent::Start(host) => {
                let node = open(host, &self.hosts[host].storage);
                self.hosts[host].node = Some(node);
                self.handled(host, HandEffects::default(), steps);
            }
            HandEvent::Deliver(at) => self.deliver(at, steps),
            HandEvent::Tick(host) => {
                let HandHost { node, storage, .. } = &mut self.hosts[host];
                let node = node.as_mut().expect("it is up");
                node.raw.tick();
                let effects = node.ready(storage);
                self.handled(host, effects, steps);
            }
            HandEvent::Call(client) => self.call(client, steps),
            HandEvent::GiveUp(client) => self.clients[client].waits = None,
        }
    }

    /// Draws the next event by weight.
    fn event(&mut self) -> HandEvent {
        let mut events = Vec::with_capacity(16);
        for (at, host) in self.hosts.iter().enumerate() {
            match host.node {
                Some(_) => events.push((1, HandEvent::Tick(at))),
                None => events.push((4, HandEvent::Start(at))),
            }
        }
        let up = |to: u64| self.hosts[to as usize - 1].node.is_some();
        let messages = self.messages.iter().enumerate().filter(|(_, message)| up(message.to));
        events.extend(messages.map(|(at, _)| (1, HandEvent::Deliver(at))));
        let is_any_up = self.hosts.iter().any(|host| host.node.is_some());
        for (at, client) in self.clients.iter().enumerate() {
            match client.waits {
                None if client.left > 0 && is_any_up => events.push((1, HandEvent::Call(at))),
                Some((_, host)) if self.hosts[host].node.is_none() => {
                    events.push((1, HandEvent::GiveUp(at)));
                }
                _ => {}
            }
        }
        let mut left = self.draws.below(events.iter().map(|(weight, _)| weight).sum());
        for (weight, event) in events {
            match left.checked_sub(weight) {
                Some(rest) => left = rest,
                None => return event,
            }
        }
        unreachable!("the number is below the sum of the weights")
    }

    fn happens(&mut self, left: u32, steps: u32) -> bool {
        left > 0 && steps > 0 && self.draws.below(steps.into()) < u64::from(left)
    }

    fn deliver(&mut self, at: usize, steps: u32) {
        if self.happens(self.left.drops, steps) {
            self.left.drops -= 1;
            self.messages.remove(at);
            return;
        }
        let message = if self.happens(self.left.duplicates, steps) {
            self.left.duplicates -= 1;
            self.messages[at].clone()
        } else {
            self.messages.remove(at)
        };
        let host = message.to as usize - 1;
        let HandHost { node, storage, .. } = &mut self.hosts[host];
        let node = node.as_mut().expect("it is up");
        let _ = node.raw.step(message);
        let effects = node.ready(storage);
        self.handled(host, effects, steps);
    }

    fn call(&mut self, client: usize, steps: u32) {
        let up: Vec<usize> = (0..HOSTS).filter(|at| self.hosts[*at].node.is_some()).collect();
        let host = up[self.draws.below(up.len() as u64) as usize];
        let key = self.draws.below(2);
        let call = match self.draws.below(3) {
            0 => MapCall::Get(key),
            1 => MapCall::Remove(key),
            _ => {
                self.fresh += 1;
                MapCall::Put(key, self.fresh)
            }
        };
        let id = self.history.call(client, NodeId::at(host), call);
        let HandHost { node, storage, .. } = &mut self.hosts[host];
        let node = node.as_mut().expect("it is up");
        let proposed = node.raw.raft.state == StateRole::Leader
            && node.raw.propose(Vec::new(), encoded(id, call)).is_ok();
        if !proposed {
            self.history.refuse(id);
            return;
        }
        node.waiting.insert(id);
        let effects = node.ready(storage);
        let left = self.clients[client].left - 1;
        self.clients[client] = HandClient { left, waits: Some((id, host)) };
        self.handled(host, effects, steps);
    }

    /// Lets the effects of a handler happen, or cuts it by a crash.
    fn handled(&mut self, host: usize, mut effects: HandEffects, steps: u32) {
        let storage = &self.hosts[host].storage;
        let (begin, events) = (storage.logged(), storage.take_log());
        let begin = begin - events.len() as u64;
        if self.happens(self.left.crashes, steps) {
            self.left.crashes -= 1;
            self.crashes += 1;
            let cut = begin + self.crash(host, &events);
            effects.sent.retain(|(logged, _)| *logged <= cut);
            effects.replies.clear();
        } else {
            apply(&mut self.hosts[host].write_set, &events);
        }
        let parted = self.parted;
        let sent = effects.sent.into_iter().map(|(_, message)| message);
        let sent = sent.filter(|one| !separates(parted, one.from, one.to));
        self.messages.extend(sent);
        for (index, term, data) in effects.applied {
            let known = self.entries.entry(index).or_insert((term, data));
            assert_eq!(*known, (term, data), "two entries at {index}");
        }
        if let Some(node) = &self.hosts[host].node
            && node.raw.raft.state == StateRole::Leader
        {
            let term = node.raw.raft.term;
            assert_eq!(*self.leaders.entry(term).or_insert(host), host, "two leaders in {term}");
        }
        for (call, reply) in effects.replies {
            let Some(client) = self.history.reply(call, reply) else { continue };
            self.replies += 1;
            let waits = &mut self.clients[client].waits;
            if waits.is_some_and(|(waits, _)| waits == call) {
                *waits = None;
            }
            let call = self.history.calls()[call.0 as usize].call;
            assert_eq!(not_linearizable::<MapSpec>(&self.history, Some(&call)), None);
        }
    }

    /// Crashes a host at a drawn event of its handler, and leaves a drawn disk. Returns the number
    /// of events before the crash.
    fn crash(&mut self, host: usize, events: &[Event]) -> u64 {
        let cut = self.draws.below(events.len() as u64 + 1);
        let mut write_set = self.hosts[host].write_set.clone();
        apply(&mut write_set, &events[..cut as usize]);
        let disks = LegalDisks::of(&write_set);
        let numbers = disks.numbers(&SampleLimits::default(), self.crashes);
        let drawn = self.draws.below(numbers.len());
        self.hosts[host] = host_on(disks.build(&numbers.at(drawn)).image);
        cut
    }
}

impl HandNode {
    /// Does what raft asks for.
    fn ready(&mut self, storage: &Storage) -> HandEffects {
        let mut effects = HandEffects::default();
        let HandNode { raw, log, map, waiting } = self;
        while raw.has_ready() {
            let worked_off = work_off(
                raw,
                log,
                |must, _| must,
                |wanted| match wanted {
                    Wanted::Sent(messages) => {
                        let logged = storage.logged();
                        effects.sent.extend(messages.into_iter().map(|message| (logged, message)));
                    }
                    Wanted::Applied(entries) => apply_entries(entries, map, waiting, &mut effects),
                },
            );
            worked_off.expect("the disk works");
        }
        effects
    }
}

fn apply_entries(
    entries: Vec<Entry>,
    map: &mut BTreeMap<u64, u64>,
    waiting: &mut BTreeSet<CallId>,
    effects: &mut HandEffects,
) {
    for entry in entries {
        effects.applied.push((entry.index, entry.term, xxh3_64(&entry.data)));
        let Some((call, what)) = decoded(&entry.data) else { continue };
        let reply = applied(map, what);
        if waiting.remove(&call) {
            effects.replies.push((call, reply));
        }
    }
}

fn open(host: usize, storage: &Storage) -> HandNode {
    let files = SimFiles::mount(storage.clone(), 0, Granule(DeviceRules::default().block_bytes))
        .expect("a legal disk");
    let (log, state, entries) = RaftLog::open(Rc::new(files)).expect("the disk works");
    let voters = (1..=HOSTS as u64).collect::<Vec<_>>();
    let store = MemStorage::new_with_conf_state((voters, Vec::new()));
    store.wl().append(&entries).expect("entries of the log");
    store.wl().set_hardstate(state);
    let raw = raw_node(&config(NodeId::at(host)), store).expect("a sound log");
    HandNode { raw, log, map: BTreeMap::new(), waiting: BTreeSet::new() }
}

fn separates(parted: Option<u64>, from: u64, to: u64) -> bool {
    parted.is_some_and(|parted| (parted >> (from - 1) ^ parted >> (to - 1)) & 1 == 1)
}

fn apply(write_set: &mut WriteSet, events: &[Event]) {
    events.iter().for_each(|event| write_set.apply(event).expect("a sound log"));
}
