//! What a trace has recorded: a replay without the work, and a script that builds the folder.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::tempdir;

use crate::common::{self, explode_in, file, of_type};
use crate::supported;

/// Runs `explode app` with these arguments. Returns the whole paths of the traces of its findings.
fn traces(folder: &Path, args: &[&str]) -> Vec<String> {
    let args = ["app"].iter().chain(args).chain(&["--format", "jsonl"]);
    let lines = explode_in(folder, args).expect(1).json();
    let path = |finding: &&Value| {
        folder.join(finding["trace"].as_str().unwrap()).to_str().unwrap().to_owned()
    };
    of_type(&lines, "finding").iter().map(path).collect()
}

/// Replays the recorded crash of a trace. Returns the line about it.
fn replayed(folder: &Path, trace: &str, code: i32) -> Value {
    let args = ["replay", "--recorded", "--format", "jsonl", trace];
    explode_in(folder, args).expect(code).json().remove(0)
}

/// A work that each time writes other bytes, and fails if `stop` is there.
const WORK: &str = "test ! -e $STOP/stop || exit 1; head -c 16 /dev/urandom >new; mv new v";

#[test]
fn a_recorded_crash_is_replayed_without_the_work() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let work = WORK.replace("$STOP", folder.path().to_str().unwrap());
    // The last check writes down the bytes of `v` that it has found.
    let check = "test ! -e v -o -s v || { echo empty; exit 1; }";
    let nested = "test ! -e b || test -e c || { echo half repaired; exit 1; }";
    let repair =
        "test ! -e v -o -s v || { rm v; echo 1 >b; mv b d; mv d b; echo 1 >c; sync b c .; }";
    let marked = "echo a >w; explode-mark done a; echo b >x; sync x .";
    let whole = "test ! -e w -o -s w || { echo empty; exit 1; }";
    let promised = "! grep -q a $EXPLODE_DONE || test -s w || { echo a is gone; exit 1; }";
    let app: [&[&str]; 6] = [
        &["--work", &work, "--check", check],
        &["--times", "2", "--work", &work, "--check", check],
        &["--work", &work, "--check", nested, "--recover", repair],
        &["--work", marked, "--check", promised],
        &["--model", "ext4", "--work", marked, "--check", promised],
        &["--model", "strict", "--work", marked, "--check", whole],
    ];
    let found = app.map(|args| traces(folder.path(), args));
    file(folder.path(), "stop", "");
    for trace in found.iter().flatten() {
        let recorded = replayed(folder.path(), trace, 1);
        assert_eq!(
            (&recorded["reproduced"], &recorded["replayed_by"]),
            (&true.into(), &"recorded".into())
        );
        assert_eq!(recorded["signature"], read(trace)["signature"]);
    }
    // The work itself cannot run any more.
    explode_in(folder.path(), ["replay", &found[0][0]]).expect(4);
    let lengths = found.map(|traces| traces.len());
    assert_eq!(lengths, [1, 1, 1, 1, 1, 1]);
}

fn read(trace: &str) -> Value {
    serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap()
}

#[test]
fn a_check_that_is_mended_passes_on_the_recorded_crash() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let script = file(folder.path(), "check.sh", "test ! -e v -o -s v || { echo empty; exit 1; }");
    let check = format!("sh {}", script.display());
    let traces = traces(folder.path(), &["--work", "echo 1 >new; mv new v", "--check", &check]);
    replayed(folder.path(), &traces[0], 1);
    file(folder.path(), "check.sh", "true");
    let line = replayed(folder.path(), &traces[0], 5);
    assert_eq!((&line["reproduced"], &line["reason"]), (&false.into(), &"nothing-wrong".into()));
}

#[test]
fn a_smaller_trace_has_its_own_recorded_crash() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let args = ["--times", "2", "--work", "echo {n} >n{n}; mv n{n} v{n}"];
    let check = ["--check", "test ! -e v2 -o -s v2 || { echo empty; exit 1; }"];
    let traces = traces(folder.path(), &[&args[..], &check].concat());
    explode_in(folder.path(), ["minimise", "--out", "min.json", &traces[0]]).expect(0);
    replayed(folder.path(), "min.json", 1);
    let smaller = folder.path().join("min.json").to_str().unwrap().to_owned();
    let [old, new] = [&traces[0], &smaller].map(|trace| read(trace)["recorded"]["log"].clone());
    assert!(old.is_string() && new.is_string(), "{old} {new}");
    let shown = explode_in(folder.path(), ["show", "--format", "jsonl", "min.json"]).expect(0);
    let recorded = &shown.json()[0]["recorded"];
    assert!(recorded["events"].as_u64().unwrap() > 0, "{recorded}");
}

#[test]
fn a_damaged_recorded_crash_is_refused() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let traces =
        traces(folder.path(), &["--work", "echo 1 >new; mv new v", "--check", "test ! -s v"]);
    let damaged = |change: &dyn Fn(&mut Value), why: &str| {
        let mut trace = read(&traces[0]);
        change(&mut trace);
        file(folder.path(), "damaged.json", trace.to_string());
        let args = ["replay", "--recorded", "--trust", "damaged.json"];
        explode_in(folder.path(), args).refused(&[why]);
    };
    let event = "{\"e\":\"mark\",\"name\":\"other\"}\n";
    let pack = format!("printf '{event}' | gzip | base64 -w 0");
    let packed = common::shell(folder.path(), &pack).expect(0).out;
    damaged(&|trace| trace["recorded"]["base"]["gzip"] = "no base64".into(), "its base: ");
    damaged(&|trace| trace["recorded"]["events"]["gzip"] = "AAAA".into(), "its events: ");
    damaged(&|trace| trace["recorded"]["interval"] = 999.into(), "events");
    damaged(&|trace| trace["recorded"]["checker"] = "[]".into(), "the state of the checker");
    damaged(
        &|trace| {
            trace["recorded"]["base"]["gzip"] = packed.trim().into();
            trace["recorded"]["base"]["bytes"] = 1000.into();
        },
        "an event other than append",
    );
    damaged(
        &|trace| {
            trace["recorded"]["events"]["gzip"] = packed.trim().into();
            trace["recorded"]["events"]["bytes"] = 1000.into();
            (trace["recorded"]["settled"], trace["recorded"]["interval"]) = (0.into(), 1.into());
        },
        "its events have another hash",
    );
    damaged(
        &|trace| drop(trace.as_object_mut().unwrap().remove("recorded")),
        "it has no recorded crash",
    );
    // Another disk is none that these events can leave.
    let mut trace = read(&traces[0]);
    trace["recorded"]["crash_disk"]["id"] = "0".repeat(32).into();
    file(folder.path(), "other.json", trace.to_string());
    let args = ["replay", "--recorded", "--trust", "--format", "jsonl", "other.json"];
    let line = explode_in(folder.path(), args).expect(5).json().remove(0);
    assert_eq!(line["reason"], "no-disk");
}

/// Returns a line for each file below a folder: its name, mode, links, kind, and contents.
fn listed(folder: &Path) -> String {
    let list = "find . -printf '%P %m %n %s %y %l\\n' | sort; find . -type f | sort | xargs md5sum; \
                getfattr -d -R . 2>&1 | sort";
    let ran = common::shell(folder, list);
    ran.expect(0).out
}

#[test]
fn a_script_builds_the_folder_that_a_crash_has_left() {
    if !supported() {
        return;
    }
    let (folder, seen) = (tempdir().unwrap(), tempdir().unwrap());
    let has_attributes = Command::new("setfattr").arg("--version").output().is_ok();
    if !has_attributes {
        common::unsupported::unsupported("setfattr, for extended attributes");
    }
    let attribute = if has_attributes { "setfattr -n user.key -v value hard" } else { "true" };
    let setup = "mkdir 'a b'; printf 'x\\0y' >'a b/raw'; chmod 600 'a b/raw'; ln 'a b/raw' hard; \
                 ln -s 'a b/raw' soft; truncate -s 9000 holes; printf end >>holes; \
                 printf \"it's\\n\" >text; chmod 0500 'a b'";
    let work = "echo 1 >new; mv new v; explode-mark done v";
    let kept = seen.path().display();
    let check = format!(
        "test -s v || test ! -e v || {{ rm -rf {kept}/tree; cp -a . {kept}/tree; echo empty; exit 1; }}"
    );
    let allow = seen.path().to_str().unwrap();
    let setup = format!("{setup}; {attribute}");
    let options = ["app", "--setup", &setup, "--work", work, "--allow-write", allow];
    let ran =
        explode_in(folder.path(), options.iter().chain(&["--check", &check, "--format", "jsonl"]));
    let lines = ran.expect(1).json();
    let trace = of_type(&lines, "finding")[0]["trace"].as_str().unwrap();
    let script = explode_in(folder.path(), ["show", "--as", "sh", trace]).expect(0).out;
    assert!(script.contains("# check-failed: empty\n"), "{script}");
    // `v`, `raw` (3 bytes), `soft`, `holes` (9003), `text` (5).
    assert!(script.contains("# It embeds 5 files with 9011 bytes.\n"), "{script}");
    let path = file(folder.path(), "build.sh", &script);
    common::shell(folder.path(), &format!("sh {} built", path.display())).expect(0);
    let built = folder.path().join("built");
    assert_eq!(listed(&built), listed(&seen.path().join("tree")));
    assert_eq!(std::fs::metadata(built.join("v")).unwrap().len(), 0);
    // A second folder of that name is refused.
    assert_ne!(common::shell(folder.path(), &format!("sh {} built", path.display())).code, 0);
}

#[test]
fn a_script_of_a_folder_is_refused_where_none_is_possible() {
    if !supported() {
        return;
    }
    let folder = tempdir().unwrap();
    let trace = |more: &[&str]| {
        let own = ["app", "--work", "echo 1 >new; mv new v"];
        let args = own.iter().chain(more).chain(&["--format", "jsonl"]);
        let lines = explode_in(folder.path(), args).expect(1).json();
        of_type(&lines, "finding")[0]["trace"].as_str().unwrap().to_owned()
    };
    let repair = trace(&["--recover", "test ! -e v -o -s v", "--check", "true"]);
    let why = ["its check does not fail on what a crash has left"];
    explode_in(folder.path(), ["show", "--as", "sh", &repair]).refused(&why);
}
