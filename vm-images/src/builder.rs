//! Builds the parts of a guest, each by one method.

use std::path::{Path, PathBuf};

use crate::base::{BuildProgress, Result};
use crate::build::{Build, BuildOptions};
use crate::cache::Cache;
use crate::doctor::{self, Requirement};
use crate::guest::{self, Accelerator};
use crate::image::{self, GuestImage};
use crate::kernel::{self, BuiltKernel, KernelSource};
use crate::modules::{self, Modules, drivers};
use crate::tools::{self, Tools};

/// Builds what a guest needs, or takes it from the cache.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    /// Where everything is kept.
    pub cache: &'a Cache,
    /// What is not built by the recipe.
    pub options: &'a BuildOptions,
    /// Told about every step that takes time.
    pub progress: &'a dyn BuildProgress,
}

impl Builder<'_> {
    /// Returns what each part needs.
    fn build(&self) -> Build<'_> {
        Build { cache: self.cache, options: self.options, progress: self.progress }
    }

    /// The kernel.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) if packages or programs are missing or a tree is not
    /// what it must be, [`Broken`](crate::VmError::Broken) if the build fails.
    pub fn kernel(&self, source: &KernelSource) -> Result<BuiltKernel> {
        kernel::get(&self.build(), source)
    }

    /// Our modules, built for this kernel.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn modules(&self, kernel: &BuiltKernel) -> Result<Modules> {
        modules::get(&self.build(), kernel)
    }

    /// A module of the caller's own, built for this kernel: `files` are a Kbuild tree, by name and
    /// contents, that makes `<name>.ko`.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn module(
        &self,
        kernel: &BuiltKernel,
        name: &str,
        files: &[(&str, &[u8])],
    ) -> Result<PathBuf> {
        let entry = modules::build_modules(&self.build(), kernel, files, &[(name, "")])?;
        Ok(entry.join(format!("{name}.ko")))
    }

    /// The modules of a driver that is not in the kernel, in the order in which they are loaded:
    /// for [`GuestSpec::drivers`]. `kernel/drivers.txt` has their names.
    ///
    /// [`GuestSpec::drivers`]: crate::GuestSpec::drivers
    ///
    /// # Errors
    /// As [`Builder::kernel`], and [`Usage`](crate::VmError::Usage) for an unknown name.
    pub fn driver(&self, kernel: &BuiltKernel, name: &str) -> Result<Vec<PathBuf>> {
        drivers::get(&self.build(), kernel, name)
    }

    /// The base image.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn image(&self) -> Result<GuestImage> {
        image::get(&self.build())
    }

    /// The tools that build kernels; [`Builder::kernel`] and [`Builder::modules`] ask for them when
    /// they need them.
    ///
    /// # Errors
    /// As [`Builder::kernel`].
    pub fn tools(&self) -> Result<Tools> {
        tools::get(&self.build())
    }

    /// What runs guests of this kernel on this machine: the processor if a guest really boots on
    /// it. Found out once, by booting one.
    ///
    /// # Errors
    /// [`Missing`](crate::VmError::Missing) without QEMU.
    pub fn accelerator(&self, kernel: &BuiltKernel, image: &Path) -> Result<Accelerator> {
        guest::accelerator(&self.build(), kernel, image)
    }
}

/// Looks at everything that a guest of this kernel needs; nothing is built but the probe of
/// /dev/kvm, if the kernel for it is there.
#[must_use]
pub fn doctor(builder: &Builder<'_>, source: &KernelSource) -> Vec<Requirement> {
    doctor::look(&builder.build(), source)
}
