//! Random calls of `std::fs` have the same results on simulated files as on a file system of the
//! kernel.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use explode_posix::{Step, crash_test};
use proptest::collection::vec;
use proptest::prelude::*;

/// A call on names from a few, or on one of a few open files.
#[derive(Clone, Debug)]
enum Call {
    Open { path: usize, flags: [bool; 6] },
    Close(usize),
    Write(usize, Vec<u8>),
    WriteAt(usize, u64, Vec<u8>),
    Read(usize, usize),
    ReadAt(usize, u64, usize),
    Seek(usize, i64, u8),
    SetLen(usize, u64),
    Sync(usize, bool),
    Clone(usize),
    Status(usize),
    Mkdir(usize),
    MkdirAll(usize),
    Rmdir(usize),
    RemoveAll(usize),
    Unlink(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Symlink(usize, usize),
    ReadLink(usize),
    Metadata(usize, bool),
    ReadDir(usize),
    Canonicalize(usize),
    Copy(usize, usize),
    Chmod(usize, u32),
    Lock(usize, bool),
    Unlock(usize),
}

/// The paths of the calls, below the folder.
const PATHS: [&str; 9] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/../b", "a/"];
/// The targets of symbolic links.
const TARGETS: [&str; 5] = ["a", "d", "../a", "nowhere", "e/a"];
/// The most open files.
const FILES: usize = 3;

fn call() -> impl Strategy<Value = Call> {
    let (path, file) = (0..PATHS.len(), 0..FILES);
    let bytes = vec(1_u8..=255, 0..5000);
    prop_oneof![
        4 => (path.clone(), any::<[bool; 6]>()).prop_map(|(path, flags)| Call::Open { path, flags }),
        1 => file.clone().prop_map(Call::Close),
        4 => (file.clone(), bytes.clone()).prop_map(|(file, bytes)| Call::Write(file, bytes)),
        2 => (file.clone(), 0_u64..9000, bytes).prop_map(|(file, at, b)| Call::WriteAt(file, at, b)),
        2 => (file.clone(), 0_usize..9000).prop_map(|(file, len)| Call::Read(file, len)),
        2 => (file.clone(), 0_u64..9000, 0_usize..9000).prop_map(|(f, at, n)| Call::ReadAt(f, at, n)),
        2 => (file.clone(), -100_i64..9000, 0_u8..3).prop_map(|(f, to, from)| Call::Seek(f, to, from)),
        1 => (file.clone(), 0_u64..9000).prop_map(|(file, len)| Call::SetLen(file, len)),
        1 => (file.clone(), any::<bool>()).prop_map(|(file, data)| Call::Sync(file, data)),
        1 => file.clone().prop_map(Call::Clone),
        1 => file.clone().prop_map(Call::Status),
        3 => path.clone().prop_map(Call::Mkdir),
        1 => path.clone().prop_map(Call::MkdirAll),
        1 => path.clone().prop_map(Call::Rmdir),
        1 => path.clone().prop_map(Call::RemoveAll),
        2 => path.clone().prop_map(Call::Unlink),
        3 => (path.clone(), path.clone()).prop_map(|(from, to)| Call::Rename(from, to)),
        2 => (path.clone(), path.clone()).prop_map(|(from, to)| Call::Link(from, to)),
        2 => (0..TARGETS.len(), path.clone()).prop_map(|(to, path)| Call::Symlink(to, path)),
        1 => path.clone().prop_map(Call::ReadLink),
        2 => (path.clone(), any::<bool>()).prop_map(|(path, follow)| Call::Metadata(path, follow)),
        2 => path.clone().prop_map(Call::ReadDir),
        1 => path.clone().prop_map(Call::Canonicalize),
        1 => (path.clone(), path.clone()).prop_map(|(from, to)| Call::Copy(from, to)),
        1 => (path, 0_u32..0o1000).prop_map(|(path, mode)| Call::Chmod(path, mode | 0o600)),
        1 => (file.clone(), any::<bool>()).prop_map(|(file, shared)| Call::Lock(file, shared)),
        1 => file.prop_map(Call::Unlock),
    ]
}

/// A folder and the files that are open in it.
struct Caller {
    folder: PathBuf,
    files: Vec<File>,
}

fn status(metadata: &fs::Metadata) -> String {
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
    format!("{:?} {size} {links} {:o}", metadata.file_type(), metadata.mode())
}

impl Caller {
    fn path(&self, path: usize) -> PathBuf {
        self.folder.join(PATHS[path])
    }

    fn file(&mut self, file: usize) -> io::Result<&mut File> {
        let count = self.files.len().max(1);
        self.files.get_mut(file % count).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn open(&mut self, path: usize, flags: [bool; 6]) -> io::Result<String> {
        let [read, write, append, truncate, create, create_new] = flags;
        let mut options = OpenOptions::new();
        options.read(read).write(write).append(append).truncate(truncate);
        let file = options.create(create).create_new(create_new).open(self.path(path))?;
        self.files.truncate(FILES - 1);
        self.files.push(file);
        Ok(String::new())
    }

    fn read_dir(&self, path: usize) -> io::Result<String> {
        let names = fs::read_dir(self.path(path))?.map(|entry| {
            let entry = entry?;
            Ok(format!("{:?} {:?}", entry.file_name(), entry.file_type()?))
        });
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names.join(" "))
    }

    /// Makes a call on an open file, and returns its result in words.
    fn on_file(&mut self, call: &Call) -> io::Result<String> {
        let read = |bytes: &[u8], count: usize| format!("{count} {:?}", &bytes[..count]);
        Ok(match call {
            Call::Write(file, bytes) => self.file(*file)?.write(bytes)?.to_string(),
            Call::WriteAt(file, at, bytes) => self.file(*file)?.write_at(bytes, *at)?.to_string(),
            Call::Read(file, len) => {
                let mut bytes = vec![0; *len];
                let count = self.file(*file)?.read(&mut bytes)?;
                read(&bytes, count)
            }
            Call::ReadAt(file, at, len) => {
                let mut bytes = vec![0; *len];
                let count = self.file(*file)?.read_at(&mut bytes, *at)?;
                read(&bytes, count)
            }
            // Each file system has its own positions in a directory.
            Call::Seek(file, ..) if self.file(*file)?.metadata()?.is_dir() => String::new(),
            Call::Seek(file, to, from) => {
                let to = match from {
                    0 => SeekFrom::Start(u64::try_from(*to).unwrap_or(0)),
                    1 => SeekFrom::Current(*to),
                    _ => SeekFrom::End(*to),
                };
                self.file(*file)?.seek(to)?.to_string()
            }
            Call::SetLen(file, len) => format!("{:?}", self.file(*file)?.set_len(*len)?),
            Call::Sync(file, true) => format!("{:?}", self.file(*file)?.sync_data()?),
            Call::Sync(file, false) => format!("{:?}", self.file(*file)?.sync_all()?),
            Call::Status(file) => status(&self.file(*file)?.metadata()?),
            Call::Lock(file, true) => format!("{:?}", self.file(*file)?.try_lock_shared()),
            Call::Lock(file, false) => format!("{:?}", self.file(*file)?.try_lock()),
            Call::Unlock(file) => format!("{:?}", self.file(*file)?.unlock()?),
            Call::Clone(file) => {
                let copy = self.file(*file)?.try_clone()?;
                self.files.truncate(FILES - 1);
                self.files.push(copy);
                String::new()
            }
            Call::Close(file) => {
                let count = self.files.len().max(1);
                if !self.files.is_empty() {
                    self.files.remove(file % count);
                }
                String::new()
            }
            other => return self.on_path(other),
        })
    }

    /// Makes a call on paths, and returns its result in words.
    fn on_path(&mut self, call: &Call) -> io::Result<String> {
        let done = |()| String::new();
        match call {
            Call::Open { path, flags } => self.open(*path, *flags),
            Call::Mkdir(path) => fs::create_dir(self.path(*path)).map(done),
            Call::MkdirAll(path) => fs::create_dir_all(self.path(*path)).map(done),
            Call::Rmdir(path) => fs::remove_dir(self.path(*path)).map(done),
            Call::RemoveAll(path) => fs::remove_dir_all(self.path(*path)).map(done),
            Call::Unlink(path) => fs::remove_file(self.path(*path)).map(done),
            Call::Rename(from, to) => fs::rename(self.path(*from), self.path(*to)).map(done),
            Call::Link(from, to) => fs::hard_link(self.path(*from), self.path(*to)).map(done),
            Call::Symlink(to, path) => symlink(TARGETS[*to], self.path(*path)).map(done),
            Call::ReadLink(path) => Ok(format!("{:?}", fs::read_link(self.path(*path))?)),
            Call::Metadata(path, true) => Ok(status(&fs::metadata(self.path(*path))?)),
            Call::Metadata(path, false) => Ok(status(&fs::symlink_metadata(self.path(*path))?)),
            Call::ReadDir(path) => self.read_dir(*path),
            Call::Canonicalize(path) => {
                let real = fs::canonicalize(self.path(*path))?;
                Ok(format!("{:?}", real.strip_prefix(&self.folder)))
            }
            Call::Copy(from, to) => Ok(fs::copy(self.path(*from), self.path(*to))?.to_string()),
            Call::Chmod(path, mode) => {
                let mode = fs::Permissions::from_mode(*mode);
                fs::set_permissions(self.path(*path), mode).map(done)
            }
            other => unreachable!("{other:?} is a call on an open file"),
        }
    }
}

/// Makes calls below a folder, and returns their results in words.
fn results(folder: &Path, calls: &[Call]) -> Vec<String> {
    let mut caller = Caller { folder: folder.to_owned(), files: Vec::new() };
    let mut results = Vec::new();
    for call in calls {
        let result = caller.on_file(call);
        results.push(match result {
            Ok(result) => format!("{call:?}: {result}"),
            Err(error) => format!("{call:?}: {:?} {:?}", error.raw_os_error(), error.kind()),
        });
    }
    results
}

/// Makes the calls on simulated files.
fn simulated(calls: Vec<Call>) -> Vec<String> {
    let made = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&made);
    let open = move |folder: &Path| {
        let mut made = seen.lock().unwrap();
        if made.is_empty() {
            *made = results(folder, &calls);
        }
        Ok(())
    };
    let step = |_: &mut (), _: &mut (), _: &mut Step<'_, '_>| Ok(());
    crash_test("calls", open, step, |_| Ok(())).depth(1).run();
    Arc::into_inner(made).map_or_else(Vec::new, |made| made.into_inner().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn calls_have_the_results_of_a_real_file_system(calls in vec(call(), 1..40)) {
        let real = tempfile::tempdir_in("/dev/shm").unwrap();
        let folder = real.path().join("calls");
        fs::create_dir(&folder).unwrap();
        prop_assert_eq!(simulated(calls.clone()), results(&folder, &calls));
    }
}
