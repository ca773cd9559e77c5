//! The context of every build: the cache, the options, and the receiver of progress.

mod options;

pub use options::{BuildOptions, PACKAGES_VARIABLE};

use crate::base::BuildProgress;
use crate::cache::Cache;

/// The context that all builds share.
#[derive(Clone, Copy)]
pub(crate) struct Build<'a> {
    /// The cache of everything that is built.
    pub cache: &'a Cache,
    /// The changes to the recipes.
    pub options: &'a BuildOptions,
    /// Receives every step that takes time.
    pub progress: &'a dyn BuildProgress,
}
