//! The parts of a node that depend on the version of the crate `raft`: its beginning, and the order
//! in which it does what raft asks for.

use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode};

use super::log::RaftLog;
use crate::node::Handled;

/// The version of the crate.
pub const VERSION: &str = "0.7.0";

/// Something that raft asks for, besides what it asks of the log.
pub enum Wanted {
    /// Messages are to be sent.
    Sent(Vec<Message>),
    /// Entries are to be applied.
    Applied(Vec<Entry>),
}

/// Returns a node of raft that has this log.
pub fn raw_node(config: &Config, store: MemStorage) -> Handled<RawNode<MemStorage>> {
    let quiet = slog::Logger::root(slog::Discard, slog::o!());
    Ok(RawNode::new(config, store, &quiet)?)
}

/// Does what raft asks for once: sends, stores, syncs, applies. `syncs` decides about a sync, from
/// what raft says and the entries that were stored.
pub fn work_off(
    raw: &mut RawNode<MemStorage>,
    log: &mut RaftLog,
    syncs: impl Fn(bool, &[Entry]) -> bool,
    mut wanted: impl FnMut(Wanted),
) -> Handled {
    let mut ready = raw.ready();
    wanted(Wanted::Sent(ready.take_messages()));
    wanted(Wanted::Applied(ready.take_committed_entries()));
    let entries = ready.take_entries();
    for entry in &entries {
        log.add_entry(entry)?;
    }
    raw.mut_store().wl().append(&entries)?;
    if let Some(state) = ready.hs() {
        log.add_state(state)?;
        raw.mut_store().wl().set_hardstate(state.clone());
    }
    if syncs(ready.must_sync(), &entries) {
        log.sync()?;
    }
    wanted(Wanted::Sent(ready.take_persisted_messages()));
    let mut light = raw.advance(ready);
    if let Some(commit) = light.commit_index() {
        raw.mut_store().wl().mut_hard_state().commit = commit;
    }
    wanted(Wanted::Sent(light.take_messages()));
    wanted(Wanted::Applied(light.take_committed_entries()));
    raw.advance_apply();
    Ok(())
}
