//! Equal runs have equal output. A run goes on without a reader.

use serde_json::json;
use tempfile::tempdir;

use super::{run, timeless};
use crate::common::{explode_in, files, of_type, shell};

#[test]
fn equal_runs_have_equal_output() {
    let folder = tempdir().unwrap();
    for args in ["sqlite-off --depth 1", "sqlite-off --depth 2 --limit 500 --samples 100 --seed 9"]
    {
        let out = |n: usize| format!("{}-{n}", args.len());
        let lines =
            |n| timeless(&run(folder.path(), 1, &format!("{args} --out {}", out(n))), &out(n));
        assert_eq!(lines(1), lines(2));
        let traces = |n| {
            let traces = folder.path().join(out(n)).join("traces");
            let read = |name: String| (std::fs::read(traces.join(&name)).unwrap(), name);
            files(&traces).into_iter().map(read).collect::<Vec<_>>()
        };
        assert_eq!(traces(1), traces(2), "byte for byte");
    }
}

#[test]
fn another_seed_draws_other_samples() {
    let folder = tempdir().unwrap();
    let counts = |seed| {
        let args =
            format!("sqlite-off --depth 1 --limit 100 --samples 50 --seed {seed} --out {seed}");
        let lines = run(folder.path(), 1, &args);
        let summary = lines.last().unwrap();
        let exact = [&summary["crash_disks"], &summary["left_out"]].map(Clone::clone);
        let found: Vec<String> =
            of_type(&lines, "finding").iter().map(|found| found["count"].to_string()).collect();
        (exact, found)
    };
    let ((exact, found), (exact_too, found_too)) = (counts(1), counts(2));
    assert_eq!(exact, exact_too, "a seed decides which disks are drawn, not how many");
    assert_eq!(exact[0], json!(7002));
    assert_ne!(found, found_too);
}

/// Without --out a run takes the next free number. Two runs at once do not share one.
#[test]
fn runs_number_their_folders() {
    let folder = tempdir().unwrap();
    let both = "explode run fs-basic --depth 1 & explode run fs-basic --depth 1 & wait; explode \
                run fs-basic --depth 1";
    let ran = shell(folder.path(), both).expect(0);
    let runs = folder.path().join("explode-runs");
    assert_eq!(files(&runs), ["fs-basic-1", "fs-basic-2", "fs-basic-3"]);
    for n in 1..=3 {
        let path = format!("explode-runs/fs-basic-{n}");
        assert!(ran.out.contains(&format!("      Folder {path}\n")), "{ran:#?}");
        let lines = std::fs::read_to_string(folder.path().join(path).join("run.jsonl")).unwrap();
        assert_eq!(lines.lines().count(), 2, "one run's first line and summary: {lines}");
    }
}

/// A run goes on without a reader. Its folder has everything, and its exit code depends on its
/// findings.
#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let folder = tempdir().unwrap();
    for (n, format) in ["human", "jsonl"].into_iter().enumerate() {
        let pipe = format!(
            "(explode run sqlite-off --depth 1 --out {n} --format {format}; echo $? > code) | \
             head -n 1 | wc -l"
        );
        let ran = shell(folder.path(), &pipe).expect(0);
        assert_eq!((ran.out.trim(), ran.err.as_str()), ("1", ""), "quietly");
        assert_eq!(std::fs::read_to_string(folder.path().join("code")).unwrap(), "1\n");
        let kept = std::fs::read_to_string(folder.path().join(format!("{n}/run.jsonl"))).unwrap();
        assert!(kept.lines().last().unwrap().starts_with("{\"type\":\"summary\""), "{kept}");
    }
    shell(folder.path(), "explode list | head -n 1").expect(0);
}

/// Standard output on a full disk is reported on standard error once. The run folder has
/// everything.
#[test]
fn a_full_standard_output_is_reported_once() {
    let folder = tempdir().unwrap();
    let said = "error: cannot write to standard output: No space left on device (os error 28)\n";
    let cases = [
        ("run sqlite-off --depth 1 --out a --format jsonl", 1),
        ("run sqlite-off --depth 1 --out b", 1),
        ("run sqlite-extra --depth 1 --out c --format jsonl", 4),
        ("run sqlite-extra --depth 1 --out d", 4),
        ("list", 4),
    ];
    for (args, code) in cases {
        let ran = shell(folder.path(), &format!("explode {args} > /dev/full")).expect(code);
        assert_eq!(ran.err, said, "{args}");
    }
    for out in ["a", "b", "c", "d"] {
        let kept = std::fs::read_to_string(folder.path().join(out).join("run.jsonl")).unwrap();
        assert!(kept.lines().last().unwrap().starts_with("{\"type\":\"summary\""), "{kept}");
    }
    let traces = files(&folder.path().join("a/traces"));
    assert_eq!(traces.len(), 4);
    for trace in traces {
        explode_in(folder.path(), ["replay", &format!("a/traces/{trace}")]).expect(1);
    }
}
