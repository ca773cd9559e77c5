//! `docs/reference/trace-format.md`.

use std::collections::BTreeSet;
use std::path::Path;

use explode::runtime::trace::{NotReproduced, Trace};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{explode_in, file, files};
use crate::interfaces::word;
use crate::{keys_of, names, run_commands, table};

const PAGE: &str = include_str!("../../docs/reference/trace-format.md");

/// The heads of the tables of keys: of a trace, and of its recorded crash.
const HEAD: &str = "| key of a trace | what it is |";
const RECORDED_HEAD: &str = "| key of `recorded` | what it is |";

fn read(folder: &Path) -> Vec<Value> {
    let read =
        |name: &String| serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    files(folder).iter().map(read).collect()
}

/// Returns real traces: of crashes, of a crash during recovery, of a run that began with one of
/// them, of a checker with options, of a path with a chop, and of a step that hangs.
fn traces() -> Vec<Value> {
    let folder = tempdir().unwrap();
    let args = "run sqlite+fsync-lies --depth 1 --limit 500 --samples 60 --out crashes";
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    let prefix = files(&folder.path().join("crashes/traces"))[0].clone();
    let args = format!(
        "run sqlite+fsync-lies --depth 1 --limit 500 --samples 60 --states 3 --out prefix \
         --strategy prefix:crashes/traces/{prefix}"
    );
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    let args = "run rename-kv+in-place --depth 1 --limit 500 --samples 60 --out store";
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    let args = "run journal-kv+recovery-not-idempotent --depth 1 --out recovery";
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    let twice = ["mkdir {path}/one 2>/dev/null || touch {path}/two"];
    run_commands(folder.path(), "chops", "! test -e {path}/two", &twice, "--depth 2 --chop 1")
        .expect(1);
    run_commands(folder.path(), "hangs", "true", &["sleep 600"], "--deadline 500ms").expect(1);
    let args = "run paxos+last-promise --walks 2000 --out cluster";
    explode_in(folder.path(), args.split_whitespace()).expect(1);
    ["crashes", "prefix", "store", "recovery", "chops", "hangs", "cluster"]
        .iter()
        .flat_map(|run| read(&folder.path().join(run).join("traces")))
        .collect()
}

/// Returns a trace as one that `explode app` makes, on machines on which it cannot run, too.
pub fn with_recorded_crash(mut trace: Value) -> Value {
    let packed = json!({ "count": 1, "bytes": 60, "gzip": "" });
    trace["recorded"] = json!({
        "base": packed,
        "events": packed,
        "settled": 0,
        "interval": 1,
        "when": "interval",
        "checker": "{}",
        "log": trace["log"],
        "crash_disk": trace["crash_disk"],
        "recovery": trace.get("recovery").unwrap_or(&json!([])),
    });
    serde_json::from_str(&parse(&trace).unwrap().to_json()).unwrap()
}

/// Returns the names that the page has for a key, up to `end`.
fn said(key: &str, end: &str) -> BTreeSet<String> {
    let rows = table(PAGE, HEAD);
    let row = rows.into_iter().find(|row| names(row[0]).contains(key)).unwrap();
    assert!(row[1].contains(end), "'{end}' is not in '{}'", row[1]);
    names(row[1].split(end).next().unwrap())
}

#[test]
fn its_keys_are_those_of_real_traces() {
    let mut traces = traces();
    // The checks of `sqlite` and of `journal-kv`, which crashes during recovery.
    let crashes = traces.iter().filter(|trace| trace["crash_disk"].is_object());
    let recorded: Vec<Value> = crashes.cloned().map(with_recorded_crash).collect();
    let keys: BTreeSet<String> =
        table(PAGE, RECORDED_HEAD).iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(keys, keys_of(recorded.iter().map(|trace| &trace["recorded"])));
    traces.extend(recorded);
    let keys: Vec<String> = table(PAGE, HEAD).iter().flat_map(|row| names(row[0])).collect();
    let distinct: BTreeSet<String> = keys.iter().cloned().collect();
    // Only a trace of a `#[test]` has this key. `cluster/tests/behaviour.rs` reads such a trace.
    let of_tests = names("`test`");
    assert_eq!((distinct.len(), distinct), (keys.len(), &keys_of(&traces) | &of_tests));
    let all = |key: &str| traces.iter().map(|trace| trace[key].clone()).collect::<Vec<_>>();
    let lists = |key: &str| {
        all(key).iter().filter_map(Value::as_array).flatten().cloned().collect::<Vec<_>>()
    };

    let (options, rules): (Vec<Value>, Vec<Value>) = all("options")
        .into_iter()
        .map(|options| (options.clone(), options["rules"].clone()))
        .unzip();
    let said_of_options = said("options", "`replace_versions`)");
    let prefixes = options.iter().filter_map(|options| options.get("prefix"));
    let keys_of_options = keys_of(options.iter().chain(&rules).chain(prefixes));
    assert_eq!(&said_of_options | &names("`replace_versions`"), keys_of_options);
    assert_eq!(said("stack", "; "), keys_of(&lists("stack")));
    let disks: Vec<Value> = all("crash_disk").into_iter().filter(|disk| !disk.is_null()).collect();
    assert_eq!(said("crash_disk", ", the pieces"), keys_of(disks.iter().chain(&lists("recovery"))));
    // In process no choice has a stack trace or an object. A choice of the kernel has both.
    let mut choices = lists("choices");
    let label = json!({ "site": "fs/ext4/inode.c:1", "stack": 1, "object": "sda" });
    let mut trace = traces[0].clone();
    trace["choices"][0]["label"] = label;
    let written: Value = serde_json::from_str(&parse(&trace).unwrap().to_json()).unwrap();
    choices.push(written["choices"][0].clone());
    let labels: Vec<Value> = choices.iter().map(|choice| choice["label"].clone()).collect();
    assert_eq!(said("choices", "there is one"), keys_of(choices.iter().chain(&labels)));
}

fn parse(trace: &Value) -> Result<Trace, String> {
    Trace::from_json(trace.to_string().as_bytes()).map_err(|error| error.to_string())
}

/// An unknown key is refused in every object.
#[test]
fn one_key_more_is_refused() {
    let mut traces = traces();
    let recorded = traces.iter().find(|trace| trace["crash_disk"].is_object()).unwrap();
    traces.push(with_recorded_crash(recorded.clone()));
    let mut tried = BTreeSet::new();
    for trace in &traces {
        parse(trace).unwrap();
        for place in [
            "",
            "/stack/0",
            "/options",
            "/options/rules",
            "/options/prefix",
            "/choices/0",
            "/choices/0/label",
            "/crash_disk",
            "/recovery/0",
            "/recorded",
            "/recorded/base",
        ] {
            let mut more = trace.clone();
            let Some(object) = more.pointer_mut(place).and_then(Value::as_object_mut) else {
                continue;
            };
            object.insert("unheard_of".to_owned(), json!(1));
            let error = parse(&more).expect_err(place);
            assert!(error.contains("unknown field `unheard_of`"), "{place}: {error}");
            tried.insert(place);
        }
    }
    assert_eq!(tried.len(), 11, "{tried:?}");
}

/// One object: for a reproduced finding, for one that is not, and for another path.
#[test]
fn lines_of_replay_have_the_keys_of_the_page() {
    let sentence = "prints one object: ";
    let said = &PAGE[PAGE.find(sentence).unwrap() + sentence.len()..];
    let documented = names(&said[..said.find("`log`, `search`").unwrap()]);
    let documented =
        documented.into_iter().filter(|word| word != "replay").collect::<BTreeSet<_>>();
    let folder = tempdir().unwrap();
    explode_in(folder.path(), ["run", "sqlite-off", "--depth", "1", "--out", "run"]).expect(1);
    let mut trace = read(&folder.path().join("run/traces")).remove(0);
    let mut replay = |code: i32, verdict: &str, place: &str, value: Value| {
        if !place.is_empty() {
            *trace.pointer_mut(place).unwrap() = value;
        }
        let path = file(folder.path(), "trace.json", trace.to_string());
        let lines =
            explode_in(folder.path(), ["replay", path.to_str().unwrap(), "--format", "jsonl"])
                .expect(code)
                .json();
        assert_eq!((lines.len(), &lines[0]["type"]), (1, &json!("replay")));
        assert!(verdict.is_empty() || lines[0]["verdict"] == verdict, "{lines:?}");
        (keys_of(&lines), lines[0]["reason"].clone())
    };
    assert_eq!(replay(1, "", "", Value::Null), (documented.clone(), Value::Null));
    let more = &documented - &BTreeSet::from(["replayed_by".to_owned()]);
    let more = &more | &names("`reason`");
    let no_disk = (more.clone(), json!("no-disk"));
    assert_eq!(replay(5, "ok", "/crash_disk/id", json!("f".repeat(32))), no_disk);
    assert_eq!(replay(5, "diverged", "/choices/0/options", json!(7)), (more, json!("diverged")));
}

#[test]
fn the_page_has_every_reason_of_a_replay() {
    let rows = table(PAGE, "| `reason` | why the error did not show itself |");
    let documented: BTreeSet<String> = rows.iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(documented, NotReproduced::ALL.iter().map(word).collect());
}
