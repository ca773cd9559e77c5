//! Checkers, their facts and abilities, and the context of a mutate.

mod abilities;
mod checker;
mod context;
mod def;
mod digest;
mod driver;
mod facts;

pub use abilities::{Demands, Forecast, Probe, Tallies, Topology};
pub use checker::{Checker, CheckerAbilities, Chop, Saved, Whole};
pub use context::Cx;
pub use def::{CheckerDef, Checkers, DefaultSearch};
pub use digest::digest;
pub use driver::{Args, CrashRequest, DiskCheck, Driver, LogPlace};
pub use facts::{CheckerFacts, Unsupported};
