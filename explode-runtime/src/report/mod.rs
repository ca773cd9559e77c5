//! The reports of a run: one stream of messages from which every output is made
//! (`docs/reference/json.md`).

mod by_model;
mod escape;
mod human;
mod kernel_words;
mod layout;
mod message;
mod paste;
mod progress;

pub use by_model::{Appearance, ModelResult, shows};
pub use escape::{escaped, one_line};
pub use human::HumanWriter;
pub use kernel_words::{Brief, brief};
pub use layout::{Colour, Line, detail_line, status_line};
pub use message::{DepthCounts, DepthDone, Finding, Message, Progress, REACHED, RunInfo, Summary};
pub use paste::{Paste, absolute};
pub use progress::{progress_text, rate, share};
