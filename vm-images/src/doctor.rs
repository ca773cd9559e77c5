//! Checks the machine and reports what is there, what is missing, and what to do about it.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access, geteuid};

use crate::base::Result;
use crate::build::Build;
use crate::guest::{self, Accelerator};
use crate::host::{self, command};
use crate::kernel::{self, BuiltKernel, KernelSource};
use crate::{image, modules, packages};

/// The free space that the first build of a kernel needs, in GiB.
const DISK_GIB: u64 = 4;

/// The memory that a guest and a build beside it need, in GiB.
const MEMORY_GIB: u64 = 2;

/// The remedy if a part has yet to be built.
const BUILD_FIRST: &str = "run: explode vm build";

/// The state of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequirementState {
    /// The requirement is met.
    Ok,
    /// The requirement is missing. The remedy says what to do.
    Missing,
    /// The requirement is missing, but explode can work without it, more slowly.
    Slow,
    /// The requirement is not met yet. explode builds it when it is first needed.
    Later,
    /// The requirement is missing. The detail says what would need it.
    NotNeeded,
}

/// One requirement that was checked.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// A short name.
    pub name: &'static str,
    /// The state.
    pub state: RequirementState,
    /// The result of the check.
    pub detail: String,
    /// The remedy. Empty if there is nothing to do.
    pub remedy: String,
}

impl Requirement {
    fn new(name: &'static str, state: RequirementState, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into(), remedy: String::new() }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// Checks everything that a guest of this kernel needs. Builds nothing. Boots the probe of /dev/kvm
/// if its kernel and image exist.
pub(crate) fn look(build: &Build<'_>, source: &KernelSource) -> Vec<Requirement> {
    let kernel = kernel::built(build, source);
    let mut checks = vec![qemu(), host_tools(), lists(), disk(build.cache.root()), memory()];
    checks.extend(cached(build, kernel.as_ref()));
    checks.push(kvm(build, kernel.and_then(Result::ok)));
    checks.extend(this_machine());
    checks
}

fn qemu() -> Requirement {
    match guest::qemu() {
        Ok(program) => {
            let version =
                command::output(Command::new(program).arg("--version")).unwrap_or_default();
            Requirement::new(
                "QEMU",
                RequirementState::Ok,
                version.lines().next().unwrap_or("found, but it reports no version"),
            )
        }
        Err(_) => Requirement::new(
            "QEMU",
            RequirementState::Missing,
            "qemu-system-x86_64 is not there; guests run in it",
        )
        .remedy("run as root: apt-get install qemu-system-x86"),
    }
}

fn host_tools() -> Requirement {
    match host::check() {
        Ok(()) => Requirement::new("build tools", RequirementState::Ok, "all there"),
        Err(error) => Requirement::new("build tools", RequirementState::Missing, error.to_string())
            .remedy("run as root: scripts/setup"),
    }
}

fn lists() -> Requirement {
    if packages::have_lists() {
        Requirement::new("package lists", RequirementState::Ok, "there")
    } else {
        Requirement::new(
            "package lists",
            RequirementState::Missing,
            "apt has no packages, and kernel and image are built from Debian's",
        )
        .remedy("run as root: apt-get update")
    }
}

fn disk(cache: &Path) -> Requirement {
    // The cache may not exist yet, so the nearest existing folder above it is checked.
    let folder = cache.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let missing = |text| {
        Requirement::new(
            "disk space",
            RequirementState::Missing,
            format!("{} {text}", folder.display()),
        )
        .remedy("set XDG_CACHE_HOME to another folder")
    };
    if !folder.is_dir() || access(folder, AccessFlags::W_OK).is_err() {
        return missing("cannot be written, and the cache is there");
    }
    let Ok(disk) = statvfs(folder) else { return missing("cannot be looked at") };
    #[allow(clippy::useless_conversion, reason = "the width differs between targets")]
    let free = (u64::from(disk.blocks_available()) * u64::from(disk.fragment_size())) >> 30;
    let detail =
        format!("{free} GiB free for {}; a kernel build needs {DISK_GIB} GiB", cache.display());
    if free >= DISK_GIB {
        Requirement::new("disk space", RequirementState::Ok, detail)
    } else {
        Requirement::new("disk space", RequirementState::Missing, detail)
            .remedy("free some, or set XDG_CACHE_HOME to another disk")
    }
}

fn memory() -> Requirement {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free_kib = text.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?.trim().split(' ').next()?.parse().ok()
    });
    match free_kib.map(|kib: u64| kib >> 20) {
        Some(gib) if gib >= MEMORY_GIB => {
            Requirement::new("memory", RequirementState::Ok, format!("{gib} GiB available"))
        }
        Some(gib) => Requirement::new(
            "memory",
            RequirementState::Slow,
            format!("{gib} GiB available; a guest needs {MEMORY_GIB} GiB"),
        )
        .remedy("run fewer jobs at once"),
        None => Requirement::new(
            "memory",
            RequirementState::Slow,
            "/proc/meminfo does not say how much is available",
        ),
    }
}

fn cached(build: &Build<'_>, kernel: Option<&Result<BuiltKernel>>) -> Vec<Requirement> {
    let entry = |name, is_cached, time: &str| {
        if is_cached {
            Requirement::new(name, RequirementState::Ok, "in the cache")
        } else {
            Requirement::new(name, RequirementState::Later, format!("not built yet; takes {time}"))
                .remedy(BUILD_FIRST)
        }
    };
    let modules = matches!(kernel, Some(Ok(kernel)) if modules::are_cached(build, kernel));
    let kernel = match kernel {
        Some(Ok(kernel)) => Requirement::new(
            "kernel",
            RequirementState::Ok,
            format!("{} is built", kernel.release()),
        ),
        Some(Err(error)) => {
            Requirement::new("kernel", RequirementState::Missing, error.to_string())
        }
        None => entry("kernel", false, "about ten minutes on two processors"),
    };
    vec![
        kernel,
        entry("kernel modules", modules, "some seconds"),
        entry("guest image", image::is_cached(build), "some seconds"),
    ]
}

fn kvm(build: &Build<'_>, kernel: Option<BuiltKernel>) -> Requirement {
    const EMULATION: &str = "emulation will be used, about ten times slower";
    if !guest::can_open_kvm() {
        return Requirement::new(
            "KVM",
            RequirementState::Slow,
            format!("/dev/kvm cannot be opened; {EMULATION}"),
        )
        .remedy("if the machine has it, become a member of its group (kvm)");
    }
    let Some(kernel) = kernel else {
        return Requirement::new(
            "KVM",
            RequirementState::Later,
            "/dev/kvm opens; whether it runs a guest shows when the kernel is built",
        )
        .remedy(BUILD_FIRST);
    };
    let known = guest::accelerator_remembered(build, &kernel).map_or_else(
        || {
            if image::is_cached(build) {
                guest::accelerator(build, &kernel, &image::get(build)?.file).map(Some)
            } else {
                Ok(None)
            }
        },
        |known| Ok(Some(known)),
    );
    match known {
        Ok(Some(Accelerator::Kvm)) => Requirement::new("KVM", RequirementState::Ok, "runs guests"),
        Ok(Some(Accelerator::Emulation)) => Requirement::new(
            "KVM",
            RequirementState::Slow,
            format!("/dev/kvm opens but does not run a guest; {EMULATION}"),
        ),
        Ok(None) => Requirement::new(
            "KVM",
            RequirementState::Later,
            "/dev/kvm opens; whether it runs a guest shows when the image is built",
        )
        .remedy(BUILD_FIRST),
        Err(error) => {
            Requirement::new("KVM", RequirementState::Slow, format!("{error}; {EMULATION}"))
        }
    }
}

fn this_machine() -> Vec<Requirement> {
    let root = if geteuid().is_root() {
        Requirement::new("root", RequirementState::Ok, "this user is root, as --in here needs")
    } else {
        Requirement::new(
            "root",
            RequirementState::NotNeeded,
            "this user is not root; only --in here and installing packages need it",
        )
    };
    let device = |name, path: &str, module| {
        if File::options().read(true).write(true).open(path).is_ok() {
            Requirement::new(name, RequirementState::Ok, format!("{path} opens"))
        } else {
            Requirement::new(
                name,
                RequirementState::NotNeeded,
                format!("{path} does not open; only --in here needs the module {module}"),
            )
        }
    };
    vec![
        root,
        device("EKM here", "/dev/ekm", "ekm.ko"),
        device("rdd here", "/dev/rdd-control", "rdd.ko"),
    ]
}
