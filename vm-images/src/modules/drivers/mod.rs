//! Drivers that only some stacks need, such as XFS. They are modules of the kernel's own source,
//! each built when it is first requested.
//!
//! The kernel's tree is not changed, because it may be the user's, and because cache entries never
//! change. A driver is built in an overlay. The sources in the user's tree may change, so an entry
//! for it is found by their contents.

mod changing;
mod overlay;
mod part;

use std::fs;
use std::path::{Path, PathBuf};

use part::{KIND, Part, build_part, modular, parts_of};

use crate::base::{CacheKey, ErrorContext, Result};
use crate::build::Build;
use crate::cache::Building;
use crate::kernel::{self, BuiltKernel};
use crate::modules::uses::Files;
use crate::tools::{self, Tools};

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;

/// Returns the modules of a driver for this kernel, in the order in which they must be loaded.
/// Empty if they are all built in.
pub(crate) fn get(build: &Build<'_>, kernel: &BuiltKernel, driver: &str) -> Result<Vec<PathBuf>> {
    let parts = parts_of(driver)?;
    let path = kernel.tree.join(".config");
    let config = fs::read_to_string(&path).at("read", &path)?;
    let parts = modular(&parts, &kernel::parse_config(&config), &path)?;
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let line: Vec<_> = parts.iter().map(|part| format!("{}/{}", part.folder, part.name)).collect();
    let key = CacheKey::new(RECIPE)
        .with("kernel", kernel.key())
        .with("tools", tools::key(build).inputs())
        .with("modules", line.join(" "));
    let entry = if kernel.changes {
        changing::get(build, kernel, &parts, &key)?
    } else if let Some(entry) = build.cache.find(KIND, &key) {
        entry
    } else {
        let tools = tools::get(build)?;
        build.cache.entry(KIND, &key, build.progress, |building| {
            build_parts(building, &tools, kernel, &parts)
        })?
    };
    Ok(parts.iter().map(|part| entry.join(part.file())).collect())
}

fn build_parts(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &BuiltKernel,
    parts: &[Part],
) -> Result<()> {
    let overlay = building.dir.join("overlay");
    let mut symbols = Vec::new();
    for part in parts {
        overlay::update(&kernel.tree, &overlay, Path::new(part.folder), &mut Files::new())?;
        build_part(building, tools, kernel, part, &overlay, &mut symbols)?;
    }
    fs::remove_dir_all(&overlay).at("remove", &overlay)
}
