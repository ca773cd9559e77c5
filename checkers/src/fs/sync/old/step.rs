//! The steps that mutate chooses from, in a tree of two files, `/a` and `/b`, and a directory with
//! a file in it, `/d/c`.

use explode_runtime::verdict::Failure;

use super::calls::Calls;
use super::model::Model;
use crate::fs::model::SyncCall as Call;

/// What is written at a time: a block, as file systems have them.
pub const BLOCK: usize = 4096;
/// A size in the middle of a block.
const MIDDLE: usize = 1000;

/// One call of mutate. Steps with a sync of their own make short ways to where syncs go wrong:
/// [`WriteAFar`](Step::WriteAFar), [`TruncateA`](Step::TruncateA), and [`WriteB`](Step::WriteB) or
/// [`WriteC`](Step::WriteC) is the paper's error in ext2: a new file or directory gets the indirect
/// blocks that `/a` has given back, and the `/a` that is still on disk claims them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its first block, fsync of it and of its directory.
    WriteA,
    /// The same behind a hole (EX-97), so that there are indirect blocks.
    WriteAFar,
    /// Two blocks, fsync of it and of its directory.
    WriteB,
    /// Its block, and `/d` if it is not there, fsync of it and of both directories.
    WriteC,
    /// The first block of `/a`, not synced.
    WriteAOnly,
    /// Two blocks, not synced.
    WriteBOnly,
    /// A block at the end of `/a`, and fdatasync of it alone: its size is needed to read it.
    AppendToA,
    /// To nothing, not synced.
    TruncateA,
    /// To the middle of a block, not synced: shorter or longer.
    ResizeA,
    /// Not synced.
    UnlinkA,
    /// Over what is there, not synced.
    RenameAToB,
    /// The directory and its file, with a block, not synced.
    MakeD,
    /// Both, not synced.
    RemoveD,
    /// Without its directory.
    FsyncA,
    /// The names in it.
    FsyncRoot,
    /// Everything.
    Sync,
}

impl Step {
    const ALL: [Step; 16] = [
        Step::WriteA,
        Step::WriteAFar,
        Step::WriteB,
        Step::WriteC,
        Step::WriteAOnly,
        Step::WriteBOnly,
        Step::AppendToA,
        Step::TruncateA,
        Step::ResizeA,
        Step::UnlinkA,
        Step::RenameAToB,
        Step::MakeD,
        Step::RemoveD,
        Step::FsyncA,
        Step::FsyncRoot,
        Step::Sync,
    ];

    /// The steps that do anything to a tree.
    pub fn possible(tree: &Model) -> Vec<Step> {
        Step::ALL.into_iter().filter(|step| step.is_possible(tree)).collect()
    }

    fn is_possible(self, tree: &Model) -> bool {
        let (a, c) = (tree.file("/a"), tree.file("/d/c"));
        match self {
            Step::WriteA | Step::WriteAFar | Step::WriteB | Step::WriteC => true,
            Step::WriteAOnly | Step::WriteBOnly | Step::AppendToA => true,
            Step::UnlinkA | Step::RenameAToB => a.is_some(),
            Step::TruncateA => a.is_some_and(|a| a.size() > 0),
            Step::ResizeA => a.is_some_and(|a| a.size() != MIDDLE),
            Step::MakeD => c.is_none(),
            Step::RemoveD => c.is_some(),
            Step::FsyncA => a.is_some_and(|a| !a.is_synced()),
            Step::FsyncRoot => !tree.names_are_synced("/"),
            Step::Sync => !tree.is_synced(),
        }
    }

    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Step::WriteA => "write /a; fsync /a, /",
            Step::WriteAFar => "write /a behind a hole; fsync /a, /",
            Step::WriteB => "write /b; fsync /b, /",
            Step::WriteC => "write /d/c; fsync /d/c, /d, /",
            Step::WriteAOnly => "write /a",
            Step::WriteBOnly => "write /b",
            Step::AppendToA => "append to /a; fdatasync /a",
            Step::TruncateA => "truncate /a",
            Step::ResizeA => "resize /a",
            Step::UnlinkA => "unlink /a",
            Step::RenameAToB => "rename /a /b",
            Step::MakeD => "mkdir /d; write /d/c",
            Step::RemoveD => "unlink /d/c; rmdir /d",
            Step::FsyncA => "fsync /a",
            Step::FsyncRoot => "fsync /",
            Step::Sync => "sync",
        }
    }

    /// Takes it; `hole` is how many bytes the hole of [`WriteAFar`](Step::WriteAFar) ends behind
    /// the start of the file.
    pub fn take(self, hole: usize, calls: &mut Calls<'_>) -> Result<(), Failure> {
        match self {
            Step::WriteA => {
                calls.write("/a", 0, BLOCK)?;
                calls.fsync_with_directories("/a")
            }
            Step::WriteAFar => {
                calls.write("/a", hole, BLOCK)?;
                calls.fsync_with_directories("/a")
            }
            Step::WriteB => {
                calls.write("/b", 0, 2 * BLOCK)?;
                calls.fsync_with_directories("/b")
            }
            Step::WriteC => {
                calls.mkdir("/d")?;
                calls.write("/d/c", 0, BLOCK)?;
                calls.fsync_with_directories("/d/c")
            }
            Step::WriteAOnly => calls.write("/a", 0, BLOCK),
            Step::WriteBOnly => calls.write("/b", 0, 2 * BLOCK),
            Step::AppendToA => {
                calls.append("/a", BLOCK)?;
                calls.sync_file("/a", Call::Fdatasync)
            }
            Step::TruncateA => calls.truncate("/a", 0),
            Step::ResizeA => calls.truncate("/a", MIDDLE),
            Step::UnlinkA => calls.unlink("/a"),
            Step::RenameAToB => calls.rename("/a", "/b"),
            Step::MakeD => {
                calls.mkdir("/d")?;
                calls.write("/d/c", 0, BLOCK)
            }
            Step::RemoveD => {
                calls.unlink("/d/c")?;
                calls.rmdir("/d")
            }
            Step::FsyncA => calls.sync_file("/a", Call::Fsync),
            Step::FsyncRoot => {
                calls.sync_directory("/");
                Ok(())
            }
            Step::Sync => {
                calls.sync();
                Ok(())
            }
        }
    }
}
