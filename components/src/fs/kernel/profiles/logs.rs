//! The profiles of btrfs, F2FS and NILFS2, which do not overwrite in place.

use explode_runtime::verdict::Promise;

use super::lines::{Line, METADATA, NAMES, REPLACED, UNSYNCED, but, excluded, kept};
use super::mounted::NOT_NAMED;
use super::posix::{FSYNCED, with_posix};

const BTRFS: &str = "btrfs-progs, btrfs(5), HARDWARE CONSIDERATIONS";

/// Returns the promises of btrfs.
pub fn btrfs() -> Vec<Promise> {
    let own = [
        kept(
            METADATA,
            "When off, the filesystem is consistent but buffered writes may last more than one \
             transaction commit",
            "btrfs-progs, btrfs(5), MOUNT OPTIONS, flushoncommit, which is off by default",
        ),
        kept(
            NAMES,
            "All logical links among metadata comprising a consistent view of the data may not \
             cross the generation boundary",
            BTRFS,
        ),
        kept(
            UNSYNCED,
            "BTRFS in particular is based on a COW (copy on write) mode of writing, i.e. not \
             updating data in place but rather writing a \
             new copy to a different location and then atomically switching the pointers",
            BTRFS,
        ),
        excluded(
            REPLACED,
            "Btrfs has strict flushing in place to make sure that renaming over an old file with \
             a new file will fully flush out the new \
             file before allowing the transaction commit with the rename to complete. [...] This \
             patch removes the ordered flushes and \
             switches to a best effort filemap_flush like ext4 uses. It's not perfect",
            "Linux, commit 8d875f95da43, \"btrfs: disable strict file flushes for renames and \
             truncates\"",
        ),
    ];
    with_posix(NOT_NAMED, &own)
}

/// Returns the promises of btrfs with nodatacow.
pub fn btrfs_in_place() -> Vec<Promise> {
    let in_place = excluded(
        UNSYNCED,
        "Updates in-place improve performance for workloads that do frequent overwrites, at the \
         cost of potential partial writes, in case \
         the write is interrupted (system crash, device failure)",
        "btrfs-progs, btrfs(5), MOUNT OPTIONS, nodatacow",
    );
    but(&btrfs(), in_place)
}

/// Returns the promises of F2FS. Its checkpoints contain metadata, and only the file data that was
/// written by then.
pub fn f2fs() -> Vec<Promise> {
    const DATA_FLUSH: &str =
        "Enable data flushing before checkpoint in order to persist data of regular and symlink";
    const OFF: &str = "Linux 6.12, Documentation/filesystems/f2fs.rst, data_flush, which is off \
                       by default: a checkpoint does not wait for data";
    let own = [
        kept(
            METADATA,
            "F2FS adopts the checkpointing scheme to maintain file system consistency. At mount \
             time, F2FS first tries to find the last \
             valid checkpoint data",
            "Linux 6.12, Documentation/filesystems/f2fs.rst, File System Metadata Structure",
        ),
        kept(
            NAMES,
            "Basically, f2fs adopts a roll-back model with checkpoint blocks written in the CP \
             area. The checkpoint procedure includes as \
             follows. [...] block_operations() freezes VFS calls",
            "Linux, commit 127e670abfa7, \"f2fs: add checkpoint operations\": a call is in a \
             checkpoint whole or not at all",
        ),
        excluded(UNSYNCED, DATA_FLUSH, OFF),
        excluded(REPLACED, DATA_FLUSH, OFF),
    ];
    with_posix(NOT_NAMED, &own)
}

/// Returns the promises of F2FS with fsync_mode=nobarrier. The mode does not affect sync(2) or
/// fsync of a directory.
pub fn f2fs_without_flush() -> Vec<Promise> {
    let no_flush = excluded(
        FSYNCED,
        "\"nobarrier\" is based on \"posix\", but doesn't issue flush command for non-atomic \
         files likewise \"nobarrier\" mount option",
        "Linux 6.12, Documentation/filesystems/f2fs.rst, fsync_mode",
    );
    but(&f2fs(), no_flush)
}

const NILFS2: &str = "Linux 6.12, Documentation/filesystems/nilfs2.rst";

/// The lines of both orders.
const CHECKPOINTS: [Line; 2] = [
    kept(
        METADATA,
        "Since NILFS2 can keep consistency like conventional LFS, it achieves quick recovery \
         after system crashes",
        NILFS2,
    ),
    kept(
        NAMES,
        "The sequence of logs that should be treated as logically one log, is delimited with \
         flags marked in the segment summary. The \
         recovery code of nilfs2 looks this boundary information to ensure atomicity of updates",
        "Linux 6.12, Documentation/filesystems/nilfs2.rst, Disk format",
    ),
];

/// Returns the promises of NILFS2 with order=relaxed, the default.
pub fn nilfs2() -> Vec<Promise> {
    data(
        "This mode is equivalent to the ordered data mode of the ext3 filesystem except for the \
         updates on data blocks still conserve \
          atomicity",
        "Linux 6.12, Documentation/filesystems/nilfs2.rst, Mount options, order=relaxed",
    )
}

/// Returns the promises of NILFS2 with order=strict.
pub fn nilfs2_strict() -> Vec<Promise> {
    data(
        "Apply strict in-order semantics that preserves sequence of all file operations including \
         overwriting of data blocks. That means, \
          it is guaranteed that no overtaking of events occurs in the recovered file system after \
          a crash",
        "Linux 6.12, Documentation/filesystems/nilfs2.rst, Mount options, order=strict",
    )
}

/// Returns the promises with an order's words about data.
fn data(quote: &'static str, source: &'static str) -> Vec<Promise> {
    let [structure, names] = CHECKPOINTS;
    with_posix(
        NOT_NAMED,
        &[structure, names, kept(UNSYNCED, quote, source), kept(REPLACED, quote, source)],
    )
}
