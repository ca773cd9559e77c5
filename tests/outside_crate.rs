//! A crate outside the workspace whose only dependency is explode: `outside_crate/example` has its
//! own component, checker and targets. They run in process and, unchanged, in a guest. A bug in
//! them is found and replayed.
//!
//! It is the crate of `docs/guide/writing-a-component.md` and `docs/guide/writing-a-checker.md`,
//! which show each of its files and the result of each command.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;
use tempfile::tempdir;
use toml::{Table, toml};

use common::{Ran, explode_in, guest, page, ran};

/// The files of the crate.
const SOURCES: [&str; 4] = ["src/component.rs", "src/log.rs", "src/checker.rs", "src/main.rs"];

/// The most lines of Rust of a user's component, without empty lines and comments.
const MOST_LINES: usize = 30;

/// The number of crates that a crash test of an engine builds, including itself and three crates of
/// explode.
const CRATES_OF_A_CRASH_TEST: usize = 73;

/// The pages that explain these crates.
const COMPONENT_PAGE: &str = include_str!("../docs/guide/writing-a-component.md");
const CHECKER_PAGE: &str = include_str!("../docs/guide/writing-a-checker.md");
const ENGINE_PAGE: &str = include_str!("../docs/start/your-engine.md");

/// Returns the program of the crate, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build)
}

/// Builds a copy of the crate, in the folder where this test program was built.
fn build() -> PathBuf {
    let copy = copied("example", &SOURCES);
    ran(cargo("build").arg("--manifest-path").arg(copy.join("Cargo.toml"))).expect(0);
    target().join("debug/log-check")
}

/// Copies a crate of `tests/outside_crate`, and returns the folder of the copy.
///
/// The copy is a separate workspace with the versions, the profile and the configuration of
/// explode's, so that shared dependencies are built once. Explode's own crates are built again,
/// because cargo treats them as other crates here. They are not optimised, which takes a quarter of
/// the time, and have no debug assertions.
fn copied(name: &str, sources: &[&str]) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crate_folder = workspace.join("tests/outside_crate").join(name);
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outside_crate_{name}"));
    let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(crate_folder.join("Cargo.toml")).unwrap();
    let (before, after) = manifest.split_once("../../..").expect("the path of explode");
    let profile = profile(&fs::read_to_string(workspace.join("Cargo.toml")).unwrap(), &lock);
    let manifest = format!("{before}{}{after}\n[workspace]\n{profile}", workspace.display());
    for folder in sources.iter().filter_map(|name| Path::new(name).parent()) {
        fs::create_dir_all(copy.join(folder)).unwrap();
    }
    fs::write(copy.join("Cargo.toml"), manifest).unwrap();
    fs::write(copy.join("Cargo.lock"), lock).unwrap();
    for name in sources {
        fs::copy(crate_folder.join(name), copy.join(name)).unwrap();
    }
    copy
}

/// Returns the target folder in which this test was built.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder of the target folder")
}

fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args([command, "--offline", "--target-dir"]).arg(target());
    cargo
}

/// Returns the profile of explode's workspace, without optimisation and debug assertions of
/// explode's own crates.
fn profile(manifest: &str, lock: &str) -> Table {
    let mut manifest: Table = manifest.parse().unwrap();
    let mut profiles = manifest.remove("profile").expect("the workspace has profiles");
    let packages =
        profiles["dev"]["package"].as_table_mut().expect("crates have profiles of their own");
    let ours = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    for name in ours.filter(|name| name.starts_with("explode")) {
        packages.insert(
            name.to_owned(),
            toml! { opt-level = 0 debug = false debug-assertions = false }.into(),
        );
    }
    Table::from_iter([("profile".to_owned(), profiles)])
}

fn run<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Ran {
    ran(Command::new(program()).current_dir(folder).args(args))
}

/// Checks that a run finds nothing and checks something.
fn clean(args: &str) {
    let folder = tempdir().unwrap();
    let args = format!("run {args} --format jsonl");
    let lines = run(folder.path(), args.split_whitespace()).expect(0).json();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["type"], &summary["broken"]), (&json!("summary"), &json!(0)));
    assert!(summary["checked"].as_u64().unwrap() > 0, "{summary}");
}

/// Checks that a run finds a lost line, with these words. Each command that it prints must
/// reproduce its finding.
fn lost(target: &str, found: &str) {
    let folder = tempdir().unwrap();
    let text = run(folder.path(), ["run", target, "--depth", "1"]).expect(1).out;
    assert!(text.lines().any(|line| line == found), "{text}");
    // Each finding has its command where it is reported, and again at the end.
    let commands: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("             replay    ")).collect();
    assert!(!commands.is_empty(), "{text}");
    for command in commands {
        let replayed =
            ran(Command::new("sh").args(["-c", command]).current_dir(folder.path())).expect(1);
        assert!(
            replayed.out.contains("reproduced log-lines/lost/appended-line"),
            "{command}: {replayed:#?}"
        );
    }
}

/// Returns the page's blocks of code in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let blocks = page::blocks(page).into_iter().filter(|block| block.language == language);
    blocks.map(|block| block.text()).collect()
}

/// Returns the arguments of the page's commands that begin like this.
fn commands(page: &str, begin: &str) -> Vec<String> {
    let commands = page::commands(page).into_iter();
    commands.filter_map(|command| Some(command.text.strip_prefix(begin)?.to_owned())).collect()
}

/// Returns the findings that the page shows.
fn shown(page: &str) -> Vec<&str> {
    page.lines().filter(|line| line.starts_with("        FAIL ")).collect()
}

#[test]
fn the_pages_show_the_files() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside_crate/example");
    let file = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let [component, log, checker, main] = SOURCES.map(file);
    assert_eq!(blocks(COMPONENT_PAGE, "rust"), [component, log, main]);
    assert_eq!(blocks(CHECKER_PAGE, "rust"), [checker]);
    assert_eq!(blocks(COMPONENT_PAGE, "toml")[1..], [file("Cargo.toml")]);
    let manifest = fs::read_to_string(example.join("../engine/Cargo.toml")).unwrap();
    let [posix, dependency] = &blocks(ENGINE_PAGE, "toml")[..] else {
        panic!("the page has two dependencies")
    };
    let stores = fs::read_to_string(example.join("../stores/Cargo.toml")).unwrap();
    assert!(posix.lines().skip(1).all(|line| stores.contains(line)), "{posix}");
    assert!(manifest.ends_with(dependency.as_str()), "{dependency}");
    let log = include_str!("../posix/examples/log_crash_test.rs");
    assert_eq!(blocks(ENGINE_PAGE, "rust")[0], log);
}

#[test]
fn a_component_is_thirty_lines_at_most() {
    let [component, ..] = &blocks(COMPONENT_PAGE, "rust")[..] else {
        panic!("the page shows a component")
    };
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = component.lines().filter(is_code).count();
    assert!(lines <= MOST_LINES, "{lines}");
}

#[test]
fn in_process_on_simulated_files() {
    let folder = tempdir().unwrap();
    let typed = |command: &str| run(folder.path(), command.split_whitespace());
    let [list, log, seeded, _on_ext4] = &commands(COMPONENT_PAGE, "cargo run -- ")[..] else {
        panic!("the commands of the page on components");
    };
    assert!(typed(list).expect(0).out.contains("a log of lines in one file"));
    let silent = |command: &str| {
        let out = typed(command).expect(0).out;
        assert!(out.contains(" 0 findings; ") && !out.contains("FAIL"), "{command}: {out}");
    };
    silent(log);
    assert_eq!(seeded, "run log+no-fsync");
    let [found] = shown(COMPONENT_PAGE)[1..] else { panic!("what the page finds in process") };
    lost("log+no-fsync", found);

    let [clean, bug] = &commands(CHECKER_PAGE, "cargo run -- ")[..] else {
        panic!("the commands of the page on checkers");
    };
    silent(clean);
    let out = typed(bug).expect(1).out;
    let [found] = shown(CHECKER_PAGE)[..] else { panic!("what the page on checkers finds") };
    assert!(out.contains(found), "{out}");

    let unknown = typed("run log-line --stack line-log");
    unknown.refused(&["unknown checker 'log-line'", "did you mean 'log-lines'?"]);
}

#[test]
fn unchanged_on_ext4_in_a_guest() {
    if !guest::required() {
        return;
    }
    assert_eq!(commands(COMPONENT_PAGE, "cargo run -- ")[3], "run log-ext4");
    clean("log-ext4 --in vm --depth 1");
    lost("log-ext4+no-fsync", shown(COMPONENT_PAGE)[1]);
}

/// The crate of a storage engine depends on explode without features, as
/// `docs/start/your-engine.md` shows. Its crash test passes, finds the loss of a seeded bug, and
/// needs few crates.
#[test]
fn a_crash_test_of_an_engine() {
    let copy = copied("engine", &["src/lib.rs", "tests/crash.rs"]);
    let manifest = copy.join("Cargo.toml");
    let test = || ran(cargo("test").arg("--manifest-path").arg(&manifest));
    test().expect(0);

    let tree = ["tree", "--offline", "--prefix", "none", "--edges", "normal,dev,build"];
    let mut cargo = Command::new(env!("CARGO"));
    let tree = ran(cargo.args(tree).arg("--manifest-path").arg(&manifest)).expect(0).out;
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    for heavy in ["clap", "explode-components", "explode-kernel", "explode-vm", "rusqlite"] {
        assert!(!crates.contains(heavy), "{heavy}: {crates:?}");
    }
    assert_eq!(crates.len(), CRATES_OF_A_CRASH_TEST, "{crates:?}");

    let engine = copy.join("src/lib.rs");
    let sound = fs::read_to_string(&engine).unwrap();
    fs::write(&engine, sound.replace("self.storage.sync()", "Ok(())")).unwrap();
    let bug = test();
    assert!(bug.out.contains("crash-test/lost/durable"), "{bug:#?}");
}

/// The counter of the page, and the finding if its folder is not synced.
#[test]
fn a_component_of_shell_commands_in_a_guest() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    let stack = &blocks(COMPONENT_PAGE, "toml")[0];
    assert_eq!(commands(COMPONENT_PAGE, "explode "), ["run counter.toml"]);
    fs::write(folder.path().join("counter.toml"), stack).unwrap();
    let out = explode_in(folder.path(), ["run", "counter.toml"]).expect(0).out;
    assert!(out.contains(" 0 findings; "), "{out}");

    let bug = stack.replace(" && sync {path}\"", "\"");
    assert!(bug.len() < stack.len() && COMPONENT_PAGE.contains("the last `&& sync {path}`"));
    fs::write(folder.path().join("counter.toml"), bug).unwrap();
    let out = explode_in(folder.path(), ["run", "counter.toml"]).expect(1).out;
    assert!(out.contains(shown(COMPONENT_PAGE)[0]), "{out}");
}
