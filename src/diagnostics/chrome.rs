//! The trace format of Chrome's tracing: a JSON array with an object for each span. Perfetto
//! (<https://ui.perfetto.dev>) opens it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use explode_runtime::worker::{Field, Span};
use serde_json::{Map, Value, json};

use super::recorder::host;

/// The process number of the supervisor; those of its workers are greater.
pub const SUPERVISOR: u32 = 1;

/// Writes spans as they arrive.
#[derive(Debug)]
pub struct Chrome<W> {
    to: W,
    /// The processes whose names are written.
    named: BTreeSet<u32>,
    /// The lanes of simulated hosts whose names are written, each with its process.
    hosts: BTreeSet<(u32, u32)>,
}

impl<W: Write> Chrome<W> {
    /// Begins the array.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn new(mut to: W) -> io::Result<Chrome<W>> {
        to.write_all(b"[")?;
        Ok(Chrome { to, named: BTreeSet::new(), hosts: BTreeSet::new() })
    }

    /// Adds the spans of a process.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn add(&mut self, process: u32, spans: &[Span]) -> io::Result<()> {
        if self.named.insert(process) {
            let name = match process {
                SUPERVISOR => "supervisor".to_owned(),
                worker => format!("worker {}", worker - SUPERVISOR),
            };
            let separator = if self.named.len() == 1 { "\n" } else { ",\n" };
            self.to.write_all(separator.as_bytes())?;
            let args = json!({ "name": name });
            let named = json!({ "ph": "M", "name": "process_name", "pid": process, "args": args });
            serde_json::to_writer(&mut self.to, &named)?;
        }
        for span in spans {
            let host = host(&span.fields);
            if let Some(host) = host.filter(|_| self.hosts.insert((process, span.lane))) {
                self.next(&json!({
                    "ph": "M",
                    "name": "thread_name",
                    "pid": process,
                    "tid": span.lane + 1,
                    "args": { "name": host },
                }))?;
            }
            self.next(&object(process, span))?;
        }
        Ok(())
    }

    fn next(&mut self, object: &Value) -> io::Result<()> {
        self.to.write_all(b",\n")?;
        Ok(serde_json::to_writer(&mut self.to, object)?)
    }

    /// Ends the array.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(b"\n]\n")?;
        Ok(self.to)
    }
}

/// A span as an object. Times are in microseconds, with a fraction.
fn object(process: u32, span: &Span) -> Value {
    let Span { name, lane, begin, nanos, fields } = span;
    let microseconds = |nanos: u64| nanos as f64 / 1000.0;
    let mut object = json!({
        "name": name,
        "pid": process,
        "tid": lane + 1,
        "ts": microseconds(*begin),
    });
    match nanos {
        Some(nanos) => {
            object["ph"] = json!("X");
            object["dur"] = json!(microseconds(*nanos));
        }
        None => {
            object["ph"] = json!("i");
            object["s"] = json!("t");
        }
    }
    if !fields.is_empty() {
        let value = |field: &Field| match field {
            Field::Number(number) => json!(number),
            Field::Text(text) => json!(text),
        };
        let args: Map<String, Value> =
            fields.iter().map(|(name, field)| (name.clone(), value(field))).collect();
        object["args"] = Value::Object(args);
    }
    object
}
