//! The part of a stack that all its builds share: its layers and their facts.

use std::cell::Cell;
use std::rc::Rc;

use super::component::Component;
use super::components::{ComponentMaker, Components};
use super::facts::Facts;
use super::spec::{COMMANDS, StackSpec};
use crate::base::{Factory, Options, UsageError};

/// A stack's description with checked names and options and known facts. Clones share it.
#[derive(Clone)]
pub struct Blueprint {
    pub(super) layers: Rc<[Rc<PlannedLayer>]>,
}

/// One layer of a blueprint.
pub(super) struct PlannedLayer {
    pub name: String,
    /// The numbers of the layers directly below.
    pub children: Vec<usize>,
    pub facts: Facts,
    /// True for a layer made of shell commands.
    pub commands: bool,
    pub first_device: u32,
    /// The value of [`Below::buffers`](super::Below::buffers).
    pub buffers: bool,
    maker: LayerMaker,
    /// The number of calls after which the facts were compared.
    compared: Cell<u32>,
}

/// Makes the components of a layer.
enum LayerMaker {
    OfReadOptions(ComponentMaker),
    OfOptions(Factory<dyn Component>, Options),
}

/// The number of calls of a layer after which its facts are compared. Those of its first stacks are
/// among them. Comparing them on each crash disk would take as long as many checks.
const COMPARED: u32 = 100;

impl PlannedLayer {
    /// Compares the facts of a component of this layer with those of the first one.
    ///
    /// # Panics
    /// The facts have changed: they do not depend on the options alone.
    pub fn compare(&self, component: &dyn Component) {
        if self.compared.get() < COMPARED {
            self.compared.set(self.compared.get() + 1);
            assert!(
                component.facts() == self.facts,
                "the facts of the component '{}' have changed; let facts() use its options alone",
                self.name
            );
        }
    }
}

impl Blueprint {
    /// Builds the blueprint of a description, and the components of a first stack.
    ///
    /// # Errors
    /// A component or a child is unknown, or an option is wrong.
    pub(super) fn of(
        spec: &StackSpec,
        components: &Components,
    ) -> Result<(Blueprint, Vec<Box<dyn Component>>), UsageError> {
        let mut layers: Vec<PlannedLayer> = Vec::new();
        let mut made = Vec::new();
        let mut next_device = 0;
        for (at, layer) in spec.0.iter().enumerate() {
            let children = spec.children_of(at)?;
            let def = components.get(&layer.component)?;
            let component = def.make(&layer.options)?;
            let (facts, first_device) = (component.facts(), next_device);
            next_device += facts.devices;
            let maker = match def.maker(&layer.options)? {
                Some(maker) => LayerMaker::OfReadOptions(maker),
                None => LayerMaker::OfOptions(Factory::clone(&def.build), layer.options.clone()),
            };
            let name = layer.name.clone();
            let (commands, buffers) = (layer.component == COMMANDS, true);
            layers.push(PlannedLayer {
                name,
                children,
                facts,
                commands,
                first_device,
                buffers,
                maker,
                compared: Cell::default(),
            });
            made.push(component);
        }
        every_disk_can_be_lost(&layers)?;
        // Children precede their parents.
        for at in (0..layers.len()).rev() {
            if !(layers[at].buffers && layers[at].facts.buffers_are_places) {
                let children = layers[at].children.clone();
                children.into_iter().for_each(|child| layers[child].buffers = false);
            }
        }
        Ok((Blueprint { layers: layers.into_iter().map(Rc::new).collect() }, made))
    }

    /// Checks that a stack of this description can be built.
    ///
    /// # Errors
    /// Those of a build.
    pub(crate) fn check(spec: &StackSpec, components: &Components) -> Result<(), UsageError> {
        Blueprint::of(spec, components).map(drop)
    }

    /// Returns true if shell commands run on a layer of this description and can change nothing
    /// else.
    ///
    /// # Errors
    /// Those of a build.
    pub(crate) fn confines_commands(
        spec: &StackSpec,
        components: &Components,
    ) -> Result<bool, UsageError> {
        let (blueprint, _) = Blueprint::of(spec, components)?;
        Ok(blueprint.layers.iter().any(|layer| layer.facts.confines_commands))
    }

    /// Makes the components of another stack.
    pub(super) fn make(&self) -> Result<Vec<Box<dyn Component>>, UsageError> {
        let component = |layer: &Rc<PlannedLayer>| match &layer.maker {
            LayerMaker::OfReadOptions(make) => Ok(make()),
            LayerMaker::OfOptions(build, options) => build(options),
        };
        self.layers.iter().map(component).collect()
    }
}

/// Checks that a disk that may fail as a whole is below a layer that can do without a disk. On
/// other stacks nothing can be promised after it, so nothing could be checked.
fn every_disk_can_be_lost(layers: &[PlannedLayer]) -> Result<(), UsageError> {
    let mut is_redundant = vec![false; layers.len()];
    for at in (0..layers.len()).rev() {
        let layer = &layers[at];
        let is_below = is_redundant[at] || layer.facts.can_lose > 0;
        layer.children.iter().for_each(|child| is_redundant[*child] |= is_below);
        if layer.facts.faults.media.is_of_disk() && !is_redundant[at] {
            return Err(UsageError(format!(
                "{}: 'faults' lets the disk fail, and no layer above can do without it; put it \
                 below an array with redundancy, or use faults = \"unreadable\"",
                layer.name
            )));
        }
    }
    Ok(())
}

impl std::fmt::Debug for Blueprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| &layer.name)).finish()
    }
}
