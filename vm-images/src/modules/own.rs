//! Explode's kernel modules. Their sources are in this crate, and they are built once for each
//! kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::make::make;
use super::uses;
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::Building;
use crate::host;
use crate::host::command;
use crate::kernel::BuiltKernel;
use crate::tools::{self, Tools};

/// The version of the recipe, which must be raised when the way of building changes.
const RECIPE: u32 = 1;

/// The kind of the cache entries.
const KIND: &str = "modules";

/// The folder of the sources during the build.
const SOURCE: &str = "source";

/// The modules in the order in which they are built and loaded, by name and folder.
const MODULES: [(&str, &str); 2] = [("rdd", "ramdisk/kmod"), ("ekm", "ekm-kmod")];

/// The built modules.
#[derive(Clone, Debug)]
pub struct Modules {
    /// The RAM disk driver.
    pub rdd: PathBuf,
    /// EKM, which logs events and makes the kernel's choices.
    pub ekm: PathBuf,
}

pub(crate) fn get(build: &Build<'_>, kernel: &BuiltKernel) -> Result<Modules> {
    let entry = build_modules(build, kernel, &explode_ekm::sources(), &MODULES)?;
    Ok(Modules { rdd: entry.join("rdd.ko"), ekm: entry.join("ekm.ko") })
}

/// Returns true if the modules for this kernel are in the cache.
pub(crate) fn are_cached(build: &Build<'_>, kernel: &BuiltKernel) -> bool {
    find(build, kernel, &key(build, kernel, &explode_ekm::sources(), &MODULES)).is_some()
}

fn find(build: &Build<'_>, kernel: &BuiltKernel, key: &CacheKey) -> Option<PathBuf> {
    if kernel.changes {
        uses::find(build.cache, KIND, &kernel.tree, key)
    } else {
        build.cache.find(KIND, key)
    }
}

fn key(
    build: &Build<'_>,
    kernel: &BuiltKernel,
    sources: &[(&str, &[u8])],
    modules: &[(&str, &str)],
) -> CacheKey {
    let key = CacheKey::new(RECIPE)
        .with("kernel", kernel.key())
        .with("tools", tools::key(build).inputs());
    let key =
        modules.iter().fold(key, |key, (name, folder)| key.with(&format!("module {name}"), folder));
    sources.iter().fold(key, |key, (name, bytes)| key.with_bytes(name, bytes))
}

/// Builds modules, each given by its name and a folder of the sources, and keeps `<name>.ko` of
/// each.
pub(crate) fn build_modules(
    build: &Build<'_>,
    kernel: &BuiltKernel,
    sources: &[(&str, &[u8])],
    modules: &[(&str, &str)],
) -> Result<PathBuf> {
    let key = key(build, kernel, sources, modules);
    if let Some(entry) = find(build, kernel, &key) {
        return Ok(entry);
    }
    host::check()?;
    let tools = tools::get(build)?;
    same_compiler(&tools, kernel)?;
    if !kernel.changes {
        return build.cache.entry(KIND, &key, build.progress, |building| {
            compile(building, &tools, kernel, sources, modules)?;
            remove(&building.dir.join(SOURCE))
        });
    }
    // Only the build shows which of the tree's headers they include.
    let names: Vec<_> = modules.iter().map(|(name, _)| format!("{name}.ko")).collect();
    build.cache.work(KIND, &key, build.progress, |building| {
        if let Some(entry) = find(build, kernel, &key) {
            return Ok(entry);
        }
        let source = building.dir.join(SOURCE);
        remove(&source)?;
        let started = SystemTime::now();
        compile(building, &tools, kernel, sources, modules)?;
        let mut files = uses::of_objects(&kernel.tree, &source)?;
        files.retain(|file| kernel.tree.join(file).exists());
        uses::unchanged_since(&kernel.tree, &files, started)?;
        let entry = uses::enter(build, KIND, &kernel.tree, &key, &files, &building.dir, &names)?;
        remove(&building.dir)?;
        Ok(entry)
    })
}

/// Writes the sources and builds the modules one after the other.
fn compile(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &BuiltKernel,
    sources: &[(&str, &[u8])],
    modules: &[(&str, &str)],
) -> Result<()> {
    let source = building.dir.join(SOURCE);
    for (name, bytes) in sources {
        let path = source.join(name);
        let folder = path.parent().unwrap_or(&source);
        fs::create_dir_all(folder).at("make the folder", folder)?;
        fs::write(&path, bytes).at("write", &path)?;
    }
    let mut symbols = Vec::new();
    for (name, folder) in modules {
        building.progress.step(&format!("building the kernel module {name}"));
        let folder = source.join(folder);
        let object = folder.join(format!("{name}.ko"));
        make(building, tools, kernel, &folder, &symbols, &[])?;
        let kept = building.dir.join(format!("{name}.ko"));
        fs::rename(&object, &kept).at("make the module", &kept)?;
        symbols.push(folder.join("Module.symvers"));
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() { fs::remove_dir_all(folder).at("remove", folder) } else { Ok(()) }
}

/// Checks that the compiler is that of the kernel, because Rust's metadata can be read only by the
/// compiler that wrote it.
fn same_compiler(tools: &Tools, kernel: &BuiltKernel) -> Result<()> {
    let config = kernel.tree.join(".config");
    let text = fs::read_to_string(&config).at("read", &config)?;
    let built_by = text
        .lines()
        .find_map(|line| line.strip_prefix("CONFIG_RUSTC_VERSION_TEXT="))
        .map_or("an unknown compiler", |version| version.trim_matches('"'));
    let ours = command::output(Command::new(tools.rustc()).arg("--version"))?;
    if built_by == ours.trim() {
        return Ok(());
    }
    Err(VmError::missing(
        format!(
            "the kernel in {} was built by {built_by}, and explode builds its modules by {}",
            kernel.tree.display(),
            ours.trim()
        ),
        format!(
            "build the kernel by that compiler: make RUSTC={0} HOSTRUSTC={0}",
            tools.rustc().display()
        ),
    ))
}
