//! The write set: what could be on the disks, or not, if the machine stopped now.
//!
//! It is the fault model of `docs/model/fault-model.md` as a state: per device the durable contents
//! D and the pending pieces. The log's events change it ([`WriteSet::apply`]); which disks it
//! allows is asked through its [`PreflushWorld`]s. It knows nothing of emissions, limits or checks
//! (`crash/` does), only when one is due: [`WriteSet::shrinks`]. Spec: EX-67 to EX-77.

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
