//! The parts of a node that depend on the version of the crate `raft`, for 0.6.0-alpha.

use raft::eraftpb::{Entry, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode};

use super::log::RaftLog;
use crate::node::Handled;

/// The version of the crate.
pub const VERSION: &str = "0.6.0-alpha";

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
    Ok(RawNode::new(config, store)?.with_logger(&quiet))
}

/// Does what raft asks for once: stores, syncs, sends, applies. `syncs` decides about a sync, from
/// what raft says and the entries that were stored.
pub fn work_off(
    raw: &mut RawNode<MemStorage>,
    log: &mut RaftLog,
    syncs: impl Fn(bool, &[Entry]) -> bool,
    mut wanted: impl FnMut(Wanted),
) -> Handled {
    let mut ready = raw.ready();
    for entry in ready.entries() {
        log.add_entry(entry)?;
    }
    raw.mut_store().wl().append(ready.entries())?;
    if let Some(state) = ready.hs() {
        log.add_state(state)?;
        raw.mut_store().wl().set_hardstate(state.clone());
    }
    if syncs(ready.must_sync(), ready.entries()) {
        log.sync()?;
    }
    wanted(Wanted::Sent(std::mem::take(&mut ready.messages)));
    wanted(Wanted::Applied(ready.committed_entries.take().unwrap_or_default()));
    raw.advance(ready);
    Ok(())
}
