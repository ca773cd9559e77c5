//! The write set: the data that may be on the disks, or not, if the machine stops now.
//!
//! It is the fault model of `docs/model/fault-model.md` as a state: for each device the durable
//! contents D and the pending pieces. The events of the log change it ([`WriteSet::apply`]). Its
//! [`PreflushWorld`]s give the disks that it allows. Emissions, limits and checks are the work of
//! `crash/`, which asks the write set only whether an emission is due: [`WriteSet::shrinks`]. Spec:
//! EX-67 to EX-77.

mod event_error;
mod limits;
mod pending;
mod piece;
mod request;
mod rules;
mod world;
mod write_set;

pub use event_error::{Contradiction, LogContradiction};
pub use piece::PieceBytes;
pub use rules::{Atom, Completion, DeviceRules};
pub use world::{PreflushWorld, VersionedRange, VisibleVersion};
pub use write_set::WriteSet;
