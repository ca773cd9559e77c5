//! Spans and lines of log: what explode does, and when. Nothing of it is part of a report.
//!
//! | where | what is kept | where it goes |
//! | --- | --- | --- |
//! | supervisor | lines of log, by `-v` and `RUST_LOG` | standard error |
//! | | its own spans, with `--timeline` | the file |
//! | worker process | lines of log | standard error |
//! | guest | lines of log | to the supervisor |
//! | worker process, guest | spans | to the supervisor, which writes them to the file |
//!
//! Without `-v`, `RUST_LOG` and `--timeline` no subscriber is set: a span costs a comparison.

mod chrome;
mod here;
mod log;
mod recorder;
mod timeline;
mod worker;

#[cfg(test)]
mod tests;

pub use here::{begin, finish_timeline, observer, write_timeline};
pub use log::VARIABLE;
pub use worker::{Lines, OfWorker};
