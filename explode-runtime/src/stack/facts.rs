//! The facts of a component that are known before it is mounted.

use std::path::PathBuf;

use crate::faults::FaultMenu;
use crate::faults::background::BackgroundWork;
use crate::faults::kernel::KernelFaults;
use crate::faults::media::MediaFaults;
use crate::verdict::Profile;

/// The facts of a component that follow from its options alone. They are read once per built stack
/// and stay the same while the component is mounted and unmounted. The default describes a
/// component without devices that promises nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The number of devices that the component takes. Only leaves take any.
    pub devices: u32,
    /// The name and version of the system, if its behaviour depends on the version.
    pub version: Option<(&'static str, String)>,
    /// The names and versions of the packages that have the programs of the commands above.
    pub packages: Vec<(String, String)>,
    /// The paths of the programs that the component runs. A guest's image knows the package of
    /// each, and a run reports its version.
    pub programs: Vec<PathBuf>,
    /// The promises of the system and their sources.
    pub promises: Option<Profile>,
    /// True if the promises hold only if the layers below keep theirs. Promises that the profile
    /// below excludes are then excluded here as well ([`Profile::on`]).
    pub promises_as_below: bool,
    /// State that the event log does not show. No crash disk contains changes to it
    /// (fault-model.md, section 8).
    pub unobserved: Option<&'static str>,
    /// True if the number of each buffer is its place on the devices below. If false, dirty data in
    /// the kernel's buffer cache does not count there, and [`unobserved`](Facts::unobserved) must
    /// name it.
    pub buffers_are_places: bool,
    /// True if the file system is not empty after `init`. Checkers must then start from the
    /// existing tree.
    pub starts_populated: bool,
    /// True if the component depends only on its devices and its children. If it depends on
    /// anything else (files, a clock, random numbers without a seed), every check on the stack is
    /// made, because no verdict can be reused.
    pub reads_only_its_disks: bool,
    /// True if shell commands on the component read nothing else that differs between two checks,
    /// and the event log shows all that they write.
    pub confines_commands: bool,
    /// The number of disks that the component can do without. 0 unless it is an array with
    /// redundancy.
    pub can_lose: u32,
    /// The faults that the component's options allow.
    pub faults: FaultMenu,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts {
            devices: 0,
            version: None,
            packages: Vec::new(),
            programs: Vec::new(),
            promises: None,
            promises_as_below: false,
            unobserved: None,
            buffers_are_places: true,
            starts_populated: false,
            reads_only_its_disks: true,
            confines_commands: false,
            can_lose: 0,
            faults: FaultMenu::default(),
        }
    }
}

/// Setters, to be chained.
impl Facts {
    /// Sets the number of devices.
    pub fn devices(self, devices: u32) -> Facts {
        Facts { devices, ..self }
    }

    /// Sets the name and version of the system.
    pub fn version(self, name: &'static str, version: impl Into<String>) -> Facts {
        Facts { version: Some((name, version.into())), ..self }
    }

    /// Sets the packages.
    pub fn packages(self, packages: impl Into<Vec<(String, String)>>) -> Facts {
        Facts { packages: packages.into(), ..self }
    }

    /// Sets the programs.
    pub fn programs(self, programs: impl IntoIterator<Item = PathBuf>) -> Facts {
        Facts { programs: programs.into_iter().collect(), ..self }
    }

    /// Sets the promises. `None` for a component without a profile.
    pub fn promises(self, promises: impl Into<Option<Profile>>) -> Facts {
        Facts { promises: promises.into(), ..self }
    }

    /// Declares that the promises hold only if the layers below keep theirs.
    pub fn promises_as_below(self) -> Facts {
        Facts { promises_as_below: true, ..self }
    }

    /// Names the state that the event log does not show. `None` if it shows everything.
    pub fn unobserved(self, unobserved: impl Into<Option<&'static str>>) -> Facts {
        Facts { unobserved: unobserved.into(), ..self }
    }

    /// Sets whether the numbers of buffers are places on the devices below.
    pub fn buffers_are_places(self, buffers_are_places: bool) -> Facts {
        Facts { buffers_are_places, ..self }
    }

    /// Sets whether the file system has files after `init`.
    pub fn starts_populated(self, starts_populated: bool) -> Facts {
        Facts { starts_populated, ..self }
    }

    /// Sets whether the component depends only on its devices and its children.
    pub fn reads_only_its_disks(self, reads_only_its_disks: bool) -> Facts {
        Facts { reads_only_its_disks, ..self }
    }

    /// Declares that shell commands read and write nothing else.
    pub fn confines_commands(self) -> Facts {
        Facts { confines_commands: true, ..self }
    }

    /// Sets the number of disks that the component can do without.
    pub fn can_lose(self, can_lose: u32) -> Facts {
        Facts { can_lose, ..self }
    }

    /// Sets the faults of the component's devices that may happen before a mutate.
    pub fn media(mut self, media: MediaFaults) -> Facts {
        self.faults.media = media;
        self
    }

    /// Sets the functions of the kernel that may fail in a mutate.
    pub fn kernel_failures(mut self, failures: KernelFaults) -> Facts {
        self.faults.kernel = failures;
        self
    }

    /// Sets the background work that the kernel may do between two calls.
    pub fn background(mut self, background: BackgroundWork) -> Facts {
        self.faults.background = background;
        self
    }
}
