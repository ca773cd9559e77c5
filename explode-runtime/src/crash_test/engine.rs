//! The engine of a crash test as a component: opening is mounting, and recovering too.

use std::cell::RefCell;
use std::rc::Rc;

use super::parts::Parts;
use crate::base::{Fault, Mode, caught};
use crate::stack::{Below, Component, ComponentDef, Surface};

/// The component, as it stands in the registry.
pub(super) fn def<S: 'static, M: 'static>(parts: Parts<S, M>) -> ComponentDef {
    ComponentDef::new("store", "the engine of a crash test", move |_| {
        Ok(Box::new(Engine { parts: parts.clone(), open: None }))
    })
    .modes([Mode::Mem])
    .on("simfiles")
}

/// The open store, as the model gets it.
pub(super) type Open<S> = RefCell<S>;

struct Engine<S, M> {
    parts: Parts<S, M>,
    open: Option<Rc<Open<S>>>,
}

impl<S: 'static, M: 'static> Component for Engine<S, M> {
    /// Makes the store. It is put to rest, so that what is opened next was closed before.
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.mount(below)?;
        self.unmount(below)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let files = below.files()?;
        let store = caught(|| (self.parts.open)(files)).map_err(Fault::new)?.map_err(Fault::new)?;
        self.open = Some(Rc::new(RefCell::new(store)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        let open = self.open.take();
        caught(|| drop(open)).map_err(Fault::new)
    }

    fn surface(&self) -> Surface {
        self.open.as_ref().map_or(Surface::Child, |store| Surface::Engine(Rc::clone(store) as _))
    }
}

/// What a store does when it is dropped after a crash does not count, not even a panic.
impl<S, M> Drop for Engine<S, M> {
    fn drop(&mut self) {
        let open = self.open.take();
        let _ = caught(|| drop(open));
    }
}
