//! Running a unit of work: restore a state by replay, then call mutate (EX-48, EX-51, EX-52).
//!
//! | file | what |
//! | --- | --- |
//! | `system.rs` | a system under test, as workers see it |
//! | `runner.rs` | the first system: a stack with its checker |
//! | `first_start.rs` | the first start of the stack: its pristine disks, and what it can do |
//! | `steps.rs` | a unit, step by step |
//! | `driver.rs` | its mutates: their choices and their crash checks |
//! | `sources/` | what chooses besides the checker |
//! | `lent.rs` | the choices of components |
//! | `hooks.rs` | who makes the crash checks |
//! | `chop_cache.rs` | places where a path is cut, and remembered |
//! | `stop.rs` | how a unit ended |

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

pub use hooks::{UnitHooks, UnitProgress};
pub use runner::Runner;
pub use stop::{UnitRun, UnitStop};
pub use system::{OpenSystem, System, SystemFacts, Systems, open};
