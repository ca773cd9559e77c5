//! A node: raft's `RawNode`, the log, and the map that the entries make.

use std::collections::{BTreeMap, BTreeSet};

use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode, StateRole};
use xxhash_rust::xxh3::xxh3_64;

use super::entry::{applied, decoded, encoded};
use super::log::RaftLog;
use super::ready::{Wanted, raw_node, work_off};
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
/// Everything is synced, whatever raft asks for.
pub const ALWAYS_SYNCED: u8 = 3;

/// A node with a map. `BUG` says what is not synced.
pub struct RaftMap<const BUG: u8> {
    raw: RawNode<MemStorage>,
    log: RaftLog,
    map: BTreeMap<u64, u64>,
    waiting: BTreeSet<CallId>,
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

    /// Does what raft asks for, and tells who leads.
    fn ready(&mut self, host: &mut Host<'_, Self>) -> Handled {
        let syncs = |must: bool, entries: &[Entry]| match BUG {
            VOTES_UNSYNCED => must && !entries.is_empty(),
            ENTRIES_UNSYNCED => must && entries.is_empty(),
            ALWAYS_SYNCED => true,
            _ => must,
        };
        while self.raw.has_ready() {
            let (map, waiting) = (&mut self.map, &mut self.waiting);
            work_off(&mut self.raw, &mut self.log, syncs, |wanted| match wanted {
                Wanted::Sent(messages) => send(messages, host),
                Wanted::Applied(entries) => apply(entries, map, waiting, host),
            })?;
        }
        if self.is_leader() {
            let term = self.raw.raft.term;
            host.fact("leader", &[term, u64::from(host.id().0)]);
        }
        Ok(())
    }
}

fn send<const BUG: u8>(messages: Vec<Message>, host: &mut Host<'_, RaftMap<BUG>>) {
    for message in messages {
        let to = NodeId(message.to as u32);
        // A full queue is a lost message, which raft sends again.
        let _ = host.send(to, message);
    }
}

fn apply<const BUG: u8>(
    entries: Vec<Entry>,
    map: &mut BTreeMap<u64, u64>,
    waiting: &mut BTreeSet<CallId>,
    host: &mut Host<'_, RaftMap<BUG>>,
) {
    for entry in entries {
        host.fact("applied", &[entry.index, entry.term, xxh3_64(&entry.data)]);
        let Some((call, what)) = decoded(&entry.data) else { continue };
        let reply = applied(map, what);
        if waiting.remove(&call) {
            host.reply(call, reply);
        }
    }
}

/// Returns the configuration of a node.
pub(super) fn config(id: NodeId) -> Config {
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
        let raw = raw_node(&config(host.id()), store)?;
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
        self.waiting.insert(call);
        self.ready(host)
    }
}
