//! The programs and headers of this machine that builds need.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command;
use crate::base::{Result, VmError};

/// A required program or header, and the package that contains it.
struct Need {
    name: &'static str,
    package: &'static str,
}

const PROGRAMS: &[Need] = &[
    Need { name: "apt-get", package: "apt" },
    Need { name: "bc", package: "bc" },
    Need { name: "bison", package: "bison" },
    Need { name: "dpkg-deb", package: "dpkg" },
    Need { name: "flex", package: "flex" },
    Need { name: "gcc", package: "gcc" },
    Need { name: "ld", package: "binutils" },
    Need { name: "make", package: "make" },
    Need { name: "perl", package: "perl" },
    Need { name: "tar", package: "tar" },
    Need { name: "xz", package: "xz-utils" },
];

const HEADERS: &[Need] = &[
    Need { name: "gelf.h", package: "libelf-dev" },
    Need { name: "stdio.h", package: "libc6-dev" },
];

/// Returns the programs and headers that are missing, and the packages to install for them.
pub(crate) fn missing() -> (Vec<&'static str>, Vec<&'static str>) {
    let programs = PROGRAMS.iter().filter(|need| find_program(need.name).is_none());
    let headers = HEADERS.iter().filter(|need| {
        !["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"]
            .iter()
            .any(|folder| Path::new(folder).join(need.name).is_file())
    });
    programs.chain(headers).map(|need| (need.name, need.package)).unzip()
}

/// Checks that all required programs and headers exist.
pub(crate) fn check() -> Result<()> {
    let (names, packages) = missing();
    if find_program("cargo").is_none() {
        return Err(VmError::missing("cargo is not there", "install Rust (https://rustup.rs)"));
    }
    if names.is_empty() {
        return Ok(());
    }
    Err(VmError::missing(
        format!("building the kernel needs {}", names.join(", ")),
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
