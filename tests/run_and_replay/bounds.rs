//! Exact summaries, and the bounds that stop a run.

use serde_json::{Value, json};

use super::{run, summary};

/// Returns a summary without its time.
#[track_caller]
fn exact(code: i32, args: &str) -> Value {
    let mut summary = summary(code, args);
    assert!(summary["seconds"].as_f64().is_some());
    for key in ["seconds", "deepest"] {
        summary.as_object_mut().unwrap().remove(key);
    }
    summary
}

/// The paper's Figure 2: 13 children of each state (5 + 5 + 1 + 2), and with three steps 1 + 13 +
/// 13^2 + 13^3 states.
#[test]
fn figure_2_has_its_counts() {
    let expected = |states: u64, operations: u64, choices: u64, crash_disks: u64, distinct: u64| {
        json!({"type": "summary", "states": states, "operations": operations, "choices": choices,
               "crash_disks": crash_disks, "distinct": distinct, "checked": distinct,
               "equivalent": 0, "pending": 0,
               "left_out": 0, "crash_crash_disks": 0, "crash_crash_left_out": 0, "by_design": 0,
               "broken": 0, "findings": 0, "complete": true})
    };
    // 12 of 13 operations have two choice points. Two of them write and sync: one disk each, the
    // same for both.
    assert_eq!(exact(0, "fs-basic --depth 1"), expected(14, 13, 25, 2, 1));
    assert_eq!(exact(0, "fs-basic --depth 2"), expected(183, 182, 14 * 25, 14 * 2, 6));
    // Distinct after two operations: nothing else (1), one directory before the file (5) or after
    // it (5), two directories (20), the file as second inode after a removed directory (1) or a
    // removed file (1).
    assert_eq!(exact(0, "fs-basic"), expected(2380, 2379, 183 * 25, 183 * 2, 33));
}

#[test]
fn sqlite_is_clean_where_it_syncs() {
    for target in ["sqlite-extra", "sqlite-extra-wal", "sqlite-full-wal"] {
        let summary = exact(0, &format!("{target} --depth 1 --require-complete"));
        let keys = [
            "states",
            "operations",
            "choices",
            "pending",
            "left_out",
            "broken",
            "findings",
            "complete",
        ];
        let counts = json!(keys.map(|key| summary[key].clone()));
        assert_eq!(counts, json!([7, 6, 6, 0, 0, 0, 0, true]), "{target}");
    }
}

/// A state that has shown an error is not explored further (EX-47). Of SQLite's six steps without
/// syncs five lose something.
#[test]
fn a_state_with_an_error_has_no_children() {
    let summary = exact(1, "sqlite-off --depth 2 --limit 500 --samples 100");
    let counts = ["states", "operations", "choices", "crash_disks"].map(|key| summary[key].clone());
    assert_eq!(json!(counts), json!([3, 12, 12, 753_882]));
    // With a WAL two steps of six lose nothing, the rollback and the checkpoint: 1 + 2 + 4 + 8
    // states, and 6 steps from each except the last 8.
    let summary = exact(1, "sqlite-off-wal --depth 3");
    assert_eq!((&summary["states"], &summary["operations"]), (&json!(15), &json!(7 * 6)));
}

#[test]
fn a_number_of_states_stops_a_run() {
    let counts =
        |summary: &Value| ["states", "operations", "complete"].map(|key| summary[key].clone());
    // The first state counts as one, and nothing is run from it.
    for strategy in ["exhaust", "dfs", "random"] {
        let summary =
            exact(6, &format!("fs-basic --states 1 --strategy {strategy} --require-complete"));
        assert_eq!(counts(&summary), [json!(1), json!(0), json!(false)], "{strategy}");
    }
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 6, "fs-basic --states 1 --require-complete --out run");
    let resumed = run(folder.path(), 6, "--resume run --require-complete");
    assert_eq!(counts(resumed.last().unwrap()), [json!(1), json!(0), json!(false)]);
    assert_eq!(counts(&exact(0, "fs-basic --states 10")), [json!(10), json!(9), json!(false)]);
    assert_eq!(counts(&exact(0, "fs-basic --states 100")), [json!(100), json!(99), json!(false)]);
    assert_eq!(
        counts(&exact(0, "fs-basic --states 100000")),
        [json!(2380), json!(2379), json!(true)]
    );
    exact(6, "fs-basic --states 10 --require-complete");
}

/// The target's own depth is 3. With a budget and no depth the run goes deeper, if its strategy
/// explores shallow states first.
#[test]
fn a_budget_without_a_depth_goes_deeper() {
    let deepest = |args: &str| summary(0, args)["deepest"].as_u64().unwrap();
    assert_eq!(deepest("fs-basic"), 3);
    assert_eq!(deepest("fs-basic --depth 2"), 2);
    assert_eq!(deepest("fs-basic --depth 2 --budget 1h"), 2);
    assert_eq!(deepest("fs-basic --strategy dfs --budget 1h"), 3);
    let states = "fs-basic --budget 1h --states 4000";
    assert_eq!(deepest(states), 4);
    assert_eq!(summary(0, &format!("{states} --jobs 2"))["deepest"], 4);
    assert_eq!(deepest(&format!("{states} --strategy different")), 4);
}

/// Exit code 6 for each kind of incomplete run. The depth defines the complete space.
#[test]
fn require_complete_has_a_reason() {
    for (code, args) in [
        (0, "fs-basic --depth 1"),
        (0, "fs-basic --depth 1 --chop 1 --strategy different"),
        (0, "fs-basic --depth 1 --budget 1h --states 15"),
        (6, "fs-basic --depth 1 --states 13"),
        (6, "fs-basic --depth 1 --budget 1ms"),
        (6, "fs-basic --depth 3 --strategy random --states 14"),
        (6, "fs-basic --depth 3 --strategy weighted --states 14"),
        (6, "fs-basic --depth 3 --strategy pct:d=2,k=5 --states 14"),
        (6, "sqlite-extra --depth 1 --limit 50 --samples 10"),
    ] {
        let summary = exact(code, &format!("{args} --require-complete"));
        assert_eq!(summary["complete"], code == 0, "{args}");
        exact(0, args);
    }
}

/// If a unit runs long between two checks, or without any, the budget ends it after the current
/// step. Of a thousand steps of a tenth of a second only a few are made.
#[test]
fn a_budget_ends_a_long_walk_without_checks() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[component]]\nuse = \"folder\"\n[checker]\nname = \"slow\"\ncheck = \"true\"\n\
                mutate = [ { name = \"wait\", steps = [ { sh = \"sleep 0.1\" } ] } ]\n";
    std::fs::write(folder.path().join("slow.toml"), text).unwrap();
    let args = "slow.toml --strategy random --depth 1000 --budget 1s --out run --require-complete";
    let lines = run(folder.path(), 6, args);
    let summary = lines.last().unwrap();
    let operations = summary["operations"].as_u64().unwrap();
    assert!((1..=10).contains(&operations), "{summary}");
    assert_eq!(summary["complete"], false);
}

/// The samples of the first interval alone take longer than the budget. The rest is counted as
/// pending.
#[test]
fn a_budget_stops_a_run_and_leaves_checks_pending() {
    let args =
        "sqlite-extra --depth 1 --atom sector --limit 1 --samples 10000 --no-skip --budget 100ms";
    let stopped = summary(0, args);
    assert!(stopped["pending"].as_u64().unwrap() > 0, "{stopped}");
    assert!(stopped["left_out"].as_u64().unwrap() > 0, "{stopped}");
    assert_eq!((&stopped["complete"], &stopped["operations"]), (&json!(false), &json!(1)));
    summary(6, &format!("{args} --require-complete"));
}

#[test]
fn require_complete_needs_all_disks() {
    exact(0, "sqlite-extra --depth 1 --require-complete");
    let sampled = exact(6, "sqlite-extra --depth 1 --limit 50 --samples 10 --require-complete");
    assert!(sampled["left_out"].as_u64().unwrap() > 0);
    assert_eq!((&sampled["complete"], &sampled["pending"]), (&json!(false), &json!(0)));
    exact(0, "sqlite-extra --depth 1 --limit 50 --samples 10");
    // Findings take precedence.
    exact(1, "sqlite-off --depth 1 --limit 50 --samples 10 --require-complete");
}
