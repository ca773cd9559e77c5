//! The events of hosts in the formats of other programs: ShiViz, and those that read Chrome traces.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::events::HostEvent;

/// The time of a step in a Chrome trace, in microseconds. Steps follow each other without a pause,
/// because several may happen at one time of the simulated world.
const STEP: usize = 1000;

/// Returns the events as a log for ShiViz (<https://bestchai.bitbucket.io/shiviz/>). Each event is
/// two lines: the host with its vector clock, and the event.
pub fn shiviz(events: &[HostEvent]) -> String {
    let mut text = String::new();
    for (event, clock) in events.iter().zip(vector_clocks(events)) {
        let clock = serde_json::to_string(&clock).expect("a clock is plain data");
        text.push_str(&format!("{} {clock}\n{}\n", event.host, in_one_line(event)));
    }
    text
}

/// Returns the vector clock of each event: how many events of each host happened before it or are
/// it.
fn vector_clocks(events: &[HostEvent]) -> Vec<BTreeMap<String, u64>> {
    let mut hosts: HashMap<&str, BTreeMap<String, u64>> = HashMap::new();
    let mut messages: HashMap<u64, BTreeMap<String, u64>> = HashMap::new();
    let mut clocks = Vec::new();
    for event in events {
        let clock = hosts.entry(&event.host).or_default();
        *clock.entry(event.host.clone()).or_default() += 1;
        let sender = event.received.and_then(|number| messages.get(&number));
        for (host, count) in sender.into_iter().flatten() {
            let known = clock.entry(host.clone()).or_default();
            *known = (*known).max(*count);
        }
        messages.extend(event.sent.iter().map(|number| (*number, clock.clone())));
        clocks.push(clock.clone());
    }
    clocks
}

fn in_one_line(event: &HostEvent) -> String {
    event.parts.join("; ").replace(['\n', '\r'], " ")
}

/// Returns the events as Chrome's JSON of traces: a row for each host, a slice for each step, an
/// arrow for each message.
pub fn chrome(events: &[HostEvent]) -> String {
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    events.iter().for_each(|event| _ = rows.insert(&event.host, 0));
    rows.values_mut().zip(1..).for_each(|(row, number)| *row = number);
    let mut lines: Vec<Value> = Vec::new();
    for (host, row) in &rows {
        lines.push(json!({
            "ph": "M", "name": "thread_name", "pid": 1, "tid": row, "args": { "name": host },
        }));
    }
    let mut sent: HashMap<u64, (usize, usize)> = HashMap::new();
    let mut arrows = 0;
    for (step, event) in events.iter().enumerate() {
        let (row, begin) = (rows[event.host.as_str()], step * STEP);
        let name = event.parts.first().map_or("", String::as_str);
        lines.push(json!({
            "ph": "X", "name": name, "pid": 1, "tid": row, "ts": begin, "dur": STEP * 9 / 10,
            "args": { "step": step + 1, "ms": event.nanos / 1_000_000, "parts": event.parts },
        }));
        if let Some((sender, at)) = event.received.and_then(|number| sent.get(&number)) {
            arrows += 1;
            let arrow = |ph: &str, row: usize, at: usize| {
                json!({
                    "ph": ph, "name": "message", "cat": "message", "id": arrows, "bp": "e",
                    "pid": 1, "tid": row, "ts": at,
                })
            };
            lines.extend([arrow("s", *sender, at + STEP / 2), arrow("f", row, begin)]);
        }
        sent.extend(event.sent.iter().map(|number| (*number, (row, begin))));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(host: &str, received: Option<u64>, sent: &[u64]) -> HostEvent {
        let parts = vec!["one\nline".to_owned(), "two".to_owned()];
        HostEvent { host: host.to_owned(), nanos: 0, parts, received, sent: sent.to_vec() }
    }

    /// Host a sends a message to b, and another one that is lost; b answers; c hears nothing.
    fn events() -> [HostEvent; 4] {
        [
            event("a", None, &[1, 2]),
            event("c", None, &[]),
            event("b", Some(1), &[3]),
            event("a", Some(3), &[]),
        ]
    }

    #[test]
    fn clocks_count_the_events_before_an_event() {
        let expected = "a {\"a\":1}\none line; two\nc {\"c\":1}\none line; two\n\
                        b {\"a\":1,\"b\":1}\none line; two\na {\"a\":2,\"b\":1}\none line; two\n";
        assert_eq!(shiviz(&events()), expected);
    }

    #[test]
    fn a_chrome_trace_has_a_slice_for_each_event_and_an_arrow_for_each_message() {
        let lines: Vec<Value> = serde_json::from_str(&chrome(&events())).unwrap();
        let of = |ph: &str| lines.iter().filter(|line| line["ph"] == ph).collect::<Vec<_>>();
        assert_eq!([of("M").len(), of("X").len(), of("s").len(), of("f").len()], [3, 4, 2, 2]);
        let rows: Vec<&Value> = of("X").iter().map(|line| &line["tid"]).collect();
        assert_eq!(rows, [1, 3, 2, 1]);
        for (begin, end) in of("s").into_iter().zip(of("f")) {
            assert!(begin["ts"].as_u64() < end["ts"].as_u64() && begin["id"] == end["id"]);
        }
    }
}
