//! What every part needs to be built: the cache, the options, and the receiver of progress.

mod options;

pub use options::{BuildOptions, PACKAGES_VARIABLE};

use crate::base::BuildProgress;
use crate::cache::Cache;

/// What all builds have in common.
#[derive(Clone, Copy)]
pub(crate) struct Build<'a> {
    /// Where everything is kept.
    pub cache: &'a Cache,
    /// What is not built by the recipe.
    pub options: &'a BuildOptions,
    /// Receives every step that takes time.
    pub progress: &'a dyn BuildProgress,
}
