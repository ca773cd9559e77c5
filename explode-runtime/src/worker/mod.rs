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

mod crew;
mod diagnostics;
mod evidence;
mod examine;
mod frame;
mod in_thread;
mod listener;
mod memo;
mod order;
mod own_thread;
mod page;
pub mod probe;
mod remote;
mod replay;
mod serve;
mod unit_result;
mod wire;

pub use crew::{StartError, Workers};
pub use diagnostics::{
    Diagnostics, DiagnosticsWanted, Field, NoDiagnostics, Observer, Span, TakenDiagnostics,
};
pub use evidence::{ChangedBlock, DiskContents, Evidence};
pub use frame::{FrameReader, encode};
pub use in_thread::InThreadWorkers;
pub use listener::{UnitListener, WorkerStarted};
pub use order::{DeathOutcome, FatalCheck, UnitOrder};
pub use own_thread::spawn_thread;
pub use page::StepPage;
pub use remote::{RemoteWorkers, SpawnTransport, Transport, TransportEnd};
pub use replay::replay;
pub use serve::serve;
pub use unit_result::{LeftOut, Segment, UnitResult, UnitSnapshot};
pub use wire::{FromWorker, ToWorker, WorkerError};
