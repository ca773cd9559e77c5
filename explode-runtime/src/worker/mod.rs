//! Workers: who runs the system, as whoever supervises them sees it (`docs/architecture.md`).
//!
//! A worker has the stack, the write set, the disks and the checks. It runs one [`Order`] after the other, asks its
//! [`Listener`] what only the supervisor knows, and says what it is [about to do](Listener::about_to) before each step that may
//! hang or kill it. All that a unit came to is in its [`UnitEnd`]: until then nothing of it counts, so that a unit that is
//! repeated counts once.
//!
//! A [`Crew`] is where workers come from: this very thread ([`InThread`]), or processes and guests on the other side of a
//! wire ([`Remote`]).

mod account;
mod answers;
mod book;
mod crew;
mod evidence;
mod examine;
mod frame;
mod in_thread;
mod listener;
mod order;
mod own_thread;
mod page;
mod pen;
pub mod probe;
mod remote;
mod replay;
mod scouted;
mod serve;
mod unit_end;
mod wire;

pub use crew::{Crew, StartError};
pub use evidence::{Block, Disks, Evidence};
pub use frame::{FrameReader, encode};
pub use in_thread::InThread;
pub use listener::{Listener, Started};
pub use order::{Order, Outcome, Past};
pub use own_thread::spawn_thread;
pub use page::Page;
pub use remote::{Body, Remote, Spawn, WorkerEnded};
pub use replay::replay;
pub use scouted::Scouted;
pub use serve::serve;
pub use unit_end::{Snapshot, UnitEnd};
pub use wire::{Failed, Said, ToWorker};
