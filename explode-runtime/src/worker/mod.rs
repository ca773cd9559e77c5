//! Workers run the system under check. This module is the supervisor's interface to them
//! (`docs/internals/architecture.md`).
//!
//! A worker has the stack, the write set, the disks and the checks. It runs one [`UnitOrder`] after
//! the other. Before each step that may hang or kill the worker, it reports the [next
//! step](UnitListener::next_step) to its [`UnitListener`]. The whole result of a unit is its
//! [`UnitResult`]. Nothing of the unit counts before that, so a unit that is repeated counts once.
//!
//! [`Workers`] starts workers: in the caller's thread ([`InThreadWorkers`]), or in processes and
//! guests at the other end of a stream ([`RemoteWorkers`]).

mod diagnostics;
mod evidence;
mod explore;
mod frame;
mod in_thread;
mod listener;
mod memo;
mod order;
pub mod probe;
mod protocol;
mod recorded;
mod remote;
mod replay;
mod serve;
mod step_page;
mod thread;
mod unit_result;
mod witness;
mod workers;

pub use diagnostics::{
    Diagnostics, DiagnosticsWanted, Field, NoDiagnostics, Observer, Span, TakenDiagnostics,
};
pub use evidence::{ChangedBlock, DiskContents, Evidence};
pub use frame::{FrameReader, encode};
pub use in_thread::InThreadWorkers;
pub use listener::{UnitListener, WorkerStarted};
pub use order::{DeathOutcome, FatalCheck, UnitOrder};
pub use protocol::{FromWorker, ToWorker, WorkerError};
pub use remote::{RemoteWorkers, SpawnTransport, Transport, TransportEnd};
pub use replay::replay;
pub use serve::serve;
pub use step_page::StepPage;
pub use thread::spawn_thread;
pub use unit_result::{LeftOut, Segment, UnitResult, UnitSnapshot};
pub use workers::{StartError, Workers};
