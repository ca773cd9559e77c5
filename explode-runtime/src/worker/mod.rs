//! Workers: they run the system. This is how their supervisor sees them
//! (`docs/internals/architecture.md`).
//!
//! A worker has the stack, the write set, the disks and the checks. It runs one [`UnitOrder`] after
//! the other, and reports to its [`UnitListener`] what it is [about to do](UnitListener::next_step)
//! before each step that may hang or kill it. The whole result of a unit is its
//! [`UnitResult`]: until then nothing of it counts, so that a unit that is repeated counts once.
//!
//! A [`Workers`] is where workers come from: this very thread ([`InThreadWorkers`]), or processes
//! and guests on the other side of a wire ([`RemoteWorkers`]).

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
mod remote;
mod replay;
mod serve;
mod step_page;
mod thread;
mod unit_result;
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
