//! The tests in a guest: ext2 on a disk that ignores flushes.

use libtest_mimic::Trial;
use serde_json::json;
use tempfile::tempdir;

use crate::common::{guest, of_type};
use crate::{explode, line, read, trace_of, trial};

pub fn trials() -> Vec<Trial> {
    vec![trial("guests: a trace of ext2 becomes smaller, and tells its story", ext2)]
}

fn ext2() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let args = "fs-sync --stack ext2 --in vm --set ramdisk.flushes=dropped --depth 1 --states 2 \
                --crash-depth 0";
    let trace = trace_of(folder.path(), args, "synced-by-fsync");
    let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
    let after = &reported["after"];
    // The start and the step. Of all writes of fsync, one block is lost: the file's contents.
    assert_eq!(
        (&after["mutates"], &after["choices"], &after["lost"]),
        (&json!(1), &json!(2), &json!(1)),
        "{reported}"
    );
    assert!(reported["before"]["lost"].as_u64().unwrap() > 1, "{reported}");
    let out = reported["out"].as_str().unwrap();
    let smaller = read(&folder.path().join(out));
    assert_eq!((&smaller["in"], &smaller["choices"][0]["value"]), (&json!("vm"), &json!(0)));
    let lines = explode(folder.path(), &format!("show {out} --format jsonl")).expect(0).json();
    assert_eq!(lines[0]["reproduced"], true, "{}", lines[0]);
    assert!(lines[0]["promise"]["source"].as_str().unwrap().contains("fsync(2)"), "{}", lines[0]);
    // The caller of fsync(2) writes: the agent, in whose thread the checker runs.
    let submitted: Vec<_> =
        of_type(&lines, "event").into_iter().filter(|event| event["e"] == "submit").collect();
    assert!(!submitted.is_empty());
    assert!(submitted.iter().all(|event| event["by"] == "explode"), "{submitted:?}");
    let lost: Vec<_> =
        of_type(&lines, "range").into_iter().filter(|range| range["kept"].is_null()).collect();
    let critical = of_type(&lines, "critical")[0];
    assert_eq!((lost.len(), &critical["kept"]), (1, &json!(false)), "{critical}");
    assert_eq!(json!([[critical["sector"], 8]]), lost[0]["sectors"]);
}
