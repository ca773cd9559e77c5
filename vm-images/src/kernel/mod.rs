//! The guest's kernel: Debian's source with explode's configuration, or a tree that the user has
//! built.

mod built;
mod config;
mod debian;
pub(crate) mod objects;
mod sources;
mod tree;

pub use built::BuiltKernel;
pub(crate) use built::symbols;
pub(crate) use config::parse as parse_config;

use std::path::PathBuf;

use crate::base::Result;
use crate::build::Build;

/// The source of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    /// The kernel of explode, which is built once and kept in the cache.
    Debian,
    /// A built kernel tree, for example of a patched kernel. Nothing is written into it.
    Tree(PathBuf),
}

/// Returns the kernel, and builds it if necessary.
pub(crate) fn get(build: &Build<'_>, source: &KernelSource) -> Result<BuiltKernel> {
    match source {
        KernelSource::Debian => debian::get(build),
        KernelSource::Tree(folder) => tree::open(build, folder),
    }
}

/// Returns the kernel. `None` if it has yet to be built.
pub(crate) fn built(build: &Build<'_>, source: &KernelSource) -> Option<Result<BuiltKernel>> {
    let is_built = match source {
        KernelSource::Debian => build.cache.find("kernel", &debian::key(build)).is_some(),
        KernelSource::Tree(_) => true,
    };
    is_built.then(|| get(build, source))
}
