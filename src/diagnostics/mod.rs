//! Spans and log lines: the steps of explode and their times. They are not part of a report.
//!
//! | where | what is kept | where it goes |
//! | --- | --- | --- |
//! | supervisor | log lines, by `-v` and `RUST_LOG` | standard error |
//! | | its own spans, with `--timeline` | the file |
//! | worker process | log lines | standard error |
//! | guest | log lines | to the supervisor |
//! | worker process, guest | spans | to the supervisor, which writes them to the file |
//!
//! Without `-v`, `RUST_LOG` and `--timeline` there is no subscriber, and a span costs a comparison.

mod chrome;
mod here;
mod log;
mod recorder;
mod timeline;
mod worker;

#[cfg(test)]
mod cluster_tests;
#[cfg(test)]
mod tests;

pub use here::{begin, finish_timeline, observer, write_timeline};
pub use log::VARIABLE;
pub use worker::{Lines, OfWorker};
