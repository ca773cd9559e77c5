//! What a run says: one stream of messages that every output is made from (`docs/interfaces.md`).

mod escape;
mod human;
mod layout;
mod message;
mod progress;

pub use escape::{escaped, one_line};
pub use human::{Human, quoted};
pub use layout::{detail_line, status_line};
pub use message::{Count, Finding, Message, Progress, RunInfo, Summary};
pub use progress::{progress_text, rate, share};
