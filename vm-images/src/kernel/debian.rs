//! Explode's own kernel: Debian's source and explode's configuration, built below the cache.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::built::{BOOT_IMAGE, BuiltKernel, symbols};
use super::config;
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::tools::{self, Tools};
use crate::{host, packages};

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;

/// The approximate number of lines that make prints.
const MAKE_LINES: u64 = 1850;

/// The parts of the tree that only the kernel's build needs, and no module.
const USELESS: &[&str] = &[
    "Documentation",
    "drivers/gpu",
    "drivers/infiniband",
    "drivers/media",
    "drivers/net",
    "drivers/scsi",
    "drivers/staging",
    "drivers/usb",
    "samples",
    "sound",
    "tools/perf",
    "tools/testing",
];

pub(super) fn key(build: &Build<'_>) -> CacheKey {
    let source = tools::source_package(build);
    CacheKey::new(RECIPE)
        .with(&source.name, &source.version)
        .with("gcc", host::compiler())
        .with("tools", tools::key(build).inputs())
        .with_bytes("explode.config", config::FRAGMENT.as_bytes())
}

pub(super) fn get(build: &Build<'_>) -> Result<BuiltKernel> {
    let key = key(build);
    let tree = match build.cache.find("kernel", &key) {
        Some(entry) => entry,
        None => {
            host::check()?;
            let tools = tools::get(build)?;
            build.cache.entry("kernel", &key, build.progress, |building| {
                compile(build, building, &tools)
            })?
        }
    };
    let tree = tree.join("linux");
    let release =
        fs::read_to_string(tree.join("include/config/kernel.release")).unwrap_or_default();
    if !tree.join(BOOT_IMAGE).is_file() || release.is_empty() {
        let entry = tree.parent().unwrap_or(&tree).display().to_string();
        return Err(VmError::broken(format!(
            "the kernel in the cache is damaged; remove {entry} and try again"
        )));
    }
    let (boot_image, release) = (tree.join(BOOT_IMAGE), release.trim().to_owned());
    Ok(BuiltKernel { tree, boot_image, changes: false, key: key.hash(), release })
}

fn compile(build: &Build<'_>, building: &Building<'_>, tools: &Tools) -> Result<()> {
    let (unpacked, tree) = (building.dir.join("package"), building.dir.join("linux"));
    let source = tools::source_package(build);
    packages::unpack(building, std::slice::from_ref(&source), &unpacked)?;
    building.progress.step("unpacking the kernel's source");
    fs::create_dir(&tree).at("make the folder", &tree)?;
    let archive = unpacked.join(format!("usr/src/{}.tar.xz", source.name));
    building.run(
        Command::new("tar")
            .arg("-xJf")
            .arg(archive)
            .args(["--strip-components=1", "-C"])
            .arg(&tree),
    )?;
    fs::remove_dir_all(&unpacked).at("remove", &unpacked)?;

    configure(building, &tree, tools)?;
    building.progress.step("building the kernel (some minutes)");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = tools.make();
    make.arg("-C").arg(&tree).arg(format!("-j{jobs}")).args(["bzImage", "modules_prepare"]);
    building.run_lines(&mut make, MAKE_LINES)?;
    for needed in [tree.join(BOOT_IMAGE), symbols(&tree), tree.join("scripts/module.lds")] {
        if !needed.is_file() {
            return Err(VmError::broken(format!(
                "make succeeded, but did not make {}",
                needed.display()
            )));
        }
    }
    building.progress.step("removing what modules do not need");
    prune(&tree)
}

fn configure(building: &Building<'_>, tree: &Path, tools: &Tools) -> Result<()> {
    building.progress.step("configuring the kernel");
    let make = |target: &str| {
        let mut make = tools.make();
        make.arg("-C").arg(tree).arg(target);
        make
    };
    building.run(&mut make("rustavailable"))?;
    building.run(&mut make("tinyconfig"))?;
    let fragment = building.dir.join("explode.config");
    fs::write(&fragment, config::FRAGMENT).at("write", &fragment)?;
    building.run(
        Command::new("scripts/kconfig/merge_config.sh")
            .args(["-m", ".config"])
            .arg(&fragment)
            .current_dir(tree),
    )?;
    building.run(&mut make("olddefconfig"))?;
    let path = tree.join(".config");
    let config = fs::read_to_string(&path).at("read", &path)?;
    let lost = config::lost(&config);
    if lost.is_empty() {
        return Ok(());
    }
    Err(VmError::Broken {
        text: "this kernel's configuration does not take all of kernel/explode.config: a \
               dependency is missing or \
               an option has another name"
            .into(),
        tail: lost.join("\n"),
    })
}

/// Makes the tree smaller by removing objects and the sources of hardware that no guest has.
fn prune(tree: &Path) -> Result<()> {
    for name in USELESS {
        let folder = tree.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).at("remove", &folder)?;
        }
    }
    let architectures = tree.join("arch");
    for entry in fs::read_dir(&architectures).at("list", &architectures)? {
        let path = entry.at("list", &architectures)?.path();
        if path.is_dir() && !path.ends_with("x86") {
            fs::remove_dir_all(&path).at("remove", &path)?;
        }
    }
    remove_objects(tree, tree)
}

/// Removes object files, except those of the programs that build modules.
fn remove_objects(tree: &Path, folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).at("list", folder)? {
        let entry = entry.at("list", folder)?;
        let path = entry.path();
        let kept = [tree.join("scripts"), tree.join("tools")].contains(&path);
        if entry.file_type().at("read", &path)?.is_dir() {
            if !kept {
                remove_objects(tree, &path)?;
            }
        } else if path.extension().is_some_and(|end| end == "o" || end == "a") {
            fs::remove_file(&path).at("remove", &path)?;
        }
    }
    Ok(())
}
