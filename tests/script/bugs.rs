//! The script of each trace of `bugs/`: it shows the loss, or it is refused with a reason. A new
//! trace must be added here.

use std::collections::BTreeMap;
use std::path::Path;

use super::BUGS;
use crate::common::files;

/// The expected result for a trace.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// A script whose output has these texts about the loss, once each.
    Shows(&'static [&'static str]),
    /// Such a script. No disk of that moment is correct, because the promised data was never handed
    /// to the disk, or was written wrongly. The control is the file system without a crash.
    ShowsWhole(&'static [&'static str]),
    /// Such a script, without a disk to compare with: the repair also fails on disks of that moment
    /// that have lost nothing.
    ShowsAlone(&'static [&'static str]),
    /// No script. The trace alone gives the reason.
    Refused(&'static str),
    /// No script. The reason is known after a new run.
    RefusedOnceRun(&'static str),
}

use Fate::{Refused, RefusedOnceRun, Shows, ShowsAlone, ShowsWhole};

/// The running system shows the error: a call that fails has an effect, or a call that succeeds has
/// none.
const RAN: Fate =
    Refused("no script can show this finding: it was seen while the system ran, without a crash");
/// No kernel is involved. A build without the engines lacks the system.
const IN_PROCESS: Fate = Refused(match cfg!(feature = "engines") {
    true => "no script can show this finding: its system runs in process",
    false => "is not in this build",
});

/// All traces, by folder and file.
const FATES: [(&str, Fate); 81] = [
    (
        "btrfs-raid1-stale/trace",
        Refused(
            "no script can show this finding: a block of the medium goes bad by choice (d0 stale), \
             and no command can make it do that",
        ),
    ),
    ("btrfs-symlink-rename/trace", ShowsWhole(&["/a is there, and was taken away for good"])),
    (
        "btrfs-tree-block-enomem/trace",
        Refused(
            "no script can show this finding: its step finish hangs, or ends the process or the \
             kernel that it runs in",
        ),
    ),
    ("btrfs-truncate-enomem/trace", RAN),
    (
        "btrfs-write-enomem/trace",
        Refused("no script can show this finding: its crash is a soft one"),
    ),
    ("ekv-torn-chunk-header/trace", IN_PROCESS),
    ("exfat-create-enomem/mkdir", RAN),
    ("exfat-create-enomem/trace", RAN),
    ("ext2-failed-calls/link", RAN),
    ("ext2-failed-calls/mkdir", RAN),
    ("ext2-failed-calls/rename", RAN),
    ("ext2-failed-calls/rmdir", RAN),
    ("ext2-failed-calls/trace", RAN),
    ("ext2-failed-calls/unlink", RAN),
    ("ext2-fsync-xattr/directory", Shows(&["/a has the extended attributes: none"])),
    ("ext2-fsync-xattr/trace", Shows(&["/a has the extended attributes: none"])),
    ("ext2-mount-sync-create/trace", ShowsWhole(&["/a is gone"])),
    ("ext2-reused-block/indirect", ShowsWhole(&["/a is gone"])),
    (
        "ext2-reused-block/trace",
        ShowsWhole(&[
            "/a is gone",
            "/b has other bytes from byte 0 on than the 8192 that it should have (char 1, line 1)",
        ]),
    ),
    ("ext4-create-enomem/trace", RAN),
    (
        "ext4-external-journal/trace",
        Refused(
            "no script can show this finding: its stack is d0, journal, ext4, and not a file system \
             of the kernel on one disk",
        ),
    ),
    (
        "ext4-fsync-unwritten/trace",
        Refused("no script can show this finding: its crash is a soft one"),
    ),
    ("ext4-mount-sync-fallocate/size", ShowsWhole(&["/a has 0 bytes, not 4096"])),
    (
        "ext4-mount-sync-fallocate/trace",
        RefusedOnceRun("a file is made without a name in it (O_TMPFILE)"),
    ),
    ("ext4-mount-sync-ftruncate/trace", ShowsWhole(&["/a has 0 bytes, not 1000"])),
    (
        "f2fs-fsync-new-xattr/trace",
        Shows(&["not everything can be read: getfattr: /b/a: Structure needs cleaning"]),
    ),
    (
        "f2fs-fsync-size/trace",
        ShowsWhole(&["/a/a has 1000 bytes, not 4096", "/b/b has 1000 bytes, not 4096"]),
    ),
    (
        "f2fs-fsync-two-names/dsync",
        Shows(&[
            "/a/a has other bytes from byte 0 on than the 8192 that it should have",
            "/b/b has other bytes from byte 0 on than the 8192 that it should have",
        ]),
    ),
    (
        "f2fs-fsync-two-names/trace",
        Shows(&[
            "/a/a has other bytes from byte 0 on than the 8192 that it should have",
            "/b/b has other bytes from byte 0 on than the 8192 that it should have",
        ]),
    ),
    ("fsck-fat-twice/trace", Shows(&["not everything can be read: "])),
    ("fsck-minix-no-mode/trace", ShowsAlone(&["not everything can be read: "])),
    ("fsck-minix-uncorrected/trace", Shows(&["fsck.minix ended with 7"])),
    (
        "fsck-minix-version-3/trace",
        Shows(&[
            "/a has other bytes from byte 0 on than the 4096 that it should have (char 1, line 1)",
        ]),
    ),
    ("hfs-fsync-no-flush/trace", Shows(&["/a has other bytes"])),
    ("hfs-fsync-size/trace", ShowsWhole(&["/a has 4096 bytes"])),
    (
        "hfs-mdb-write-error/trace",
        Refused(
            "no script can show this finding: its step finish hangs, or ends the process or the \
             kernel that it runs in",
        ),
    ),
    (
        "hfs-removed-while-open/trace",
        Refused(
            "no script can show this finding: its step mutate hangs, or ends the process or the \
             kernel that it runs in",
        ),
    ),
    ("hfs-rename-enomem/trace", RAN),
    ("jfs-fsck-no-replay/trace", ShowsWhole(&["/a is gone"])),
    ("jfs-fsync-no-flush/trace", ShowsWhole(&["/a is gone"])),
    ("jfs-fsync-uncommitted/trace", ShowsWhole(&["/a is gone"])),
    ("littlefs-pending-rename/trace", IN_PROCESS),
    (
        "md-flush-order/trace",
        Refused(
            "no script can show this finding: its stack is d0, d1, md, ext4, and not a file system \
             of the kernel on one disk",
        ),
    ),
    ("minix-failed-calls/link", RAN),
    ("minix-failed-calls/mkdir", RAN),
    ("minix-failed-calls/rename", RAN),
    ("minix-failed-calls/rmdir", RAN),
    ("minix-failed-calls/trace", RAN),
    ("minix-failed-calls/unlink", RAN),
    (
        "minix-reused-block/trace",
        ShowsWhole(&[
            "/b has other bytes from byte 0 on than the 8192 that it should have (char 1, line 1)",
        ]),
    ),
    ("msdos-create-enomem/mkdir", RAN),
    ("msdos-create-enomem/trace", RAN),
    ("msdos-rename/trace", ShowsWhole(&["/b is no directory, or is gone"])),
    ("nilfs2-fsync-mode/directory", ShowsWhole(&["/a has the mode 755"])),
    ("nilfs2-fsync-mode/trace", ShowsWhole(&["/a has the mode 644"])),
    ("ntfs3-rename/trace", ShowsWhole(&["/b is gone"])),
    ("ntfs3-rename-enomem/trace", RAN),
    (
        "reiserfs-commit-block/oops",
        Refused(
            "no script can show this finding: its step mount hangs, or ends the process or the \
             kernel that it runs in",
        ),
    ),
    ("reiserfs-commit-block/trace", Shows(&["the file system cannot be mounted: "])),
    (
        "reiserfs-divide-by-zero/trace",
        Refused(
            "no script can show this finding: its step mount hangs, or ends the process or the \
             kernel that it runs in",
        ),
    ),
    ("reiserfs-first-commit/trace", Shows(&["/a/a has other bytes"])),
    ("reiserfs-fsync-mode/directory", ShowsWhole(&["/a has the mode 755"])),
    ("reiserfs-fsync-mode/trace", ShowsWhole(&["/a has the mode 644"])),
    ("sequential-storage-list-not-repaired/trace", IN_PROCESS),
    ("sync-without-flush/hfs", Shows(&["/a is gone"])),
    ("sync-without-flush/jfs", Shows(&["/a is gone"])),
    ("sync-without-flush/minix", Shows(&["/a is gone"])),
    ("sync-without-flush/msdos", Shows(&["/a is gone"])),
    ("sync-without-flush/trace", Shows(&["/a is gone"])),
    ("sync-without-flush/udf", Shows(&["/a is gone"])),
    ("sync-without-flush/vfat", Shows(&["/a is gone"])),
    ("udf-rename-enomem/trace", RAN),
    ("vfat-create-enomem/mkdir", RAN),
    ("vfat-create-enomem/trace", RAN),
    ("vfat-exchange/trace", RAN),
    ("vfat-fsync-new-directory/trace", Shows(&["/a/a is there"])),
    ("vfat-mount-sync/msdos", Shows(&["/a is gone"])),
    ("vfat-mount-sync/trace", Shows(&["/a is gone"])),
    ("vfat-rename/trace", ShowsWhole(&["/b is no directory, or is gone"])),
    ("vfat-rename/unsynced", ShowsWhole(&["/b has 0 bytes, not 4096"])),
    (
        "xfs-sync-clean-log/trace",
        Shows(&["/a has other bytes from byte 0 on than the 4096 that it should have"]),
    ),
];

/// The source of the crash disk in a test of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The disk is recorded.
    Recorded,
    /// The disk has lost nothing that was submitted: the test drops all writes after the workload.
    Dropped,
    /// The disk has what was flushed until the end of the workload.
    Flushed,
}

use Disk::{Dropped, Flushed, Recorded};

/// The traces whose test of the suite is also run, their file systems and their disks: all with
/// dropped writes, four whose lost writes were not flushed, two whose loss needs equal times, one
/// in which a block is used again, one whose crash is within a call, and one whose disk has data
/// that was only dirty.
pub const SUITE: [(&str, &str, Disk); 20] = [
    ("btrfs-symlink-rename/trace", "btrfs", Dropped),
    ("ext2-fsync-xattr/directory", "ext2", Dropped),
    ("ext2-fsync-xattr/trace", "ext2", Dropped),
    ("ext2-reused-block/trace", "ext2", Recorded),
    ("ext4-mount-sync-fallocate/size", "ext4", Recorded),
    ("f2fs-fsync-new-xattr/trace", "f2fs", Recorded),
    ("f2fs-fsync-size/trace", "f2fs", Recorded),
    ("f2fs-fsync-two-names/dsync", "f2fs", Flushed),
    ("f2fs-fsync-two-names/trace", "f2fs", Recorded),
    ("fsck-minix-version-3/trace", "minix", Dropped),
    ("hfs-fsync-no-flush/trace", "hfs", Flushed),
    ("hfs-fsync-size/trace", "hfs", Dropped),
    ("jfs-fsck-no-replay/trace", "jfs", Dropped),
    ("jfs-fsync-uncommitted/trace", "jfs", Dropped),
    ("msdos-rename/trace", "msdos", Dropped),
    ("nilfs2-fsync-mode/trace", "nilfs2", Dropped),
    ("reiserfs-first-commit/trace", "reiserfs", Flushed),
    ("sync-without-flush/trace", "ext2", Flushed),
    ("vfat-fsync-new-directory/trace", "vfat", Dropped),
    ("vfat-rename/trace", "vfat", Dropped),
];

/// What the test of the suite loses where that is not what the script loses: HFS flushes at no sync,
/// so a crash that loses all that was not flushed loses all files of the start.
pub const SUITE_LOSES: [(&str, &[&str]); 1] = [(
    "hfs-fsync-no-flush/trace",
    &["/a is gone", "/b is gone", "/d is no directory, or is gone", "/d/c is gone"],
)];

/// Returns the expected result of each trace, by its name. Checks that the folders and this table
/// agree.
pub fn fates() -> BTreeMap<&'static str, Fate> {
    let folders = files(Path::new(BUGS)).into_iter();
    let traces = folders.flat_map(|folder| {
        let names = files(&Path::new(BUGS).join(&folder));
        let traces = names
            .into_iter()
            .filter_map(|name| Some(format!("{folder}/{}", name.strip_suffix(".json")?)));
        traces.collect::<Vec<_>>()
    });
    let declared: Vec<&str> = FATES.iter().map(|(name, _)| *name).collect();
    assert_eq!(traces.collect::<Vec<_>>(), declared, "the traces of bugs/ are declared here");
    FATES.into_iter().collect()
}

/// Returns the text of a trace as one of this machine, for a guest in which explode itself runs.
pub fn of_this_machine(name: &str) -> String {
    let text = std::fs::read_to_string(Path::new(BUGS).join(format!("{name}.json"))).unwrap();
    let mut trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(trace["in"], "vm", "{name}");
    trace["in"] = "here".into();
    trace.to_string()
}
