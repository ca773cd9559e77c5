//! `explode matrix` on file systems in process: each outcome, the conclusions from the cells, and
//! the run of a cell by hand.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::tempdir;

use common::{explode_in, file, nodes, of_type, program, ran, shell};

/// Writes a stack file of toyfs with a seeded bug.
fn seeded(folder: &Path, name: &str, bug: &str) {
    let text = format!(
        "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"toyfs\"\nbug = \"{bug}\"\n"
    );
    file(folder, &format!("{name}.toml"), text);
}

fn matrix(folder: &Path, args: &str, code: i32) -> Vec<Value> {
    let args = format!("matrix {args} --format jsonl");
    explode_in(folder, args.split_whitespace()).expect(code).json()
}

/// Returns the outcome of each cell.
fn outcomes(lines: &[Value]) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut cells: Vec<_> = of_type(lines, "cell")
        .iter()
        .map(|cell| [text(&cell["system"]), text(&cell["check"]), text(&cell["outcome"])])
        .collect();
    cells.sort();
    cells
}

#[test]
fn each_cell_has_its_expected_outcome() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    seeded(folder, "unsafe", "no-preflush");
    let lines = matrix(
        folder,
        "toyfs unsafe.toml simfiles --check synced,failed-calls --jobs 2 --out m",
        1,
    );
    let expected = [
        ["simfiles", "failed-calls", "not-supported"],
        ["simfiles", "synced", "inconclusive"],
        ["toyfs", "failed-calls", "not-supported"],
        ["toyfs", "synced", "pass"],
        ["unsafe", "failed-calls", "not-supported"],
        ["unsafe", "synced", "bug"],
    ];
    assert_eq!(outcomes(&lines), expected);
    let cell = |system: &str, check: &str| {
        let is = |cell: &&&Value| cell["system"] == system && cell["check"] == check;
        *of_type(&lines, "cell").iter().find(is).unwrap()
    };
    // A pass has its counts, and the loss that its check sees.
    let pass = cell("toyfs", "synced");
    let counts =
        ["states", "operations", "checked", "complete"].map(|key| pass["summary"][key].clone());
    assert_eq!(counts, [json!(98), json!(97), json!(73), json!(true)]);
    assert_eq!(pass["sees"], "fs-sync/lost/synced-directory");
    assert_eq!(cell("simfiles", "synced")["why"], "it has no disk whose flushes could be dropped");
    assert_eq!(cell("toyfs", "failed-calls")["why"], "toyfs has no option 'fail'");
    // A bug accuses its own system, and replays.
    let bug = &cell("unsafe", "synced")["findings"][0];
    let faults: Vec<&Value> = of_type(&lines, "fault");
    assert!(!faults.is_empty());
    for fault in faults {
        assert_eq!(
            [&fault["systems"], &fault["of"], &fault["layer"]],
            [&json!(["unsafe"]), &json!(2), &json!("system")]
        );
    }
    explode_in(folder, ["replay", bug["trace"].as_str().unwrap()]).expect(1);
    let last = lines.last().unwrap();
    for (key, count) in [
        ("cells", 6),
        ("pass", 1),
        ("bug", 1),
        ("inconclusive", 1),
        ("blind", 1),
        ("not_supported", 3),
        ("broken", 0),
        ("not_run", 0),
    ] {
        assert_eq!(last[key], count, "{key}");
    }
}

/// `--deeper` adds a step to each check. A resumed matrix has the same depth.
#[test]
fn deeper_adds_a_step_to_each_check() {
    let folder = tempdir().unwrap();
    let looked = |lines: &[Value]| {
        let summary = &of_type(lines, "cell")[0]["summary"];
        ["states", "operations", "checked", "complete"].map(|key| summary[key].clone())
    };
    let shallow = matrix(folder.path(), "toyfs --check fsync-dir --out shallow", 0);
    assert_eq!(looked(&shallow), [json!(9), json!(13), json!(13), json!(true)]);
    let deep = "--check fsync-dir --deeper 1 --limit 6 --samples 3";
    let lines = matrix(folder.path(), &format!("toyfs {deep} --out deep"), 0);
    assert_eq!(looked(&lines), [json!(20), json!(64), json!(64), json!(true)]);
    let file = |out: &str| {
        std::fs::read_to_string(folder.path().join(out).join("toyfs/fsync-dir/check.toml"))
    };
    for bound in ["depth = 3\n", "limit = 6\n", "samples = 3\n"] {
        assert!(file("deep").unwrap().contains(bound), "{bound}");
    }
    // The folder has the bounds.
    let cell = folder.path().join("deep/toyfs/fsync-dir");
    std::fs::remove_dir_all(&cell).unwrap();
    assert_eq!(looked(&matrix(folder.path(), "--resume deep", 0)), looked(&lines));
}

/// A user runs the file of a cell to reproduce it. The counts are equal.
#[test]
fn a_cell_is_a_run_like_any_other() {
    let folder = tempdir().unwrap();
    let lines = matrix(folder.path(), "toyfs --check synced --out m", 0);
    let run = explode_in(folder.path(), "run m/toyfs/synced/check.toml --format jsonl".split(' '))
        .expect(0);
    let of = |summary: &Value| {
        let mut summary = summary.clone();
        let object = summary.as_object_mut().unwrap();
        object.remove("seconds");
        object.remove("type");
        summary
    };
    assert_eq!(of(&of_type(&lines, "cell")[0]["summary"]), of(run.json().last().unwrap()));
    // The cell on disks that ignore flushes finds the loss that the check sees.
    explode_in(folder.path(), "run m/toyfs/synced/no-flush.toml".split(' ')).expect(1);
    let few = std::fs::read_to_string(folder.path().join("m/toyfs/synced/no-flush.toml")).unwrap();
    assert!(few.contains("limit = 8\n") && few.contains("samples = 4\n"), "{few}");
    // The Markdown table has the same results.
    let table = Path::new(program()).parent().unwrap().join("examples/matrix_table");
    assert!(table.is_file(), "build the examples: cargo build --examples");
    let table = ran(Command::new(table).current_dir(folder.path()).arg("m")).expect(0).out;
    let expected = "| check | toyfs |\n| --- | --- |\n| `synced` | pass: 98, 97, 73, all \
                    |\n\npass 1; 97 operations, 98 states, 73 crash disks checked\n";
    assert_eq!(table, expected);
    let page = std::fs::read_to_string(folder.path().join("m/matrix.html")).unwrap();
    assert!(page.contains(
        "<td class=\"pass\">pass<small>98 states, 97 operations, 73 disks checked, all</small></td>"
    ));
}

/// Writes a stack file of simulated files whose syncs lie, with a profile that may exclude them.
/// Each layer is a pair of the sync that lies and the one that is excluded, bottom first.
fn lying(folder: &Path, name: &str, layers: &[(&str, &str)]) {
    let mut text = "[[component]]\nuse = \"simfiles\"\n".to_owned();
    for (at, (lies, excludes)) in layers.iter().enumerate() {
        text += &format!(
            "[[component]]\nuse = \"lying-sync\"\nname = \"l{at}\"\nlies = \"{lies}\"\nexcludes \
             = \"{excludes}\"\n"
        );
    }
    file(folder, &format!("{name}.toml"), text);
}

/// An error that a profile excludes is by design. A check without any promise is not a pass. An
/// exclusion excuses no other error (EX-104).
#[test]
fn the_profile_decides_which_losses_are_bugs() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    lying(folder, "held", &[("sync", "none")]);
    lying(folder, "excluded", &[("sync", "synced-by-sync")]);
    lying(folder, "both", &[("files", "none"), ("sync", "synced-by-sync")]);
    lying(folder, "other", &[("sync", "synced-by-fsync")]);
    let lines = matrix(
        folder,
        "held.toml excluded.toml both.toml other.toml --check sync,fsync,synced --jobs 2 --out m",
        1,
    );
    let expected = [
        ["both", "fsync", "bug"],
        ["both", "sync", "not-supported"],
        ["both", "synced", "bug"],
        ["excluded", "fsync", "inconclusive"],
        ["excluded", "sync", "not-supported"],
        ["excluded", "synced", "by-design"],
        ["held", "fsync", "inconclusive"],
        ["held", "sync", "bug"],
        ["held", "synced", "bug"],
        ["other", "fsync", "not-supported"],
        ["other", "sync", "bug"],
        ["other", "synced", "bug"],
    ];
    assert_eq!(outcomes(&lines), expected);
    let cell = |system: &str, check: &str| {
        let is = |cell: &&&Value| cell["system"] == system && cell["check"] == check;
        *of_type(&lines, "cell").iter().find(is).unwrap()
    };
    let line = "lying-sync: \"its syncs lie\" (the option lying-sync.excludes)";
    assert_eq!(cell("excluded", "synced")["why"], line);
    assert_eq!(cell("excluded", "sync")["why"], format!("not promised: {line}"));
    assert_eq!(cell("excluded", "sync")["profile"], line);
    assert_eq!(
        (&cell("excluded", "sync")["broken"], &cell("excluded", "fsync")["profile"]),
        (&json!([]), &Value::Null)
    );
    let found = |system: &str, by_design: bool| {
        let findings = cell(system, "synced")["findings"].as_array().unwrap();
        let of = findings.iter().filter(|finding| finding["by_design"] == by_design);
        of.map(|finding| finding["signature"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let has = |system: &str, by_design: bool, call: &str| {
        found(system, by_design).iter().any(|signature| signature.ends_with(call))
    };
    // sync is excluded and lies, fsync is not excluded and lies. Both are reported, one by design
    // and one as a bug.
    assert!(has("both", true, "synced-by-sync") && !has("both", false, "synced-by-sync"));
    assert!(has("both", false, "synced-by-fsync") && !has("both", true, "synced-by-fsync"));
    assert!(found("excluded", false).is_empty() && has("excluded", true, "synced-by-sync"));
    // Another promise is excluded, so nothing is by design.
    assert!(found("other", true).is_empty() && has("other", false, "synced-by-sync"));
    let safe = |system: &str| {
        of_type(&lines, "safe").into_iter().find(|safe| safe["system"] == system).unwrap()
    };
    assert_eq!(safe("both")["not_promised"], json!(["sync"]));
    assert_eq!(safe("both")["not"], json!(["fsync"]));
    assert_eq!(safe("held")["not_promised"], json!([]));
    // The run of such a cell is refused with the same words. The table shows the profile's lines.
    let refused = explode_in(folder, "run m/excluded/sync/check.toml".split(' ')).expect(3);
    assert!(refused.err.contains(&format!("unsupported: not promised: {line}")), "{refused:?}");
    let table = explode_in(folder, ["matrix", "--resume", "m"]).expect(1).out;
    assert!(
        table.contains(&format!("excluded synced: fs-sync/lost/synced-by-sync: {line}")),
        "{table}"
    );
    assert!(
        table.contains("both: safe here: none; not safe: fsync; not promised: sync\n"),
        "{table}"
    );
}

/// A way whose own check has found no loss is not safe if another check has found one. A way that
/// was not explored completely is safe only so far (EX-117).
#[test]
fn safety_depends_on_all_checks() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let safe = |lines: &[Value], list: &str| of_type(lines, "safe")[0][list].clone();
    let change = |cell: &str, change: &dyn Fn(&mut Value)| {
        let path = folder.join(cell).join("cell.json");
        let mut cell: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut cell);
        std::fs::write(&path, cell.to_string()).unwrap();
    };
    let lines = matrix(folder, "toyfs --check sync,fsync-dir --out m", 0);
    assert_eq!(
        [safe(&lines, "safe"), safe(&lines, "so_far")],
        [json!(["sync", "fsync-dir"]), json!([])]
    );
    change("m/toyfs/sync", &|cell| cell["summary"]["complete"] = json!(false));
    let table = explode_in(folder, ["matrix", "--resume", "m"]).expect(0).out;
    let line = "toyfs: safe here: fsync-dir; no loss so far (sampled): sync; not safe: none\n";
    assert!(table.contains(line), "{table}");
    // In the folder, sync's own cell has found nothing, and another cell has found a loss of sync.
    lying(folder, "held", &[("sync", "none")]);
    let lines = matrix(folder, "held.toml --check synced,sync --out n", 1);
    assert_eq!(safe(&lines, "not"), json!(["sync"]));
    change("n/held/sync", &|cell| {
        cell["outcome"] = json!("pass");
        cell["findings"] = json!([]);
    });
    let lines = matrix(folder, "--resume n", 1);
    assert_eq!([safe(&lines, "not"), safe(&lines, "safe")], [json!(["sync"]), json!([])]);
}

/// A way is in doubt if it may have caused the finding of another check: by a promise that several
/// ways keep, or on a crash disk that cannot be recovered. A loss of one way alone casts no doubt
/// on another.
#[test]
fn findings_of_other_checks_leave_a_way_in_doubt() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let lines = matrix(folder, "toyfs --check fsync,fdatasync,failed-calls,synced --out m", 0);
    let lists = |lines: &[Value]| {
        let safe = of_type(lines, "safe")[0].clone();
        ["safe", "in_doubt", "not", "found_by"].map(|list| safe[list].clone())
    };
    let (none, nobody) = (json!([]), json!({}));
    let both = json!(["fsync", "fdatasync"]);
    assert_eq!(lists(&lines), [both.clone(), none.clone(), none.clone(), nobody.clone()]);
    let with = |verdict: &str, signature: &str| {
        let path = folder.join("m/toyfs/synced/cell.json");
        let before = std::fs::read(&path).unwrap();
        let mut cell: Value = serde_json::from_slice(&before).unwrap();
        cell["findings"] = json!([{
            "id": "0", "verdict": verdict, "by_design": false, "message": "", "epoch": "end",
            "signature": signature,
            "count": 1, "trace": "", "replayed": true,
        }]);
        std::fs::write(&path, cell.to_string()).unwrap();
        let lists = lists(&matrix(folder, "--resume m", 0));
        let table = explode_in(folder, ["matrix", "--resume", "m"]).expect(0).out;
        std::fs::write(&path, before).unwrap();
        (lists, table)
    };
    let synced = json!({ "fsync": ["synced"] });
    let (lists, table) = with("lost", "fs-reasonable/lost/flushed-attributes");
    assert_eq!(lists, [json!(["fdatasync"]), json!(["fsync"]), none.clone(), synced.clone()]);
    let line = "toyfs: safe here: fdatasync; in doubt by synced: fsync; not safe: none\n";
    assert!(table.contains(line), "{table}");
    let each = json!({ "fsync": ["synced"], "fdatasync": ["synced"] });
    for (verdict, step) in [("recover-failed", "recover-failed"), ("kernel-oops", "mount")] {
        let (lists, _) = with(verdict, &format!("fs-sync/{verdict}/{step}"));
        assert_eq!(lists, [none.clone(), both.clone(), none.clone(), each.clone()], "{verdict}");
    }
    // Without a crash, and by one way alone.
    let (lists, _) = with("kernel-warn", "fs-sync/kernel-warn/finish");
    assert_eq!(lists, [both, none.clone(), none.clone(), nobody]);
    let (lists, table) = with("corrupt", "fs-failures/corrupt/fsync-has-its-effect-on-disk");
    assert_eq!(lists, [json!(["fdatasync"]), none, json!(["fsync"]), synced]);
    assert!(table.contains("toyfs: safe here: fdatasync; not safe: fsync (synced)\n"), "{table}");
}

/// A finding on nearly all systems accuses the part that they share (EX-7). Cells without a verdict
/// do not count.
#[test]
fn a_layer_above_that_lies_is_accused() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let systems = ["one", "two", "three", "four"];
    systems.iter().for_each(|name| lying(folder, name, &[("sync", "none")]));
    lying(folder, "excluded", &[("sync", "synced-by-sync")]);
    let lines = matrix(
        folder,
        "one.toml two.toml three.toml four.toml excluded.toml --check sync --out m",
        1,
    );
    let faults = of_type(&lines, "fault");
    assert!(!faults.is_empty());
    for fault in faults {
        let said = [&fault["systems"], &fault["of"], &fault["layer"]];
        assert_eq!(said, [&json!(systems), &json!(4), &json!("above")]);
    }
    // A cell without a verdict does not count, whatever it has found.
    let cell = folder.join("m/four/sync/cell.json");
    let mut four: Value = serde_json::from_slice(&std::fs::read(&cell).unwrap()).unwrap();
    four["outcome"] = json!("broken");
    std::fs::write(&cell, four.to_string()).unwrap();
    let lines = matrix(folder, "--resume m", 1);
    for fault in of_type(&lines, "fault") {
        let said = [&fault["systems"], &fault["of"], &fault["layer"]];
        assert_eq!(said, [&json!(systems[..3]), &json!(3), &json!("systems")]);
    }
}

/// The paper's verdicts (its Table 2) are shown beside the cells, for the systems and ways that it
/// has.
#[test]
fn the_results_of_2006_are_shown_beside_the_cells() {
    let folder = tempdir().unwrap();
    let out = explode_in(
        folder.path(),
        "matrix ext2 ext4 vfat --in mem --check sync,fsync --out m".split(' '),
    );
    let said = "In 2006 (Linux 2.6.11, the paper's Table 2)\n  ext2: safe sync; not mount-sync, \
                fsync, o-sync\n  \
                vfat: safe fsync; not sync, mount-sync, o-sync\n\n";
    let out = out.expect(0).out;
    assert!(out.contains(said), "{out}");
    let page = std::fs::read_to_string(folder.path().join("m/matrix.html")).unwrap();
    let count = |text: &str| page.matches(text).count();
    assert_eq!([count("2006: failed"), count("2006: held"), count("Table 2")], [2, 2, 1]);
}

/// A bug has its count and its trace, in the table and on the page.
#[test]
fn a_bug_has_its_count_and_its_trace() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    seeded(folder, "unsafe", "no-preflush");
    let lines = matrix(folder, "unsafe.toml --check synced --out m", 1);
    let bug = &of_type(&lines, "cell")[0]["findings"][0];
    let table = explode_in(folder, ["matrix", "--resume", "m"]).expect(1).out;
    let (count, trace) = (&bug["count"], bug["trace"].as_str().unwrap());
    let (verdict, message) = (bug["verdict"].as_str().unwrap(), bug["message"].as_str().unwrap());
    assert_eq!(count, 1);
    let lines = format!("  unsafe synced: {verdict}, once: {message}\n    {trace}\n");
    assert!(table.contains(&lines), "{table}");
    let page = std::fs::read_to_string(folder.join("m/matrix.html")).unwrap();
    let message = message.replace('"', "&quot;");
    assert!(page.contains(&format!("unsafe synced: {verdict}, once: {message}; ")), "{page}");
    let path = folder.join(trace);
    assert!(page.contains(&format!("replay {}</code>", path.display())), "{page}");
    // When it is resumed in another folder, its commands work in a third one.
    let (second, third) = (tempdir().unwrap(), tempdir().unwrap());
    let matrix = folder.join("m");
    let table =
        explode_in(second.path(), ["matrix", "--resume", matrix.to_str().unwrap()]).expect(1).out;
    let command = table.lines().last().unwrap().strip_prefix("  replay   ").expect("a command");
    shell(third.path(), command).expect(1);
    assert!(page.contains("unsafe synced: lost, 83 times: "), "{page}");
}

/// A page that cannot be written does not lose the results.
#[test]
fn a_page_that_cannot_be_written_loses_nothing_else() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let Some(full) = nodes::full(folder) else { return };
    let full = full.display();
    let matrix = |args: &str| explode_in(folder, format!("matrix {args} --html {full}").split(' '));
    let out = matrix("toyfs --check synced --out m").expect(4);
    assert!(out.out.contains("toyfs  pass"), "{out:?}");
    let why = "No space left on device (os error 28)";
    assert_eq!(
        out.err,
        format!("error: cannot write {full}: {why}; name another file with --html\n")
    );
    seeded(folder, "unsafe", "no-preflush");
    matrix("unsafe.toml --check synced --out n").expect(1);
}

#[test]
fn a_resumed_matrix_continues() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let whole = matrix(folder, "toyfs simfiles --check synced,recovery --out m", 0);
    let kept = std::fs::read(folder.join("m/simfiles/synced/cell.json")).unwrap();
    // The leftovers of an interrupted process: files of a cell that has not ended.
    std::fs::remove_file(folder.join("m/toyfs/recovery/cell.json")).unwrap();
    let again = matrix(folder, "--resume m", 0);
    assert_eq!(outcomes(&again), outcomes(&whole));
    assert_eq!(std::fs::read(folder.join("m/simfiles/synced/cell.json")).unwrap(), kept);
    assert!(folder.join("m/toyfs/recovery/cell.json").exists());
}

#[test]
fn a_spent_budget_leaves_cells_that_are_resumed() {
    let folder = tempdir().unwrap();
    // Each process takes longer than the budget, so one job runs at most one cell, and the next run
    // one more.
    let four = "toyfs simfiles --check synced --check reasonable --budget 1ms --jobs 1 --out m";
    let lines = matrix(folder.path(), four, 0);
    for check in ["synced", "reasonable"] {
        assert!(
            outcomes(&lines).contains(&["simfiles", check, "not-run"].map(str::to_owned)),
            "{lines:?}"
        );
    }
    let text = explode_in(folder.path(), ["matrix", "--resume", "m"]).expect(0);
    let resume = format!("matrix --resume {}", folder.path().join("m").display());
    assert!(text.out.lines().last().unwrap().ends_with(&resume), "{text:#?}");
}

/// The current run ends, no other cell begins, and the last line is the command that resumes the
/// matrix.
#[test]
fn ctrl_c_ends_a_matrix_and_loses_no_result() {
    let folder = tempdir().unwrap();
    let mut child = Command::new(common::program())
        .args("matrix toyfs simfiles --check synced --out m".split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.path().join("m/grid.json").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    child.wait().unwrap();
    let resume = format!("matrix --resume {}", folder.path().join("m").display());
    assert!(said.lines().last().unwrap().ends_with(&resume), "{said}");
    let whole = matrix(folder.path(), "--resume m", 0);
    assert_eq!(
        outcomes(&whole),
        [["simfiles", "synced", "inconclusive"], ["toyfs", "synced", "pass"]]
    );
}

#[test]
fn wrong_arguments_of_a_matrix_are_refused() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    seeded(folder, "toyfs", "none");
    let refused = |args: &str, words: &[&str]| {
        let args = format!("matrix {args}");
        explode_in(folder, args.split_whitespace()).refused(words);
    };
    refused("toyfz", &["unknown system 'toyfz'", "did you mean 'toyfs'?"]);
    refused("toyfs --check recovry", &["unknown check 'recovry'", "did you mean 'recovery'?"]);
    refused("toyfs toyfs.toml", &["two of a system are called 'toyfs'"]);
    refused("toyfs --check synced,synced", &["two of a check are called 'synced'"]);
    refused("nothing.toml", &["nothing.toml"]);
    refused("--resume nothing", &["nothing/grid.json", "name the folder of a matrix"]);
    refused("toyfs --budget 0s", &["a budget of 0 leaves no time", "at least 1ms"]);
    refused("--family rain", &["unknown family of rows 'rain'", "did you mean 'raid'?"]);
    refused("--family else", &["unknown family of rows 'else'", "one of: raid"]);
    refused("--resume m --family raid", &["cannot be used with", "--resume"]);
    refused("toyfs --cell 0s", &["a run of 0 has no time", "at least 1ms"]);
    refused("--resume m --seed 1", &["cannot be used with", "--resume"]);
    std::fs::create_dir_all(folder.join("full/of")).unwrap();
    refused("toyfs --out full", &["the folder is not empty"]);
}

/// A loss that the model of simulated files allows is by design, and the finding cites the section
/// of the model. A seeded bug is found.
#[test]
fn simulated_files_are_held_to_their_profile() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let text = "[[component]]\nuse = \"simfiles\"\n[[component]]\nuse = \"lying-sync\"\nlies \
                = \"directories\"\n";
    file(folder, "lying.toml", text);
    let lines = matrix(folder, "simfiles lying.toml --check replaced,moved --out m", 1);
    let expected = [
        ["lying", "moved", "not-supported"],
        ["lying", "replaced", "bug"],
        ["simfiles", "moved", "not-supported"],
        ["simfiles", "replaced", "by-design"],
    ];
    assert_eq!(outcomes(&lines), expected);
    for cell in of_type(&lines, "cell").iter().filter(|cell| cell["system"] == "simfiles") {
        let why = cell["why"]
            .as_str()
            .map_or_else(|| cell["findings"][0]["profile"].to_string(), str::to_owned);
        assert!(why.contains("docs/model/fault-model.md, section 7"), "{cell}");
    }
}

/// A bug of a stack with layers is explored without each layer. Toyfs is on a mirror: the mirror of
/// one stack has a bug, the file system of the other.
#[test]
fn a_bug_belongs_to_the_layer_without_which_it_is_gone() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for (name, mirror, toyfs) in
        [("mirror", "flushes-one-disk", "none"), ("files", "none", "no-preflush")]
    {
        let disk = |name| format!("[[component]]\nuse = \"ramdisk\"\nname = \"{name}\"\n");
        let layers = format!(
            "[[component]]\nuse = \"mirror\"\nname = \"m\"\nbug = \"{mirror}\"\nchildren = \
             [\"d0\", \"d1\"]\n[[component]]\nuse = \"toyfs\"\nbug = \"{toyfs}\"\n"
        );
        file(folder, &format!("{name}.toml"), disk("d0") + &disk("d1") + &layers);
    }
    let lines = matrix(folder, "mirror.toml files.toml --check fsync-dir --out m", 1);
    let [fault] = of_type(&lines, "fault")[..] else { panic!("{lines:?}") };
    assert_eq!(fault["signature"], "fs-ways/lost/synced-directory");
    let without = |system: &str, finding: &str, checked: u32| {
        json!({ "system": system, "without": "m", "finding": finding, "checked": checked,
            "why": null })
    };
    let hidden = without("mirror", "hidden", 13);
    assert_eq!(fault["without"][0], hidden);
    assert_eq!(fault["without"][1]["finding"], "shows");
    // A user runs the file of the stack without the layer.
    let run = |cell: &str, code| {
        let file = format!("m/{cell}/fsync-dir/without-m.toml");
        explode_in(folder, ["run", file.as_str()]).expect(code);
    };
    run("mirror", 0);
    run("files", 1);
    // The cells keep it.
    let table = explode_in(folder, ["matrix", "--resume", "m"]).expect(1).out;
    for line in [
        "    mirror: shows only with m: not on 13 disks checked without it\n",
        "    files: shows without m, too\n",
    ] {
        assert!(table.contains(line), "{table}");
    }
}

/// The rows of a family are ready. They need a guest.
#[test]
fn a_family_has_its_rows() {
    let folder = tempdir().unwrap();
    let lines = matrix(folder.path(), "simfiles --family raid --check sync --in mem --out m", 0);
    let cells = outcomes(&lines);
    let listed = explode_in(folder.path(), "list families --format jsonl".split(' ')).expect(0);
    assert_eq!(cells.len(), listed.json().len() + 1);
    assert!(cells.contains(&["ext4-raid1", "sync", "not-supported"].map(str::to_owned)));
    let one = matrix(folder.path(), "ext4-raid5-missing --check sync --in mem --out one", 0);
    assert_eq!(outcomes(&one), [["ext4-raid5-missing", "sync", "not-supported"]]);
}
