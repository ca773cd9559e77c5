//! The root file system of a guest's commands: an archive (tar) of the user, such as that of
//! `docker export`. It is in a folder of its own, so none of its files and links can replace one of
//! the image.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use xxhash_rust::xxh3::xxh3_128;

use super::userland::{Userland, add_folder};
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::image::cpio::Archive;

/// The guest's folder with the root file system in which commands run.
pub(crate) const ROOTFS: &str = "/rootfs";

/// The version of the way of packing, which must be raised when it changes.
const RECIPE: u32 = 1;
/// The name of the archive in its entry.
const FILE: &str = "rootfs.cpio";
/// The folders in which the guest shows its own.
const SHOWN: [&str; 6] = ["dev", "proc", "sys", "run", "tmp", "agent"];
/// The most links that are followed to the shell.
const MOST_LINKS: usize = 40;

/// Returns the hash of an archive's contents.
///
/// # Errors
/// The file cannot be read.
pub fn archive_hash(file: &Path) -> std::io::Result<String> {
    Ok(format!("{:032x}", xxh3_128(&fs::read(file)?)))
}

/// Checks that an archive has this hash.
pub(super) fn check(file: &Path, hash: &str) -> Result<()> {
    let shown = file.display();
    let found = archive_hash(file)
        .map_err(|error| VmError::Usage(format!("the archive {shown} cannot be read: {error}")))?;
    if found != hash {
        let text = format!("the archive {shown} has the hash {found}, and this run needs {hash}");
        return Err(VmError::Usage(format!("{text}; bring back the archive of that time")));
    }
    Ok(())
}

/// Returns the archive `file` as the guest unpacks it.
pub(crate) fn get(build: &Build<'_>, file: &Path, hash: &str) -> Result<Userland> {
    check(file, hash)?;
    let key = CacheKey::new(RECIPE).with("archive", hash);
    let entry =
        build.cache.entry("rootfs", &key, build.progress, |building| pack(building, file))?;
    let file = entry.join(FILE);
    let bytes = file.metadata().at("read", &file)?.len();
    Ok(Userland { file, packages: Vec::new(), is_root: true, bytes })
}

/// Unpacks an archive into the folder `root`.
pub(super) fn unpack(building: &Building<'_>, file: &Path, root: &Path) -> Result<()> {
    let shown = file.display();
    fs::create_dir_all(root).at("make the folder", root)?;
    building.progress.step(&format!("unpacking {shown}"));
    // Devices need root and are those of the guest. Everything belongs to root in the guest.
    let mut tar = Command::new("tar");
    tar.args(["--no-same-owner", "--exclude=dev/*", "--exclude=./dev/*", "-xf"]);
    building.run(tar.arg(file).arg("-C").arg(root)).map_err(|error| {
        VmError::Usage(format!(
            "the archive {shown} cannot be unpacked; make one with `docker export`: {error}"
        ))
    })?;
    if !has_file(root, Path::new("bin/sh")) {
        return Err(VmError::Usage(format!(
            "the archive {shown} has no /bin/sh, which runs commands; if it is an image of several \
             layers (docker save), use `docker export` of a container"
        )));
    }
    Ok(())
}

fn pack(building: &Building<'_>, file: &Path) -> Result<()> {
    let root = building.dir.join("root");
    unpack(building, file, &root)?;
    building.progress.step("packing the root file system for the guest");
    let mut archive = Archive::default();
    archive.folder(ROOTFS);
    add_folder(&mut archive, ROOTFS, &root, Path::new(""), &SHOWN)?;
    for folder in SHOWN {
        archive.folder(&format!("{ROOTFS}/{folder}"));
    }
    let mut bytes = Vec::new();
    archive.write(&mut bytes).doing("pack the root file system for the guest")?;
    let file = building.dir.join(FILE);
    fs::write(&file, bytes).at("write", &file)?;
    fs::remove_dir_all(&root).at("remove", &root)
}

/// Returns true if there is a file at this path in the root file system. Links are followed inside
/// it.
fn has_file(root: &Path, path: &Path) -> bool {
    let (mut links, mut at) = (0, PathBuf::new());
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        match fs::read_link(root.join(&next)) {
            Ok(_) if links == MOST_LINKS => return false,
            Ok(target) => {
                links += 1;
                if target.is_absolute() {
                    at = PathBuf::new();
                }
                rest.extend(parts(&target));
            }
            Err(_) => at = next,
        }
    }
    root.join(at).is_file()
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_inside_the_root() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        symlink("/usr/bin", root.join("bin")).unwrap();
        assert!(!has_file(root, Path::new("bin/sh")));
        symlink("../bin/../bin/busybox", root.join("usr/bin/sh")).unwrap();
        assert!(!has_file(root, Path::new("bin/sh")));
        fs::write(root.join("usr/bin/busybox"), "").unwrap();
        assert!(has_file(root, Path::new("bin/sh")));
        symlink("loop", root.join("loop")).unwrap();
        assert!(!has_file(root, Path::new("loop")));
    }
}
