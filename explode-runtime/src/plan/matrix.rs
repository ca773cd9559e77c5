//! The rows and columns of `explode matrix`: systems by name, and what is asked of each.

use crate::base::{OptionValue, Options, TargetBounds};
use crate::stack::StackSpec;

/// A row: a system with a name of its own.
#[derive(Clone, Debug)]
pub struct MatrixRow {
    /// Its name.
    pub name: &'static str,
    /// Whose code it is: where it is asked whose fault something is, rows of one driver are one
    /// system.
    pub driver: &'static str,
    /// Bottom first; the top layer is the system.
    pub stack: StackSpec,
}

/// A column: a checker with its options and bounds, the same for all systems.
#[derive(Clone, Debug)]
pub struct MatrixColumn {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The checker's name.
    pub checker: &'static str,
    /// The checker's options.
    pub options: Options,
    /// Options of the top layer; a system without one of them is not asked.
    pub set: Vec<(&'static str, OptionValue)>,
    /// How far it goes.
    pub bounds: TargetBounds,
    /// Is it about one way to make things durable? Then a report says on which systems this way is
    /// safe (EX-117).
    pub is_sync_method: bool,
    /// The promises that this way is about, by the words of findings: it is not safe where one is
    /// broken, whichever check finds that.
    pub promises: Vec<&'static str>,
    /// The promises of other checks that this way is one of those to keep: where one is broken, it
    /// is in doubt whether this way is safe.
    pub also_depends_on: Vec<&'static str>,
}
