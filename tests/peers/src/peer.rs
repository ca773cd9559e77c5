//! A node of raft without a disk: the same for every tool.

use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode, StateRole};

/// The number of nodes.
pub const HOSTS: u64 = 3;
/// The number of events of a walk.
pub const EVENTS: u64 = 600;
/// The number of proposals of a walk.
pub const PROPOSALS: u64 = 16;

/// A node.
pub struct Peer {
    raw: RawNode<MemStorage>,
    /// The number of entries that it has applied.
    pub applied: u64,
}

/// An event that a node handles.
pub enum PeerEvent {
    /// A message arrives.
    Message(Message),
    /// Time passes.
    Tick,
    /// A client proposes a value. Only a leader takes it.
    Proposal(u64),
}

impl Peer {
    /// Returns a node, whose number is 1 to [`HOSTS`].
    pub fn new(id: u64) -> Peer {
        let store = MemStorage::new_with_conf_state(((1..=HOSTS).collect::<Vec<_>>(), Vec::new()));
        let config = Config {
            id,
            election_tick: 4,
            heartbeat_tick: 1,
            min_election_tick: 4,
            max_election_tick: 5,
            ..Config::default()
        };
        let quiet = slog::Logger::root(slog::Discard, slog::o!());
        let raw = RawNode::new(&config, store, &quiet).expect("the configuration is sound");
        Peer { raw, applied: 0 }
    }

    /// Handles an event. Returns the messages that it sends.
    pub fn handle(&mut self, event: PeerEvent) -> Vec<Message> {
        match event {
            // A message that raft refuses is one of an earlier term.
            PeerEvent::Message(message) => drop(self.raw.step(message)),
            PeerEvent::Tick => drop(self.raw.tick()),
            PeerEvent::Proposal(value) if self.raw.raft.state == StateRole::Leader => {
                drop(self.raw.propose(Vec::new(), value.to_le_bytes().to_vec()));
            }
            PeerEvent::Proposal(_) => {}
        }
        self.ready()
    }

    fn ready(&mut self) -> Vec<Message> {
        let mut sent = Vec::new();
        while self.raw.has_ready() {
            let mut ready = self.raw.ready();
            sent.extend(ready.take_messages());
            self.apply(&ready.take_committed_entries());
            self.raw.mut_store().wl().append(&ready.take_entries()).expect("entries in order");
            if let Some(state) = ready.hs() {
                self.raw.mut_store().wl().set_hardstate(state.clone());
            }
            sent.extend(ready.take_persisted_messages());
            let mut light = self.raw.advance(ready);
            if let Some(commit) = light.commit_index() {
                self.raw.mut_store().wl().mut_hard_state().commit = commit;
            }
            sent.extend(light.take_messages());
            self.apply(&light.take_committed_entries());
            self.raw.advance_apply();
        }
        sent
    }

    fn apply(&mut self, entries: &[Entry]) {
        self.applied += entries.iter().filter(|entry| !entry.data.is_empty()).count() as u64;
    }
}
