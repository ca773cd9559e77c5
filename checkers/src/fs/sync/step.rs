//! The steps that mutate chooses from, in a tree of two files, `/a` and `/b`, and a directory with
//! a file in it, `/d/c`.

use std::collections::BTreeMap;

use explode_ramdisk::files::{FsCall, OpenFlags};

use super::durable::Durable;
use crate::fs::model::Abstract;
use crate::fs::model::pattern::pattern;

/// The number of bytes of one write: a block of common file systems.
pub const BLOCK: usize = 4096;
/// A size in the middle of a block.
const MIDDLE: usize = 1000;

/// One call of mutate. Steps with a sync of their own make short paths to typical sync bugs:
/// [`WriteAFar`](SyncStep::WriteAFar), [`TruncateA`](SyncStep::TruncateA), and
/// [`WriteB`](SyncStep::WriteB) or [`WriteC`](SyncStep::WriteC) is the paper's error in ext2. A new
/// file or directory gets the indirect blocks that `/a` has given back, and the `/a` that is still
/// on disk claims them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStep {
    /// Writes the first block of `/a`, and fsyncs it and its directory.
    WriteA,
    /// Writes a block of `/a` after a hole (EX-97), so that there are indirect blocks, and fsyncs
    /// both.
    WriteAFar,
    /// Writes two blocks of `/b`, and fsyncs it and its directory.
    WriteB,
    /// Writes the block of `/d/c`, makes `/d` if necessary, and fsyncs the file and both
    /// directories.
    WriteC,
    /// Writes the first block of `/a`, not synced.
    WriteAOnly,
    /// Writes two blocks of `/b`, not synced.
    WriteBOnly,
    /// Writes a block at the end of `/a`, and fdatasyncs `/a` only. Its size is needed to read the
    /// block.
    AppendToA,
    /// Truncates `/a` to nothing, not synced.
    TruncateA,
    /// Shortens or extends `/a` to the middle of a block, not synced.
    ResizeA,
    /// Removes `/a`, not synced.
    UnlinkA,
    /// Renames `/a` to `/b`, which may exist, not synced.
    RenameAToB,
    /// Makes the directory and its file with a block, not synced.
    MakeD,
    /// Removes the file and its directory, not synced.
    RemoveD,
    /// Fsyncs `/a` without its directory.
    FsyncA,
    /// Fsyncs the root: the names in it.
    FsyncRoot,
    /// Syncs everything.
    Sync,
}

impl SyncStep {
    const ALL: [SyncStep; 16] = [
        SyncStep::WriteA,
        SyncStep::WriteAFar,
        SyncStep::WriteB,
        SyncStep::WriteC,
        SyncStep::WriteAOnly,
        SyncStep::WriteBOnly,
        SyncStep::AppendToA,
        SyncStep::TruncateA,
        SyncStep::ResizeA,
        SyncStep::UnlinkA,
        SyncStep::RenameAToB,
        SyncStep::MakeD,
        SyncStep::RemoveD,
        SyncStep::FsyncA,
        SyncStep::FsyncRoot,
        SyncStep::Sync,
    ];

    /// The steps that make all files and both directories.
    pub const TREE: [SyncStep; 3] = [SyncStep::WriteAOnly, SyncStep::WriteBOnly, SyncStep::MakeD];

    /// Returns the steps that change anything.
    pub fn possible(durable: &Durable) -> Vec<SyncStep> {
        SyncStep::ALL.into_iter().filter(|step| step.is_possible(durable)).collect()
    }

    fn is_possible(self, durable: &Durable) -> bool {
        let Durable { fs, all, .. } = durable;
        let (a, c) = (fs.find("/a"), fs.find("/d/c"));
        let size = |id| fs.bytes(id).len();
        match self {
            SyncStep::WriteA | SyncStep::WriteAFar | SyncStep::WriteB | SyncStep::WriteC => true,
            SyncStep::WriteAOnly | SyncStep::WriteBOnly | SyncStep::AppendToA => true,
            SyncStep::UnlinkA | SyncStep::RenameAToB => a.is_some(),
            SyncStep::TruncateA => a.is_some_and(|a| size(a) > 0),
            SyncStep::ResizeA => a.is_some_and(|a| size(a) != MIDDLE),
            SyncStep::MakeD => c.is_none(),
            SyncStep::RemoveD => c.is_some(),
            SyncStep::FsyncA => {
                a.and_then(|a| all.history.file(a)).is_some_and(|a| !a.forced.is_synced())
            }
            SyncStep::FsyncRoot => !all.history.is_forced(fs, Abstract::ROOT),
            SyncStep::Sync => !durable.is_synced(),
        }
    }

    /// Returns the name of the step in traces.
    pub fn name(self) -> &'static str {
        match self {
            SyncStep::WriteA => "write /a; fsync /a, /",
            SyncStep::WriteAFar => "write /a behind a hole; fsync /a, /",
            SyncStep::WriteB => "write /b; fsync /b, /",
            SyncStep::WriteC => "write /d/c; fsync /d/c, /d, /",
            SyncStep::WriteAOnly => "write /a",
            SyncStep::WriteBOnly => "write /b",
            SyncStep::AppendToA => "append to /a; fdatasync /a",
            SyncStep::TruncateA => "truncate /a",
            SyncStep::ResizeA => "resize /a",
            SyncStep::UnlinkA => "unlink /a",
            SyncStep::RenameAToB => "rename /a /b",
            SyncStep::MakeD => "mkdir /d; write /d/c",
            SyncStep::RemoveD => "unlink /d/c; rmdir /d",
            SyncStep::FsyncA => "fsync /a",
            SyncStep::FsyncRoot => "fsync /",
            SyncStep::Sync => "sync",
        }
    }

    /// Returns the calls of the step. `hole` is the offset at which the hole of
    /// [`WriteAFar`](SyncStep::WriteAFar) ends.
    pub fn calls(self, hole: usize, fs: &Abstract, versions: &mut Versions) -> Vec<FsCall> {
        let d = || "/d".to_owned();
        let mkdir = || fs.find("/d").is_none().then(|| FsCall::Mkdir { path: d() });
        let mut calls = Vec::new();
        match self {
            SyncStep::WriteA => {
                calls.extend(versions.write("/a", 0, BLOCK));
                calls.extend(fsync_with_directories("/a"));
            }
            SyncStep::WriteAFar => {
                calls.extend(versions.write("/a", hole, BLOCK));
                calls.extend(fsync_with_directories("/a"));
            }
            SyncStep::WriteB => {
                calls.extend(versions.write("/b", 0, 2 * BLOCK));
                calls.extend(fsync_with_directories("/b"));
            }
            SyncStep::WriteC => {
                calls.extend(mkdir());
                calls.extend(versions.write("/d/c", 0, BLOCK));
                calls.extend(fsync_with_directories("/d/c"));
            }
            SyncStep::WriteAOnly => calls.extend(versions.write("/a", 0, BLOCK)),
            SyncStep::WriteBOnly => calls.extend(versions.write("/b", 0, 2 * BLOCK)),
            SyncStep::AppendToA => {
                let end = fs.find("/a").map_or(0, |a| fs.bytes(a).len());
                calls.extend(versions.write("/a", end, BLOCK));
                calls.extend(open("/a", FsCall::Fdatasync { path: "/a".to_owned() }));
            }
            SyncStep::TruncateA | SyncStep::ResizeA => {
                let size = if self == SyncStep::TruncateA { 0 } else { MIDDLE as u64 };
                calls.push(FsCall::Ftruncate { path: "/a".to_owned(), size });
            }
            SyncStep::UnlinkA => calls.push(FsCall::Unlink { path: "/a".to_owned() }),
            SyncStep::RenameAToB => {
                calls.push(FsCall::Rename { from: "/a".to_owned(), to: "/b".to_owned() });
            }
            SyncStep::MakeD => {
                calls.extend(mkdir());
                calls.extend(versions.write("/d/c", 0, BLOCK));
            }
            SyncStep::RemoveD => {
                calls.push(FsCall::Unlink { path: "/d/c".to_owned() });
                calls.push(FsCall::Rmdir { path: d() });
            }
            SyncStep::FsyncA => calls.extend(fsync("/a")),
            SyncStep::FsyncRoot => calls.push(FsCall::FsyncDir { path: "/".to_owned() }),
            SyncStep::Sync => calls.push(FsCall::Syncfs),
        }
        calls
    }
}

/// The number of writes to each file, by its letter.
#[derive(Clone, Debug, Default)]
pub struct Versions(BTreeMap<char, u32>);

impl Versions {
    /// Returns the calls that write the next version of some bytes of a file, and make the file if
    /// necessary.
    fn write(&mut self, path: &str, at: usize, len: usize) -> [FsCall; 3] {
        let letter = path.chars().next_back().expect("a path has a name");
        let version = self.0.entry(letter).or_default();
        *version += 1;
        let bytes = pattern(letter, *version, at, len);
        let flags = OpenFlags::CREATE;
        [
            FsCall::Open { path: path.to_owned(), flags },
            FsCall::pwrite(path, at as u64, bytes),
            FsCall::Close { path: path.to_owned() },
        ]
    }
}

/// Returns the calls that open a file, make a call on it and close it. If the open fails, the file
/// does not exist.
fn open(path: &str, call: FsCall) -> [FsCall; 3] {
    let flags = OpenFlags::EXISTING;
    [FsCall::Open { path: path.to_owned(), flags }, call, FsCall::Close { path: path.to_owned() }]
}

fn fsync(path: &str) -> [FsCall; 3] {
    open(path, FsCall::Fsync { path: path.to_owned() })
}

/// Returns the calls that fsync a file and every directory on its path, innermost first (EX-101).
/// fsync of a file does not make its name durable.
fn fsync_with_directories(path: &str) -> impl Iterator<Item = FsCall> {
    let directory = |(slash, _)| if slash == 0 { "/" } else { &path[..slash] };
    let directories = path.rmatch_indices('/').map(directory);
    let directories = directories.map(|path| FsCall::FsyncDir { path: path.to_owned() });
    fsync(path).into_iter().chain(directories)
}
