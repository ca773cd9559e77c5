//! The guest's base image: an initramfs with the programs that stacks need, made from packages
//! without installing them.
//!
//! The agent is not in it. Each boot adds it in a second archive, so the image's key does not
//! change with explode's code. The archive is not compressed, because under emulation unpacking
//! would cost more time than it saves.

pub(crate) mod cpio;
pub(crate) mod elf;
mod libraries;
mod root_folder;
mod rootfs;
mod userland;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::host::command;
use crate::packages::recipes::image::{RecipeLine, TEXT, lines};
use crate::packages::{self, Package};
use cpio::Archive;
pub use root_folder::RootFolder;
pub(crate) use root_folder::{get as root_folder, of_archive as root_of_archive};
pub(crate) use rootfs::ROOTFS;
pub use rootfs::archive_hash;
pub(crate) use rootfs::get as rootfs;
pub use userland::Userland;
pub(crate) use userland::get as userland;

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;

/// The files that come with the recipe.
const OWN: &[(&str, &str)] = &[("init", include_str!("../../image/init"))];

/// The name of the archive in its entry.
const FILE: &str = "image.cpio";

/// The guest's base image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestImage {
    /// The archive that the kernel unpacks into its first file system.
    pub file: PathBuf,
    /// The hash of everything that it was made from, 32 hexadecimal digits.
    pub hash: String,
    /// The programs and other files from packages: path, package, version.
    pub programs: Vec<(String, String, String)>,
}

pub(crate) fn get(build: &Build<'_>) -> Result<GuestImage> {
    let (key, packages) = key(build)?;
    let entry =
        build.cache.entry("image", &key, build.progress, |building| pack(building, &packages))?;
    Ok(GuestImage { file: entry.join(FILE), hash: key.hash(), programs: programs(&packages) })
}

/// Returns the files that the recipe takes from these packages.
fn programs(packages: &[Package]) -> Vec<(String, String, String)> {
    let mut programs = Vec::new();
    for line in lines() {
        let RecipeLine::Package { name, files } = line else { continue };
        let Some(Package { version, .. }) = packages.iter().find(|package| package.name == name)
        else {
            continue;
        };
        programs.extend(
            files.iter().map(|file| ((*file).to_owned(), name.to_owned(), version.clone())),
        );
    }
    programs
}

/// Returns true if the image is in the cache.
pub(crate) fn is_cached(build: &Build<'_>) -> bool {
    key(build).is_ok_and(|(key, _)| build.cache.find("image", &key).is_some())
}

fn key(build: &Build<'_>) -> Result<(CacheKey, Vec<Package>)> {
    let lines = lines();
    let names: Vec<_> = lines.iter().filter_map(RecipeLine::package).collect();
    let mut packages = packages::candidates(build.cache, &names)?;
    build.options.apply(&mut packages);
    let mut key = CacheKey::new(RECIPE).with_bytes("recipe", TEXT.as_bytes());
    for (name, text) in OWN {
        key = key.with_bytes(name, text.as_bytes());
    }
    for Package { name, version } in &packages {
        key = key.with(name, version);
    }
    Ok((key, packages))
}

fn pack(building: &Building<'_>, packages: &[Package]) -> Result<()> {
    let root = building.dir.join("packages");
    packages::unpack(building, packages, &root)?;
    building.progress.step("packing the guest's image");
    let mut archive = Archive::default();
    // /init needs the console before devtmpfs is mounted.
    archive.device("/dev/console", 5, 1);
    let mut applets = None;
    for line in lines() {
        match line {
            RecipeLine::Package { name, files } => {
                for file in files {
                    add_file(&mut archive, &root, name, file)?;
                }
            }
            RecipeLine::Libraries(_) => {}
            RecipeLine::Applets(path) => applets = Some(path),
            RecipeLine::Link { path, target } => archive.link(path, target),
            RecipeLine::Folder(path) => archive.folder(path),
            RecipeLine::Text { path, text } => {
                archive.file(path, 0o644, format!("{text}\n").into_bytes())
            }
            RecipeLine::Own { path, name } => {
                let (_, text) =
                    OWN.iter().find(|(known, _)| *known == name).expect("the recipe is tested");
                archive.file(path, 0o755, text.as_bytes().to_vec());
            }
        }
    }
    if let Some(program) = applets {
        add_applets(&mut archive, &root, program)?;
    }
    libraries::add(&mut archive, &root)?;
    let mut bytes = Vec::new();
    archive.write(&mut bytes).doing("pack the guest's image")?;
    let file = building.dir.join(FILE);
    fs::write(&file, bytes).at("write", &file)?;
    fs::remove_dir_all(&root).at("remove", &root)
}

fn add_file(archive: &mut Archive, root: &Path, package: &str, file: &str) -> Result<()> {
    let path = root.join(file.trim_start_matches('/'));
    let data = path.symlink_metadata().map_err(|_| {
        VmError::broken(format!(
            "the package {package} has no {file}; image/recipe.txt does not fit its version"
        ))
    })?;
    if data.is_symlink() {
        let target = fs::read_link(&path).at("read", &path)?;
        archive.link(file, &target.to_string_lossy());
    } else {
        archive.file(file, data.permissions().mode() & 0o777, fs::read(&path).at("read", &path)?);
    }
    Ok(())
}

/// Adds links for the names by which busybox can be called. Real programs are in other folders,
/// which are searched first.
fn add_applets(archive: &mut Archive, root: &Path, program: &str) -> Result<()> {
    let list =
        command::output(Command::new(root.join(program.trim_start_matches('/'))).arg("--list"))?;
    for applet in list.lines() {
        let path = format!("/bin/{applet}");
        if !archive.contains(&path) {
            archive.link(&path, program);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_reported_with_their_packages() {
        let package = |name: &str, version: &str| Package {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        let programs = programs(&[
            package("e2fsprogs", "1.47"),
            package("libc6", "2.36"),
            package("mount", "2.38"),
        ]);
        let has = |path: &str, package: &str, version: &str| {
            programs.contains(&(path.to_owned(), package.to_owned(), version.to_owned()))
        };
        assert!(
            has("/sbin/mke2fs", "e2fsprogs", "1.47") && has("/bin/mount", "mount", "2.38"),
            "{programs:?}"
        );
        assert!(programs.iter().all(|(_, package, _)| package != "libc6"), "{programs:?}");
    }

    #[test]
    fn the_recipe_is_understood_and_its_own_files_are_there() {
        for line in lines() {
            if let RecipeLine::Own { name, .. } = line {
                assert!(OWN.iter().any(|(known, _)| *known == name), "{name}");
            }
        }
    }
}
