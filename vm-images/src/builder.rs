//! What all builds have in common.

use std::path::{Path, PathBuf};

use crate::base::{Progress, Result};
use crate::cache::Cache;
use crate::guest::{self, Accelerator};
use crate::image::Image;
use crate::kernel::{self, Kernel, KernelSource};
use crate::modules::{self, Modules};
use crate::options::BuildOptions;
use crate::{drivers, image, tools};

/// Builds what a guest needs, or takes it from the cache.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    /// Where everything is kept.
    pub cache: &'a Cache,
    /// What is not built by the recipe.
    pub options: &'a BuildOptions,
    /// Told about every step that takes time.
    pub progress: &'a dyn Progress,
}

impl Builder<'_> {
    /// The kernel.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) if packages or programs are missing or a tree is not what it must be,
    /// [`Broken`](crate::VmError::Broken) if the build fails.
    pub fn kernel(&self, source: &KernelSource) -> Result<Kernel> {
        kernel::get(self, source)
    }

    /// Our modules, built for this kernel.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn modules(&self, kernel: &Kernel) -> Result<Modules> {
        modules::get(self, kernel)
    }

    /// A module of the caller's own, built for this kernel: `files` are a Kbuild tree, by name and contents, that makes `<name>.ko`.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn module(&self, kernel: &Kernel, name: &str, files: &[(&str, &[u8])]) -> Result<PathBuf> {
        let entry = modules::build(self, kernel, files, &[(name, "")])?;
        Ok(entry.join(format!("{name}.ko")))
    }

    /// The modules of a driver that is not in the kernel, in the order in which they are loaded: for [`GuestSpec::drivers`].
    /// `kernel/drivers.txt` has their names.
    ///
    /// [`GuestSpec::drivers`]: crate::GuestSpec::drivers
    ///
    /// # Errors
    /// As [`Builder::kernel`], and [`Usage`](crate::VmError::Usage) for an unknown name.
    pub fn driver(&self, kernel: &Kernel, name: &str) -> Result<Vec<PathBuf>> {
        drivers::get(self, kernel, name)
    }

    /// The base image.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn image(&self) -> Result<Image> {
        image::get(self)
    }

    /// The tools that build kernels; [`Builder::kernel`] and [`Builder::modules`] ask for them when they need them.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn tools(&self) -> Result<tools::Tools> {
        tools::get(self)
    }

    /// What runs guests of this kernel on this machine: the processor if a guest really boots on it. Found out once, by booting one.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) without QEMU.
    pub fn accelerator(&self, kernel: &Kernel, image: &Path) -> Result<Accelerator> {
        guest::accelerator(self, kernel, image)
    }
}
