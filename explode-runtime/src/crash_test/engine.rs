//! The engine of a crash test as a component. Opening it is both mount and recovery.

use std::cell::RefCell;
use std::rc::Rc;

use super::parts::EngineParts;
use crate::base::{Mode, StepError, catch_panic};
use crate::stack::{Below, Component, ComponentDef, Surface};

/// Returns the definition of the component for the registry.
pub(super) fn def<S: 'static, M: 'static>(
    parts: EngineParts<S, M>,
    files: &ComponentDef,
) -> ComponentDef {
    ComponentDef::new("store", "the engine of a crash test", move |_| {
        Ok(Box::new(Engine { parts: parts.clone(), open: None }))
    })
    .modes([Mode::Mem])
    .on(files.name.clone())
}

/// The open store for the model.
pub(super) type OpenEngine<S> = RefCell<S>;

struct Engine<S, M> {
    parts: EngineParts<S, M>,
    open: Option<Rc<OpenEngine<S>>>,
}

impl<S: 'static, M: 'static> Component for Engine<S, M> {
    /// Makes the store and closes it, so that the next opening finds a closed store.
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.mount(below)?;
        self.unmount(below)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let store = catch_panic(|| (self.parts.open)(below))
            .map_err(StepError::new)?
            .map_err(StepError::new)?;
        self.open = Some(Rc::new(RefCell::new(store)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        let open = self.open.take();
        catch_panic(|| drop(open)).map_err(StepError::new)
    }

    fn surface(&self) -> Surface {
        self.open.as_ref().map_or(Surface::Child, |store| Surface::Engine(Rc::clone(store) as _))
    }
}

/// Ignores what a store does when it is dropped after a crash, including a panic.
impl<S, M> Drop for Engine<S, M> {
    fn drop(&mut self) {
        let open = self.open.take();
        let _ = catch_panic(|| drop(open));
    }
}
