//! Small key-value stores, correct by default, with bugs that an option selects by name:
//!
//! | store | on | commits by |
//! | --- | --- | --- |
//! | [`wal`] | files | appending to a log, which checkpoints fold into a table |
//! | [`rename`] | files | a new file in place of the old one |
//! | [`journal`] | a block device | a journal of pages, written in place later |
//!
//! `docs/results/seeded-bugs.md` lists the bugs and what explode needs to find each.

pub mod journal;
pub mod rename;
pub mod wal;

use crate::engine::store::{StoreComponent, StoreKind};
