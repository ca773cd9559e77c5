//! What only some components can do.

use std::io;
use std::path::{Path, PathBuf};

use super::as_shell::ShellLayer;
use crate::base::StepError;
use crate::faults::media::{MediaBlock, MediaView};

/// What a component can do as it is now, mounted or not. It is asked for each time, and by default
/// there is nothing.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Abilities<'a> {
    /// Where a shell command finds what the component offers, while it is mounted. `None` if that
    /// is where its first child is.
    pub path: Option<PathBuf>,
    /// True if the component holds something outside of this process and of the kernel's disks that
    /// only unmount gives up.
    pub must_unmount: bool,
    /// Writes out what the component holds in memory.
    pub write_out: Option<&'a dyn Settle>,
    /// Describes the contents of the component's devices.
    pub inspect: Option<&'a dyn Inspect>,
    /// Makes the check that benchmarks compare with.
    pub baseline: Option<&'a dyn Baseline>,
    /// Describes the component for scripts.
    pub as_shell: Option<&'a dyn AsShell>,
}

/// Setters, to be chained.
impl<'a> Abilities<'a> {
    /// Sets where a shell command finds what the component offers.
    pub fn path(self, path: impl Into<Option<PathBuf>>) -> Abilities<'a> {
        Abilities { path: path.into(), ..self }
    }

    /// Sets whether the component must be unmounted before it is dropped.
    pub fn must_unmount(self, must_unmount: bool) -> Abilities<'a> {
        Abilities { must_unmount, ..self }
    }

    /// The component writes out what it holds.
    pub fn settle(self, settle: &'a dyn Settle) -> Abilities<'a> {
        Abilities { write_out: Some(settle), ..self }
    }

    /// The component describes its devices.
    pub fn inspect(self, inspect: &'a dyn Inspect) -> Abilities<'a> {
        Abilities { inspect: Some(inspect), ..self }
    }

    /// The component has a check to compare with.
    pub fn baseline(self, baseline: &'a dyn Baseline) -> Abilities<'a> {
        Abilities { baseline: Some(baseline), ..self }
    }

    /// A shell can do what the component does.
    pub fn as_shell(self, as_shell: &'a dyn AsShell) -> Abilities<'a> {
        Abilities { as_shell: Some(as_shell), ..self }
    }
}

/// A component that keeps in memory what a soft crash must not lose.
pub trait Settle {
    /// Writes what the component holds to its devices, unchanged. A soft crash follows, which loses
    /// nothing.
    ///
    /// # Errors
    /// The component cannot write.
    fn settle(&self) -> Result<(), StepError>;
}

/// A component that knows what its devices contain.
pub trait Inspect {
    /// Describes the contents of a sector while the component is mounted. The first of its devices
    /// is 0. If the component of a device returns `None`, the layers directly above it are asked.
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        let _ = (device, sector);
        None
    }

    /// The blocks that hold the component's contents and may go bad, in an order that is the same
    /// in every run.
    fn media_sites(&self, medium: &MediaView<'_>) -> Vec<MediaBlock> {
        let _ = medium;
        Vec::new()
    }
}

/// Checks one crash disk as a plain loop would: repair, mount, read everything, unmount, on the
/// block device at this node. It is called on a thread of its own, whose sync(2) it may switch off.
pub type BaselineCheck = Box<dyn FnMut(&Path) -> io::Result<()> + Send>;

/// A component whose check can be made without explode, for benchmarks.
pub trait Baseline {
    /// Returns the check.
    fn baseline(&self) -> BaselineCheck;
}

/// A component that a shell can stand in for.
pub trait AsShell {
    /// Describes what a shell does in its place.
    fn as_shell(&self) -> ShellLayer;
}
