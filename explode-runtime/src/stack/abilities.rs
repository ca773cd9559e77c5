//! The optional abilities of a component.

use std::io;
use std::path::{Path, PathBuf};

use super::as_shell::ShellLayer;
use crate::base::StepError;
use crate::faults::media::{MediaSite, MediaView};

/// The abilities of a component in its present state, mounted or not. They are requested anew for
/// each use. The default has none.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Abilities<'a> {
    /// The path of the component's surface for shell commands, while it is mounted. `None` means
    /// the path of the first child.
    pub path: Option<PathBuf>,
    /// True if the component holds resources outside this process and the kernel's disks that only
    /// unmount releases.
    pub must_unmount: bool,
    /// Writes out what the component holds in memory.
    pub write_out: Option<&'a dyn WriteOut>,
    /// Describes the contents of the component's devices.
    pub inspect: Option<&'a dyn Inspect>,
    /// Makes the check that benchmarks compare with.
    pub baseline: Option<&'a dyn Baseline>,
    /// Describes the component for scripts.
    pub as_shell: Option<&'a dyn AsShell>,
}

/// Setters, to be chained.
impl<'a> Abilities<'a> {
    /// Sets the path of the component's surface for shell commands.
    pub fn path(self, path: impl Into<Option<PathBuf>>) -> Abilities<'a> {
        Abilities { path: path.into(), ..self }
    }

    /// Sets whether the component must be unmounted before it is dropped.
    pub fn must_unmount(self, must_unmount: bool) -> Abilities<'a> {
        Abilities { must_unmount, ..self }
    }

    /// Sets the writer of what the component holds in memory.
    pub fn write_out(self, write_out: &'a dyn WriteOut) -> Abilities<'a> {
        Abilities { write_out: Some(write_out), ..self }
    }

    /// Sets the describer of the component's devices.
    pub fn inspect(self, inspect: &'a dyn Inspect) -> Abilities<'a> {
        Abilities { inspect: Some(inspect), ..self }
    }

    /// Sets the check that benchmarks compare with.
    pub fn baseline(self, baseline: &'a dyn Baseline) -> Abilities<'a> {
        Abilities { baseline: Some(baseline), ..self }
    }

    /// Sets the description of the component for scripts.
    pub fn as_shell(self, as_shell: &'a dyn AsShell) -> Abilities<'a> {
        Abilities { as_shell: Some(as_shell), ..self }
    }
}

/// A component that holds data in memory that a soft crash must not lose.
pub trait WriteOut {
    /// Writes the data that the component holds to its devices, unchanged. The soft crash that
    /// follows loses nothing.
    ///
    /// # Errors
    /// The component cannot write.
    fn write_out(&self) -> Result<(), StepError>;
}

/// A component that can interpret the contents of its devices.
pub trait Inspect {
    /// Describes the contents of a sector while the component is mounted. The component's first
    /// device has the number 0. If the component of a device returns `None`, the layers directly
    /// above it are tried.
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        let _ = (device, sector);
        None
    }

    /// Returns the blocks that hold the component's contents and may go bad. The order is the same
    /// in every run.
    fn media_sites(&self, medium: &MediaView<'_>) -> Vec<MediaSite> {
        let _ = medium;
        Vec::new()
    }
}

/// Checks one crash disk without explode, on the block device at the given node: repair, mount,
/// read everything, unmount. It runs on a separate thread, where it may disable sync(2).
pub type BaselineCheck = Box<dyn FnMut(&Path) -> io::Result<()> + Send>;

/// A component that can be checked without explode, for benchmarks.
pub trait Baseline {
    /// Returns the check.
    fn baseline(&self) -> BaselineCheck;
}

/// A component that shell commands can replace.
pub trait AsShell {
    /// Describes the layer for shell commands.
    fn as_shell(&self) -> ShellLayer;
}
