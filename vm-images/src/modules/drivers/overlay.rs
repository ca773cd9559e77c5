//! A folder that looks like a kernel's tree: copies of the folder that is built, and links to
//! everything around it.
//!
//! Make writes into the copies, so the tree is not changed. Make decides by times, so a file is
//! copied only if its contents differ. Then make builds again exactly what depends on changed
//! contents. A file that was replaced by an older one counts as changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::base::{ErrorContext, Result};
use crate::modules::uses::Files;

/// Makes `overlay/below` a copy of the sources in `tree/below`, and everything around it links into
/// the tree. Adds the copied files to `copied`, by their paths below the tree.
pub(super) fn update(tree: &Path, overlay: &Path, below: &Path, copied: &mut Files) -> Result<()> {
    let (mut from, mut to) = (tree.to_owned(), overlay.to_owned());
    for name in below {
        make_folder(&to)?;
        for path in sources(&from)? {
            let link = to.join(path.file_name().unwrap_or_default());
            if !path.ends_with(name) && link.symlink_metadata().is_err() {
                symlink(&path, &link).at("make the link", &link)?;
            }
        }
        (from, to) = (from.join(name), to.join(name));
        unlink(&to)?;
    }
    copy_all(tree, &from, &to, copied)
}

fn copy_all(tree: &Path, from: &Path, to: &Path, copied: &mut Files) -> Result<()> {
    unlink(to)?;
    make_folder(to)?;
    for path in sources(to)? {
        let name = path.file_name().unwrap_or_default();
        if !from.join(name).exists() {
            remove(&path)?;
        }
    }
    for path in sources(from)? {
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_all(tree, &path, &copy, copied)?;
            continue;
        }
        let contents = fs::read(&path).at("read", &path)?;
        unlink(&copy)?;
        if fs::read(&copy).ok().as_ref() != Some(&contents) {
            fs::write(&copy, contents).at("write", &copy)?;
            let mode = path.metadata().at("read", &path)?.permissions();
            fs::set_permissions(&copy, mode).at("change the mode of", &copy)?;
        }
        copied.insert(path.strip_prefix(tree).unwrap_or(&path).display().to_string());
    }
    Ok(())
}

/// Returns the contents of a folder without the results of builds there.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).at("list", folder)? {
        let path = entry.at("list", folder)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let built = [".o", ".a", ".ko", ".mod", ".mod.c"].iter().any(|end| name.ends_with(end));
        // A link to nothing is left by an editor that locks a file.
        let lost = path.is_symlink() && !path.exists();
        if !built
            && !lost
            && !name.starts_with('.')
            && name != "modules.order"
            && name != "Module.symvers"
        {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Removes a link into the tree.
fn unlink(path: &Path) -> Result<()> {
    if path.is_symlink() { fs::remove_file(path).at("remove the link", path) } else { Ok(()) }
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    removed.at("remove", path)
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).at("make the folder", path)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const FILES: [&str; 6] =
        ["Makefile", "fs/internal.h", "fs/a/a.c", "fs/a/sub/b.h", "fs/b/b.c", "lib/c.c"];

    /// Makes a tree, and the path of an overlay in which `lib` and `fs/a` are copies.
    fn tree(folder: &Path) -> (PathBuf, PathBuf) {
        let (tree, overlay) = (folder.join("tree"), folder.join("overlay"));
        for file in FILES.into_iter().chain(["fs/a/a.o"]) {
            make_folder(tree.join(file).parent().unwrap()).unwrap();
            fs::write(tree.join(file), file).unwrap();
        }
        (tree, overlay)
    }

    fn update_both(tree: &Path, overlay: &Path) -> Files {
        let mut copied = Files::new();
        for below in ["lib", "fs/a"] {
            update(tree, overlay, Path::new(below), &mut copied).unwrap();
        }
        copied
    }

    #[test]
    fn an_overlay_looks_like_the_tree_and_is_written_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, overlay) = tree(folder.path());
        let copied = update_both(&tree, &overlay);
        assert!(copied.iter().eq(["fs/a/a.c", "fs/a/sub/b.h", "lib/c.c"].iter()), "{copied:?}");
        for file in FILES {
            assert_eq!(fs::read_to_string(overlay.join(file)).unwrap(), file);
        }
        fs::write(overlay.join("fs/a/a.ko"), "").unwrap();
        fs::write(overlay.join("lib/c.ko"), "").unwrap();
        fs::write(overlay.join("fs/a/a.c"), "").unwrap();
        assert!(!overlay.join("fs/a/a.o").exists());
        assert!(!tree.join("fs/a/a.ko").exists() && !tree.join("lib/c.ko").exists());
        assert_eq!(fs::read_to_string(tree.join("fs/a/a.c")).unwrap(), "fs/a/a.c");
    }

    #[test]
    fn only_changed_files_are_copied_again() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, overlay) = tree(folder.path());
        update_both(&tree, &overlay);
        let age = |path: &Path, to: SystemTime| {
            fs::File::options().write(true).open(path).unwrap().set_modified(to)
        };
        let modified = |file: &str| overlay.join(file).metadata().unwrap().modified().unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for file in ["fs/a/a.c", "fs/a/sub/b.h", "lib/c.c"] {
            age(&overlay.join(file), old).unwrap();
        }
        fs::write(overlay.join("fs/a/a.o"), "").unwrap();
        // One file is replaced by one that is older than all objects, one is removed, one is new,
        // and one is only touched.
        fs::write(tree.join("fs/a/a.c"), "other").unwrap();
        age(&tree.join("fs/a/a.c"), old - Duration::from_secs(1)).unwrap();
        fs::remove_file(tree.join("fs/a/sub/b.h")).unwrap();
        fs::write(tree.join("fs/a/new.h"), "new").unwrap();
        fs::write(tree.join("lib/c.c"), "lib/c.c").unwrap();
        update_both(&tree, &overlay);
        assert_eq!(fs::read_to_string(overlay.join("fs/a/a.c")).unwrap(), "other");
        assert!(modified("fs/a/a.c") > old && modified("lib/c.c") == old);
        assert!(!overlay.join("fs/a/sub/b.h").exists() && overlay.join("fs/a/new.h").exists());
        assert!(overlay.join("fs/a/a.o").exists(), "what was built is kept");
    }
}
