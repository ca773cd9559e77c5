//! Tests of the JSON form of the event log: round trips of each form, and inputs that are rejected.

use bytes::Bytes;
use explode_ramdisk::{Event, Flags, Payload, SECTOR_BYTES};
use proptest::prelude::*;

const SECTOR: u64 = SECTOR_BYTES as u64;

fn data() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..3)
        .prop_map(|bytes| bytes.into_iter().flat_map(|byte| [byte; SECTOR_BYTES]).collect())
}

fn event() -> impl Strategy<Value = Event> {
    let place = || (any::<u32>(), 0u64..1 << 50);
    let range = || (place(), (0u64..1000).prop_map(|sectors| sectors * SECTOR));
    let payload = prop_oneof![
        data().prop_map(Payload::Data),
        (0u64..1000).prop_map(|sectors| Payload::Zeroes(sectors * SECTOR)),
        (0u64..1000).prop_map(|sectors| Payload::Discard(sectors * SECTOR)),
    ];
    let flags = any::<(bool, bool)>().prop_map(|(fua, preflush)| Flags { fua, preflush });
    prop_oneof![
        (place(), data()).prop_map(|((dev, sector), data)| Event::Dirty { dev, sector, data }),
        (place(), data()).prop_map(|((dev, sector), data)| Event::Append { dev, sector, data }),
        range().prop_map(|((dev, sector), len)| Event::Clean { dev, sector, len }),
        range().prop_map(|((dev, sector), len)| Event::Lock { dev, sector, len }),
        range().prop_map(|((dev, sector), len)| Event::Unlock { dev, sector, len }),
        (any::<u64>(), place(), payload, flags).prop_map(|(id, (dev, sector), payload, flags)| {
            Event::Submit { id, dev, sector, payload, flags }
        }),
        any::<(u64, bool)>().prop_map(|(id, error)| Event::Complete { id, error }),
        any::<(u64, u32)>().prop_map(|(id, dev)| Event::Flush { id, dev }),
        any::<String>().prop_map(|name| Event::Mark { name }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_event_survives_a_round_trip(event in event()) {
        let line = serde_json::to_string(&event).unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}

#[test]
fn each_event_has_its_json_form() {
    let zeroes = "AAAA".repeat(170) + "AAA=";
    let data = Bytes::from_static(&[0; SECTOR_BYTES]);
    let submit = |payload, flags| Event::Submit { id: 5, dev: 0, sector: 8, payload, flags };
    let forms = [
        (
            Event::Dirty { dev: 0, sector: 8, data: data.clone() },
            format!(r#"{{"e":"dirty","dev":0,"sector":8,"data":"{zeroes}"}}"#),
        ),
        (
            Event::Clean { dev: 1, sector: 2, len: 512 },
            r#"{"e":"clean","dev":1,"sector":2,"len":512}"#.to_owned(),
        ),
        (
            Event::Lock { dev: 1, sector: 2, len: 512 },
            r#"{"e":"lock","dev":1,"sector":2,"len":512}"#.to_owned(),
        ),
        (
            Event::Unlock { dev: 1, sector: 2, len: 512 },
            r#"{"e":"unlock","dev":1,"sector":2,"len":512}"#.to_owned(),
        ),
        (
            submit(Payload::Data(data.clone()), Flags::NONE),
            format!(r#"{{"e":"submit","id":5,"dev":0,"sector":8,"data":"{zeroes}"}}"#),
        ),
        (
            submit(Payload::Data(data), Flags::PREFLUSH_FUA),
            format!(
                r#"{{"e":"submit","id":5,"dev":0,"sector":8,"data":"{zeroes}","flags":["fua","preflush"]}}"#
            ),
        ),
        (
            submit(Payload::Zeroes(1024), Flags::FUA),
            r#"{"e":"submit","id":5,"dev":0,"sector":8,"len":1024,"op":"zeroes","flags":["fua"]}"#.to_owned(),
        ),
        (
            submit(Payload::Discard(1024), Flags::PREFLUSH),
            r#"{"e":"submit","id":5,"dev":0,"sector":8,"len":1024,"op":"discard","flags":["preflush"]}"#
                .to_owned(),
        ),
        (Event::Complete { id: 5, error: false }, r#"{"e":"complete","id":5}"#.to_owned()),
        (Event::Complete { id: 5, error: true }, r#"{"e":"complete","id":5,"error":true}"#.to_owned()),
        (Event::Flush { id: 6, dev: 0 }, r#"{"e":"flush","id":6,"dev":0}"#.to_owned()),
        (Event::Mark { name: "begin".to_owned() }, r#"{"e":"mark","name":"begin"}"#.to_owned()),
    ];
    for (event, line) in forms {
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}

#[test]
fn other_spellings_of_an_event_are_accepted() {
    let same = |line: &str, event: Event| {
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), event, "{line}")
    };
    same(
        r#" { "id" : 5 , "e" : "complete" , "error" : false } "#,
        Event::Complete { id: 5, error: false },
    );
    same(
        r#"{"flags":["preflush"],"data":"","sector":0,"dev":0,"id":1,"e":"submit"}"#,
        Event::Submit {
            id: 1,
            dev: 0,
            sector: 0,
            payload: Payload::Data(Bytes::new()),
            flags: Flags::PREFLUSH,
        },
    );
}

#[track_caller]
fn refused(line: &str, because: &str) {
    let error = serde_json::from_str::<Event>(line).expect_err(line).to_string();
    assert!(error.contains(because), "{line}\n  says {error:?}\n  not  {because:?}");
}

#[test]
fn unknown_events_keys_and_words() {
    refused(r#"{"e":"forget","dev":0,"sector":0,"len":512}"#, "unknown variant `forget`");
    refused(r#"{"e":"Dirty","dev":0,"sector":0,"data":""}"#, "unknown variant `Dirty`");
    refused(r#"{"dev":0,"sector":0,"data":""}"#, "missing field `e`");
    refused(r#"{"e":"flush","id":6,"dev":0,"size":1}"#, "unknown field `size`");
    refused(r#"{"e":"mark","name":"x","id":1}"#, "unknown field `id`");
    refused(r#"{"e":"dirty","dev":0,"sector":0,"data":"","flags":[]}"#, "unknown field `flags`");
    refused(
        r#"{"e":"submit","id":1,"dev":0,"sector":0,"len":512,"op":"trim"}"#,
        "unknown variant `trim`",
    );
    refused(
        r#"{"e":"submit","id":1,"dev":0,"sector":0,"data":"","flags":["sync"]}"#,
        "unknown variant `sync`",
    );
}

#[test]
fn missing_doubled_and_wrong_fields() {
    refused(r#"{"e":"flush","id":6}"#, "missing field `dev`");
    refused(r#"{"e":"complete"}"#, "missing field `id`");
    refused(r#"{"e":"clean","dev":0,"sector":0}"#, "missing field `len`");
    refused(r#"{"e":"complete","id":1,"id":2}"#, "duplicate field `id`");
    refused(r#"{"e":"clean","dev":-1,"sector":0,"len":512}"#, "expected u32");
    refused(r#"{"e":"clean","dev":4294967296,"sector":0,"len":512}"#, "expected u32");
    refused(r#"{"e":"clean","dev":0,"sector":0.5,"len":512}"#, "expected u64");
    refused(r#"{"e":"complete","id":1} x"#, "trailing characters");
}

#[test]
fn bad_data() {
    for data in ["!", "A", "AAA", "AA==AA", "A A=", "-_-_"] {
        refused(
            &format!(r#"{{"e":"dirty","dev":0,"sector":0,"data":"{data}"}}"#),
            "\"data\" is not base64",
        );
    }
    refused(r#"{"e":"dirty","dev":0,"sector":0,"data":"AAAA"}"#, "3 bytes are not whole sectors");
    refused(
        r#"{"e":"submit","id":1,"dev":0,"sector":0,"data":"AAAA"}"#,
        "3 bytes are not whole sectors",
    );
}

#[test]
fn bad_lengths() {
    for e in ["clean", "lock", "unlock"] {
        refused(
            &format!(r#"{{"e":"{e}","dev":0,"sector":0,"len":513}}"#),
            "513 bytes are not whole sectors",
        );
        let far = format!(r#"{{"e":"{e}","dev":0,"sector":36028797018963967,"len":512}}"#);
        refused(&far, "beyond the largest possible device");
    }
    refused(
        r#"{"e":"submit","id":1,"dev":0,"sector":0,"len":100,"op":"discard"}"#,
        "100 bytes are not whole sectors",
    );
    refused(
        r#"{"e":"submit","id":1,"dev":0,"sector":18446744073709551615,"len":0,"op":"zeroes"}"#,
        "beyond the largest",
    );
}

#[test]
fn a_submit_needs_one_payload() {
    for rest in [
        r#""#,
        r#","len":512"#,
        r#","op":"zeroes""#,
        r#","data":"","len":0"#,
        r#","data":"","op":"zeroes""#,
        r#","data":"","len":0,"op":"zeroes""#,
    ] {
        let line = format!(r#"{{"e":"submit","id":1,"dev":0,"sector":0{rest}}}"#);
        refused(&line, "either \"data\", or \"len\" and \"op\"");
    }
}
