//! A key-value engine as a component: opening is mounting, and recovering too.

use std::rc::Rc;

use explode_runtime::base::Fault;
use explode_runtime::stack::{Below, Component, Surface};
use explode_runtime::verdict::Profile;

use super::{KeyValue, Store};

/// How a store is made and opened.
pub trait Kind {
    /// Makes an empty one.
    ///
    /// # Errors
    /// What is below has failed.
    fn create(&self, below: &Below<'_>) -> Result<(), Fault>;

    /// Opens it, and recovers it where it must.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, Fault>;

    /// What it promises; none if everything.
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Its name and version, if it is not ours.
    fn version(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// A store as a component.
pub struct StoreComponent<K> {
    kind: K,
    open: Option<Store>,
}

impl<K: Kind + 'static> StoreComponent<K> {
    /// The component of a kind of store.
    pub fn boxed(kind: K) -> Box<dyn Component> {
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

    fn version(&self) -> Option<(&'static str, String)> {
        self.kind.version()
    }

    fn profile(&self) -> Option<Profile> {
        self.kind.profile()
    }
}
