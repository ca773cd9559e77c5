//! The tools that build the kernel and its modules: a Rust compiler with the source of `core`,
//! libclang, bindgen.
//!
//! They come from packages that are unpacked below the cache (`kernel/tools.txt`). Small scripts
//! run them with the path of their libraries. So nothing is installed, and of the machine's own
//! compilers only gcc is used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use itertools::Itertools as _;

use crate::base::{CacheKey, ErrorContext, Result};
use crate::build::Build;
use crate::cache::Building;
use crate::host;
use crate::packages::recipes::tools::lines;
use crate::packages::{self, Package};

/// The version of the recipe, which must be raised when the way of assembling the tools changes.
const RECIPE: u32 = 1;

/// The approximate number of lines that cargo prints for bindgen.
const BINDGEN_LINES: u64 = 110;

/// The script that runs an unpacked program with the libraries it was unpacked with.
const WRAPPER: &str = r#"#!/bin/sh
tools=${0%/bin/*}
export LD_LIBRARY_PATH="$tools/usr/lib/x86_64-linux-gnu:$tools/lib/x86_64-linux-gnu"
"#;

/// The environment variables that change what make, the kernel's makefiles and the compilers build.
/// They are not part of any key, so they are removed. A user's variables belong to the user's
/// builds, and others were left by cargo or an outer make.
const FOREIGN: &[&str] = &[
    "AFLAGS_KERNEL",
    "AFLAGS_MODULE",
    "ARCH",
    "C",
    "CF",
    "CFLAGS_KERNEL",
    "CFLAGS_MODULE",
    "CPATH",
    "CROSS_COMPILE",
    "C_INCLUDE_PATH",
    "GNUMAKEFLAGS",
    "HOSTCFLAGS",
    "HOSTLDFLAGS",
    "HOSTLDLIBS",
    "HOSTRUSTFLAGS",
    "KAFLAGS",
    "KBUILD_BUILD_VERSION",
    "KBUILD_EXTMOD",
    "KBUILD_EXTRA_SYMBOLS",
    "KBUILD_MODPOST_WARN",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "KCONFIG_ALLCONFIG",
    "KCONFIG_CONFIG",
    "KCPPFLAGS",
    "KRUSTFLAGS",
    "LDFLAGS_MODULE",
    "LLVM",
    "LLVM_IAS",
    "LOCALVERSION",
    "M",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "O",
    "RUSTFLAGS",
    "RUSTFLAGS_KERNEL",
    "RUSTFLAGS_MODULE",
    "SUBARCH",
    "V",
    "W",
];

/// Tools that are ready for use.
#[derive(Clone, Debug)]
pub struct Tools {
    root: PathBuf,
}

impl Tools {
    /// Returns `make` for the kernel, with these tools. Its output does not depend on time, user or
    /// machine.
    pub(crate) fn make(&self) -> Command {
        let mut make = Command::new("make");
        make.arg(format!("RUSTC={}", self.rustc().display()))
            .arg(format!("HOSTRUSTC={}", self.rustc().display()))
            .arg(format!("BINDGEN={}", self.root.join("bin/bindgen").display()))
            .env("LIBCLANG_PATH", self.root.join("usr/lib/x86_64-linux-gnu"))
            .args(["KBUILD_BUILD_USER=explode", "KBUILD_BUILD_HOST=explode"])
            .arg("KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 2026")
            .env("LC_ALL", "C");
        for variable in FOREIGN {
            make.env_remove(variable);
        }
        make
    }

    /// Returns the path of the Rust compiler, with which the user's kernel must also be built.
    #[must_use]
    pub fn rustc(&self) -> PathBuf {
        self.root.join("bin/rustc")
    }
}

/// Returns the package of the kernel's source.
pub(crate) fn source_package(build: &Build<'_>) -> Package {
    pinned(build, "source").remove(0)
}

/// Returns the inputs of the tools, for the keys of what they build.
pub(crate) fn key(build: &Build<'_>) -> CacheKey {
    let mut key = CacheKey::new(RECIPE);
    for Package { name, version } in pinned(build, "rust").into_iter().chain(pinned(build, "cargo"))
    {
        key = key.with(&name, version);
    }
    // Any version that the archive offers works, but a version that the caller selected must be
    // used.
    for (name, recipe) in lines("libraries") {
        let version = build.options.version(&name, &recipe);
        if version != recipe {
            key = key.with(&name, version);
        }
    }
    key
}

/// Returns the tools, and builds them if necessary.
pub(crate) fn get(build: &Build<'_>) -> Result<Tools> {
    let root = build.cache.entry("tools", &key(build), build.progress, |building| {
        host::check()?;
        let mut wanted = pinned(build, "rust");
        let libraries = lines("libraries");
        let names: Vec<_> = libraries.iter().map(|(name, _)| name.as_str()).collect();
        let mut libraries = packages::candidates(build.cache, &names)?;
        build.options.apply(&mut libraries);
        wanted.append(&mut libraries);
        packages::unpack(building, &wanted, &building.dir)?;
        prune(&building.dir)?;
        wrapper(&building.dir, "rustc", "exec \"$tools/usr/bin/rustc\" \"$@\"\n")?;
        wrapper(&building.dir, "bindgen", "exec \"$tools/cargo/bin/bindgen\" \"$@\"\n")?;
        let bindgen = pinned(build, "cargo").remove(0);
        build_bindgen(building, &bindgen)
    })?;
    Ok(Tools { root })
}

/// Returns the packages of a section, in the version that the caller selected or else in that of
/// the recipe.
fn pinned(build: &Build<'_>, section: &str) -> Vec<Package> {
    let lines = lines(section);
    let version_of = |name: &str| {
        let (_, recipe) =
            lines.iter().find(|(known, _)| known == name).expect("tools.txt names it");
        build.options.version(name, recipe).to_owned()
    };
    lines
        .iter()
        .map(|(name, version)| {
            let version = match version.strip_prefix("= ") {
                Some(other) => build.options.version(name, &version_of(other)).to_owned(),
                None => version_of(name),
            };
            let name = if name.contains("{rust}") {
                let rust = version.splitn(3, '.').take(2).join(".");
                name.replace("{rust}", &rust)
            } else {
                name.clone()
            };
            Package { name, version }
        })
        .collect()
}

/// Removes large parts that are never used: the compiler's own source, documentation, rustdoc.
fn prune(root: &Path) -> Result<()> {
    for folder in ["usr/share", "usr/bin/rustdoc"] {
        remove(&root.join(folder))?;
    }
    let sources = root.join("usr/src");
    for source in fs::read_dir(&sources).at("list", &sources)? {
        let source = source.at("list", &sources)?.path();
        for part in fs::read_dir(&source).at("list", &source)? {
            let part = part.at("list", &source)?.path();
            if !part.ends_with("library") {
                remove(&part)?;
            }
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).at("remove", path)
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).at("remove", path)
    } else {
        Ok(())
    }
}

fn wrapper(root: &Path, name: &str, exec: &str) -> Result<()> {
    let folder = root.join("bin");
    // Debian 12's packages know /bin only as a link to /usr/bin, and none of these packages
    // contains the link.
    fs::create_dir_all(&folder).at("make the folder", &folder)?;
    let path = folder.join(name);
    fs::write(&path, format!("{WRAPPER}{exec}")).at("write", &path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).at("change the mode of", &path)
}

fn build_bindgen(building: &Building<'_>, bindgen: &Package) -> Result<()> {
    building
        .progress
        .step(&format!("building {} {} (about two minutes)", bindgen.name, bindgen.version));
    let target = building.dir.join("target");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["install", "--locked", "--version", &bindgen.version, &bindgen.name, "--root"])
        .arg(building.dir.join("cargo"))
        .current_dir(&building.dir)
        .env("CARGO_TARGET_DIR", &target);
    // bindgen runs a few times in a build, so optimising it costs more time than it saves.
    cargo
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env_remove("RUSTFLAGS")
        .env_remove("MAKEFLAGS");
    building.run_lines(&mut cargo, BINDGEN_LINES)?;
    remove(&target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, Cache, Silent};

    #[test]
    fn a_library_with_a_requested_version_is_part_of_the_key() {
        let cache = Cache::at("/nonexistent");
        let inputs = |packages: &str| {
            let options = BuildOptions::default().with_packages(packages).unwrap();
            key(&Build { cache: &cache, options: &options, progress: &Silent }).inputs().to_owned()
        };
        assert!(!inputs("").contains("libxml2"));
        assert_eq!(inputs("libxml2=9"), format!("{}libxml2: 9\n", inputs("")));
    }

    #[test]
    fn variables_of_other_builds_do_not_reach_make() {
        let make = Tools { root: PathBuf::from("/tools") }.make();
        for variable in ["KCFLAGS", "LLVM", "LOCALVERSION", "KCONFIG_CONFIG", "MAKEFLAGS"] {
            assert!(
                make.get_envs().any(|(name, value)| name == variable && value.is_none()),
                "{variable}"
            );
        }
    }

    #[test]
    fn the_recipe_names_every_package_in_one_version() {
        let cache = Cache::at("/nonexistent");
        let options = BuildOptions::default().with_packages("rustc-web=1.96.0+dfsg1").unwrap();
        let build = Build { cache: &cache, options: &options, progress: &Silent };
        let rust = pinned(&build, "rust");
        assert!(rust.contains(&Package {
            name: "libstd-rust-web-1.96".into(),
            version: "1.96.0+dfsg1".into()
        }));
        assert!(
            rust.contains(&Package { name: "rust-web-src".into(), version: "1.96.0+dfsg1".into() })
        );
        assert_eq!(source_package(&build).name, "linux-source-6.12");
        assert_eq!(pinned(&build, "cargo")[0].name, "bindgen-cli");
        assert!(lines("libraries").iter().all(|(_, version)| version == "*"));
    }
}
