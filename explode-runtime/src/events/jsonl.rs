//! Event logs as JSON lines (`docs/reference/event-log.md`). Errors name the line.

use std::io::{BufRead, Write};

use explode_ramdisk::Event;
use serde::Deserialize;
use serde_json::error::Category;

use super::limits::{Counted, LogLimits, MOST_LINE_BYTES};
use super::read_error::ReadError;

/// The message for a line that is not an object. serde would also accept an array of the fields.
const NOT_AN_EVENT: &str = "not an event; a log has one JSON object a line, \
                            {\"e\":\"dirty\",...}, or is a log of dm-log-writes";

/// The types of lines that a log may have and that no disk depends on.
const SKIPPED: [&str; 2] = ["syscall", "choice"];

/// Reads a log. Returns the events, each with its line number, from 1.
///
/// # Errors
/// Returns an error for the first line that is not an event of `docs/reference/event-log.md`, for a
/// log above the default limits, and if the file cannot be read.
pub fn read_jsonl(input: impl BufRead) -> Result<Vec<(usize, Event)>, ReadError> {
    read_jsonl_within(input, LogLimits::default())
}

/// Reads a log with the given limits.
///
/// # Errors
/// Returns the errors of [`read_jsonl`].
pub fn read_jsonl_within(
    input: impl BufRead,
    limits: LogLimits,
) -> Result<Vec<(usize, Event)>, ReadError> {
    #[derive(Deserialize)]
    struct Probe {
        e: String,
    }
    let mut events = Vec::new();
    let mut input = Counted::new(input, limits);
    let mut line = 0;
    while let Some(text) = input.line()? {
        line += 1;
        if text.trim_ascii().is_empty() {
            continue;
        }
        let bad = |error: serde_json::Error| ReadError::Line { line, message: in_words(&error) };
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(ReadError::Line { line, message: NOT_AN_EVENT.to_owned() });
        }
        if text.len() as u64 > MOST_LINE_BYTES {
            let message = format!(
                "it has more than {MOST_LINE_BYTES} bytes; cut the request into smaller ones"
            );
            return Err(ReadError::Line { line, message });
        }
        let probe: Probe = serde_json::from_slice(&text).map_err(bad)?;
        if !SKIPPED.contains(&probe.e.as_str()) {
            events.push((line, serde_json::from_slice(&text).map_err(bad)?));
            limits.check_events(events.len())?;
        }
    }
    Ok(events)
}

/// Writes a log that [`read_jsonl`] reads.
///
/// # Errors
/// Returns the errors of `output`.
pub fn write_jsonl<'a>(
    mut output: impl Write,
    events: impl IntoIterator<Item = &'a Event>,
) -> std::io::Result<()> {
    for event in events {
        serde_json::to_writer(&mut output, event)?;
        output.write_all(b"\n")?;
    }
    Ok(())
}

/// Returns the message for an invalid line. serde's line number is removed, because it is always 1
/// within one line. The column is kept.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let column =
        if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
    match error.classify() {
        Category::Eof => format!("the line is cut off: {message}{column}"),
        Category::Syntax => format!("not JSON: {message}{column}"),
        Category::Data | Category::Io => format!("{message}{column}"),
    }
}
