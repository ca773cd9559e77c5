//! Checkers, and what they say: verdicts, violations, and whether a promise was broken.

mod checker;
mod context;
mod demand;
mod digest;
mod profile;
mod verdict;

pub use checker::{Args, Checker};
pub use context::{Ask, Cx, Failure};
pub use demand::{Contents, Demand};
pub use digest::digest;
pub use profile::{Excluded, NOT_PROMISED, Profile, Promise};
pub use verdict::{Verdict, Violation};
