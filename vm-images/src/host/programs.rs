//! The programs and headers of this machine that builds need.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command;
use crate::base::{Result, VmError};

/// A required program or header, and the package that contains it.
struct Need {
    what: &'static str,
    package: &'static str,
}

const PROGRAMS: &[Need] = &[
    Need { what: "apt-get", package: "apt" },
    Need { what: "bc", package: "bc" },
    Need { what: "bison", package: "bison" },
    Need { what: "dpkg-deb", package: "dpkg" },
    Need { what: "flex", package: "flex" },
    Need { what: "gcc", package: "gcc" },
    Need { what: "ld", package: "binutils" },
    Need { what: "make", package: "make" },
    Need { what: "perl", package: "perl" },
    Need { what: "tar", package: "tar" },
    Need { what: "xz", package: "xz-utils" },
];

const HEADERS: &[Need] = &[
    Need { what: "gelf.h", package: "libelf-dev" },
    Need { what: "stdio.h", package: "libc6-dev" },
];

/// Returns the programs and headers that are missing, and the packages to install for them.
pub(crate) fn missing() -> (Vec<&'static str>, Vec<&'static str>) {
    let programs = PROGRAMS.iter().filter(|need| find_program(need.what).is_none());
    let headers = HEADERS.iter().filter(|need| {
        !["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"]
            .iter()
            .any(|folder| Path::new(folder).join(need.what).is_file())
    });
    programs.chain(headers).map(|need| (need.what, need.package)).unzip()
}

/// Checks that all required programs and headers exist.
pub(crate) fn check() -> Result<()> {
    let (what, packages) = missing();
    if find_program("cargo").is_none() {
        return Err(VmError::missing("cargo is not there", "install Rust (https://rustup.rs)"));
    }
    if what.is_empty() {
        return Ok(());
    }
    Err(VmError::missing(
        format!("building the kernel needs {}", what.join(", ")),
        format!("run as root: apt-get install {}", packages.join(" ")),
    ))
}

/// Returns the first line of the C compiler's version. A module must be built by the compiler of
/// its kernel.
pub(crate) fn compiler() -> String {
    let version = command::output(Command::new("gcc").arg("--version")).unwrap_or_default();
    version.lines().next().unwrap_or("none").to_owned()
}

/// Finds a program on the PATH.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
