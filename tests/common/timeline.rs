//! The file of `--timeline`, read as Perfetto reads it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// A span: its name, its beginning and its end, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    pub begin: u64,
    pub end: u64,
}

/// The spans of a file, by process and thread, in order.
#[derive(Debug)]
pub struct Timeline {
    pub lanes: BTreeMap<(u64, u64), Vec<Span>>,
    /// The names of the processes.
    pub processes: BTreeMap<u64, String>,
}

impl Timeline {
    /// Reads a file and checks that the spans of each lane nest.
    #[track_caller]
    pub fn read(path: &Path) -> Timeline {
        let text = std::fs::read(path).unwrap();
        let events: Vec<Value> = serde_json::from_slice(&text).unwrap();
        let mut timeline = Timeline { lanes: BTreeMap::new(), processes: BTreeMap::new() };
        for event in &events {
            let process = event["pid"].as_u64().unwrap();
            let nanos = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
            let name = event["name"].as_str().unwrap().to_owned();
            match event["ph"].as_str().unwrap() {
                "M" => {
                    let name = event["args"]["name"].as_str().unwrap().to_owned();
                    assert_eq!(timeline.processes.insert(process, name), None);
                }
                "X" => {
                    let (begin, lane) = (nanos("ts"), event["tid"].as_u64().unwrap());
                    let span = Span { name, begin, end: begin + nanos("dur") };
                    timeline.lanes.entry((process, lane)).or_default().push(span);
                }
                other => assert_eq!(other, "i", "{event}"),
            }
        }
        timeline.lanes.values_mut().for_each(|spans| nest(spans));
        timeline
    }

    /// Returns the number of spans of this name, in one process or in all.
    pub fn count(&self, name: &str, process: Option<u64>) -> usize {
        let lanes = self.lanes.iter().filter(|(lane, _)| process.is_none_or(|it| lane.0 == it));
        lanes.flat_map(|(_, spans)| spans).filter(|span| span.name == name).count()
    }

    /// Checks that each unit of a worker lies in a span in which the supervisor waited for it.
    #[track_caller]
    pub fn units_are_waited_for(&self) {
        let of = |name: &'static str| {
            let spans = self.lanes.values().flatten();
            spans.filter(move |span| span.name == name)
        };
        assert!(of("unit").count() > 0, "{:?}", self.processes);
        for unit in of("unit") {
            let is_around = |wait: &Span| wait.begin <= unit.begin && unit.end <= wait.end;
            assert!(of("wait").any(is_around), "{unit:?}");
        }
    }
}

/// Sorts the spans of a lane. Two spans that overlap must be nested.
#[track_caller]
fn nest(spans: &mut [Span]) {
    spans.sort_by_key(|span| (span.begin, std::cmp::Reverse(span.end)));
    let mut open: Vec<&Span> = Vec::new();
    for span in &*spans {
        open.retain(|outer| outer.end > span.begin);
        if let Some(outer) = open.last() {
            assert!(span.end <= outer.end, "{span:?} is not in {outer:?}");
        }
        open.push(span);
    }
}
