//! The columns of `explode matrix` for file systems.

use explode_runtime::base::{Options, TargetBounds};
use explode_runtime::plan::MatrixColumn;

use super::{failures, moved, reasonable, replaced, sync, sync_methods};

/// The bounds of most columns. Crashes during recovery have a column of their own.
const BOUNDS: TargetBounds = TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 0 };

/// Returns the columns, in order.
pub(crate) fn questions() -> Vec<MatrixColumn> {
    let mut questions = of_ways();
    questions.extend(of_checkers());
    questions
}

fn question(
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
        is_sync_method: false,
        promises: Vec::new(),
        also_depends_on: Vec::new(),
    }
}

/// Returns a column with more calls than those of the paper. It is separate, because each small
/// tree then has many more successors.
fn more(name: &'static str, about: &'static str, question: MatrixColumn) -> MatrixColumn {
    MatrixColumn {
        name,
        about,
        options: question.options.clone().with("calls", "more"),
        is_sync_method: false,
        promises: Vec::new(),
        also_depends_on: Vec::new(),
        ..question
    }
}

/// Returns one column per sync method.
fn of_ways() -> Vec<MatrixColumn> {
    let way = |name, about| MatrixColumn {
        options: Options::none().with("way", name),
        is_sync_method: true,
        promises: sync_methods::words(name),
        also_depends_on: sync_methods::doubts(name),
        ..question(name, about, sync_methods::NAME, BOUNDS)
    };
    vec![
        way("sync", "what was synced by sync is there after every crash, on every small tree"),
        way("syncfs", "the same of syncfs"),
        way("fsync", "the same of fsync of a file and of the directories on its path"),
        way("fdatasync", "the same of contents, by fdatasync"),
        way("msync", "the same of contents, by msync of a mapping"),
        way("o-sync", "the same of contents, by O_SYNC"),
        way("o-dsync", "the same of contents, by O_DSYNC"),
        way("fsync-dir", "the same of names, by fsync of their directory"),
        MatrixColumn {
            set: vec![("sync", true.into())],
            ..way("mount-sync", "the same of everything, on a synchronous mount")
        },
        more(
            "fsync-more",
            "the same of fsync, with symlinks, modes, attributes, fallocate, O_TMPFILE, mappings \
             and clones, too",
            way("fsync", ""),
        ),
    ]
}

/// Returns one column per other checker.
fn of_checkers() -> Vec<MatrixColumn> {
    let shallow = TargetBounds { depth: 1, ..BOUNDS };
    vec![
        question(
            "synced",
            "what was synced is there after every crash, whatever is done to other files",
            sync::NAME,
            BOUNDS,
        ),
        question(
            "reasonable",
            "nothing is there that was never made, and nothing is broken",
            reasonable::NAME,
            BOUNDS,
        ),
        more(
            "reasonable-more",
            "the same with symlinks, modes, attributes, fallocate, O_TMPFILE, mappings and \
             clones, too",
            question("reasonable", "", reasonable::NAME, BOUNDS),
        ),
        question(
            "replaced",
            "a file that a rename replaces is the old one whole or the new one whole",
            replaced::NAME,
            BOUNDS,
        ),
        question(
            "moved",
            "what a rename moves to another directory is there, under one of its names",
            moved::NAME,
            BOUNDS,
        ),
        question(
            "recovery",
            "what was synced is there after crashes during recovery, too",
            sync::NAME,
            TargetBounds { crash_depth: 1, ..shallow },
        ),
        MatrixColumn {
            set: vec![("fail", "slab,request".into())],
            ..question("failed-calls", "a call that fails has no effect", failures::NAME, shallow)
        },
    ]
}
