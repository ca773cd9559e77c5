//! `explode minimise`: the smallest trace of each toy from any beginning, and the results that it
//! must refuse.

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{explode_in, file, files, keys, shell, words};
use crate::{explode, found, line, read, trace_of, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("noise is removed, whatever the seed", noise),
        trial("nothing is found in the fixed twin", fixed),
        trial("a step that ends its process", exits),
        trial("a mutate that ends its process", exits_in_mutate),
        trial("an error that mutate sees", mutate),
        trial("a crash during recovery", recovery),
        trial("sqlite-off", sqlite),
        trial("files and commands", files_and_commands),
        trial("bounds", bounds),
        trial("a trace that does not reproduce", not_reproduced),
        trial("twice the same", twice),
        trial("a sample does not hide the smaller disk from a replay", sampled),
    ]
}

/// Returns the choices of a trace. Each mutate of the toys has two choices.
fn chosen(trace: &Value) -> Vec<&str> {
    trace["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["name"].as_str().unwrap())
        .collect()
}

/// Returns the size of a minimised trace: mutates, choices, and pieces kept, lost and pending.
fn size(line: &Value, when: &str) -> Vec<u64> {
    let size = &line[when];
    ["mutates", "choices", "kept", "lost", "pending"].map(|key| size[key].as_u64().unwrap()).into()
}

/// Random walks reach the error after different noise. The minimised traces are equal.
fn noise() {
    let mut before = Vec::new();
    for seed in 0..6 {
        let folder = tempdir().unwrap();
        let args = format!("armed --strategy random --seed {seed} --states 400 --depth 9");
        let trace = trace_of(folder.path(), &args, "order");
        let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
        before.push(size(&reported, "before"));
        // Two mutates arm it and write the same block. Then come A, one block of noise and B.
        assert_eq!(size(&reported, "after"), [3, 6, 3, 1, 4], "seed {seed}: {reported}");
        assert_eq!((&reported["cut"], &reported["reproduced"]), (&json!(false), &json!(true)));
        let smaller = read(&folder.path().join(reported["out"].as_str().unwrap()));
        assert_eq!(chosen(&smaller), ["arm", "0", "arm", "0", "fire", "0"], "seed {seed}");
        assert_eq!(smaller["mutates"], 3);
        // All pieces except A, the block at sector 0.
        assert_eq!(smaller["crash_disk"]["blocks"], json!([[0, 8, 1], [0, 128, 1], [0, 512, 1]]));
        line(folder.path(), 1, &format!("replay {}", reported["out"].as_str().unwrap()));
    }
    assert!(before.iter().all(|size| size[0] > 3), "there was noise: {before:?}");
    assert!(before.iter().any(|size| size[0] == 9), "as much as there could be: {before:?}");
}

fn fixed() {
    let folder = tempdir().unwrap();
    explode(folder.path(), "run armed-fixed --strategy random --states 200 --depth 9 --out run")
        .expect(0);
}

/// Each failing disk ends a worker. The worker's end is the result for that disk.
fn exits() {
    let folder = tempdir().unwrap();
    let args = "armed-exit --strategy random --seed 1 --states 400 --depth 6";
    let trace = trace_of(folder.path(), args, "died-in-check");
    let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
    // It dies only if B alone is kept.
    assert_eq!(size(&reported, "after"), [3, 6, 1, 3, 4], "{reported}");
    let smaller = read(&folder.path().join(reported["out"].as_str().unwrap()));
    assert_eq!(chosen(&smaller), ["arm", "0", "arm", "0", "fire", "0"]);
    assert_eq!((&smaller["died"], &smaller["verdict"]), (&json!("check"), &json!("check-failed")));
}

/// Without a crash, in a mutate.
fn exits_in_mutate() {
    let folder = tempdir().unwrap();
    let args = "armed-exit-mutate --strategy random --seed 2 --states 400 --depth 9";
    let trace = trace_of(folder.path(), args, "died-in-mutate");
    let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
    assert_eq!(size(&reported, "after"), [3, 6, 0, 0, 0], "{reported}");
    let smaller = read(&folder.path().join(reported["out"].as_str().unwrap()));
    assert_eq!(chosen(&smaller), ["arm", "0", "arm", "0", "fire", "0"]);
    assert_eq!((&smaller["died"], &smaller["mutates"]), (&json!("mutate"), &json!(3)));
}

fn mutate() {
    let folder = tempdir().unwrap();
    let args = "armed-mutate --strategy random --seed 2 --states 400 --depth 9";
    let trace = trace_of(folder.path(), args, "order");
    let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
    assert_eq!(size(&reported, "after"), [3, 6, 0, 0, 0], "{reported}");
    let smaller = read(&folder.path().join(reported["out"].as_str().unwrap()));
    assert_eq!(chosen(&smaller), ["arm", "0", "arm", "0", "fire", "0"]);
    assert_eq!((&smaller["crash_disk"], &smaller["epoch"]), (&Value::Null, &Value::Null));
}

/// The crash disk loses nothing. The crash during its recovery loses only the first of the two
/// steps.
fn recovery() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "begun", "steps");
    let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
    // The flag and one block of noise; two steps and six blocks of noise.
    assert_eq!(size(&reported, "after"), [1, 1, 9, 1, 10], "{reported}");
    let smaller = read(&folder.path().join(reported["out"].as_str().unwrap()));
    let during = smaller["recovery"][0]["blocks"].as_array().unwrap();
    assert_eq!(smaller["recovery"].as_array().unwrap().len(), 1);
    assert!(
        !during.contains(&json!([0, 800, 1])) && during.contains(&json!([0, 808, 1])),
        "{during:?}"
    );
}

/// A real system: the smallest disks of its four errors, with one transaction.
fn sqlite() {
    let folder = tempdir().unwrap();
    let traces = found(folder.path(), "sqlite-off --depth 1 --limit 500 --samples 100");
    let mut after = Vec::new();
    for trace in &traces {
        let reported = line(folder.path(), 0, &format!("minimise {}", trace.display()));
        let signature = reported["signature"].as_str().unwrap().to_owned();
        after.push((signature, size(&reported, "after")));
        line(folder.path(), 1, &format!("replay {}", reported["out"].as_str().unwrap()));
    }
    after.sort();
    let expected = [
        ("corrupt/atomic", [1, 1, 1, 4, 4]),
        ("corrupt/intact", [1, 1, 4, 2, 5]),
        ("lost/last-commit", [1, 1, 0, 4, 4]),
        ("recover-failed/intact", [1, 1, 1, 5, 5]),
    ];
    let expected =
        expected.map(|(error, size)| (format!("sqlite-transactions/{error}"), size.to_vec()));
    assert_eq!(after, expected);
}

/// The old trace stays, the new one is next to it, and the last line is a command to paste.
fn files_and_commands() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "journal", "whole");
    let name = trace.file_stem().unwrap().to_str().unwrap().to_owned();
    let old = std::fs::read(folder.path().join(&trace)).unwrap();
    for command in ["minimise", "minimize"] {
        let said = explode(folder.path(), &format!("{command} {}", trace.display())).expect(0);
        assert!(
            said.out.starts_with("   Minimised 1 of 1 mutates, 1 of 1 choices; of 4 pieces "),
            "{said:#?}"
        );
        let last = said.out.lines().last().unwrap();
        let command = last.strip_prefix("             replay    /proc/self/exe ").expect(last);
        explode(folder.path(), command).expect(1);
    }
    assert_eq!(std::fs::read(folder.path().join(&trace)).unwrap(), old);
    let kept = files(&folder.path().join("run/traces"));
    assert!(kept.contains(&format!("{name}.min.json")), "{kept:?}");
    let reported =
        line(folder.path(), 0, &format!("minimise {} --out small.json", trace.display()));
    let fields = "type trace out signature reproduced verdict message before after tests \
                  remembered cut seconds";
    assert_eq!(keys(&reported), words(fields));
    assert_eq!((&reported["type"], &reported["out"]), (&json!("minimised"), &json!("small.json")));
    line(folder.path(), 1, "replay small.json");
    let path = trace.display().to_string();
    let refused = explode(folder.path(), &format!("minimise {path} --out run/../{path}"));
    refused.refused(&["this is the trace itself", "name another file"]);
    assert_eq!(std::fs::read(folder.path().join(&trace)).unwrap(), old);
    explode(folder.path(), &format!("minimise {path} --out nowhere/small.json"))
        .refused(&["--out nowhere/small.json: there is no folder nowhere"]);
    file(folder.path(), "damaged.json", &old[..old.len() / 2]);
    explode(folder.path(), "minimise damaged.json").refused(&["damaged.json", "not a trace"]);
    assert!(!folder.path().join("damaged.min.json").exists());
}

/// If a bound ends the search, the output says that, and the trace replays.
fn bounds() {
    let folder = tempdir().unwrap();
    let trace =
        trace_of(folder.path(), "armed --strategy random --seed 3 --states 400 --depth 9", "order");
    for bound in ["--tests 3", "--tests 60", "--budget 0s"] {
        let reported = line(
            folder.path(),
            0,
            &format!("minimise {} {bound} --out small.json", trace.display()),
        );
        assert_eq!(reported["cut"], true, "{bound}: {reported}");
        let (before, after) = (size(&reported, "before"), size(&reported, "after"));
        assert!(after[0] <= before[0] && after[1] <= before[1], "{bound}: {reported}");
        line(folder.path(), 1, "replay small.json");
        let said =
            explode(folder.path(), &format!("minimise {} {bound}", trace.display())).expect(0);
        assert!(said.out.contains("a bound has ended it, there may be a smaller one"), "{said:#?}");
    }
}

/// The system is fixed, or the choices or the disk are different.
fn not_reproduced() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "journal", "whole");
    let real = read(&folder.path().join(trace));
    let edited = |edit: fn(&mut Value)| {
        let mut trace = real.clone();
        edit(&mut trace);
        file(folder.path(), "edited.json", trace.to_string());
        line(folder.path(), 5, "minimise edited.json")
    };
    let reported = edited(|trace| trace["checker_options"] = json!({ "fixed": true }));
    assert_eq!(keys(&reported), words("type trace signature reproduced verdict message"));
    assert_eq!((&reported["reproduced"], &reported["verdict"]), (&json!(false), &json!("ok")));
    let reported = edited(|trace| trace["choices"][0]["label"]["site"] = json!("elsewhere"));
    assert_eq!(reported["verdict"], "diverged");
    let human = explode(folder.path(), "minimise edited.json").expect(5);
    assert!(human.out.starts_with("    DIVERGED choice 0"), "{human:#?}");
    assert!(!folder.path().join("edited.min.json").exists());
    // A disk that does not exist. With the recorded log it is not reproduced. With another log the
    // search finds another disk.
    let reported = edited(|trace| trace["crash_disk"]["id"] = json!("f".repeat(32)));
    assert_eq!((&reported["reproduced"], &reported["verdict"]), (&json!(false), &json!("ok")));
    let mut other = real.clone();
    other["crash_disk"]["id"] = json!("f".repeat(32));
    other["log"] = json!("f".repeat(32));
    file(folder.path(), "other.json", other.to_string());
    assert_eq!(size(&line(folder.path(), 0, "minimise other.json"), "after"), [1, 1, 3, 1, 4]);
}

/// The counts of tests and of remembered results are equal as well.
fn twice() {
    let folder = tempdir().unwrap();
    let trace =
        trace_of(folder.path(), "armed --strategy random --seed 5 --states 400 --depth 9", "order");
    let once = |out: &str| {
        let mut reported =
            line(folder.path(), 0, &format!("minimise {} --out {out}", trace.display()));
        reported
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !["seconds", "out"].contains(&key.as_str()));
        assert!(reported["remembered"].as_u64().unwrap() > 0, "{reported}");
        (reported, std::fs::read(folder.path().join(out)).unwrap())
    };
    assert_eq!(once("a.json"), once("b.json"));
}

/// The minimised disk is in no small sample, and replays by its pieces.
fn sampled() {
    let folder = tempdir().unwrap();
    let args =
        ["run", "sqlite-off", "--depth", "1", "--limit", "4", "--samples", "3", "--out", "run"];
    explode_in(folder.path(), args).expect(1);
    for name in files(&folder.path().join("run/traces")) {
        let path = format!("run/traces/{name}");
        let said = explode_in(folder.path(), ["minimise", &path]).expect(0);
        let last = said.out.lines().last().unwrap().trim_start();
        let command = last.strip_prefix("replay    ").expect("a command");
        let elsewhere = tempdir().unwrap();
        let replayed =
            shell(elsewhere.path(), &format!("{command} --format jsonl")).expect(1).json();
        assert_eq!(replayed[0]["replayed_by"], "log", "{path}");
    }
}
