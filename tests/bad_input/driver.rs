//! A driver of a user's kernel tree is rebuilt when its sources change. Really builds a small
//! driver, in a tree of hard links to explode's own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use explode_vm::{BuildOptions, BuildProgress, Builder, Cache, KernelSource, Silent};

use crate::common::guest;

/// The driver, one of its sources, and a header that only modules use.
const DRIVER: &str = "raid0";
const SOURCE: &str = "drivers/md/raid0.c";
const HEADER: &str = "drivers/md/raid0.h";

/// The number of builds.
#[derive(Default)]
struct Builds(AtomicU32);

impl BuildProgress for Builds {
    fn step(&self, what: &str) {
        if what.starts_with("building the driver") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Replaces a file, so that the other hard links to it do not change. Returns the path of the old
/// file.
fn append(tree: &Path, name: &str, line: &str) -> PathBuf {
    let (file, saved) = (tree.join(name), tree.join(format!("{name}.saved")));
    let text = fs::read_to_string(&file).unwrap();
    fs::rename(&file, &saved).unwrap();
    fs::write(&file, format!("{text}\n{line}\n")).unwrap();
    saved
}

#[test]
fn a_driver_that_was_edited_is_built_again() {
    if !guest::required() {
        return;
    }
    let (user, options) = (Cache::of_user().unwrap(), BuildOptions::of_environment().unwrap());
    let own = Builder { cache: &user, options: &options, progress: &Silent };
    let image = own.kernel(&KernelSource::Debian).unwrap().boot_image();
    let original = image.ancestors().nth(4).expect("it is below arch/x86/boot");
    // Hard links need the same file system.
    let folder = tempfile::tempdir_in(user.root()).unwrap();
    let (tree, cache) = (folder.path().join("tree"), folder.path().join("cache"));
    let copied = Command::new("cp").arg("-al").arg(original).arg(&tree).status().unwrap();
    assert!(copied.success(), "{copied}");
    fs::create_dir(&cache).unwrap();
    symlink(user.root().join("tools"), cache.join("tools")).unwrap();

    let (cache, builds) = (Cache::at(cache), Builds::default());
    let builder = Builder { cache: &cache, options: &options, progress: &builds };
    let source = KernelSource::Tree(tree.clone());
    // The module, and the number of builds so far.
    let module = || {
        let kernel = builder.kernel(&source).unwrap_or_else(|error| panic!("{error}"));
        let parts = builder.driver(&kernel, DRIVER).unwrap_or_else(|error| panic!("{error}"));
        (parts[0].clone(), builds.0.load(Ordering::Relaxed))
    };
    let has = |module: &Path, word: &str| {
        let bytes = fs::read(module).unwrap();
        bytes.windows(word.len()).any(|part| part == word.as_bytes())
    };

    let (first, _) = module();
    assert_eq!(module(), (first.clone(), 1), "nothing has changed");
    let source = append(&tree, SOURCE, "MODULE_INFO(explode_source, \"edited\");");
    let (second, built) = module();
    assert!(built == 2 && has(&second, "explode_source=edited"), "the source was edited");
    let header = append(&tree, HEADER, "MODULE_INFO(explode_header, \"edited\");");
    let (third, built) = module();
    assert!(built == 3 && has(&third, "explode_header=edited"), "the header was edited");
    // The old files have their old times, so make would not notice them.
    fs::rename(header, tree.join(HEADER)).unwrap();
    assert_eq!(module(), (second, 3));
    fs::rename(source, tree.join(SOURCE)).unwrap();
    assert_eq!(module(), (first.clone(), 3));
    assert!(!has(&first, "explode_source") && !has(&first, "explode_header"));
}
