//! Long units: progress is reported during a unit, and the budget can end it.

use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::tempdir;

use crate::common::of_type;
use crate::deaths::run;
use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![trial("progress comes inside a unit, and a budget ends it", inside)]
}

fn inside() {
    let folder = tempdir().unwrap();
    let lines =
        run(folder.path(), "frail-long --budget 2s --out run --require-complete").expect(6).json();
    let within = |progress: &&&Value| progress["operations"] == 0 && progress["checked"] != 0;
    assert!(of_type(&lines, "progress").iter().any(|progress| within(&progress)), "{lines:#?}");
    let summary = lines.last().unwrap();
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert!(count("checked") > 0 && count("pending") > 0, "{summary}");
    let distinct = count("checked") + count("equivalent") + count("pending");
    assert_eq!((count("distinct"), count("operations")), (distinct, 1));
}
