//! A key-value engine as a component. Opening an engine mounts and recovers it.

use std::rc::Rc;

use explode_runtime::base::StepError;
use explode_runtime::stack::{Below, Component, Facts, Surface};

use super::{KeyValue, Store};

/// A kind of store, which can be created and opened.
pub trait StoreKind {
    /// Creates an empty store.
    ///
    /// # Errors
    /// The system below has failed.
    fn create(&self, below: &Below<'_>) -> Result<(), StepError>;

    /// Opens the store, and recovers it if necessary.
    ///
    /// # Errors
    /// The store cannot be opened.
    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError>;

    /// Returns facts about the store: the version of a third-party engine, and its promises. A
    /// store without a profile promises everything.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// A store as a component.
pub struct StoreComponent<K> {
    kind: K,
    open: Option<Store>,
}

impl<K: StoreKind + 'static> StoreComponent<K> {
    /// Makes the component of a kind of store.
    pub fn boxed(kind: K) -> Box<dyn Component> {
        Box::new(StoreComponent { kind, open: None })
    }
}

impl<K: StoreKind> Component for StoreComponent<K> {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.kind.create(below)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.open = Some(Store(self.kind.open(below)?));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.open = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.open.clone().map_or(Surface::Child, |store| Surface::Engine(Rc::new(store)))
    }

    fn facts(&self) -> Facts {
        self.kind.facts()
    }
}
