//! A node: raft's `RawNode`, the log, and the map that the entries make.

use std::collections::{BTreeMap, BTreeSet};

use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode, StateRole};
use xxhash_rust::xxh3::xxh3_64;

use super::log::RaftLog;
use crate::client::{MapCall, MapReply};
use crate::clock::ms;
use crate::node::{CallId, Handled, Host, Node, NodeId, Timer};

const TICK: Timer = Timer(0);

/// Everything is synced before others hear of it.
pub const NOTHING_UNSYNCED: u8 = 0;
/// A vote is not synced before it is sent.
pub const VOTES_UNSYNCED: u8 = 1;
/// Entries are not synced before they are acknowledged.
pub const ENTRIES_UNSYNCED: u8 = 2;

/// A node with a map. `BUG` says what is not synced.
pub struct RaftMap<const BUG: u8> {
    raw: RawNode<MemStorage>,
    log: RaftLog,
    map: BTreeMap<u64, u64>,
    waiting: BTreeSet<u32>,
}

impl<const BUG: u8> RaftMap<BUG> {
    /// Returns true if the node believes that it leads.
    pub fn is_leader(&self) -> bool {
        self.raw.raft.state == StateRole::Leader
    }

    /// Returns the map.
    pub fn map(&self) -> &BTreeMap<u64, u64> {
        &self.map
    }

    /// Does what raft asks for: sends, stores, syncs, applies.
    fn ready(&mut self, host: &mut Host<'_, Self>) -> Handled {
        while self.raw.has_ready() {
            let mut ready = self.raw.ready();
            send(ready.take_messages(), host);
            self.apply(ready.take_committed_entries(), host);
            let entries = ready.take_entries();
            for entry in &entries {
                self.log.add_entry(entry)?;
            }
            self.raw.mut_store().wl().append(&entries)?;
            if let Some(state) = ready.hs() {
                self.log.add_state(state)?;
                self.raw.mut_store().wl().set_hardstate(state.clone());
            }
            let is_forgotten = match BUG {
                VOTES_UNSYNCED => entries.is_empty(),
                ENTRIES_UNSYNCED => !entries.is_empty(),
                _ => false,
            };
            if ready.must_sync() && !is_forgotten {
                self.log.sync()?;
            }
            send(ready.take_persisted_messages(), host);
            let mut light = self.raw.advance(ready);
            if let Some(commit) = light.commit_index() {
                self.raw.mut_store().wl().mut_hard_state().commit = commit;
            }
            send(light.take_messages(), host);
            self.apply(light.take_committed_entries(), host);
            self.raw.advance_apply();
        }
        if self.is_leader() {
            let term = self.raw.raft.term;
            host.fact("leader", &[term, u64::from(host.id().0)]);
        }
        Ok(())
    }

    fn apply(&mut self, entries: Vec<Entry>, host: &mut Host<'_, Self>) {
        for entry in entries {
            host.fact("applied", &[entry.index, entry.term, xxh3_64(&entry.data)]);
            let Some((call, what)) = decoded(&entry.data) else { continue };
            let reply = match what {
                MapCall::Get(key) => MapReply::Value(self.map.get(&key).copied()),
                MapCall::Put(key, value) => {
                    self.map.insert(key, value);
                    MapReply::Done
                }
                MapCall::Remove(key) => {
                    self.map.remove(&key);
                    MapReply::Done
                }
            };
            if self.waiting.remove(&call) {
                host.reply(CallId(call), reply);
            }
        }
    }
}

fn send<const BUG: u8>(messages: Vec<Message>, host: &mut Host<'_, RaftMap<BUG>>) {
    for message in messages {
        let to = NodeId(message.to as u32);
        // A full queue is a lost message, which raft sends again.
        let _ = host.send(to, message);
    }
}

/// Returns an entry's data: the call's number, and the call.
fn encoded(call: CallId, what: MapCall) -> Vec<u8> {
    let (kind, key, value) = match what {
        MapCall::Get(key) => (0, key, 0),
        MapCall::Put(key, value) => (1, key, value),
        MapCall::Remove(key) => (2, key, 0),
    };
    [u64::from(call.0), kind, key, value].map(u64::to_le_bytes).concat()
}

/// Returns the call of an entry. `None` for an entry without data.
fn decoded(data: &[u8]) -> Option<(u32, MapCall)> {
    let word = |at: usize| Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let (call, kind, key, value) = (word(0)?, word(8)?, word(16)?, word(24)?);
    let what = match kind {
        0 => MapCall::Get(key),
        1 => MapCall::Put(key, value),
        _ => MapCall::Remove(key),
    };
    Some((call as u32, what))
}

fn config(id: NodeId) -> Config {
    Config {
        id: u64::from(id.0),
        election_tick: 4,
        heartbeat_tick: 1,
        // One number is left to draw, so that raft's own random numbers decide nothing.
        min_election_tick: 4,
        max_election_tick: 5,
        max_inflight_msgs: 16,
        ..Config::default()
    }
}

impl<const BUG: u8> Node for RaftMap<BUG> {
    type Msg = Message;
    type Call = MapCall;
    type Reply = MapReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let (log, state, entries) = RaftLog::open(host.files())?;
        let voters = host.nodes().map(|node| u64::from(node.0)).collect::<Vec<_>>();
        let store = MemStorage::new_with_conf_state((voters, Vec::new()));
        store.wl().append(&entries)?;
        store.wl().set_hardstate(state);
        let quiet = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&config(host.id()), store, &quiet)?;
        host.timer(TICK, ms(100));
        Ok(RaftMap { raw, log, map: BTreeMap::new(), waiting: BTreeSet::new() })
    }

    fn on_message(&mut self, _from: NodeId, msg: Message, host: &mut Host<'_, Self>) -> Handled {
        // A message that raft refuses is one of an earlier term or life.
        let _ = self.raw.step(msg);
        self.ready(host)
    }

    fn on_timer(&mut self, _timer: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(TICK, ms(100));
        self.raw.tick();
        self.ready(host)
    }

    fn on_call(&mut self, call: CallId, what: MapCall, host: &mut Host<'_, Self>) -> Handled {
        if !self.is_leader() || self.raw.propose(Vec::new(), encoded(call, what)).is_err() {
            host.refuse(call);
            return Ok(());
        }
        self.waiting.insert(call.0);
        self.ready(host)
    }
}
