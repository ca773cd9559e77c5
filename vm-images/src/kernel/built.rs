//! A built kernel and its files.

use std::path::{Path, PathBuf};

/// A built kernel, in a tree that modules can be built against.
#[derive(Clone, Debug)]
pub struct BuiltKernel {
    pub(crate) tree: PathBuf,
    /// The file that QEMU boots.
    pub(crate) boot_image: PathBuf,
    /// True if the user may edit the tree. The tree of explode's own kernel does not change.
    pub(crate) changes: bool,
    pub(crate) key: String,
    pub(crate) release: String,
}

impl BuiltKernel {
    /// Returns the file that QEMU boots.
    #[must_use]
    pub fn boot_image(&self) -> PathBuf {
        self.boot_image.clone()
    }

    /// Returns the version, as `uname -r` shows it.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Returns a name that is equal only for equal kernels.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// The path of the boot image in a tree.
pub(super) const BOOT_IMAGE: &str = "arch/x86/boot/bzImage";

/// The file of the kernel's own symbols. A tree has `Module.symvers` only if its modules were
/// built, which is not required.
const SYMBOLS: &str = "vmlinux.symvers";

/// Returns the symbol table of a built tree.
pub(crate) fn symbols(tree: &Path) -> PathBuf {
    tree.join(SYMBOLS)
}
