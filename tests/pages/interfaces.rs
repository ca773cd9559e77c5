//! `docs/reference/json.md`: the JSON lines of every command that has them (for `replay`:
//! `trace_format.rs`).

use std::collections::{BTreeMap, BTreeSet};

use explode::bench::{EkmCost, RestoreCost};
use explode::runtime::verdict::BrokenKind;
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::common::{explode, explode_in, file, files, of_type};
use crate::trace_format::with_recorded_crash;
use crate::{keys_of, names, run_commands, table};

const PAGE: &str = include_str!("../../docs/reference/json.md");

/// The lines of runs with every type of line: findings, also by design, one that does not replay,
/// something broken, and a run that is long enough for progress.
fn lines() -> Vec<Value> {
    let folder = tempdir().unwrap();
    let run = |code: i32, args: &str| {
        explode_in(folder.path(), format!("run {args} --format jsonl").split_whitespace())
            .expect(code)
            .json()
    };
    let mut lines = run(1, "sqlite-off --depth 1 --states 3 --out findings");
    lines.extend(run(0, "sqlite-normal --depth 1 --out by-design"));
    let once = folder.path().join("once");
    let check = format!(
        "if test -e {{path}}/broken; then exit 7; fi; ! mkdir {} 2>/dev/null",
        once.display()
    );
    let steps = ["sleep 1.2", "touch {path}/broken"];
    lines.extend(run_commands(folder.path(), "commands", &check, &steps, "").expect(4).json());
    // A run that is refused.
    let excluded = "--set lying-sync.excludes=synced-by-sync --set fs-ways.way=sync";
    let refused = run(3, &format!("fs-ways --stack lying-sync {excluded} --out refused"));
    assert_eq!(refused.len(), 1, "{refused:?}");
    lines.extend(refused);
    lines.extend(run(0, "fs-basic --states 3 --plan jobs"));
    // A run that counts its workloads.
    lines.extend(run(0, "fs-workloads --depth 1 --out counted"));
    // A run that counts what happens in a cluster.
    lines.extend(run(0, "paxos --walks 20 --out cluster"));
    // A run without symbolic links.
    lines.extend(run(
        0,
        "fs-ways --stack toyfs --set fs-ways.calls=symlink --depth 1 --out without",
    ));
    lines
}

#[test]
fn lines_of_run_have_the_keys_of_the_page() {
    let lines = lines();
    let mut documented: BTreeMap<String, BTreeSet<String>> = table(PAGE, "| type | when | keys |")
        .iter()
        .map(|row| (names(row[0]).pop_first().unwrap(), names(row[2])))
        .collect();
    let summary = table(PAGE, "| key of the summary | what it counts |");
    documented.insert("summary".to_owned(), summary.iter().flat_map(|row| names(row[0])).collect());
    let types: BTreeSet<String> =
        lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types, documented.keys().cloned().collect());
    for (kind, mut keys) in documented {
        keys.insert("type".to_owned());
        assert_eq!(keys, keys_of(of_type(&lines, &kind)), "{kind}");
    }
    let broken = of_type(&lines, "broken");
    let kind = |of: &dyn Fn(&Value) -> bool| {
        broken.iter().find(|line| of(line)).unwrap()["kind"].as_str().unwrap().to_owned()
    };
    let begins = |line: &Value, with: &str| line["message"].as_str().unwrap().starts_with(with);
    assert_eq!(kind(&|line| begins(line, "a finding did not reproduce: ")), "not-reproduced");
    assert_eq!(kind(&|line| begins(line, "`if test -e")), "component");
    assert_eq!(kind(&|line| line.get("profile").is_some()), "unsupported");
}

/// A run that an error ends has a last line with the kind of the error.
#[test]
fn an_error_that_ends_a_run_has_a_line_of_its_kind() {
    let folder = tempdir().unwrap();
    let component = "[[component]]\nuse = \"folder\"\n[[component]]\nname = \"frail\"\n";
    let checker = "[checker]\nname = \"page\"\nmutate = [ \
                   { name = \"none\", steps = [ { sh = \"true\" } ] } ]\ncheck = \"true\"\n";
    let cases = [
        ("worker", "mount = \"kill -9 $PPID\"", "run", "the first start of the stack"),
        ("component", "mount = \"false\"", "run", "the first start failed: frail: "),
        ("tool", "mount = \"true\"", "/proc/no/run", "cannot write /proc/no/run: "),
    ];
    for (kind, frail, out, begins) in cases {
        file(folder.path(), "frail.toml", format!("{component}{frail}\n{checker}"));
        let args = format!("run frail.toml --depth 1 --format jsonl --out {out}");
        let ran = explode_in(folder.path(), args.split(' ')).expect(4);
        let last = ran.json().pop().unwrap_or_else(|| panic!("{kind}: {ran:?}"));
        let keys = names("`type`, `kind`, `message`");
        assert_eq!(
            (&last["type"], &last["kind"], keys_of([&last])),
            (&json!("broken"), &json!(kind), keys)
        );
        assert!(last["message"].as_str().unwrap().starts_with(begins), "{last}");
    }
    // A usage error is reported to the user alone.
    let ran = explode_in(folder.path(), "run nothing --format jsonl".split(' ')).expect(2);
    assert_eq!(ran.out, "");
}

#[test]
fn the_page_has_every_kind_of_broken() {
    let rows = table(PAGE, "| `kind` of what is broken | what it means |");
    let documented: BTreeSet<String> = rows.iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(documented, BrokenKind::ALL.iter().map(word).collect());
}

/// Returns the word of a value in JSON.
pub fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

/// Returns the section of the page with this heading.
fn section(head: &str) -> &'static str {
    let begin = PAGE.find(&format!("\n## {head}\n")).unwrap() + 1;
    &PAGE[begin..begin + PAGE[begin..].find("\n## ").unwrap()]
}

/// Returns the lines of `minimise` and `show` for a trace with all parts, and for one that no
/// longer fails.
fn lines_about_traces() -> Vec<Value> {
    let folder = tempdir().unwrap();
    let run =
        |code: i32, args: &str| explode_in(folder.path(), args.split_whitespace()).expect(code);
    run(1, "run sqlite-off --depth 1 --limit 100 --samples 20 --out run");
    let traces = folder.path().join("run/traces");
    let names: Vec<String> =
        files(&traces).iter().map(|name| format!("run/traces/{name}")).collect();
    let mut lines = Vec::new();
    for name in &names {
        lines.extend(run(0, &format!("minimise {name} --out small.json --format jsonl")).json());
        lines.extend(run(0, &format!("show {name} --format jsonl")).json());
    }
    let trace = std::fs::read_to_string(folder.path().join(&names[0])).unwrap();
    let trace = with_recorded_crash(serde_json::from_str(&trace).unwrap());
    file(folder.path(), "recorded.json", trace.to_string());
    lines.extend(run(0, "show recorded.json --format jsonl").json());
    let fixed = std::fs::read_to_string(folder.path().join(&names[0])).unwrap();
    let fixed = fixed.replace("\"synchronous\": \"off\"", "\"synchronous\": \"extra\"");
    file(folder.path(), "fixed.json", fixed);
    lines.extend(run(5, "minimise fixed.json --format jsonl").json());
    let shown = run(0, "show fixed.json --format jsonl").json();
    assert_eq!((&shown[0]["reproduced"], &shown[1]["number"]), (&json!(false), &json!(null)));
    lines.extend(shown);
    // Commands on a folder have only soft crashes, so nothing is pending.
    run_commands(folder.path(), "commands", "! test -e {path}/lost", &["touch {path}/lost"], "")
        .expect(1);
    let name = &files(&folder.path().join("commands/traces"))[0];
    let shown = run(0, &format!("show --run commands/traces/{name} --format jsonl")).json();
    assert_eq!(
        (&shown[0]["reproduced"], &shown.last().unwrap()["found"]),
        (&json!(true), &json!(false))
    );
    lines.extend(shown);
    lines.extend(run(0, &format!("minimise commands/traces/{name} --format jsonl")).json());
    lines
}

#[test]
fn lines_about_traces_have_the_keys_of_the_page() {
    let lines = lines_about_traces();
    let rows = table(PAGE, "| type | of | keys |");
    let types: BTreeSet<String> = rows.iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(types, lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect());
    for row in rows {
        let kind = names(row[0]).pop_first().unwrap();
        // Words in parentheses and after "each with" describe a key.
        let mut own = String::new();
        let mut depth = 0;
        for c in row[2].split("; if it is not `reproduced`").next().unwrap().chars() {
            depth += i32::from(c == '(');
            if depth == 0 {
                own.push(c);
            }
            depth -= i32::from(c == ')');
        }
        let own = own.split(": each with ").enumerate();
        let own =
            own.map(
                |(at, part)| {
                    if at == 0 { part } else { part.split_once(';').map_or("", |(_, rest)| rest) }
                },
            );
        let mut keys = names(&own.collect::<String>());
        keys.insert("type".to_owned());
        assert_eq!(keys, keys_of(of_type(&lines, &kind)), "{kind}");
    }
    let minimised = of_type(&lines, "minimised");
    let sizes = keys_of(minimised.iter().filter_map(|line| line.get("after")));
    assert_eq!(sizes, names("`mutates`, `choices`, `kept`, `lost`, `pending`"));
    let promises = of_type(&lines, "story").into_iter().map(|line| &line["promise"]);
    let promises = keys_of(promises.filter(|promise| promise.is_object()));
    assert_eq!(promises, names("`system`, `name`, `kept`, `quote`, `source`"));
}

#[test]
fn lines_of_list_have_the_keys_of_the_page() {
    let mut lines = explode(["list", "--format", "jsonl"]).expect(0).json();
    lines.extend(explode(["list", "profiles", "ext2", "--format", "jsonl"]).expect(0).json());
    lines.extend(explode(["list", "seeded-bugs", "--format", "jsonl"]).expect(0).json());
    lines.extend(explode(["list", "families", "--format", "jsonl"]).expect(0).json());
    let section = section("explode list");
    let mut types = BTreeSet::new();
    for row in table(section, "| type | keys |") {
        let (own, options) = row[1].split_once(": each with ").unwrap_or((row[1], ""));
        for kind in names(row[0]) {
            let mut keys = names(own);
            keys.insert("type".to_owned());
            let found = of_type(&lines, &kind);
            // Each line has all of them.
            assert!(found.iter().all(|line| keys == keys_of([*line])), "{kind}: {keys:?}");
            let listed = found.iter().filter_map(|line| line["options"].as_array()).flatten();
            assert_eq!(names(options), keys_of(listed), "options of a {kind}");
            types.insert(kind);
        }
    }
    assert_eq!(types, lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect());
}

/// Returns the text without the parts in parentheses, which describe keys.
fn outside(cell: &str) -> String {
    cell.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect()
}

/// In process there is no restore and no EKM. The types that are printed have the keys for these
/// lines (in a guest: `tests/guest`).
#[test]
fn lines_of_bench_have_the_keys_of_the_page() {
    let mut lines = explode(["bench", "fs-sync", "paxos", "--checks", "2", "--format", "jsonl"])
        .expect(0)
        .json();
    let mut restore =
        serde_json::to_value(RestoreCost { mib: 16, blocks: 20, restore_us: 1.5 }).unwrap();
    restore["type"] = "restore".into();
    lines.push(restore);
    let tracing = EkmCost {
        calls: 1,
        points: 1,
        rounds: 1,
        off_us: 1.0,
        on_us: 1.0,
        probed_us: 1.0,
        armed_us: 1.0,
        read_us: 1.0,
    };
    let mut tracing = serde_json::to_value(tracing).unwrap();
    tracing["type"] = "tracing".into();
    lines.push(tracing);
    let rows = table(section("explode bench"), "| type | keys |");
    assert_eq!(rows.len(), lines.len());
    for row in rows {
        let mut keys = names(&outside(row[1]));
        keys.insert("type".to_owned());
        assert_eq!(
            keys,
            keys_of(of_type(&lines, &names(row[0]).pop_first().unwrap())),
            "{}",
            row[0]
        );
    }
}

#[test]
fn lines_of_doctor_are_as_the_page_has_them() {
    let ran = explode(["doctor", "--format", "jsonl"]);
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    let section = section("explode vm, explode doctor");
    let example = section.lines().find(|line| line.starts_with("    {")).unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    let (begin, end) =
        (section.find("`state` is ").unwrap(), section.find("`remedy` says").unwrap());
    let mut states = names(&section[begin + "`state`".len()..end]);
    // Options that a state depends on.
    for option in ["--in here", "--features engines"] {
        states.remove(option);
    }
    assert_eq!(
        states,
        BTreeSet::from(["ok", "MISSING", "slow", "later", "not needed"].map(str::to_owned))
    );
    let lines = ran.json();
    let libclang =
        lines.iter().find(|line| line["name"] == "libclang").expect("a line about libclang");
    assert_ne!(libclang["state"], "MISSING", "the default build does not need it");
    for line in lines {
        assert_eq!((&line["type"], keys_of([&line])), (&example["type"], keys_of([&example])));
        assert!(states.contains(line["state"].as_str().unwrap()), "{line}");
        assert!(line["remedy"] != "" || line["state"] != "MISSING", "{line}");
    }
}

#[test]
fn lines_of_crash_disks_have_the_keys_of_the_page() {
    let log =
        concat!(env!("CARGO_MANIFEST_DIR"), "/explode-runtime/tests/golden/paper-versions.jsonl");
    let lines =
        explode(["crash-disks", log, "--size", "4096", "--format", "jsonl"]).expect(0).json();
    let section = section("explode crash-disks");
    for kind in ["disk", "summary"] {
        let begin = format!("    {{\"type\":\"{kind}\"");
        let example = section.lines().find(|line| line.starts_with(&begin)).unwrap();
        let keys = example
            .split('"')
            .zip(example.split('"').skip(1))
            .filter_map(|(key, rest)| rest.starts_with(':').then_some(key));
        let keys: BTreeSet<String> = keys.map(str::to_owned).collect();
        assert_eq!(keys, keys_of(of_type(&lines, kind)), "{kind}");
    }
}

/// The lines of a matrix with every type of line.
#[test]
fn lines_of_matrix_have_the_keys_of_the_page() {
    let folder = tempdir().unwrap();
    let layers =
        "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"toyfs\"\nbug = \"no-preflush\"\n";
    file(folder.path(), "seeded.toml", layers);
    let args = "matrix toyfs seeded.toml lying-sync --check sync,synced --format jsonl";
    let mut lines = explode_in(folder.path(), args.split(' ')).expect(1).json();
    let args = "matrix --explain lying-sync/synced --format jsonl";
    lines.extend(explode_in(folder.path(), args.split(' ')).expect(0).json());
    let rows = table(section("explode matrix"), "| type of line | keys |");
    let types: BTreeSet<String> = rows.iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(types, lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect());
    for row in rows {
        let mut keys = names(&outside(row[1]));
        keys.insert("type".to_owned());
        for line in of_type(&lines, &names(row[0]).pop_first().unwrap()) {
            let mut keys = keys.clone();
            if line["outcome"] == "inconclusive" {
                keys.insert("outcome_was".to_owned());
            }
            assert_eq!(keys, keys_of([line]), "{line}");
        }
    }
}
