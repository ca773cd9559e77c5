//! The errors of this crate, in three kinds, with remedies.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The remedy if there is no space left.
pub(crate) const MORE_SPACE: &str =
    "free some space (a kernel build needs about 4 GiB) or set XDG_CACHE_HOME to another disk";

/// A result of this crate.
pub type Result<T> = std::result::Result<T, VmError>;

/// An error of this crate. Its text is complete: it says what happened, and what to do next or what
/// was printed.
#[derive(Debug, Error)]
pub enum VmError {
    /// A requirement of explode is missing.
    #[error("{text}; {remedy}")]
    Missing {
        /// The name of the missing thing.
        text: String,
        /// The remedy.
        remedy: String,
    },
    /// A build, a guest, or the machine failed.
    #[error("{text}{}", under("the last it printed", tail))]
    Broken {
        /// The thing that failed.
        text: String,
        /// The end of its output. May be empty.
        tail: String,
    },
    /// A command of a build failed.
    #[error("{text}{}\nall its output is in {}", under(heading, lines), log.display())]
    Build {
        /// The command, and how it ended.
        text: String,
        /// A heading for the lines, which says whether they are errors or the end of the output.
        heading: &'static str,
        /// Some lines of its output. May be empty.
        lines: String,
        /// The file with all of its output.
        log: PathBuf,
    },
    /// The caller used the crate wrongly.
    #[error("{0}")]
    Usage(String),
}

/// The kinds of [`VmError`], which decide the exit codes.
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
    /// Returns the kind, which decides the exit code.
    #[must_use]
    pub fn kind(&self) -> VmErrorKind {
        match self {
            Self::Missing { .. } => VmErrorKind::Missing,
            Self::Broken { .. } | Self::Build { .. } => VmErrorKind::Broken,
            Self::Usage(_) => VmErrorKind::Usage,
        }
    }

    pub(crate) fn missing(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Missing { text: text.into(), remedy: remedy.into() }
    }

    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::Broken { text: text.into(), tail: String::new() }
    }
}

/// Formats lines below a heading, to follow the thing that failed. Empty if there are no lines.
fn under(heading: &str, lines: &str) -> String {
    if lines.trim().is_empty() {
        return String::new();
    }
    let lines: Vec<_> = lines.lines().map(|line| format!("\n    {line}")).collect();
    format!("; {heading}:{}", lines.concat())
}

/// Adds the attempted action to a failed operation of the operating system.
pub(crate) trait ErrorContext<T> {
    /// `doing` completes "cannot ...", for example "read /etc/passwd".
    fn doing(self, doing: impl Display) -> Result<T>;
    /// Adds the action and the path on which it failed.
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
