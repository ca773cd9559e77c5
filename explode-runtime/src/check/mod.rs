//! Checkers, and what they say: verdicts, violations, and whether a promise was broken.

mod checker;
mod context;
mod def;
mod digest;
mod driver;

pub use checker::Checker;
pub use context::Cx;
pub use def::{CheckerDef, Checkers};
pub use digest::digest;
pub use driver::{Args, Ask, DiskCheck, Driver};
