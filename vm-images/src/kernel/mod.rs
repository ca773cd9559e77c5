//! The guest's kernel: Debian's source with explode's configuration, or a tree that the user has built.

mod config;
mod debian;
pub(crate) mod objects;
mod sources;
mod tree;

pub(crate) use config::parse as parse_config;

use std::path::{Path, PathBuf};

use crate::base::Result;
use crate::build::Build;

/// Where the kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    /// The kernel of explode: built once, then kept in the cache.
    Debian,
    /// A built kernel tree, for example of a patched kernel; nothing is written into it.
    Tree(PathBuf),
}

/// A built kernel, in a tree that modules can be built against.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) tree: PathBuf,
    /// The file that QEMU boots.
    pub(crate) boot_image: PathBuf,
    /// True if the user may edit the tree; explode's own stays as it was built.
    pub(crate) changes: bool,
    pub(crate) key: String,
    pub(crate) release: String,
}

impl Kernel {
    /// The file that QEMU boots.
    #[must_use]
    pub fn boot_image(&self) -> PathBuf {
        self.boot_image.clone()
    }

    /// Its version, as `uname -r` shows it.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// A name that is equal for equal kernels only.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

const BOOT_IMAGE: &str = "arch/x86/boot/bzImage";

/// The symbols of the kernel itself. A tree gets `Module.symvers` only when its modules are built, and they need not be.
const SYMBOLS: &str = "vmlinux.symvers";

pub(crate) fn get(build: &Build<'_>, source: &KernelSource) -> Result<Kernel> {
    match source {
        KernelSource::Debian => debian::get(build),
        KernelSource::Tree(folder) => tree::open(build, folder),
    }
}

/// The kernel; none if it has yet to be built.
pub(crate) fn built(build: &Build<'_>, source: &KernelSource) -> Option<Result<Kernel>> {
    let is_there = match source {
        KernelSource::Debian => build.cache.find("kernel", &debian::key(build)).is_some(),
        KernelSource::Tree(_) => true,
    };
    is_there.then(|| get(build, source))
}

/// The symbol tables of a built tree.
pub(crate) fn symbols(tree: &Path) -> PathBuf {
    tree.join(SYMBOLS)
}
