//! A kernel tree that the user has built.

use std::fs;
use std::path::{Path, PathBuf};

use super::built::{BOOT_IMAGE, BuiltKernel, symbols};
use super::{config, sources};
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::write_whole;
use crate::host;

/// The files that a tree must contain besides the configuration, and the make targets that make
/// them.
const PARTS: &[(&str, &str)] = &[
    (BOOT_IMAGE, "make bzImage"),
    ("include/config/kernel.release", "make bzImage"),
    ("vmlinux.symvers", "make bzImage"),
    ("rust/libkernel.rmeta", "make bzImage"),
    ("scripts/module.lds", "make modules_prepare"),
];

/// Opens a built tree. An error says what it lacks, or what has changed since it was built.
pub(super) fn open(build: &Build<'_>, folder: &Path) -> Result<BuiltKernel> {
    let tree = folder.canonicalize().map_err(|error| {
        VmError::Usage(format!("the kernel tree {} cannot be opened: {error}", folder.display()))
    })?;
    let shown = tree.display();
    let config = fs::read_to_string(tree.join(".config")).map_err(|_| {
        VmError::missing(
            format!("{shown} is no configured kernel tree: it has no .config"),
            "configure and build it, or let explode build its own kernel",
        )
    })?;
    let lacking = config::lacking(&config);
    if !lacking.is_empty() {
        return Err(VmError::missing(
            format!("the kernel in {shown} was configured without what explode's guest needs"),
            format!(
                "set these, build again, and see `make rustavailable` if RUST cannot be set:\n    \
                 {}",
                lacking.join("\n    ")
            ),
        ));
    }
    let absent: Vec<_> = PARTS.iter().filter(|(part, _)| !tree.join(part).is_file()).collect();
    if !absent.is_empty() {
        let parts: Vec<_> = absent.iter().map(|(part, _)| *part).collect();
        let mut targets: Vec<_> = absent.iter().map(|(_, target)| *target).collect();
        targets.dedup();
        return Err(VmError::missing(
            format!("the kernel tree {shown} is not built: it has no {}", parts.join(", ")),
            format!("run in it: {}", targets.join(" && ")),
        ));
    }
    let read = |path: &Path| fs::read(path).at("read", path);
    let image = read(&tree.join(BOOT_IMAGE))?;
    sources::check(build, &tree, &image, &config)?;
    let key = CacheKey::new(2)
        .with("tree", shown)
        .with("gcc", host::compiler())
        .with_bytes("bzImage", &image)
        .with_bytes("symbols", &read(&symbols(&tree))?)
        .with_bytes("rust", &read(&tree.join("rust/libkernel.rmeta"))?)
        .with_bytes("module.lds", &read(&tree.join("scripts/module.lds"))?)
        .with_bytes("config", config.as_bytes());
    let release = String::from_utf8_lossy(&read(&tree.join("include/config/kernel.release"))?)
        .trim()
        .to_owned();
    let boot_image = kept(build, &image)?;
    Ok(BuiltKernel { tree, boot_image, changes: true, key: key.hash(), release })
}

/// Copies the image to the cache, so that a make in the tree does not give the remaining guests of
/// a run another kernel.
fn kept(build: &Build<'_>, image: &[u8]) -> Result<PathBuf> {
    let file =
        build.cache.root().join("boot").join(CacheKey::new(1).with_bytes("bzImage", image).hash());
    if fs::read(&file).is_ok_and(|bytes| bytes == image) {
        return Ok(file);
    }
    write_whole(&file, image)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::VmErrorKind;
    use crate::{BuildOptions, Cache, Silent};

    fn tree(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".config"), config).unwrap();
        folder
    }

    fn open(folder: &Path) -> Result<BuiltKernel> {
        let (cache, options) = (Cache::at("/nonexistent"), BuildOptions::default());
        super::open(&Build { cache: &cache, options: &options, progress: &Silent }, folder)
    }

    #[test]
    fn a_tree_without_rust_is_refused() {
        let complete = format!("{}\nCONFIG_TRACEPOINTS=y\n", config::FRAGMENT);
        let folder = tree(&complete.replace("CONFIG_RUST=y\n", ""));
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), VmErrorKind::Missing);
        assert!(
            error
                .to_string()
                .contains("CONFIG_RUST=y (explode's kernel modules are written in Rust)"),
            "{error}"
        );
    }

    #[test]
    fn a_tree_that_is_not_built_says_what_to_run() {
        let folder = tree(&format!("{}\nCONFIG_TRACEPOINTS=y\n", config::FRAGMENT));
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("arch/x86/boot/bzImage"), "{error}");
        assert!(error.ends_with("run in it: make bzImage && make modules_prepare"), "{error}");
    }

    #[test]
    fn an_empty_folder_is_no_tree() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path()).unwrap_err().to_string().contains("no .config"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_wrong_usage() {
        let folder = tempfile::tempdir().unwrap();
        let error = open(&folder.path().join("absent")).unwrap_err();
        assert_eq!(error.kind(), VmErrorKind::Usage);
        assert!(error.to_string().contains("absent cannot be opened: No such file"), "{error}");
    }
}
