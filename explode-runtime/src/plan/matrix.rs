//! The rows and columns of `explode matrix`: systems by name, and the checks that run on each.

use crate::base::{OptionValue, Options, TargetBounds};
use crate::stack::StackSpec;

/// A row: a system with a name.
#[derive(Clone, Debug)]
pub struct MatrixRow {
    /// The name of the row.
    pub name: &'static str,
    /// The driver whose code the system is. Where blame is assigned, rows with one driver count as
    /// one system.
    pub driver: &'static str,
    /// The stack, bottom first. The top layer is the system.
    pub stack: StackSpec,
}

/// The histories after which a column checks some promises. A column says nothing about a promise
/// that it does not check.
#[derive(Clone, Debug)]
pub struct CheckedHistories {
    /// The promises, by the names that findings use.
    pub promises: Vec<String>,
    /// The files before the first call.
    pub starts: &'static str,
    /// The calls.
    pub calls: &'static str,
    /// The ways of forcing, and what is forced.
    pub forced: String,
}

/// A column: a checker with its options and bounds, the same on all systems.
#[derive(Clone, Debug)]
pub struct MatrixColumn {
    /// The name of the column.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The checker's name.
    pub checker: &'static str,
    /// The checker's options.
    pub options: Options,
    /// The options of the top layer. The column is not run on a system that lacks one of them.
    pub set: Vec<(&'static str, OptionValue)>,
    /// The bounds of its runs.
    pub bounds: TargetBounds,
    /// True if its runs go deeper until their time is up. Then `bounds.depth` does not bound them.
    pub deepens: bool,
    /// True if the column is about one sync method. A report then lists the systems on which the
    /// method is safe (EX-117).
    pub is_sync_method: bool,
    /// The promises that the sync method is about, by the names that findings use. The method is
    /// not safe if any check finds one of them broken.
    pub promises: Vec<&'static str>,
    /// The histories that its runs reach, at most `bounds.depth` mutates long.
    pub histories: Vec<CheckedHistories>,
    /// The promises of other checks on which the sync method also depends. If one is broken, it is
    /// in doubt whether the method is safe.
    pub also_depends_on: Vec<&'static str>,
}
