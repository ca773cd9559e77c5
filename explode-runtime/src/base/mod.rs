//! The files that explode writes: how each kind of path is opened, and how a file is replaced.
//!
//! There are two kinds of paths. A path that the user names may lead anywhere, and [`Output`] writes to what it leads to. A file
//! in a folder of explode's own (a run folder, the folder of a matrix, `--write DIR`) has a name that explode has chosen. It is a
//! plain file, and is never reached through a link: see [`durable_write`] and [`open_plain`].

mod bounded;
mod durable;
mod links;
mod output;
mod plain;

pub use bounded::{MOST_TRACE_BYTES, read_at_most, read_plain_at_most};
pub use durable::{durable_file, durable_write, make_folder, remove_temporary, sync_folder};
pub use output::{Output, Unfit, Writing};
pub use plain::{check_folder, check_plain, foreign_owner, is_not_plain, open_plain};
