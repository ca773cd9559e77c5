//! Workers: they run the system. This is how their supervisor sees them
//! (`docs/internals/architecture.md`).
//!
//! A worker has the stack, the write set, the disks and the checks. It runs one [`Order`] after the
//! other, and reports to its [`Listener`] what it is [about to do](Listener::about_to) before each
//! step that may hang or kill it. The whole result of a unit is its
//! [`UnitResult`]: until then nothing of it counts, so that a unit that is repeated counts once.
//!
//! A [`Crew`] is where workers come from: this very thread ([`InThread`]), or processes and guests
//! on the other side of a wire ([`Remote`]).

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

pub use crew::{Crew, StartError};
pub use diagnostics::{Diagnostics, Field, NoDiagnostics, Observer, Span, Taken, Wanted};
pub use evidence::{Block, Disks, Evidence};
pub use frame::{FrameReader, encode};
pub use in_thread::InThread;
pub use listener::{Listener, Started};
pub use order::{Order, Outcome, Past};
pub use own_thread::spawn_thread;
pub use page::Page;
pub use remote::{Body, Remote, Spawn, WorkerEnded};
pub use replay::replay;
pub use serve::serve;
pub use unit_result::{LeftOut, Segment, Snapshot, UnitResult};
pub use wire::{Failed, Said, ToWorker};
