//! Small things that all other rooms use: errors, progress, keys, files, and child processes.

mod error;
mod files;
mod key;
mod progress;
mod spawn;
mod waiting;

pub(crate) use error::{ErrorContext, MORE_SPACE};
pub use error::{Result, VmError, VmErrorKind};
pub(crate) use files::own_file;
pub use key::CacheKey;
pub use progress::{BuildProgress, Silent};
pub use spawn::spawn;
pub(crate) use waiting::HostClock;
pub use waiting::kept_waiting;
