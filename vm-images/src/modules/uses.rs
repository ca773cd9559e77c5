//! Cache entries that were built from files of a tree that the user may edit.
//!
//! Only a build shows which headers a module includes. So the inputs that are known before a build
//! (the base) identify a set of lists of the files that builds have used. The key of an entry is
//! the base and the contents of the files of one list. If the files of a list have the contents of
//! an entry, the list is correct for these contents, because they determine what is included.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_128;

use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::build::Build;
use crate::cache::{Cache, write_whole};
use crate::kernel::objects;

/// The makefiles of the tree that are part of each build of a module.
const MAKEFILES: &[&str] = &[
    "Makefile",
    "arch/x86/Makefile",
    "scripts/Kbuild.include",
    "scripts/Makefile.build",
    "scripts/Makefile.lib",
    "scripts/Makefile.modfinal",
    "scripts/Makefile.modpost",
];

/// Files of a tree, by their paths below it.
pub(crate) type Files = BTreeSet<String>;

/// Returns the entry of this base and the current contents of the tree's files. `None` if it has
/// yet to be built.
pub(crate) fn find(cache: &Cache, kind: &str, tree: &Path, base: &CacheKey) -> Option<PathBuf> {
    let lists = fs::read_dir(folder(cache, base)).into_iter().flatten().flatten();
    let lists = lists.filter_map(|list| fs::read_to_string(list.path()).ok());
    lists
        .map(|list| list.lines().map(str::to_owned).collect())
        .find_map(|files| cache.find(kind, &key(tree, base, &files)))
}

/// Returns the key of the entry that was built from these files.
fn key(tree: &Path, base: &CacheKey, files: &Files) -> CacheKey {
    files.iter().fold(base.clone(), |key, file| key.with(file, content(&tree.join(file))))
}

/// Makes an entry of the built files with these names. Keeps the list of the tree's files from
/// which they were made.
pub(crate) fn enter(
    build: &Build<'_>,
    kind: &str,
    tree: &Path,
    base: &CacheKey,
    files: &Files,
    built: &Path,
    names: &[String],
) -> Result<PathBuf> {
    let key = key(tree, base, files);
    let entry = build.cache.entry(kind, &key, build.progress, |building| {
        for name in names {
            let from = built.join(name);
            fs::copy(&from, building.dir.join(name)).at("copy the module", &from)?;
        }
        Ok(())
    })?;
    keep(build.cache, base, files)?;
    Ok(entry)
}

/// Keeps the list of the files from which an entry was built.
fn keep(cache: &Cache, base: &CacheKey, files: &Files) -> Result<()> {
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let name = CacheKey::new(1).with_bytes("files", text.as_bytes()).hash();
    write_whole(&folder(cache, base).join(name), text.as_bytes())
}

/// Returns the hash of a file. `absent` if it does not exist.
pub(crate) fn content(file: &Path) -> String {
    fs::read(file)
        .map_or_else(|_| "absent".to_owned(), |bytes| format!("{:032x}", xxh3_128(&bytes)))
}

/// Returns the files of the tree from which the objects below `built` were compiled. `built` is a
/// folder that looks like the tree.
pub(crate) fn of_objects(tree: &Path, built: &Path) -> Result<Files> {
    let mut files: Files = MAKEFILES.iter().map(|&file| file.to_owned()).collect();
    let mut commands = Vec::new();
    objects::below(built, &mut commands)?;
    for path in commands {
        let text = fs::read_to_string(&path).at("read", &path)?;
        for file in objects::parse(&text).iter().flat_map(|object| &object.files) {
            // Options of the configuration are part of the kernel's key.
            if !file.starts_with("include/config/") {
                files.insert(below(tree, built, file));
            }
        }
    }
    Ok(files)
}

/// Checks that none of the files was changed since a build from them started, so that their
/// contents are those that the build read.
///
/// # Errors
/// [`VmError::Broken`] names a file that was changed.
pub(crate) fn unchanged_since(tree: &Path, files: &Files, started: SystemTime) -> Result<()> {
    let started = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let started = (started.as_secs().cast_signed(), i64::from(started.subsec_nanos()));
    let is_younger = |file: &&String| {
        tree.join(file).metadata().is_ok_and(|data| (data.ctime(), data.ctime_nsec()) > started)
    };
    files.iter().find(is_younger).map_or(Ok(()), |file| Err(changed(tree, file)))
}

/// Returns the error for a file that was changed while it was read.
pub(crate) fn changed(tree: &Path, file: &str) -> VmError {
    let file = tree.join(file);
    VmError::broken(format!(
        "{} was changed while a module was built from it; try again",
        file.display()
    ))
}

/// Returns a path relative to the tree, if it is in the tree or in the folder that looks like it.
/// Otherwise the absolute path.
fn below(tree: &Path, built: &Path, file: &str) -> String {
    let path = plain(&tree.join(file));
    let relative = path.strip_prefix(built).or_else(|_| path.strip_prefix(tree)).unwrap_or(&path);
    relative.display().to_string()
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

fn folder(cache: &Cache, base: &CacheKey) -> PathBuf {
    cache.root().join("uses").join(base.hash())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    #[test]
    fn an_entry_is_found_by_the_contents_of_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, tree) = (Cache::at(folder.path().join("cache")), folder.path().join("tree"));
        let write = |file: &str, text: &str| {
            fs::create_dir_all(tree.join(file).parent().unwrap()).unwrap();
            fs::write(tree.join(file), text).unwrap();
        };
        let base = CacheKey::new(1);
        let find = || find(&cache, "drivers", &tree, &base);
        let build = |files: &[&str]| {
            let files = files.iter().map(|&file| file.to_owned()).collect();
            let entry =
                cache.entry("drivers", &key(&tree, &base, &files), &Silent, |_| Ok(())).unwrap();
            keep(&cache, &base, &files).unwrap();
            assert_eq!(find().as_ref(), Some(&entry));
            entry
        };
        write("a.c", "1");
        write("a.h", "1");
        assert_eq!(find(), None);
        let one = build(&["a.c", "a.h"]);
        write("a.h", "2");
        assert_eq!(find(), None);
        write("a.h", "1");
        assert_eq!(find(), Some(one.clone()));
        // The object now includes another header.
        write("a.c", "2");
        write("b.h", "1");
        let two = build(&["a.c", "a.h", "b.h"]);
        write("b.h", "2");
        assert_eq!(find(), None);
        fs::remove_file(tree.join("b.h")).unwrap();
        assert_eq!(find(), None);
        write("b.h", "1");
        assert_eq!(find(), Some(two));
        write("a.c", "1");
        assert_eq!(find(), Some(one));
    }

    #[test]
    fn sources_of_objects_are_named_relative_to_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, built) = (folder.path().join("tree"), folder.path().join("built"));
        fs::create_dir_all(built.join("fs/a")).unwrap();
        let shown = built.display();
        let text = format!(
            "savedcmd_x := gcc\n\nsource_x := {shown}/fs/a/a.c\n\ndeps_x := \\\n  $(wildcard \
             include/config/A) \\\n  \
             include/linux/fs.h \\\n  {shown}/fs/a/../internal.h \\\n  /usr/include/x.h \\\n\n"
        );
        fs::write(built.join("fs/a/.a.o.cmd"), text).unwrap();
        let mut files = of_objects(&tree, &built).unwrap();
        MAKEFILES.iter().for_each(|&file| assert!(files.remove(file)));
        let expected = ["/usr/include/x.h", "fs/a/a.c", "fs/internal.h", "include/linux/fs.h"];
        assert!(files.iter().eq(expected.iter()), "{files:?}");
    }
}
