//! Finds the shared libraries of the image's programs in the unpacked packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::cpio::Archive;
use super::elf;
use crate::base::{ErrorContext, Result, VmError};

/// The folders of libraries in Debian's packages, which the loader searches by default.
const FOLDERS: [&str; 2] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];

/// Adds the loader and the libraries that the programs in the archive need, and the libraries that
/// those need.
pub(crate) fn add(archive: &mut Archive, root: &Path) -> Result<()> {
    let mut wanted = BTreeSet::new();
    let mut loaders = BTreeSet::new();
    for elf in archive.files().filter_map(elf::parse) {
        wanted.extend(elf.needed);
        loaders.extend(elf.interpreter);
    }
    for loader in loaders {
        let name = loader.rsplit('/').next().unwrap_or(&loader);
        let (_, data) = find(root, name)?;
        archive.file(&loader, 0o755, data);
    }
    let mut done = BTreeSet::new();
    while let Some(name) = wanted.pop_first() {
        if !done.insert(name.clone()) {
            continue;
        }
        let (folder, data) = find(root, &name)?;
        wanted.extend(elf::parse(&data).unwrap_or_default().needed);
        archive.file(&format!("{folder}/{name}"), 0o755, data);
    }
    Ok(())
}

fn find(root: &Path, name: &str) -> Result<(&'static str, Vec<u8>)> {
    for folder in FOLDERS {
        let path = root.join(folder).join(name);
        // The names of libraries are links to files with the full version.
        if path.is_file() {
            return Ok((folder, fs::read(&path).at("read", &path)?));
        }
    }
    Err(VmError::broken(format!(
        "a program of the guest's image needs {name}, which is in none of the image's packages; \
         add a `libraries` line for \
         the package that has it to image/recipe.txt"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_libraries_are_found_with_their_libraries() {
        // This test's own program and the machine's libraries replace packages.
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FOLDERS[0]);
        fs::create_dir_all(&folder).unwrap();
        for name in ["libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2"] {
            let source = Path::new("/lib/x86_64-linux-gnu").join(name);
            if source.is_file() {
                fs::copy(source, folder.join(name)).unwrap();
            }
        }
        let mut archive = Archive::default();
        archive.file("/bin/test", 0o755, fs::read("/proc/self/exe").unwrap());
        add(&mut archive, root.path()).unwrap();
        assert!(archive.contains("/lib64/ld-linux-x86-64.so.2"));
        assert!(archive.contains("/lib/x86_64-linux-gnu/libc.so.6"));
        // libc needs the loader by its name as a library.
        assert!(archive.contains("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"));

        fs::remove_file(folder.join("libc.so.6")).unwrap();
        let error = add(&mut archive, root.path()).unwrap_err().to_string();
        assert!(error.contains("needs libc.so.6"), "{error}");
    }
}
