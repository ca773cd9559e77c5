//! A node on raft 0.6.0 that syncs when `Ready::must_sync` asks for it.

use std::collections::{BTreeMap, BTreeSet};

use explode_cluster::prelude::*;
use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{RawNode, StateRole};
use xxhash_rust::xxh3::xxh3_64;

#[path = "../../shared/log.rs"]
pub mod log;
#[path = "../../shared/map.rs"]
pub mod map;

use log::Log;

const TICK: Timer = Timer(0);

/// A node with a map.
pub struct RaftMap {
    raw: RawNode<MemStorage>,
    log: Log,
    map: BTreeMap<u64, u64>,
    waiting: BTreeSet<CallId>,
}

impl RaftMap {
    /// Does what the crate asks for, in the order of its documentation: sends, applies, stores
    /// entries and state, sends what needs them, advances.
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
            if ready.must_sync() {
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
        if self.raw.raft.state == StateRole::Leader {
            let term = self.raw.raft.term;
            host.fact("leader", &[term, u64::from(host.id().0)]);
        }
        Ok(())
    }

    fn apply(&mut self, entries: Vec<Entry>, host: &mut Host<'_, Self>) {
        for entry in entries {
            host.fact("applied", &[entry.index, entry.term, xxh3_64(&entry.data)]);
            let Some((call, what)) = map::decoded(&entry.data) else { continue };
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
                host.reply(call, reply);
            }
        }
    }
}

fn send(messages: Vec<Message>, host: &mut Host<'_, RaftMap>) {
    for message in messages {
        // A full queue is a lost message, which raft sends again.
        let _ = host.send(NodeId(message.to as u32), message);
    }
}

impl Node for RaftMap {
    type Msg = Message;
    type Call = MapCall;
    type Reply = MapReply;

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let (log, state, entries) = Log::open(host.files())?;
        let voters = host.nodes().map(|node| u64::from(node.0)).collect::<Vec<_>>();
        let store = MemStorage::new_with_conf_state((voters, Vec::new()));
        store.wl().append(&entries)?;
        store.wl().set_hardstate(state);
        let quiet = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&map::config(host.id()), store, &quiet)?;
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
        let is_leader = self.raw.raft.state == StateRole::Leader;
        if !is_leader || self.raw.propose(Vec::new(), map::encoded(call, what)).is_err() {
            host.refuse(call);
            return Ok(());
        }
        self.waiting.insert(call);
        self.ready(host)
    }
}
