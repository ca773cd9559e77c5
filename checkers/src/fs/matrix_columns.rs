//! The columns of `explode matrix` for file systems.

use explode_runtime::base::{Options, TargetBounds};
use explode_runtime::plan::{CheckedHistories, MatrixColumn};

use super::model::SyncCall;
use super::reasonable::words;
use super::{failures, moved, reasonable, replaced, sync, sync_methods, workloads};

/// The bounds of most columns. Crashes during recovery have a column of their own.
const BOUNDS: TargetBounds = TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 0 };

/// Returns the columns, in order.
pub(crate) fn columns() -> Vec<MatrixColumn> {
    let mut columns = of_sync_methods();
    columns.extend(of_checkers());
    columns.extend(of_renames());
    columns.extend(of_faults());
    columns
}

fn column(
    name: &'static str,
    about: &'static str,
    checker: &'static str,
    bounds: TargetBounds,
) -> MatrixColumn {
    MatrixColumn {
        name,
        about,
        checker,
        options: of_no_files(checker),
        set: Vec::new(),
        bounds,
        deepens: false,
        is_sync_method: false,
        promises: Vec::new(),
        histories: histories(checker),
        also_depends_on: Vec::new(),
    }
}

/// Returns the options of a column that begins without files, because another column begins on
/// committed ones. A column of `fs-workloads` begins on both.
fn of_no_files(checker: &str) -> Options {
    match checker {
        workloads::NAME => Options::none(),
        _ => Options::none().with("start", "empty"),
    }
}

/// The calls of a column without the option `calls`.
const CALLS: &str = "creat, mkdir, unlink, rmdir, link, rename, ftruncate, pwrite";
const MORE_CALLS: &str = "creat, mkdir, unlink, rmdir, link, rename, ftruncate, pwrite, symlink, \
                          chmod, setxattr, removexattr, renameat2, fallocate, O_TMPFILE, mmap, \
                          FICLONE, unlink of an open file";
/// The calls and the ways of forcing of the alphabet `full` of `fs-workloads`.
const ALL_CALLS: &str = "creat, mkdir, unlink, rmdir, link, rename, ftruncate, pwrite, symlink, \
                         chmod, setxattr, removexattr, renameat2, fallocate, O_TMPFILE, mmap, \
                         FICLONE, O_TRUNC, O_APPEND, O_DIRECT, O_SYNC, O_DSYNC, copy_file_range";
const AFTER_ALL_CALLS: &str = "after each call nothing, fsync of any file or directory, fdatasync \
                               of any file, or sync";
const NO_FILES: &str = "no files";
const TREES: &str = "two synced trees, mounted again: a file and an empty directory; two \
                     directories, two files, one of them with a second name";
const FILES_OF_STEPS: &str = "two synced files and a directory with one, mounted again";

/// Returns the histories after which a checker checks its promises. Those of `fs-ways` depend on
/// the sync method.
fn histories(checker: &str) -> Vec<CheckedHistories> {
    let owned = |words: &mut dyn Iterator<Item = &'static str>| words.map(str::to_owned).collect();
    let named = |promises: Vec<String>, starts, calls, forced: &str| {
        vec![CheckedHistories { promises, starts, calls, forced: forced.to_owned() }]
    };
    match checker {
        sync::NAME => named(
            owned(
                &mut SyncCall::words(&[
                    SyncCall::Sync,
                    SyncCall::Fsync,
                    SyncCall::Fdatasync,
                    SyncCall::FsyncOfDirectory,
                ])
                .into_iter(),
            ),
            NO_FILES,
            "pwrite, ftruncate, unlink, rename, mkdir, rmdir of two files and a directory with one",
            "fsync and fdatasync of a file, fsync of the root, fsync of a file with its \
             directories, sync",
        ),
        reasonable::NAME => named(
            owned(
                &mut words::all()
                    .filter(|word| !words::OF_ATTRIBUTES.contains(word))
                    .chain([EFFECT]),
            ),
            NO_FILES,
            CALLS,
            "fsync of a file by each of its names, fsync of a directory, sync; also nothing",
        ),
        workloads::NAME => named(
            owned(
                &mut words::all()
                    .filter(|word| !words::OF_ATTRIBUTES.contains(word))
                    .chain(["moved-name"]),
            ),
            "no files, and two synced trees: a file and an empty directory; two directories, two \
             files, one of them with a second name; as they are and mounted again, with closed \
             and with open files and directories",
            "creat, mkdir, unlink, rmdir, link, rename, ftruncate, pwrite, fallocate, punch hole",
            "after each call nothing, fsync of what it has changed by each name, fsync of the \
             directories of these names, or sync",
        ),
        replaced::NAME => named(
            owned(&mut replaced::words()),
            "a synced file, as it is and mounted again",
            "pwrite of a temporary file, rename over the synced one",
            "fsync of the temporary file, or nothing; fsync of the file and its directory",
        ),
        moved::NAME => named(
            owned(&mut moved::WORDS.into_iter()),
            "a synced tree: two directories, a file, a directory with a file; as it is and \
             mounted again",
            "rename to another directory",
            "nothing, fsync of what was moved, fsync of the old and of the new directory",
        ),
        failures::NAME => named(
            failures::words(),
            "two synced files and a directory, as they are and mounted again",
            "mkdir, creat, write, fsync, rename, ftruncate, link, unlink, rmdir, while functions \
             of the kernel fail",
            "sync after each call",
        ),
        _ => Vec::new(),
    }
}

/// The promise of a call that a check without a crash has broken.
const EFFECT: &str = "call-has-its-effect";

/// Returns a column with more calls than those of the paper. It is separate, because each small
/// tree then has many more successors.
fn more(name: &'static str, about: &'static str, column: MatrixColumn) -> MatrixColumn {
    let options = column.options.clone().with("calls", "more");
    let histories = column.histories.iter().map(with_more_calls).collect();
    MatrixColumn { name, about, options, histories, ..of_no_method(column) }
}

/// Returns the column as one that does not decide alone whether a sync method is safe.
fn of_no_method(column: MatrixColumn) -> MatrixColumn {
    MatrixColumn {
        is_sync_method: false,
        promises: Vec::new(),
        also_depends_on: Vec::new(),
        ..column
    }
}

/// Returns a column that begins on committed files in place of none. They are mounted again, so
/// that no loss is due to a sync(2) that is not under test. To choose them is a mutate, so the
/// column goes one call deep.
fn on_committed(
    name: &'static str,
    about: &'static str,
    starts: &'static str,
    column: MatrixColumn,
) -> MatrixColumn {
    let on_them = |histories: &CheckedHistories| CheckedHistories { starts, ..histories.clone() };
    let options = column.options.clone().with("start", "mounted");
    let histories = column.histories.iter().map(on_them).collect();
    MatrixColumn { name, about, options, histories, ..of_no_method(column) }
}

/// Returns a column that begins on these files and takes as many steps as before.
fn beginning(start: &'static str, column: MatrixColumn) -> MatrixColumn {
    let bounds = TargetBounds { depth: column.bounds.depth + 1, ..column.bounds };
    MatrixColumn { options: column.options.clone().with("start", start), bounds, ..column }
}

fn with_more_calls(histories: &CheckedHistories) -> CheckedHistories {
    let attributes = words::OF_ATTRIBUTES.map(str::to_owned);
    let mut promises = histories.promises.clone();
    if promises.iter().any(|promise| promise == words::FLUSHED_NAME) {
        promises.extend(attributes);
    }
    CheckedHistories { promises, calls: MORE_CALLS, ..histories.clone() }
}

/// Returns one column per sync method.
fn of_sync_methods() -> Vec<MatrixColumn> {
    let method = |name, about| MatrixColumn {
        options: of_no_files(sync_methods::NAME).with("way", name),
        is_sync_method: true,
        promises: sync_methods::words(name),
        histories: vec![CheckedHistories {
            promises: sync_methods::own_words(name)
                .into_iter()
                .chain([EFFECT])
                .map(str::to_owned)
                .collect(),
            starts: NO_FILES,
            calls: CALLS,
            forced: format!("after each call what it has changed, by {name}"),
        }],
        also_depends_on: sync_methods::doubts(name),
        ..column(name, about, sync_methods::NAME, BOUNDS)
    };
    let mount_sync =
        |name, about| MatrixColumn { set: vec![("sync", true.into())], ..method(name, about) };
    let committed = |name, about, column| on_committed(name, about, TREES, column);
    vec![
        method("sync", "data synced by sync survives every crash, on every small tree"),
        method("syncfs", "data synced by syncfs survives"),
        method("fsync", "a file survives after fsync of it and of the directories on its path"),
        method("fdatasync", "contents synced by fdatasync survive"),
        method("msync", "contents synced by msync of a mapping survive"),
        method("o-sync", "contents written with O_SYNC survive"),
        method("o-dsync", "contents written with O_DSYNC survive"),
        method("fsync-dir", "names survive after fsync of their directory"),
        mount_sync("mount-sync", "everything survives on a synchronous mount"),
        more(
            "fsync-more",
            "fsync with symlinks, modes, attributes, fallocate, O_TMPFILE, mappings and clones",
            method("fsync", ""),
        ),
        committed("sync-committed", "sync of changes to committed files", method("sync", "")),
        committed("syncfs-committed", "syncfs of changes to committed files", method("syncfs", "")),
        committed("fsync-committed", "fsync of committed files", method("fsync", "")),
        committed("fdatasync-committed", "fdatasync of committed files", method("fdatasync", "")),
        committed("msync-committed", "msync of committed files", method("msync", "")),
        committed("o-sync-committed", "O_SYNC on committed files", method("o-sync", "")),
        committed("o-dsync-committed", "O_DSYNC on committed files", method("o-dsync", "")),
        committed("fsync-dir-committed", "fsync of committed directories", method("fsync-dir", "")),
        committed(
            "mount-sync-committed",
            "changes to committed files on a synchronous mount",
            mount_sync("mount-sync", ""),
        ),
    ]
}

/// Returns a column of short workloads. Of each emission few disks are checked, so that more
/// workloads are.
fn of_workloads(name: &'static str, about: &'static str) -> MatrixColumn {
    let bounds = TargetBounds { depth: 2, limit: 8, samples: 4, crash_depth: 0 };
    MatrixColumn { deepens: true, ..column(name, about, workloads::NAME, bounds) }
}

/// Returns the columns of the checkers that take every kind of call.
fn of_checkers() -> Vec<MatrixColumn> {
    vec![
        column(
            "synced",
            "synced data survives every crash, whatever is done to other files",
            sync::NAME,
            BOUNDS,
        ),
        on_committed(
            "synced-committed",
            "synced on committed files",
            FILES_OF_STEPS,
            column("synced", "", sync::NAME, BOUNDS),
        ),
        column(
            "reasonable",
            "a crash leaves no file that was never made, and no damage",
            reasonable::NAME,
            BOUNDS,
        ),
        more(
            "reasonable-more",
            "reasonable with symlinks, modes, attributes, fallocate, O_TMPFILE, mappings and \
             clones",
            column("reasonable", "", reasonable::NAME, BOUNDS),
        ),
        of_workloads(
            "workloads",
            "every short workload on a committed tree: as synced and reasonable",
        ),
        MatrixColumn {
            options: Options::none().with("alphabet", "full"),
            histories: vec![CheckedHistories {
                calls: ALL_CALLS,
                forced: AFTER_ALL_CALLS.to_owned(),
                ..with_more_calls(&histories(workloads::NAME)[0])
            }],
            ..of_workloads(
                "workloads-full",
                "every short workload of all calls, with fsync of any file and directory",
            )
        },
    ]
}

/// Returns the columns about rename.
fn of_renames() -> Vec<MatrixColumn> {
    vec![
        beginning(
            "committed",
            column(
                "replaced",
                "a file that a rename replaces is the whole old one or the whole new one",
                replaced::NAME,
                BOUNDS,
            ),
        ),
        beginning(
            "committed",
            column(
                "moved",
                "a file that a rename moves to another directory has one of its names",
                moved::NAME,
                BOUNDS,
            ),
        ),
    ]
}

/// Returns the columns with crashes during recovery and with functions that fail.
fn of_faults() -> Vec<MatrixColumn> {
    let shallow = TargetBounds { depth: 1, ..BOUNDS };
    vec![
        column(
            "recovery",
            "synced data survives crashes during recovery",
            sync::NAME,
            TargetBounds { crash_depth: 1, ..shallow },
        ),
        beginning(
            "both",
            MatrixColumn {
                set: vec![("fail", "slab,request".into())],
                ..column("failed-calls", "a call that fails has no effect", failures::NAME, shallow)
            },
        ),
    ]
}
