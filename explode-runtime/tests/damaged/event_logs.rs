//! Event logs as JSON lines.

use explode_runtime::events::{Event, Flags, Payload, ReadError, read_jsonl, write_jsonl};
use proptest::prelude::*;

use crate::{config, damaged, garbage, limit_memory};

/// The pattern of an event of a range, with any numbers.
const RANGE: &str = concat!(
    "\\{\"e\":\"(clean|lock|unlock)\",\"dev\":[0-9]{1,11},\"sector\":-?[0-9]{1,21}(e[0-9]{1,3})?,",
    "\"len\":[0-9]{1,21}\\}",
);

/// Returns a log with each kind of event.
fn sound() -> Vec<u8> {
    let data = || vec![b'A'; 512].into();
    let submit = |id, payload, flags| Event::Submit { id, dev: 0, sector: 8, payload, flags };
    let events = [
        Event::Mark { name: "begin".to_owned() },
        Event::Dirty { dev: 0, sector: 8, data: data() },
        Event::Lock { dev: 0, sector: 8, len: 512 },
        Event::Unlock { dev: 0, sector: 8, len: 512 },
        Event::Clean { dev: 0, sector: 8, len: 512 },
        submit(5, Payload::Data(data()), Flags::PREFLUSH_FUA),
        submit(6, Payload::Zeroes(4096), Flags::NONE),
        submit(7, Payload::Discard(4096), Flags::NONE),
        Event::Complete { id: 5, error: true },
        Event::Flush { id: 5, dev: 0 },
    ];
    let mut log = b"{\"e\":\"choice\",\"of\":3}\n\n".to_vec();
    write_jsonl(&mut log, &events).unwrap();
    log
}

/// Reads a log. The events can be written and read again, have no more bytes than the log, and name
/// lines of it.
fn survives(log: &[u8]) {
    limit_memory();
    let lines = log.split(|byte| *byte == b'\n').count();
    match read_jsonl(log) {
        Ok(events) => {
            assert!(events.iter().map(|(line, _)| *line).is_sorted_by(|a, b| a < b));
            assert!(events.last().is_none_or(|(line, _)| *line <= lines));
            let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
            assert!(events.iter().map(data_bytes).sum::<usize>() <= log.len());
            let mut again = Vec::new();
            write_jsonl(&mut again, &events).unwrap();
            assert!(read_jsonl(&again[..]).unwrap().into_iter().map(|(_, event)| event).eq(events));
        }
        Err(ReadError::Line { line, message }) => {
            assert!((1..=lines).contains(&line) && !message.is_empty(), "line {line}: {message}");
        }
        Err(other) => panic!("{other}"),
    }
}

fn data_bytes(event: &Event) -> usize {
    match event {
        Event::Dirty { data, .. } | Event::Submit { payload: Payload::Data(data), .. } => {
            data.len()
        }
        _ => 0,
    }
}

#[test]
fn the_log_itself_is_sound() {
    assert_eq!(read_jsonl(&sound()[..]).unwrap().len(), 10);
}

/// A length in a log allocates nothing by itself.
#[test]
fn a_large_length_costs_no_memory() {
    limit_memory();
    for op in ["zeroes", "discard"] {
        let len = 1_u64 << 62;
        let line = format!(
            "{{\"e\":\"submit\",\"id\":1,\"dev\":0,\"sector\":0,\"len\":{len},\"op\":\"{op}\"}}"
        );
        let events = read_jsonl(line.as_bytes()).unwrap();
        assert!(matches!(&events[0].1, Event::Submit { payload, .. } if payload.len() == len));
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn garbage_is_survived(bytes in garbage()) {
        survives(&bytes);
        // The same bytes in place of an event's name, and in place of its data.
        survives(&[b"{\"e\":\"mark\",\"name\":\"", &bytes[..], b"\"}"].concat());
        survives(&[b"{\"e\":\"dirty\",\"dev\":0,\"sector\":0,\"data\":\"", &bytes[..],
            b"\"}"].concat());
    }

    #[test]
    fn damage_is_survived(log in damaged(sound())) {
        survives(&log);
    }

    #[test]
    fn numbers_are_survived(line in RANGE) {
        survives(line.as_bytes());
    }
}
