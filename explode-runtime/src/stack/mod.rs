//! Storage components, stacks of them, and the recovery of a stack after a crash.
//!
//! A [`Component`] is one layer: it makes, mounts, unmounts and repairs its system on its children.
//! A [`Stack`] is built from a [`StackSpec`] any number of times, on any image: once for the system
//! under test, and once for each crash disk. One component is defined here, a leaf that offers
//! files: [`simfiles`].

mod abilities;
mod as_shell;
mod asks;
mod blueprint;
mod carried;
mod component;
mod components;
mod facts;
mod known;
mod promises;
pub mod simfiles;
mod spec;
#[expect(clippy::module_inception, reason = "the room has the name of its main item")]
mod stack;

pub use abilities::{Abilities, AsShell, Baseline, BaselineCheck, Inspect, WriteOut};
pub(crate) use as_shell::no_shell_form;
pub use as_shell::{ShellFileSystem, ShellLayer};
pub use asks::Asks;
pub use blueprint::Blueprint;
pub use carried::{Carried, carried, is_of_commands};
pub use component::{Below, Component, LayerPaths, LazyLayerPaths, Recovery, Surface};
pub use components::{ComponentDef, ComponentMaker, Components, FeatureGated, OptionsReader};
pub use facts::Facts;
pub use known::RESERVED;
pub use spec::{COMMANDS, Layer, StackSpec};
pub use stack::Stack;
