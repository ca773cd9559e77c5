//! The columns of `explode matrix` for file systems.

use explode_runtime::base::{Options, TargetBounds};
use explode_runtime::plan::MatrixColumn;

use super::{failures, moved, reasonable, replaced, sync, sync_methods, workloads};

/// The bounds of most columns. Crashes during recovery have a column of their own.
const BOUNDS: TargetBounds = TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 0 };

/// Returns the columns, in order.
pub(crate) fn columns() -> Vec<MatrixColumn> {
    let mut columns = of_sync_methods();
    columns.extend(of_checkers());
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
        options: Options::none(),
        set: Vec::new(),
        bounds,
        deepens: false,
        is_sync_method: false,
        promises: Vec::new(),
        also_depends_on: Vec::new(),
    }
}

/// Returns a column with more calls than those of the paper. It is separate, because each small
/// tree then has many more successors.
fn more(name: &'static str, about: &'static str, column: MatrixColumn) -> MatrixColumn {
    MatrixColumn {
        name,
        about,
        options: column.options.clone().with("calls", "more"),
        is_sync_method: false,
        promises: Vec::new(),
        also_depends_on: Vec::new(),
        ..column
    }
}

/// Returns one column per sync method.
fn of_sync_methods() -> Vec<MatrixColumn> {
    let method = |name, about| MatrixColumn {
        options: Options::none().with("way", name),
        is_sync_method: true,
        promises: sync_methods::words(name),
        also_depends_on: sync_methods::doubts(name),
        ..column(name, about, sync_methods::NAME, BOUNDS)
    };
    vec![
        method("sync", "data synced by sync survives every crash, on every small tree"),
        method("syncfs", "data synced by syncfs survives"),
        method("fsync", "a file survives after fsync of it and of the directories on its path"),
        method("fdatasync", "contents synced by fdatasync survive"),
        method("msync", "contents synced by msync of a mapping survive"),
        method("o-sync", "contents written with O_SYNC survive"),
        method("o-dsync", "contents written with O_DSYNC survive"),
        method("fsync-dir", "names survive after fsync of their directory"),
        MatrixColumn {
            set: vec![("sync", true.into())],
            ..method("mount-sync", "everything survives on a synchronous mount")
        },
        more(
            "fsync-more",
            "fsync with symlinks, modes, attributes, fallocate, O_TMPFILE, mappings and clones",
            method("fsync", ""),
        ),
    ]
}

/// Returns one column per other checker.
fn of_checkers() -> Vec<MatrixColumn> {
    let shallow = TargetBounds { depth: 1, ..BOUNDS };
    vec![
        column(
            "synced",
            "synced data survives every crash, whatever is done to other files",
            sync::NAME,
            BOUNDS,
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
        MatrixColumn {
            deepens: true,
            ..column(
                "workloads",
                "every short workload on a committed tree: as synced and reasonable",
                workloads::NAME,
                TargetBounds { depth: 2, limit: 40, samples: 10, crash_depth: 0 },
            )
        },
        column(
            "replaced",
            "a file that a rename replaces is the whole old one or the whole new one",
            replaced::NAME,
            BOUNDS,
        ),
        column(
            "moved",
            "a file that a rename moves to another directory has one of its names",
            moved::NAME,
            BOUNDS,
        ),
        column(
            "recovery",
            "synced data survives crashes during recovery",
            sync::NAME,
            TargetBounds { crash_depth: 1, ..shallow },
        ),
        MatrixColumn {
            set: vec![("fail", "slab,request".into())],
            ..column("failed-calls", "a call that fails has no effect", failures::NAME, shallow)
        },
    ]
}
