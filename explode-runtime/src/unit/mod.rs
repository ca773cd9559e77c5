//! Runs a unit of work: restores a state by replay, then calls mutate (EX-48, EX-51, EX-52).
//!
//! | file | contents |
//! | --- | --- |
//! | `system.rs` | the interface of a system under test to workers |
//! | `runner.rs` | the standard system: a stack with its checker |
//! | `first_start.rs` | the first start of the stack: its pristine disks and its facts |
//! | `steps.rs` | a unit, step by step |
//! | `driver.rs` | the mutates of a unit: their choices and crash checks |
//! | `sources/` | the sources of choices besides the checker |
//! | `lent.rs` | the choices of components |
//! | `hooks.rs` | the interface of a unit to its caller |
//! | `chop_cache.rs` | the points where a path is chopped, and the states kept there |
//! | `stop.rs` | the result of a unit |

mod chop_cache;
mod driver;
mod first_start;
mod hooks;
mod lent;
mod runner;
pub mod sources;
mod steps;
mod stop;
mod system;

pub use hooks::{UnitHooks, UnitProgress, WalkEnd, WalkHooks};
pub use runner::Runner;
pub use stop::{UnitRun, UnitStop};
pub use system::{OpenSystem, System, SystemFacts, Systems, open};
