//! Looks at the machine: what is there, what is missing, what to do about it.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access, geteuid};

use crate::base::Result;
use crate::build::Build;
use crate::guest::{self, Accelerator};
use crate::host::{self, command};
use crate::kernel::{self, Kernel, KernelSource};
use crate::{image, modules, packages};

/// Free space that the first build of a kernel needs, in GiB.
const DISK_GIB: u64 = 4;

/// Memory that a guest and a build beside it need, in GiB.
const MEMORY_GIB: u64 = 2;

/// What to do where a part has yet to be built.
const BUILD_FIRST: &str = "run: explode vm build";

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There.
    Ok,
    /// Not there; the remedy says what to do.
    Missing,
    /// There is a way without it, which takes more time.
    Slow,
    /// Not there yet; explode makes it when it is first needed.
    Later,
    /// Not there; the detail says what needs it.
    NotNeeded,
}

/// What was looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// A short name.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub detail: String,
    /// What to do; empty if there is nothing to do.
    pub remedy: String,
}

impl Check {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into(), remedy: String::new() }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// Looks at everything that a guest of this kernel needs. Builds nothing; boots the probe of
/// /dev/kvm if its kernel and image are there.
pub(crate) fn look(build: &Build<'_>, source: &KernelSource) -> Vec<Check> {
    let kernel = kernel::built(build, source);
    let mut checks = vec![qemu(), host_tools(), lists(), disk(build.cache.root()), memory()];
    checks.extend(cached(build, kernel.as_ref()));
    checks.push(kvm(build, kernel.and_then(Result::ok)));
    checks.extend(here());
    checks
}

fn qemu() -> Check {
    match guest::qemu() {
        Ok(program) => {
            let version =
                command::output(Command::new(program).arg("--version")).unwrap_or_default();
            Check::new(
                "QEMU",
                State::Ok,
                version.lines().next().unwrap_or("there, but tells no version"),
            )
        }
        Err(_) => {
            Check::new("QEMU", State::Missing, "qemu-system-x86_64 is not there; guests run in it")
                .remedy("run as root: apt-get install qemu-system-x86")
        }
    }
}

fn host_tools() -> Check {
    match host::check() {
        Ok(()) => Check::new("build tools", State::Ok, "all there"),
        Err(error) => Check::new("build tools", State::Missing, error.to_string())
            .remedy("run as root: scripts/setup"),
    }
}

fn lists() -> Check {
    if packages::have_lists() {
        Check::new("package lists", State::Ok, "there")
    } else {
        Check::new(
            "package lists",
            State::Missing,
            "apt has none, and kernel and image are built from Debian's packages",
        )
        .remedy("run as root: apt-get update")
    }
}

fn disk(cache: &Path) -> Check {
    // The cache may not be there yet: look at what it will be on.
    let folder = cache.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let missing = |what| {
        Check::new("disk space", State::Missing, format!("{} {what}", folder.display()))
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
        Check::new("disk space", State::Ok, detail)
    } else {
        Check::new("disk space", State::Missing, detail)
            .remedy("free some, or set XDG_CACHE_HOME to another disk")
    }
}

fn memory() -> Check {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free_kib = text.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?.trim().split(' ').next()?.parse().ok()
    });
    match free_kib.map(|kib: u64| kib >> 20) {
        Some(gib) if gib >= MEMORY_GIB => {
            Check::new("memory", State::Ok, format!("{gib} GiB available"))
        }
        Some(gib) => Check::new(
            "memory",
            State::Slow,
            format!("{gib} GiB available; a guest wants {MEMORY_GIB} GiB"),
        )
        .remedy("run fewer jobs at once"),
        None => {
            Check::new("memory", State::Slow, "/proc/meminfo does not say how much is available")
        }
    }
}

fn cached(build: &Build<'_>, kernel: Option<&Result<Kernel>>) -> Vec<Check> {
    let entry = |name, there, time: &str| {
        if there {
            Check::new(name, State::Ok, "in the cache")
        } else {
            Check::new(name, State::Later, format!("not built yet; takes {time}"))
                .remedy(BUILD_FIRST)
        }
    };
    let modules = matches!(kernel, Some(Ok(kernel)) if modules::are_cached(build, kernel));
    let kernel = match kernel {
        Some(Ok(kernel)) => {
            Check::new("kernel", State::Ok, format!("{} is built", kernel.release()))
        }
        Some(Err(error)) => Check::new("kernel", State::Missing, error.to_string()),
        None => entry("kernel", false, "about ten minutes on two processors"),
    };
    vec![
        kernel,
        entry("kernel modules", modules, "some seconds"),
        entry("guest image", image::is_cached(build), "some seconds"),
    ]
}

fn kvm(build: &Build<'_>, kernel: Option<Kernel>) -> Check {
    const EMULATION: &str = "emulation will be used, about ten times slower";
    if !guest::can_open_kvm() {
        return Check::new("KVM", State::Slow, format!("/dev/kvm cannot be opened; {EMULATION}"))
            .remedy("if the machine has it, become a member of its group (kvm)");
    }
    let Some(kernel) = kernel else {
        return Check::new(
            "KVM",
            State::Later,
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
        Ok(Some(Accelerator::Kvm)) => Check::new("KVM", State::Ok, "runs guests"),
        Ok(Some(Accelerator::Emulation)) => Check::new(
            "KVM",
            State::Slow,
            format!("/dev/kvm opens but does not run a guest; {EMULATION}"),
        ),
        Ok(None) => Check::new(
            "KVM",
            State::Later,
            "/dev/kvm opens; whether it runs a guest shows when the image is built",
        )
        .remedy(BUILD_FIRST),
        Err(error) => Check::new("KVM", State::Slow, format!("{error}; {EMULATION}")),
    }
}

fn here() -> Vec<Check> {
    let root = if geteuid().is_root() {
        Check::new("root", State::Ok, "this user is root, as --in here needs")
    } else {
        Check::new(
            "root",
            State::NotNeeded,
            "this user is not root; only --in here and installing packages need it",
        )
    };
    let device = |name, path: &str, module| {
        if File::options().read(true).write(true).open(path).is_ok() {
            Check::new(name, State::Ok, format!("{path} opens"))
        } else {
            Check::new(
                name,
                State::NotNeeded,
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
