//! Small things that every other room uses: errors, progress, keys, files, and child processes.

mod error;
mod files;
mod key;
mod progress;
mod spawn;
mod waiting;

pub(crate) use error::{Context, MORE_SPACE};
pub use error::{Kind, Result, VmError};
pub(crate) use files::own_file;
pub use key::Key;
pub use progress::{Progress, Silent};
pub use spawn::spawn;
pub(crate) use waiting::Clock;
pub use waiting::kept_waiting;
