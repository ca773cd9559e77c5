//! What can go wrong, in three kinds, and what to do next.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What to do when there is no space left.
pub(crate) const MORE_SPACE: &str =
    "free some space (a kernel build needs about 4 GiB) or set XDG_CACHE_HOME to another disk";

/// A result of this crate.
pub type Result<T> = std::result::Result<T, VmError>;

/// An error of this crate. Its text is complete: what happened, and what to do next or what was
/// printed.
#[derive(Debug, Error)]
pub enum VmError {
    /// Something that explode needs is not there.
    #[error("{what}; {remedy}")]
    Missing {
        /// What is missing.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// A build, a guest, or the machine failed.
    #[error("{what}{}", under("the last it printed", tail))]
    Broken {
        /// What failed.
        what: String,
        /// The end of its output; may be empty.
        tail: String,
    },
    /// A command of a build failed.
    #[error("{what}{}\nall its output is in {}", under(heading, lines), log.display())]
    Build {
        /// The command, and how it ended.
        what: String,
        /// A heading for the lines: whether they are errors, or the end of the output.
        heading: &'static str,
        /// Lines of its output; may be empty.
        lines: String,
        /// The file that has all of its output.
        log: PathBuf,
    },
    /// The caller asked for something that makes no sense.
    #[error("{0}")]
    Usage(String),
}

/// The kinds of [`VmError`], as exit codes tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmErrorKind {
    /// A requirement is missing: exit code 3.
    Missing,
    /// The tool or the machine is broken: exit code 4.
    Broken,
    /// Wrong usage: exit code 2.
    Usage,
}

impl VmError {
    /// The kind, which decides the exit code.
    #[must_use]
    pub fn kind(&self) -> VmErrorKind {
        match self {
            Self::Missing { .. } => VmErrorKind::Missing,
            Self::Broken { .. } | Self::Build { .. } => VmErrorKind::Broken,
            Self::Usage(_) => VmErrorKind::Usage,
        }
    }

    pub(crate) fn missing(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Missing { what: what.into(), remedy: remedy.into() }
    }

    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self::Broken { what: what.into(), tail: String::new() }
    }
}

/// Lines below a heading, which follows what failed; nothing if there are none.
fn under(heading: &str, lines: &str) -> String {
    if lines.trim().is_empty() {
        return String::new();
    }
    let lines: Vec<_> = lines.lines().map(|line| format!("\n    {line}")).collect();
    format!("; {heading}:{}", lines.concat())
}

/// Says what was being done when an operation of the operating system failed.
pub(crate) trait ErrorContext<T> {
    /// `doing` completes "cannot ...", for example "read /etc/passwd".
    fn doing(self, doing: impl Display) -> Result<T>;
    /// The same for an operation on a path.
    fn at(self, doing: &str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for std::result::Result<T, E> {
    fn doing(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| {
            let error = error.into();
            let remedy = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("; {MORE_SPACE}")
                }
                _ => String::new(),
            };
            VmError::broken(format!("cannot {doing}: {error}{remedy}"))
        })
    }

    fn at(self, doing: &str, path: &Path) -> Result<T> {
        self.doing(format_args!("{doing} {}", path.display()))
    }
}
