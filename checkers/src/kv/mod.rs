//! Key-value stores.

pub mod commits;
#[cfg(feature = "engines")]
mod redb;
pub mod targets;

#[cfg(feature = "engines")]
use explode_runtime::run::Target;

/// The targets of the engines that are behind the feature.
#[cfg(feature = "engines")]
pub(crate) fn engines() -> Vec<Target> {
    redb::targets()
}
