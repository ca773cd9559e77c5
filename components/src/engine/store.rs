//! A key-value engine as a component: opening is mounting, and recovering too.

use std::rc::Rc;

use explode_runtime::base::StepError;
use explode_runtime::stack::{Below, Component, Facts, Surface};

use super::{KeyValue, Store};

/// How a store is made and opened.
pub trait StoreKind {
    /// Makes an empty one.
    ///
    /// # Errors
    /// What is below has failed.
    fn create(&self, below: &Below<'_>) -> Result<(), StepError>;

    /// Opens it, and recovers it where it must.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError>;

    /// What is known of the store: its version if it is not ours, and what it promises. Without a
    /// profile it promises everything.
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
    /// The component of a kind of store.
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
