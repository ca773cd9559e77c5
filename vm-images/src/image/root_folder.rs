//! A root file system in a folder of this machine, for programs that run in process: packages with
//! the base of Debian, or the archive of a user. Packages are unpacked and not installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rootfs;
use super::userland::OMITTED;
use crate::base::{CacheKey, ErrorContext, Result};
use crate::build::Build;
use crate::cache::Building;
use crate::packages::recipes::image::RecipeLine;
use crate::packages::recipes::userland;
use crate::packages::{self, Package};

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;
/// The name of the folder in its entry.
const FOLDER: &str = "root";

/// The packages that every root has. A shell script can rely on them.
const BASE: [&str; 18] = [
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "debianutils",
    "diffutils",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "libc-bin",
    "mawk",
    "ncurses-base",
    "procps",
    "sed",
    "tar",
    "util-linux",
];

/// The folders that are links to folders of /usr in Debian, and that its packages still name.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Files that an installation would copy.
const COPIED: [(&str, &str); 3] = [
    ("usr/share/base-passwd/passwd.master", "etc/passwd"),
    ("usr/share/base-passwd/group.master", "etc/group"),
    ("usr/share/libc-bin/nsswitch.conf", "etc/nsswitch.conf"),
];

/// A root file system in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootFolder {
    /// The folder.
    pub folder: PathBuf,
    /// The names and versions of the packages. Empty for an archive.
    pub packages: Vec<(String, String)>,
}

/// Returns a root with these packages and everything that they depend on, except those of
/// `without`.
pub(crate) fn get(build: &Build<'_>, names: &[&str], without: &[&str]) -> Result<RootFolder> {
    let packages = packages::closure(build.cache, &BASE, names, without)?;
    let mut key = CacheKey::new(RECIPE).with_bytes("recipe", userland::TEXT.as_bytes());
    for Package { name, version } in &packages {
        key = key.with(name, version);
    }
    let entry =
        build.cache.entry("root", &key, build.progress, |building| make(building, &packages))?;
    let packages = packages.into_iter().map(|Package { name, version }| (name, version)).collect();
    Ok(RootFolder { folder: entry.join(FOLDER), packages })
}

/// Returns the root in an archive with this hash.
pub(crate) fn of_archive(build: &Build<'_>, file: &Path, hash: &str) -> Result<RootFolder> {
    rootfs::check(file, hash)?;
    let key = CacheKey::new(RECIPE).with("archive", hash);
    let entry = build.cache.entry("root", &key, build.progress, |building| {
        rootfs::unpack(building, file, &building.dir.join(FOLDER))
    })?;
    Ok(RootFolder { folder: entry.join(FOLDER), packages: Vec::new() })
}

fn make(building: &Building<'_>, packages: &[Package]) -> Result<()> {
    let root = building.dir.join(FOLDER);
    packages::unpack(building, packages, &root)?;
    for omitted in OMITTED {
        let folder = root.join(omitted);
        if folder.is_dir() {
            fs::remove_dir_all(&folder).at("remove", &folder)?;
        }
    }
    for name in MERGED {
        merge(building, &root, name)?;
    }
    for line in packages.iter().flat_map(|package| userland::lines_of(&package.name)) {
        let at = |path: &str| root.join(path.trim_start_matches('/'));
        match line {
            RecipeLine::Link { path, target } => {
                symlink(target, at(path)).at("make the link", &at(path))?;
            }
            RecipeLine::Folder(path) => {
                fs::create_dir_all(at(path)).at("make the folder", &at(path))?;
            }
            RecipeLine::Text { path, text } => {
                fs::write(at(path), format!("{text}\n")).at("write", &at(path))?;
            }
            other => unreachable!("{other:?} is no line for a package"),
        }
    }
    for (from, to) in COPIED {
        let (from, to) = (root.join(from), root.join(to));
        fs::copy(&from, &to).at("copy", &from)?;
    }
    Ok(())
}

/// Moves the contents of `/NAME` to `/usr/NAME`, and makes a link of `/NAME`.
fn merge(building: &Building<'_>, root: &Path, name: &str) -> Result<()> {
    let (old, new) = (root.join(name), root.join("usr").join(name));
    fs::create_dir_all(&new).at("make the folder", &new)?;
    if old.is_dir() {
        let mut copy = Command::new("cp");
        building.run(copy.args(["-a", "--no-target-directory"]).arg(&old).arg(&new))?;
        fs::remove_dir_all(&old).at("remove", &old)?;
    }
    symlink(Path::new("usr").join(name), &old).at("make the link", &old)
}
