//! The errors that end a run.

use std::path::{Path, PathBuf};

use super::broken::{Broken, BrokenKind};
use super::exit::Exit;
use super::options::UsageError;
use super::plain::is_not_plain;
use super::step_error::StepError;

/// An error that ends a run. The results that the run has written stay in its folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Wrong names or options.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A requirement is missing. The text says which, and how to meet it.
    #[error("{0}")]
    Missing(String),
    /// The checker does not fit the stack. The text says why.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A profile excludes every promise that the checker checks. The text is the exclusion's line.
    #[error("unsupported: not promised: {0}")]
    NotPromised(String),
    /// The tool, a component or a worker failed.
    #[error("{}", .kind.of(.message))]
    Broken {
        /// The cause of the failure.
        kind: BrokenKind,
        /// The reason in words.
        message: String,
    },
    /// A run of the same choices took another path, because the checked system is not
    /// deterministic.
    #[error("diverged: {0}")]
    Diverged(String),
    /// A file that the run keeps cannot be written.
    #[error("cannot write {path}: {error}; {hint}")]
    Unwritable {
        /// The path that could not be written.
        path: PathBuf,
        /// The error of the file system.
        error: std::io::Error,
        /// The advice to the user.
        hint: &'static str,
        /// The texts of the traces that were found and not written.
        unsaved: Vec<String>,
    },
}

/// The advice for a run folder, which `--out` can name.
const OUT: &str = "make room there, or name a folder elsewhere with --out";
/// The advice for one of explode's own paths that holds something other than explode makes there.
const NOT_PLAIN: &str = "remove it, or name another path";

impl RunError {
    /// Returns the error of a folder that `--out` names, with no unsaved traces.
    pub fn folder(path: &Path, error: std::io::Error) -> RunError {
        RunError::unwritable(path, error, OUT)
    }

    /// Returns the error of a path that cannot be written, with no unsaved traces. `hint` advises
    /// the user.
    pub fn unwritable(path: &Path, error: std::io::Error, hint: &'static str) -> RunError {
        let hint = if is_not_plain(&error) { NOT_PLAIN } else { hint };
        RunError::Unwritable { path: path.to_owned(), error, hint, unsaved: Vec::new() }
    }

    /// Adds the traces that are lost unless they are printed.
    pub(crate) fn with_unsaved(mut self, traces: impl IntoIterator<Item = String>) -> RunError {
        if let RunError::Unwritable { unsaved, .. } = &mut self {
            unsaved.extend(traces);
        }
        self
    }

    /// Returns the error as a failure. `None` if it is a usage error.
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

    /// Returns the exit code of the run that this error ends.
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
