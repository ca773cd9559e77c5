//! Checkers, and what they say: verdicts, violations, and whether a promise was broken.

mod checker;
mod context;
mod def;
mod digest;

pub use checker::{Args, Checker};
pub use context::{Ask, Cx, Turn};
pub use def::{CheckerDef, Checkers};
pub use digest::digest;
