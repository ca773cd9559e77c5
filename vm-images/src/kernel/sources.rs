//! Checks that a tree's boot image was made from the current sources of the tree.
//!
//! Make decides that by times, and so does the first check of an image: no object may be older than
//! a file from which it was compiled, or younger than the image. Later checks compare contents with
//! a record in the cache. So a file that was changed and restored counts as unchanged, and a file
//! that was replaced by an older one counts as changed.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use itertools::Itertools as _;
use xxhash_rust::xxh3::xxh3_128;

use super::built::BOOT_IMAGE;
use super::{config, objects};
use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::write_whole;

/// The folders with sources of the kernel, for trees without a record of what was compiled.
const FOLDERS: &[&str] = &[
    "arch/x86", "block", "crypto", "drivers", "fs", "include", "init", "io_uring", "ipc", "kernel",
    "lib", "mm", "net", "rust", "security", "virt",
];

/// The largest number of files that a message names.
const NAMED: usize = 3;

/// Checks the tree of this boot image.
///
/// # Errors
/// [`VmError::Missing`] names the files that were changed since the image was built.
pub(super) fn check(build: &Build<'_>, tree: &Path, image: &[u8], config: &str) -> Result<()> {
    same_configuration(tree, config)?;
    let data = tree.join(BOOT_IMAGE).metadata().at("read", &tree.join(BOOT_IMAGE))?;
    let key = CacheKey::new(1)
        .with("tree", tree.display())
        .with_bytes("bzImage", image)
        .with("built", Times::of(&data).modified);
    let file = build.cache.root().join("sources").join(key.hash());
    let known = fs::read_to_string(&file).ok().and_then(|text| Record::parse(&text));
    let built = Times::of(&data).modified;
    let (record, stale) = match known {
        Some(known) => known.changed(tree),
        None => {
            build.progress.step("comparing the kernel with its sources");
            let first = first_look(tree, built)?;
            let record = if first.stale.is_empty() {
                Record::of(tree, &first.files)
            } else {
                Record::default()
            };
            (Some(record), first.stale)
        }
    };
    if !stale.is_empty() {
        return Err(older(tree, &stale, built));
    }
    record.map_or(Ok(()), |record| write_whole(&file, record.text().as_bytes()))
}

/// The result of the first check of an image.
#[derive(Default)]
struct FirstLook {
    /// All files from which the kernel was made.
    files: BTreeSet<String>,
    /// The files that are younger than something that was made from them.
    stale: BTreeSet<String>,
}

fn first_look(tree: &Path, built: i128) -> Result<FirstLook> {
    let mut look = FirstLook::default();
    let mut folders = BTreeSet::new();
    // Most files are used by most objects.
    let mut times: HashMap<String, Option<i128>> = HashMap::new();
    for path in objects::of_tree(tree)? {
        let text = fs::read_to_string(&path).at("read", &path)?;
        let Some(object) = objects::parse(&text).filter(|object| !object.module) else { continue };
        let compiled = modified(&path).unwrap_or(built);
        for file in object.files.iter().filter(|file| !objects::is_generated(file)) {
            let changed = match times.get(*file) {
                Some(changed) => *changed,
                None => *times.entry((*file).to_owned()).or_insert(modified(&tree.join(file))),
            };
            // A missing file was removed on purpose, because a tree without it could not be built
            // again.
            let Some(changed) = changed else { continue };
            if changed > compiled || compiled > built && *file == object.files[0] {
                look.stale.insert((*file).to_owned());
            }
        }
        let folder = path
            .parent()
            .and_then(|folder| folder.strip_prefix(tree).ok())
            .unwrap_or(Path::new(""));
        folders.extend(folder.ancestors().map(Path::to_owned));
    }
    look.files = times.into_iter().filter_map(|(file, time)| time.map(|_| file)).collect();
    if look.files.is_empty() {
        for folder in FOLDERS {
            younger(tree, Path::new(folder), built, &mut look);
        }
    }
    for makefile in
        folders.iter().flat_map(|folder| ["Makefile", "Kbuild"].map(|name| folder.join(name)))
    {
        if let Some(changed) = modified(&tree.join(&makefile)) {
            let name = makefile.display().to_string();
            if changed > built {
                look.stale.insert(name.clone());
            }
            look.files.insert(name);
        }
    }
    Ok(look)
}

/// Adds the sources of a folder by name to `look.files`, and those that are younger than the image
/// to `look.stale`.
fn younger(tree: &Path, folder: &Path, built: i128, look: &mut FirstLook) {
    for entry in fs::read_dir(tree.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        let name = path.display().to_string();
        let source = [".c", ".h", ".S", ".rs"].iter().any(|end| name.ends_with(end));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            younger(tree, &path, built, look);
        } else if source && !objects::is_generated(&name) {
            if modified(&tree.join(&path)).is_some_and(|changed| changed > built) {
                look.stale.insert(name.clone());
            }
            look.files.insert(name);
        }
    }
}

/// The contents and times of the files from which a kernel was made.
#[derive(Default)]
struct Record(Vec<(String, u128, Times)>);

/// The times and the size of a file. If they are equal, so are the contents.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Times {
    /// The modification time in nanoseconds since 1970, as make compares it.
    modified: i128,
    /// The time of the last change of the inode in nanoseconds since 1970, which no program can set
    /// back.
    changed: i128,
    bytes: u64,
}

impl Times {
    fn of(data: &Metadata) -> Times {
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Times {
            modified: nanoseconds(data.mtime(), data.mtime_nsec()),
            changed: nanoseconds(data.ctime(), data.ctime_nsec()),
            bytes: data.len(),
        }
    }
}

impl Record {
    fn of(tree: &Path, files: &BTreeSet<String>) -> Record {
        let state = |name: &String| {
            let path = tree.join(name);
            // The times are read first, so that a change in between is seen the next time.
            let times = Times::of(&path.metadata().ok()?);
            Some((name.clone(), xxh3_128(&fs::read(&path).ok()?), times))
        };
        Record(files.iter().filter_map(state).collect())
    }

    /// Returns the names of files whose contents have changed. If only times have, also returns a
    /// record to replace this one.
    fn changed(mut self, tree: &Path) -> (Option<Record>, BTreeSet<String>) {
        let mut stale = BTreeSet::new();
        let mut touched = false;
        for (name, hash, times) in &mut self.0 {
            let path = tree.join(&*name);
            let now = path.metadata().ok().map(|data| Times::of(&data));
            if now == Some(*times) {
                continue;
            }
            match now.zip(fs::read(&path).ok()) {
                Some((now, bytes)) if xxh3_128(&bytes) == *hash => *times = now,
                _ => drop(stale.insert(name.clone())),
            }
            touched = true;
        }
        (touched.then_some(self), stale)
    }

    fn text(&self) -> String {
        let line = |(name, hash, Times { modified, changed, bytes }): &(String, u128, Times)| {
            format!("{hash:032x} {modified} {changed} {bytes} {name}\n")
        };
        self.0.iter().map(line).collect()
    }

    /// Parses a record. `None` if the file is torn.
    fn parse(text: &str) -> Option<Record> {
        let line = |line: &str| {
            let mut words = line.splitn(5, ' ');
            let hash = u128::from_str_radix(words.next()?, 16).ok()?;
            let mut number = || words.next()?.parse().ok();
            let (modified, changed) = (number()?, number()?);
            let bytes = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), hash, Times { modified, changed, bytes }))
        };
        (text.is_empty() || text.ends_with('\n'))
            .then(|| text.lines().map(line).collect::<Option<_>>())?
            .map(Record)
    }
}

/// Returns the modification time of a file. `None` if it does not exist.
fn modified(path: &Path) -> Option<i128> {
    Some(Times::of(&path.metadata().ok()?).modified)
}

/// Returns the error for an image that is older than these files.
fn older(tree: &Path, stale: &BTreeSet<String>, built: i128) -> VmError {
    let mut names: Vec<&str> = stale.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("{} more", stale.len().saturating_sub(NAMED));
    names.extend((stale.len() > NAMED).then_some(more.as_str()));
    let shown = tree.display();
    let text = format!(
        "the kernel in {shown} is older than its sources; changed since it was built: {}",
        names.join(", ")
    );
    let is_makefile = |name: &String| name.ends_with("Makefile") || name.ends_with("Kbuild");
    let remedy = if stale.iter().all(is_makefile) {
        format!(
            "run make in {shown}; if make finds nothing to do: touch {}",
            tree.join(BOOT_IMAGE).display()
        )
    } else if stale
        .iter()
        .any(|name| modified(&tree.join(name)).is_none_or(|changed| changed > built))
    {
        format!("run make in {shown}")
    } else {
        format!(
            "run make in {shown}; make compares times, and these files are older than the kernel, \
             so touch them first"
        )
    };
    VmError::missing(text, remedy)
}

/// Checks that the kernel was built with the current configuration.
fn same_configuration(tree: &Path, config: &str) -> Result<()> {
    let Ok(built) = fs::read_to_string(tree.join("include/config/auto.conf")) else {
        return Ok(());
    };
    let (now, built) = (config::parse(config), config::parse(&built));
    let names: BTreeSet<&str> = now.keys().chain(built.keys()).copied().collect();
    // Strings are quoted in only one of the two, and no option with a string decides what is built.
    let differs = |name: &&str| {
        let (now, built) = (now.get(name), built.get(name));
        now != built && !now.is_some_and(|value| value.starts_with('"'))
    };
    let other: Vec<String> =
        names.into_iter().filter(differs).map(|name| format!("CONFIG_{name}")).collect();
    if other.is_empty() {
        return Ok(());
    }
    let shown = tree.display();
    let named = other.iter().take(NAMED).cloned().join(", ");
    let more = if other.len() > NAMED {
        format!(" and {} more", other.len() - NAMED)
    } else {
        String::new()
    };
    Err(VmError::missing(
        format!(
            "the configuration of the kernel in {shown} was changed since it was built: \
             {named}{more}"
        ),
        format!("run make in {shown}"),
    ))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use tempfile::TempDir;

    use super::*;
    use crate::base::VmErrorKind;
    use crate::{BuildOptions, Cache, Silent};

    /// A built tree in which ext4 is built in and XFS is a module. The times of make are in seconds
    /// after 2001.
    struct Tree(TempDir);

    /// The files and their times.
    const FILES: [(&str, u64); 8] = [
        ("fs/ext4/inode.c", 10),
        ("fs/ext4/ext4.h", 10),
        ("fs/ext4/Makefile", 10),
        ("fs/xfs/xfs_log.c", 10),
        ("include/linux/fs.h", 10),
        ("include/generated/utsrelease.h", 500),
        ("include/config/EXT4_FS", 10),
        (BOOT_IMAGE, 100),
    ];

    impl Tree {
        fn built() -> Tree {
            let tree = Tree(tempfile::tempdir().unwrap());
            for (name, at) in FILES {
                tree.write(name, name, at);
            }
            tree.compiled("fs/ext4", "inode", "", &["fs/ext4/ext4.h", "include/linux/fs.h"], 20);
            tree.compiled("fs/xfs", "xfs_log", "-DMODULE", &["include/linux/fs.h"], 200);
            tree
        }

        fn write(&self, name: &str, text: &str, at: u64) {
            let path = self.0.path().join("tree").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(978_307_200 + at);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }

        /// Writes make's record of an object.
        fn compiled(&self, folder: &str, name: &str, flags: &str, uses: &[&str], at: u64) {
            let object = format!("{folder}/{name}.o");
            let uses: String = uses.iter().map(|file| format!("  {file} \\\n")).collect();
            let text = format!(
                "savedcmd_{object} := gcc {flags} -c\n\nsource_{object} := \
                 {folder}/{name}.c\n\ndeps_{object} := \\\n    \
                 $(wildcard include/config/EXT4_FS) \\\n  \
                 include/generated/utsrelease.h \\\n{uses}\n"
            );
            self.write(&format!("{folder}/.{name}.o.cmd"), &text, at);
        }

        /// Links a kernel with these contents.
        fn link(&self, contents: &str, at: u64) {
            self.compiled(
                "fs/ext4",
                "inode",
                "",
                &["fs/ext4/ext4.h", "include/linux/fs.h"],
                at - 1,
            );
            self.write(BOOT_IMAGE, contents, at);
        }

        fn check(&self) -> Result<()> {
            let (cache, options) =
                (Cache::at(self.0.path().join("cache")), BuildOptions::default());
            let build = Build { cache: &cache, options: &options, progress: &Silent };
            let tree = self.0.path().join("tree");
            check(&build, &tree, &fs::read(tree.join(BOOT_IMAGE)).unwrap(), "CONFIG_EXT4_FS=y\n")
        }

        #[track_caller]
        fn refused(&self, words: &[&str]) {
            let error = self.check().unwrap_err();
            assert_eq!(error.kind(), VmErrorKind::Missing);
            for word in words {
                assert!(error.to_string().contains(word), "'{word}' is not in: {error}");
            }
        }
    }

    #[test]
    fn a_source_that_is_younger_than_the_kernel_is_refused_until_it_is_built() {
        for name in
            ["fs/ext4/inode.c", "fs/ext4/ext4.h", "include/linux/fs.h", "include/config/EXT4_FS"]
        {
            let tree = Tree::built();
            tree.write(name, "other", 300);
            tree.refused(&["is older than its sources", name, "run make in "]);
            // Sources and headers of a module only matter to the builds of drivers.
            tree.link("built again", 400);
            tree.check().unwrap();
        }
        let tree = Tree::built();
        tree.write("fs/xfs/xfs_log.c", "other", 300);
        tree.check().unwrap();
    }

    #[test]
    fn accepted_sources_are_compared_by_contents() {
        for name in ["fs/ext4/inode.c", "fs/ext4/ext4.h", "include/linux/fs.h"] {
            let tree = Tree::built();
            tree.check().unwrap();
            tree.write(name, "other", 300);
            tree.refused(&[name]);
            tree.write(name, name, 310);
            tree.check().unwrap();
            // Make would not notice this change.
            tree.write(name, "other", 5);
            tree.refused(&[name, "make compares times", "touch them first"]);
            tree.link("built again", 400);
            tree.check().unwrap();
            tree.write(name, name, 5);
            tree.refused(&[name]);
        }
    }

    #[test]
    fn an_object_that_was_compiled_and_not_linked_is_refused() {
        let tree = Tree::built();
        tree.compiled("fs/ext4", "inode", "", &[], 150);
        tree.refused(&["fs/ext4/inode.c"]);
    }

    #[test]
    fn a_makefile_that_makes_nothing_new_can_be_accepted() {
        let tree = Tree::built();
        tree.write("fs/ext4/Makefile", "# a comment", 300);
        tree.refused(&["fs/ext4/Makefile", "if make finds nothing to do: touch "]);
        tree.write(BOOT_IMAGE, BOOT_IMAGE, 310);
        tree.check().unwrap();
    }

    #[test]
    fn without_a_build_record_every_source_counts() {
        let tree = Tree::built();
        for object in ["fs/ext4/.inode.o.cmd", "fs/xfs/.xfs_log.o.cmd"] {
            fs::remove_file(tree.0.path().join("tree").join(object)).unwrap();
        }
        tree.check().unwrap();
        tree.write("fs/xfs/xfs_log.c", "other", 300);
        tree.refused(&["fs/xfs/xfs_log.c"]);
    }

    #[test]
    fn another_configuration_is_refused() {
        let tree = Tree::built();
        tree.write("include/config/auto.conf", "CONFIG_EXT4_FS=y\nCONFIG_WORD=word\n", 10);
        tree.refused(&["CONFIG_WORD", "run make in "]);
        tree.write("include/config/auto.conf", "CONFIG_EXT4_FS=y\n", 10);
        tree.check().unwrap();
        tree.write("include/config/auto.conf", "CONFIG_EXT4_FS=m\n", 10);
        tree.refused(&["the configuration", "CONFIG_EXT4_FS"]);
        assert!(same_configuration(tree.0.path(), "CONFIG_A=\"b\"\n").is_ok());
    }
}
