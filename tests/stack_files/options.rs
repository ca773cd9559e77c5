//! `[run]`, and a file together with options of the command line.

use crate::{Desk, IDLE};

const FOLDER: &str = "[[component]]\nuse = \"folder\"\n";

#[test]
fn the_command_line_overrides_options_of_the_file() {
    let desk = Desk::new();
    let run = r#"
[run]
in = "mem"
strategy = "dfs"
seed = 7
depth = 2
states = 9
budget = "90s"
limit = 50
samples = 5
crash_depth = 0
completion = "durable"
atom = "sector"
block = 512
replace_versions = true
require_complete = true
out = "here"
"#;
    desk.write(&format!("{run}{FOLDER}{IDLE}"));
    let first = |args: &str| {
        desk.explode(&format!("run test.toml --format jsonl {args}")).expect(0).json().remove(0)
    };
    let by_file = first("");
    let options = &by_file["options"];
    assert_eq!((&by_file["seed"], &by_file["target"]), (&7.into(), &"test".into()));
    assert_eq!(
        (&options["depth"], &options["states"], &options["budget_ms"]),
        (&2.into(), &9.into(), &90_000.into())
    );
    assert_eq!((&options["strategy"], &options["limit"]), (&"dfs".into(), &50.into()));
    assert_eq!((&options["samples"], &options["crash_depth"]), (&5.into(), &0.into()));
    assert_eq!(options["rules"]["replace_versions"], true);
    assert_eq!(by_file["out"], "here");
    let by_line = first("--seed 8 --depth=1 --strategy exhaust --out there");
    assert_eq!((&by_line["seed"], &by_line["options"]["depth"]), (&8.into(), &1.into()));
    assert_eq!(
        (&by_line["options"]["strategy"], &by_line["out"]),
        (&"exhaust".into(), &"there".into())
    );
    assert_eq!(by_line["options"]["limit"], 50);
}

#[test]
fn settings_of_the_command_line_are_applied_after_those_of_the_file() {
    let desk = Desk::new();
    let stack = "[run]\ndepth = 1\nset = \
                 [\"simfiles.one=1\", \"simfiles.two=1\"]\n[[component]]\nuse = \"simfiles\"\n";
    desk.write(stack);
    desk.explode("run fs-basic --stack test.toml").refused(&["unknown option of simfiles 'one'"]);
    desk.write(&stack.replace("simfiles.one=1\", \"simfiles.two=1", "notes.init=false").replace(
        "[[component]]\nuse = \"simfiles\"\n",
        &format!("{FOLDER}[[component]]\nname = \"notes\"\ninit = \"touch {{child}}/a\"\n{IDLE}"),
    ));
    let ran = desk.explode("run test.toml").expect(4);
    assert!(ran.err.contains("the first start failed: notes: `false` ended with 1"), "{ran:?}");
    desk.explode("run test.toml --set notes.init=true").expect(0);
}

#[test]
fn a_run_is_named_after_its_file() {
    let desk = Desk::new();
    desk.write(&format!("{FOLDER}{IDLE}"));
    desk.explode("run ./test.toml --depth 1").expect(0);
    assert!(desk.path().join("explode-runs/test-1/run.jsonl").is_file());
}

#[test]
fn a_file_stands_alone_or_under_a_checker() {
    let desk = Desk::new();
    desk.write(FOLDER);
    desk.explode("run test.toml")
        .refused(&["test.toml has no [checker]", "explode run CHECKER --stack test.toml"]);
    desk.explode("run test.toml --stack ext4")
        .refused(&["test.toml is a stack already", "omit --stack ext4"]);
    desk.explode("run test.toml --stack test.toml").refused(&["is a stack already"]);
    desk.explode("run fs-basics --stack test.toml")
        .refused(&["unknown checker 'fs-basics'", "'fs-basic'"]);
    desk.explode("run none.toml").refused(&["none.toml", "that can be read"]);
    desk.explode("run fs-basic --stack none.toml").refused(&["none.toml"]);
}
