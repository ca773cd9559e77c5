//! Builds the parts of a guest, each by one method.

use std::path::{Path, PathBuf};

use crate::base::{BuildProgress, Result};
use crate::build::{Build, BuildOptions};
use crate::cache::Cache;
use crate::doctor::{self, Requirement};
use crate::guest::{self, Accelerator};
use crate::image::{self, GuestImage, RootFolder, Userland};
use crate::kernel::{self, BuiltKernel, KernelSource};
use crate::modules::{self, Modules, drivers};
use crate::tools::{self, Tools};

/// Builds the parts of a guest, or takes them from the cache.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    /// The cache of everything that is built.
    pub cache: &'a Cache,
    /// The changes to the recipes.
    pub options: &'a BuildOptions,
    /// Receives every step that takes time.
    pub progress: &'a dyn BuildProgress,
}

impl Builder<'_> {
    /// Returns the context that each part needs.
    fn build(&self) -> Build<'_> {
        Build { cache: self.cache, options: self.options, progress: self.progress }
    }

    /// Returns the kernel.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) if packages or programs are missing or a tree is
    /// unsuitable, [`Broken`](crate::VmError::Broken) if the build fails.
    pub fn kernel(&self, source: &KernelSource) -> Result<BuiltKernel> {
        kernel::get(&self.build(), source)
    }

    /// Returns explode's modules, built for this kernel.
    ///
    /// # Errors
    /// The errors of [`Builder::kernel`].
    pub fn modules(&self, kernel: &BuiltKernel) -> Result<Modules> {
        modules::get(&self.build(), kernel)
    }

    /// Returns a module of the caller, built for this kernel. `files` are a Kbuild tree that makes
    /// `<name>.ko`, by name and contents.
    ///
    /// # Errors
    /// The errors of [`Builder::kernel`].
    pub fn module(
        &self,
        kernel: &BuiltKernel,
        name: &str,
        files: &[(&str, &[u8])],
    ) -> Result<PathBuf> {
        let entry = modules::build_modules(&self.build(), kernel, files, &[(name, "")])?;
        Ok(entry.join(format!("{name}.ko")))
    }

    /// Returns the modules of a driver that is not in the kernel, in the order in which they are
    /// loaded, for [`GuestSpec::drivers`]. `kernel/drivers.txt` lists the names of drivers.
    ///
    /// [`GuestSpec::drivers`]: crate::GuestSpec::drivers
    ///
    /// # Errors
    /// The errors of [`Builder::kernel`], and [`Usage`](crate::VmError::Usage) for an unknown name.
    pub fn driver(&self, kernel: &BuiltKernel, name: &str) -> Result<Vec<PathBuf>> {
        drivers::get(&self.build(), kernel, name)
    }

    /// Returns the base image.
    ///
    /// # Errors
    /// The errors of [`Builder::kernel`].
    pub fn image(&self) -> Result<GuestImage> {
        image::get(&self.build())
    }

    /// Returns packages of Debian with everything that they depend on, except those of `without`.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) if the archive lacks one of them,
    /// [`Usage`](crate::VmError::Usage) for a word that is no name, and for a package of `without`
    /// that is not among them.
    pub fn userland(&self, names: &[&str], without: &[&str]) -> Result<Userland> {
        image::userland(&self.build(), names, without)
    }

    /// Returns the root file system in an archive (tar) with this hash, for commands of a guest.
    ///
    /// # Errors
    /// [`Usage`](crate::VmError::Usage) if the archive is missing, has another hash, cannot be
    /// unpacked, or has no shell.
    pub fn rootfs(&self, file: &Path, hash: &str) -> Result<Userland> {
        image::rootfs(&self.build(), file, hash)
    }

    /// Returns a root file system with packages of Debian, its base, and everything that they
    /// depend on, except the packages of `without`, in a folder of this machine.
    ///
    /// # Errors
    /// The errors of [`Builder::userland`].
    pub fn root_folder(&self, names: &[&str], without: &[&str]) -> Result<RootFolder> {
        image::root_folder(&self.build(), names, without)
    }

    /// Returns the root file system in an archive (tar) with this hash, in a folder of this
    /// machine.
    ///
    /// # Errors
    /// The errors of [`Builder::rootfs`].
    pub fn root_of_archive(&self, file: &Path, hash: &str) -> Result<RootFolder> {
        image::root_of_archive(&self.build(), file, hash)
    }

    /// Returns the tools that build kernels. [`Builder::kernel`] and [`Builder::modules`] get them
    /// themselves.
    ///
    /// # Errors
    /// The errors of [`Builder::kernel`].
    pub fn tools(&self) -> Result<Tools> {
        tools::get(&self.build())
    }

    /// Returns the accelerator of guests with this kernel on this machine: the processor if a guest
    /// boots on it. The first call boots a guest to find out.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) without QEMU.
    pub fn accelerator(&self, kernel: &BuiltKernel, image: &Path) -> Result<Accelerator> {
        guest::accelerator(&self.build(), kernel, image)
    }

    /// Returns the folder of the snapshots of guests, for [`GuestSpec::snapshots`]. All snapshots
    /// together take up to 2 GiB.
    ///
    /// [`GuestSpec::snapshots`]: crate::GuestSpec::snapshots
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.cache.root().join("snapshots")
    }
}

/// Checks everything that a guest of this kernel needs. Builds nothing except the probe of
/// /dev/kvm, if its kernel exists.
#[must_use]
pub fn doctor(builder: &Builder<'_>, source: &KernelSource) -> Vec<Requirement> {
    doctor::look(&builder.build(), source)
}
