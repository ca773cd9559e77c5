//! Packages of a caller in the guest: an archive with their files and those of everything that they
//! depend on. They are unpacked and not installed, so none of their scripts runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::base::{CacheKey, ErrorContext, Result};
use crate::build::Build;
use crate::cache::Building;
use crate::image::cpio::Archive;
use crate::packages::recipes::image::RecipeLine;
use crate::packages::recipes::userland;
use crate::packages::{self, Package};

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;
/// The name of the archive in its entry.
const FILE: &str = "userland.cpio";

/// Folders that no program needs to run.
pub(super) const OMITTED: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/doc-base",
];

/// Packages that a guest has besides its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Userland {
    /// The archive that the kernel unpacks after the image.
    pub file: PathBuf,
    /// The names and versions of the packages. Empty for a root file system.
    pub packages: Vec<(String, String)>,
    /// True if commands run in it ([`ROOTFS`](super::ROOTFS)) and not beside the image's programs.
    pub is_root: bool,
    /// The size of the archive in bytes.
    pub bytes: u64,
}

/// Returns these packages with everything that they depend on, except those of `without`.
pub(crate) fn get(build: &Build<'_>, names: &[&str], without: &[&str]) -> Result<Userland> {
    let packages = packages::closure(build.cache, &[], names, without)?;
    let mut key = CacheKey::new(RECIPE).with_bytes("recipe", userland::TEXT.as_bytes());
    for Package { name, version } in &packages {
        key = key.with(name, version);
    }
    let entry = build
        .cache
        .entry("userland", &key, build.progress, |building| pack(building, &packages))?;
    let file = entry.join(FILE);
    let bytes = file.metadata().at("read", &file)?.len();
    let packages = packages.into_iter().map(|Package { name, version }| (name, version)).collect();
    Ok(Userland { file, packages, is_root: false, bytes })
}

fn pack(building: &Building<'_>, packages: &[Package]) -> Result<()> {
    let root = building.dir.join("packages");
    packages::unpack(building, packages, &root)?;
    building.progress.step("packing the packages for the guest");
    let mut archive = Archive::default();
    add_folder(&mut archive, "", &root, Path::new(""), &OMITTED)?;
    for line in packages.iter().flat_map(|package| userland::lines_of(&package.name)) {
        match line {
            RecipeLine::Link { path, target } => archive.link(path, target),
            RecipeLine::Folder(path) => archive.folder(path),
            RecipeLine::Text { path, text } => {
                archive.file(path, 0o644, format!("{text}\n").into_bytes());
            }
            other => unreachable!("{other:?} is no line for a package"),
        }
    }
    let mut bytes = Vec::new();
    archive.write(&mut bytes).doing("pack the packages for the guest")?;
    let file = building.dir.join(FILE);
    fs::write(&file, bytes).at("write", &file)?;
    fs::remove_dir_all(&root).at("remove", &root)
}

/// Adds the contents of a folder, given by its path below `root`, to the folder `prefix` of the
/// archive. The folders `omitted` are left out.
pub(super) fn add_folder(
    archive: &mut Archive,
    prefix: &str,
    root: &Path,
    folder: &Path,
    omitted: &[&str],
) -> Result<()> {
    let at = root.join(folder);
    for entry in fs::read_dir(&at).at("list", &at)? {
        let entry = entry.at("list", &at)?;
        let (path, below) = (entry.path(), folder.join(entry.file_name()));
        let name = format!("{prefix}/{}", below.display());
        let data = path.symlink_metadata().at("read", &path)?;
        if data.is_symlink() {
            let target = fs::read_link(&path).at("read", &path)?;
            archive.link(&name, &target.to_string_lossy());
        } else if data.is_file() {
            let mode = data.permissions().mode() & 0o7777;
            archive.file(&name, mode, fs::read(&path).at("read", &path)?);
        } else if data.is_dir() && !omitted.iter().any(|omitted| below == Path::new(omitted)) {
            archive.folder(&name);
            add_folder(archive, prefix, root, &below, omitted)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_packed_without_what_no_program_needs() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["usr/bin", "usr/share/doc/git", "usr/share/git"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("usr/bin/git"), "program").unwrap();
        fs::write(root.path().join("usr/share/doc/git/README"), "text").unwrap();
        symlink("git", root.path().join("usr/bin/git-log")).unwrap();
        let mut archive = Archive::default();
        add_folder(&mut archive, "", root.path(), Path::new(""), &OMITTED).unwrap();
        for (path, is_there) in [
            ("/usr/bin/git", true),
            ("/usr/bin/git-log", true),
            ("/usr/share/git", true),
            ("/usr/share/doc/git/README", false),
        ] {
            assert_eq!(archive.contains(path), is_there, "{path}");
        }
    }
}
