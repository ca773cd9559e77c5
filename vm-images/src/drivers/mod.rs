//! Drivers that only some stacks need, such as XFS: modules of the kernel's own source, each built when it is first asked for.
//!
//! The kernel's tree stays as it is, since it may be the user's, and since what is in the cache does not change. A driver is built in
//! an overlay. In the user's tree its sources may change, so there an entry is found by what they contain.

mod changing;
mod overlay;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{Context, Key, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::kernel::{self, Kernel};
use crate::modules;
use crate::tools::{self, Tools};
use crate::uses::Files;

/// To be raised when the way of building changes.
const RECIPE: u32 = 1;

/// The kind of the cache's entries.
const KIND: &str = "drivers";

const DRIVERS: &str = include_str!("../../kernel/drivers.txt");

/// A module that a driver consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// The option of the configuration, without `CONFIG_`.
    option: &'static str,
    /// The module's folder in the tree.
    folder: &'static str,
    /// The module's name, without `.ko`.
    name: &'static str,
}

impl Part {
    fn file(&self) -> String {
        format!("{}.ko", self.name)
    }
}

/// The modules of a driver for this kernel, in the order in which they have to be loaded; none if they are all built in.
pub(crate) fn get(build: &Build<'_>, kernel: &Kernel, driver: &str) -> Result<Vec<PathBuf>> {
    let parts = parts_of(driver)?;
    let path = kernel.tree.join(".config");
    let config = fs::read_to_string(&path).at("read", &path)?;
    let parts = modular(&parts, &kernel::parse_config(&config), &path)?;
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let line: Vec<_> = parts.iter().map(|part| format!("{}/{}", part.folder, part.name)).collect();
    let key = Key::new(RECIPE)
        .with("kernel", kernel.key())
        .with("tools", tools::key(build).inputs())
        .with("modules", line.join(" "));
    let entry = if kernel.changes {
        changing::get(build, kernel, &parts, &key)?
    } else if let Some(entry) = build.cache.find(KIND, &key) {
        entry
    } else {
        let tools = tools::get(build)?;
        build
            .cache
            .entry(KIND, &key, build.progress, |building| build_parts(building, &tools, kernel, &parts))?
    };
    Ok(parts.iter().map(|part| entry.join(part.file())).collect())
}

fn build_parts(building: &Building<'_>, tools: &Tools, kernel: &Kernel, parts: &[Part]) -> Result<()> {
    let overlay = building.dir.join("overlay");
    let mut symbols = Vec::new();
    for part in parts {
        overlay::update(&kernel.tree, &overlay, Path::new(part.folder), &mut Files::new())?;
        build_part(building, tools, kernel, part, &overlay, &mut symbols)?;
    }
    fs::remove_dir_all(&overlay).at("remove", &overlay)
}

/// Builds a part in the overlay, and keeps its module and its table of symbols, which is added to those of the parts before.
fn build_part(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &Kernel,
    part: &Part,
    overlay: &Path,
    symbols: &mut Vec<PathBuf>,
) -> Result<()> {
    building.progress.step(&format!("building the driver {}", part.name));
    let folder = overlay.join(part.folder);
    modules::make(building, tools, kernel, &folder, symbols, &[&part.file()])?;
    fs::copy(folder.join(part.file()), building.dir.join(part.file())).at("copy the module from", &folder)?;
    // Kept under a name of its own: the next part may be of the same folder.
    let table = building.dir.join(format!("{}.symvers", part.name));
    fs::copy(folder.join("Module.symvers"), &table).at("keep", &table)?;
    symbols.push(table);
    Ok(())
}

fn parts_of(driver: &str) -> Result<Vec<Part>> {
    let lines = || DRIVERS.lines().filter(|line| !line.starts_with('#'));
    let line = lines().find(|line| line.split_whitespace().next() == Some(driver));
    let Some(line) = line else {
        let known: Vec<_> = lines().filter_map(|line| line.split_whitespace().next()).collect();
        return Err(VmError::Usage(format!("there is no driver {driver}; there are {}", known.join(", "))));
    };
    let part = |word: &'static str| {
        let (option, path) = word.split_once(':').expect("drivers.txt is part of this library and tested");
        let (folder, name) = path.rsplit_once('/').expect("drivers.txt is part of this library and tested");
        Part { option, folder, name }
    };
    Ok(line.split_whitespace().skip(1).map(part).collect())
}

/// The parts that are modules in this configuration.
fn modular(parts: &[Part], config: &BTreeMap<&str, &str>, path: &Path) -> Result<Vec<Part>> {
    let mut found = Vec::new();
    for part in parts {
        match config.get(part.option) {
            Some(&"m") => found.push(part.clone()),
            Some(_) => {}
            None => {
                return Err(VmError::missing(
                    format!(
                        "the kernel was configured without {}: CONFIG_{} in {}",
                        part.name,
                        part.option,
                        path.display()
                    ),
                    "set it to m or y and build the kernel again",
                ));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_driver_is_understood() {
        for line in DRIVERS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            assert!(!parts_of(line.split(' ').next().unwrap()).unwrap().is_empty());
        }
        let error = parts_of("zfs").unwrap_err().to_string();
        assert!(error.starts_with("there is no driver zfs; there are btrfs"), "{error}");
    }

    #[test]
    fn what_is_built_in_is_skipped_and_what_is_not_there_is_named() {
        let parts = parts_of("xfs").unwrap();
        let path = Path::new("x/.config");
        let config = kernel::parse_config("CONFIG_LIBCRC32C=y\nCONFIG_XFS_FS=m\n");
        assert_eq!(modular(&parts, &config, path).unwrap(), parts[1..]);
        let error =
            modular(&parts, &kernel::parse_config("CONFIG_LIBCRC32C=y\n"), path).unwrap_err().to_string();
        assert!(error.contains("CONFIG_XFS_FS in x/.config"), "{error}");
    }
}
