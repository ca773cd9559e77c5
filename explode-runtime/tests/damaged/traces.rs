//! Traces.

use explode_runtime::trace::{Trace, TraceError};
use proptest::prelude::*;

use crate::{config, damaged, garbage, limit_memory};

/// A trace with every key that a trace can have.
const SOUND: &str = r#"{
  "format": 1, "explode": "0.1.0", "versions": { "sqlite": "3.50.2" },
  "target": "sqlite-off", "in": "mem",
  "stack": [
    { "name": "simfiles", "use": "simfiles", "children": [], "options": {} },
    { "name": "db", "use": "sqlite", "children": ["simfiles"], "options": { "page_bytes": 512, "journal": "wal", "sure": true } }
  ],
  "checker": "sqlite-transactions",
  "checker_options": { "mutate": [{ "name": "add", "steps": [{ "sh": "true", "must": true }] }] },
  "options": {
    "strategy": "exhaust", "seed": 0, "depth": 1, "states": 3, "budget_ms": 60000,
    "rules": { "completion": "volatile", "atom": "block", "block_bytes": 4096, "replace_versions": false },
    "limit": 20000, "samples": 2000, "crash_depth": 1, "deadline_ms": 30000
  },
  "pristine": "9b26c7b7d5f8ac71c3dc2ae7b3b1ba8c",
  "choices": [
    { "kind": "action", "options": 6, "value": 2, "label": { "site": "checkers/src/a.rs:7", "stack": 5, "object": "d0" } }
  ],
  "mutates": 1, "interval": 0, "epoch": "in-between", "args": ["k1"],
  "log": "3e7a1c5f8b9d2e4f60718293a4b5c6d7",
  "crash_disk": { "id": "00112233445566778899aabbccddeeff", "blocks": [[0, 8, 1], [1, 16, 2]] },
  "recovery": [{ "id": "ffeeddccbbaa99887766554433221100", "blocks": [[0, 24, 1]] }],
  "died": "check", "verdict": "hang", "signature": "sqlite-transactions/hang/check", "by_design": false,
  "message": "in step check: no end within the deadline of 30 s"
}"#;

/// Reads a trace. The result can be written and read again.
fn survives(text: &[u8]) {
    limit_memory();
    match Trace::from_json(text) {
        Ok(trace) => assert_eq!(Trace::from_json(trace.to_json().as_bytes()).unwrap(), trace),
        Err(TraceError::Io(error)) => panic!("nothing is read from a file: {error}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn the_trace_itself_is_sound() {
    Trace::from_json(SOUND.as_bytes()).unwrap();
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn garbage_is_survived(bytes in garbage()) {
        survives(&bytes);
        survives(&[b"{\"format\":1,\"explode\":\"", &bytes[..]].concat());
    }

    #[test]
    fn damage_is_survived(text in damaged(SOUND.into())) {
        survives(&text);
    }

    /// One number of the trace is replaced by another.
    #[test]
    fn numbers_are_survived(at in any::<prop::sample::Index>(),
        number in "-?[0-9]{1,40}(\\.[0-9]{1,3})?(e[0-9]{1,3})?") {
        let is_number = |word: &&str| word.parse::<u64>().is_ok();
        let words: Vec<&str> = SOUND.split_inclusive([' ', ',', '[', ']']).collect();
        let bare = |word: &str| word.trim_end_matches([' ', ',', '[', ']']).to_owned();
        let numbers: Vec<usize> =
            (0..words.len()).filter(|word| is_number(&bare(words[*word]).as_str())).collect();
        let at = numbers[at.index(numbers.len())];
        let new = words[at].replace(&bare(words[at]), &number);
        let words = words.iter().enumerate();
        let text: String =
            words.map(|(index, word)| if index == at { &new } else { *word }).collect();
        survives(text.as_bytes());
    }

    /// Deep nesting at any place of the trace.
    #[test]
    fn nesting_is_survived(at in any::<prop::sample::Index>(), bracket in "[\\[{]|\\{\"a\":",
        depth in 1_usize..20_000) {
        let at = at.index(SOUND.len());
        survives([&SOUND[..at], &bracket.repeat(depth), &SOUND[at..]].concat().as_bytes());
    }
}
