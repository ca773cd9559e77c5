//! A built kernel and its files.

use std::path::{Path, PathBuf};

/// A built kernel, in a tree that modules can be built against.
#[derive(Clone, Debug)]
pub struct BuiltKernel {
    pub(crate) tree: PathBuf,
    /// The file that QEMU boots.
    pub(crate) boot_image: PathBuf,
    /// True if the user may edit the tree; explode's own stays as it was built.
    pub(crate) changes: bool,
    pub(crate) key: String,
    pub(crate) release: String,
}

impl BuiltKernel {
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

/// The boot image, below a tree.
pub(super) const BOOT_IMAGE: &str = "arch/x86/boot/bzImage";

/// The symbols of the kernel itself. A tree gets `Module.symvers` only when its modules are built,
/// and they need not be.
const SYMBOLS: &str = "vmlinux.symvers";

/// The symbol tables of a built tree.
pub(crate) fn symbols(tree: &Path) -> PathBuf {
    tree.join(SYMBOLS)
}
