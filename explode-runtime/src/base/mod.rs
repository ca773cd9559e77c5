//! The foundation of every room: options, errors, exit codes, counts, panics, the words of a shell
//! command, and the files that explode writes.
//!
//! Files have two kinds of paths. A path that the user names may lead anywhere, and [`Output`]
//! writes to its target. A file in a folder of explode's own (a run folder, the folder of a matrix,
//! `--write DIR`) has a name that explode has chosen. It is a plain file, and is never reached
//! through a link: see [`durable_write`] and [`open_plain`].

pub(crate) mod as_json;
mod bounded;
mod bounds;
mod broken;
mod count;
mod durable;
mod error;
mod exit;
mod links;
mod mode;
mod option_value;
mod options;
mod output;
mod panics;
mod plain;
mod programs;
mod quoted;
mod step_error;
mod tally;

pub use bounded::{MOST_TRACE_BYTES, read_at_most, read_plain_at_most};
pub use bounds::TargetBounds;
pub use broken::{Broken, BrokenKind};
pub use count::ExactCount;
pub(crate) use count::plural;
pub use durable::{durable_file, durable_write, make_folder, remove_temporary, sync_folder};
pub use error::RunError;
pub use exit::Exit;
pub use mode::Mode;
pub use option_value::OptionValue;
pub use options::{Factory, OptionDef, Options, UsageError, with_defaults};
pub use output::{Output, Unfit, Writing};
pub(crate) use panics::panic_message as panic_words;
pub use panics::{catch_panic, take_panic_message};
pub use plain::{check_folder, check_plain, foreign_owner, is_not_plain, open_plain};
pub use programs::{NamedProgram, of_options as programs_of, of_text as programs};
pub use quoted::quoted;
pub use step_error::{Blame, StepError};
pub use tally::TallyGroup;
