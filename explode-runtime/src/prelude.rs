//! The names that a component, a checker and their targets need:
//! `use explode_runtime::prelude::*;`.

pub use explode_ramdisk::files::{Fd, Files, OpenFlags};

pub use crate::base::{Blame, Mode, OptionDef, Options, StepError, TargetBounds, UsageError};
pub use crate::check::{Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Unsupported};
pub use crate::crash::Epoch;
pub use crate::plan::Target;
pub use crate::stack::{
    Abilities, Asks, Below, Component, ComponentDef, Facts, Recovery, Stack, StackSpec, Surface,
};
pub use crate::verdict::{CheckError, Profile, Promise, Verdict, Violation};
