//! Key-value stores of ours, each small enough to be read at once, correct by default, and with
//! bugs that can be put in by name:
//!
//! | store | on | commits by |
//! | --- | --- | --- |
//! | [`wal`] | files | appending to a log, which checkpoints fold into a table |
//! | [`rename`] | files | a new file in place of the old one |
//! | [`journal`] | a block device | a journal of pages, written in place later |
//!
//! `docs/results/seeded-bugs.md` says what each bug is, and what explode needs to find it.

pub mod journal;
pub mod rename;
pub mod wal;

use crate::engine::store::{StoreComponent, StoreKind};
