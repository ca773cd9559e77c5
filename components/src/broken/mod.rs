//! Components with a deliberate bug: canaries that a check must find. Without the bug each is its
//! own fixed twin.

pub mod kv;
pub mod lying_sync;
pub mod merge;
mod page_journal;
pub mod raid;
mod record;
pub mod rename_in_steps;
pub mod rewriting;
pub mod toyfs;
