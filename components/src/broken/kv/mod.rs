//! Key-value stores of ours, each small enough to be read at once, correct by default, and with bugs that can be put in by name:
//!
//! | store | on | commits by |
//! | --- | --- | --- |
//! | [`wal`] | files | appending to a log, which checkpoints fold into a table |
//! | [`rename`] | files | a new file in place of the old one |
//! | [`journal`] | a block device | a journal of pages, written in place later |
//!
//! `docs/seeded-bugs.md` says what each bug is, and what explode needs to find it.

pub mod journal;
pub mod rename;
pub mod wal;

use std::rc::Rc;

use explode_runtime::recover::{Below, Component, Fault, Surface};

use crate::engine::{KeyValue, Store};

/// How a store is made and opened.
trait Kind {
    /// Makes an empty one.
    fn create(&self, below: &Below<'_>) -> Result<(), Fault>;
    /// Opens it, and recovers it where it must.
    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, Fault>;
}

/// A store as a component: opening is mounting, and recovering too.
struct StoreComponent<K> {
    kind: K,
    open: Option<Store>,
}

impl<K: Kind> StoreComponent<K> {
    fn boxed(kind: K) -> Box<dyn Component>
    where
        K: 'static,
    {
        Box::new(StoreComponent { kind, open: None })
    }
}

impl<K: Kind> Component for StoreComponent<K> {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.kind.create(below)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.open = Some(Store(self.kind.open(below)?));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        self.open = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.open.clone().map_or(Surface::Child, |store| Surface::Engine(Rc::new(store)))
    }
}
