//! Why a run could not go on.

use std::path::{Path, PathBuf};

use super::broken::{Broken, BrokenKind};
use super::exit::Exit;
use super::fault::StepError;
use super::options::UsageError;
use super::plain::is_not_plain;

/// A run that could not go on; what it had found stays in its folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Wrong names or options.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A requirement is missing; the text says which, and what to do.
    #[error("{0}")]
    Missing(String),
    /// The checker does not go with the stack; the text says why.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A profile excludes all promises that the checker is about; the text is its line.
    #[error("unsupported: not promised: {0}")]
    NotPromised(String),
    /// The tool, a component or a worker failed.
    #[error("{}", .kind.of(.message))]
    Broken {
        /// Who or what stands in the way.
        kind: BrokenKind,
        /// The error in words.
        message: String,
    },
    /// A run of the same choices took another path: the checked system is not deterministic.
    #[error("diverged: {0}")]
    Diverged(String),
    /// What is kept cannot be written.
    #[error("cannot write {path}: {error}; {hint}")]
    Unwritable {
        /// What could not be written.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
        /// What to do next.
        hint: &'static str,
        /// The texts of the traces that were found and not written.
        unsaved: Vec<String>,
    },
}

/// What to do about a folder that `--out` has named, or could have.
const OUT: &str = "make room there, or name a folder elsewhere with --out";
/// What to do about a file of the tool's own that is none of its making.
const NOT_PLAIN: &str = "remove it, or name another path";

impl RunError {
    /// The file system refused something in a folder that is named with `--out`; nothing is
    /// unsaved.
    pub fn folder(path: &Path, error: std::io::Error) -> RunError {
        RunError::unwritable(path, error, OUT)
    }

    /// The file system refused something; `hint` says what to do next. Nothing is unsaved.
    pub fn unwritable(path: &Path, error: std::io::Error, hint: &'static str) -> RunError {
        let hint = if is_not_plain(&error) { NOT_PLAIN } else { hint };
        RunError::Unwritable { path: path.to_owned(), error, hint, unsaved: Vec::new() }
    }

    /// Returns the error with the traces that are lost unless they are printed.
    pub(crate) fn with_unsaved(mut self, traces: impl IntoIterator<Item = String>) -> RunError {
        if let RunError::Unwritable { unsaved, .. } = &mut self {
            unsaved.extend(traces);
        }
        self
    }

    /// The error as something that is broken. `None` if the user has named something wrong.
    pub fn as_broken(&self) -> Option<Broken> {
        let broken = match self {
            RunError::Usage(_) => return None,
            RunError::Missing(message) | RunError::Unsupported(message) => {
                BrokenKind::Unsupported.of(message)
            }
            RunError::NotPromised(line) => {
                BrokenKind::Unsupported.of(format_args!("not promised: {line}"))
            }
            RunError::Broken { kind, message } => kind.of(message),
            RunError::Diverged(_) => BrokenKind::NotReproduced.of(self),
            RunError::Unwritable { .. } => BrokenKind::Tool.of(self),
        };
        (self.exit() != Exit::Usage).then_some(broken)
    }

    /// The exit code that it leads to.
    pub fn exit(&self) -> Exit {
        match self {
            RunError::Usage(_) => Exit::Usage,
            RunError::Missing(_) | RunError::Unsupported(_) | RunError::NotPromised(_) => {
                Exit::Unsupported
            }
            RunError::Unwritable { error, .. } if is_not_plain(error) => Exit::Usage,
            RunError::Diverged(_) => Exit::Diverged,
            RunError::Broken { .. } | RunError::Unwritable { .. } => Exit::Broken,
        }
    }
}

impl From<Broken> for RunError {
    fn from(Broken { kind, message }: Broken) -> RunError {
        RunError::Broken { kind, message }
    }
}

impl From<StepError> for RunError {
    fn from(fault: StepError) -> RunError {
        Broken::from(fault).into()
    }
}
