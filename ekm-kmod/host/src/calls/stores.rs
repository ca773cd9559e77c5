//! Stores through shared mappings (mmap), which are not calls. They are found by a comparison of
//! contents.
//!
//! After the call that maps a file, the file is read each time that the log is read. Bytes that no
//! call has written were stored through the mapping since the last read. They become a separate
//! operation, the last one before this read. The contents of the file when it was mapped are
//! unknown, so at the first read all of it counts as stored.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use libc::{O_NOATIME, O_NOFOLLOW};

use super::call::{AttributeChange, KernelCall, KernelCallKind};
use explode_runtime::base::{Blame, StepError};

/// The files that are or were mapped.
#[derive(Debug, Default)]
pub(crate) struct MappedFiles {
    files: BTreeMap<(u32, u64), MappedFile>,
}

#[derive(Debug)]
struct MappedFile {
    path: PathBuf,
    /// The contents according to the calls. `None` if unknown.
    known: Option<Vec<u8>>,
}

impl MappedFiles {
    /// Applies a call of the log.
    pub fn note(&mut self, call: &KernelCall) {
        let KernelCall { system, inode, path, nameless, kind, .. } = call;
        if let KernelCallKind::Rename(to, ..) = kind {
            for ((of, _), mapped) in &mut self.files {
                if of == system
                    && let Ok(rest) = mapped.path.strip_prefix(path)
                {
                    mapped.path =
                        if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                }
            }
        }
        let file = (*system, *inode);
        match kind {
            // A file without a name cannot be found by name.
            KernelCallKind::Map if !nameless => {
                self.files
                    .entry(file)
                    .or_insert_with(|| MappedFile { path: path.clone(), known: None });
            }
            KernelCallKind::Unlink
                if self.files.get(&file).is_some_and(|mapped| mapped.path == *path) =>
            {
                self.files.remove(&file);
            }
            KernelCallKind::Write(offset, data) => self.change(file, |known| {
                let (from, to) = (*offset as usize, *offset as usize + data.len());
                known.resize(known.len().max(to), 0);
                known[from..to].copy_from_slice(data);
            }),
            KernelCallKind::Change(AttributeChange { size: Some(size), .. }) => {
                self.change(file, |known| known.resize(*size as usize, 0));
            }
            // The contents are unknown after the call.
            KernelCallKind::Allocate(..) => {
                if let Some(mapped) = self.files.get_mut(&file) {
                    mapped.known = None;
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, file: (u32, u64), change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(known) = self.files.get_mut(&file).and_then(|mapped| mapped.known.as_mut()) {
            change(known);
        }
    }

    /// Returns the stores since the last read. `roots` are the mount points of the file systems, or
    /// `None` for those that are no longer mounted.
    ///
    /// # Errors
    /// A file is not at the path that the calls give.
    pub fn look(&mut self, roots: &[Option<PathBuf>]) -> Result<Vec<KernelCall>, StepError> {
        let mut stored = Vec::new();
        for ((system, inode), mapped) in &mut self.files {
            let Some(Some(root)) = roots.get(*system as usize) else { continue };
            let path = root.join(&mapped.path);
            let now = contents(&path, *inode).map_err(|why| {
                let text = format!(
                    "stores through a mapping of {} cannot be observed: {why}",
                    path.display()
                );
                StepError::new(text).blame(Blame::Tool)
            })?;
            if let Some((offset, data)) = difference(mapped.known.as_deref(), &now) {
                let (path, kind) = (
                    mapped.path.clone(),
                    KernelCallKind::Store(offset, Bytes::copy_from_slice(data)),
                );
                let (mode, owner, nameless) = (0, (0, 0), false);
                stored.push(KernelCall {
                    system: *system,
                    inode: *inode,
                    nameless,
                    path,
                    mode,
                    owner,
                    kind,
                });
            }
            mapped.known = Some(now);
        }
        Ok(stored)
    }
}

fn contents(path: &Path, inode: u64) -> Result<Vec<u8>, String> {
    let open = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NOATIME).open(path);
    let mut file = open.map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?.ino();
    if found != inode {
        return Err(format!("inode {found} is there, and it was {inode}"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Returns the offset and the bytes from the first difference to the last one. `None` if there is
/// no difference.
fn difference<'a>(known: Option<&[u8]>, now: &'a [u8]) -> Option<(u64, &'a [u8])> {
    let known = known.filter(|known| known.len() == now.len());
    let differs = |at: &usize| known.is_none_or(|known| known[*at] != now[*at]);
    let first = (0..now.len()).find(differs)?;
    let last = (0..now.len()).rfind(differs)?;
    Some((first as u64, &now[first..=last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_differing_bytes_are_a_store() {
        assert_eq!(difference(None, b""), None);
        assert_eq!(difference(None, b"abc"), Some((0, &b"abc"[..])));
        assert_eq!(difference(Some(b"abcd"), b"abcd"), None);
        assert_eq!(difference(Some(b"abcd"), b"aXYd"), Some((1, &b"XY"[..])));
    }

    #[test]
    fn a_store_is_seen_once_and_under_the_name_that_the_file_has_then() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        std::fs::write(&at, b"old").unwrap();
        let call = |path: &str, kind| KernelCall {
            system: 0,
            inode: at.metadata().or_else(|_| folder.path().join("b").metadata()).unwrap().ino(),
            nameless: false,
            path: path.into(),
            mode: 0o100_644,
            owner: (0, 0),
            kind,
        };
        let roots = [Some(folder.path().to_owned())];
        let mut stores = MappedFiles::default();
        assert_eq!(stores.look(&roots).unwrap(), []);
        stores.note(&call("a", KernelCallKind::Map));
        let all = |data: &'static [u8]| KernelCallKind::Store(0, Bytes::from_static(data));
        let stored = |stores: &mut MappedFiles| {
            stores
                .look(&roots)
                .unwrap()
                .into_iter()
                .map(|call| (call.path, call.kind))
                .collect::<Vec<_>>()
        };
        assert_eq!(stored(&mut stores), [("a".into(), all(b"old"))]);
        stores.note(&call("a", KernelCallKind::Write(3, Bytes::from_static(b"er"))));
        std::fs::write(&at, b"older").unwrap();
        assert_eq!(stored(&mut stores), []);
        std::fs::rename(&at, folder.path().join("b")).unwrap();
        stores.note(&call("a", KernelCallKind::Rename("b".into(), 0, None)));
        std::fs::write(folder.path().join("b"), b"oldex").unwrap();
        assert_eq!(
            stored(&mut stores),
            [("b".into(), KernelCallKind::Store(4, Bytes::from_static(b"x")))]
        );
        stores.note(&call("b", KernelCallKind::Unlink));
        std::fs::remove_file(folder.path().join("b")).unwrap();
        assert_eq!(stored(&mut stores), []);
    }
}
