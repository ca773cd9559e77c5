//! Kernel modules, each built for one kernel: explode's own, those of callers, and drivers of the
//! kernel's source.

pub(crate) mod drivers;
mod make;
mod own;
mod uses;

pub use own::Modules;
pub(crate) use own::{are_cached, build_modules, get};
