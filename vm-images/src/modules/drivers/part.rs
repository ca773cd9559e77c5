//! The modules that make up a driver, and the build of one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{ErrorContext, Result, VmError};
use crate::cache::Building;
use crate::kernel::BuiltKernel;
use crate::modules::make::make;
use crate::tools::Tools;

/// The kind of the cache entries.
pub(super) const KIND: &str = "drivers";

/// The list of all drivers. The file explains its format.
const DRIVERS: &str = include_str!("../../../kernel/drivers.txt");

/// A module of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The option of the configuration, without `CONFIG_`.
    pub option: &'static str,
    /// The module's folder in the tree.
    pub folder: &'static str,
    /// The module's name, without `.ko`.
    pub name: &'static str,
}

impl Part {
    /// Returns the name of the module's file.
    pub fn file(&self) -> String {
        format!("{}.ko", self.name)
    }
}

/// Builds a part in the overlay. Keeps its module, and adds its symbol table to those of the parts
/// before.
pub(super) fn build_part(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &BuiltKernel,
    part: &Part,
    overlay: &Path,
    symbols: &mut Vec<PathBuf>,
) -> Result<()> {
    building.progress.step(&format!("building the driver {}", part.name));
    let folder = overlay.join(part.folder);
    make(building, tools, kernel, &folder, symbols, &[&part.file()])?;
    fs::copy(folder.join(part.file()), building.dir.join(part.file()))
        .at("copy the module from", &folder)?;
    // The table gets a name of its own, because the next part may be in the same folder.
    let table = building.dir.join(format!("{}.symvers", part.name));
    fs::copy(folder.join("Module.symvers"), &table).at("keep", &table)?;
    symbols.push(table);
    Ok(())
}

/// Returns the parts of a driver, as `kernel/drivers.txt` lists them.
pub(super) fn parts_of(driver: &str) -> Result<Vec<Part>> {
    let lines = || DRIVERS.lines().filter(|line| !line.starts_with('#'));
    let line = lines().find(|line| line.split_whitespace().next() == Some(driver));
    let Some(line) = line else {
        let known: Vec<_> = lines().filter_map(|line| line.split_whitespace().next()).collect();
        return Err(VmError::Usage(format!(
            "there is no driver {driver}; there are {}",
            known.join(", ")
        )));
    };
    let part = |word: &'static str| {
        let (option, path) =
            word.split_once(':').expect("drivers.txt is part of this library and tested");
        let (folder, name) =
            path.rsplit_once('/').expect("drivers.txt is part of this library and tested");
        Part { option, folder, name }
    };
    Ok(line.split_whitespace().skip(1).map(part).collect())
}

/// Returns the parts that are modules in this configuration.
pub(super) fn modular(
    parts: &[Part],
    config: &BTreeMap<&str, &str>,
    path: &Path,
) -> Result<Vec<Part>> {
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
    use crate::kernel::parse_config;

    #[test]
    fn every_driver_is_understood() {
        for line in DRIVERS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            assert!(!parts_of(line.split(' ').next().unwrap()).unwrap().is_empty());
        }
        let error = parts_of("zfs").unwrap_err().to_string();
        assert!(error.starts_with("there is no driver zfs; there are btrfs"), "{error}");
    }

    #[test]
    fn built_in_parts_are_skipped_and_missing_ones_are_named() {
        let parts = parts_of("xfs").unwrap();
        let path = Path::new("x/.config");
        let config = parse_config("CONFIG_LIBCRC32C=y\nCONFIG_XFS_FS=m\n");
        assert_eq!(modular(&parts, &config, path).unwrap(), parts[1..]);
        let error =
            modular(&parts, &parse_config("CONFIG_LIBCRC32C=y\n"), path).unwrap_err().to_string();
        assert!(error.contains("CONFIG_XFS_FS in x/.config"), "{error}");
    }
}
