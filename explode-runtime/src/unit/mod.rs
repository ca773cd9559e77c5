//! Running a unit of work: restore a state by replay, then call mutate (EX-48, EX-51, EX-52).
//!
//! | file | what |
//! | --- | --- |
//! | `system.rs` | a system under test, as workers see it |
//! | `runner.rs` | the first system: a stack with its checker |
//! | `start.rs` | the first start of the stack: its pristine disks, and what it can do |
//! | `steps.rs` | a unit, step by step |
//! | `driver.rs` | its mutates: their choices and their crash checks |
//! | `sources/` | what chooses besides the checker |
//! | `lent.rs` | the choices of components |
//! | `work.rs` | who makes the crash checks |
//! | `chops.rs` | places where a path is cut, and remembered |
//! | `ended.rs` | how a unit ended |

mod chops;
mod driver;
mod ended;
mod lent;
mod runner;
pub mod sources;
mod start;
mod steps;
mod system;
mod work;

pub use ended::{UnitRun, UnitStop};
pub use runner::Runner;
pub use system::{OpenSystem, System, SystemFacts, Systems, open};
pub use work::{UnitHooks, UnitProgress};
