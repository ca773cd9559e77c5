//! The keys of `[checker]`, and the variables of its commands.

use std::fs;

use crate::{Desk, Outcome, checked};

fn count(outcome: &Outcome, key: &str) -> u64 {
    outcome.summary()[key].as_u64().unwrap()
}

#[test]
fn a_check_sees_epoch_arguments_and_what_is_done() {
    let desk = Desk::new();
    let stack = checked(
        2,
        r#"
mutate = [ { name = "add", steps = [
    { start = ["b{n}"] }, { sh = "echo k{n} >>{path}/db" }, { end = ["k{n}", "x"] }, { crash = ["now"] },
] } ]
check = '''echo "$EXPLODE_EPOCH|$EXPLODE_ARGS|$(cat $EXPLODE_DONE)|$(cat {path}/db | tr '\n' ' ')" >>LOG'''
"#,
    );
    let outcome = desk.run(&stack, 0);
    let first = ["soft|||k1 ", "soft|k1 x||k1 ", "soft|now||k1 "];
    let second = ["soft||add|k1 k2 ", "soft|k2 x|add|k1 k2 ", "soft|now|add|k1 k2 "];
    assert_eq!(desk.logged(), [first, second].concat());
    assert_eq!(
        ["crash_disks", "distinct", "checked", "operations"].map(|key| count(&outcome, key)),
        [6, 6, 6, 2]
    );
    assert_eq!(outcome.first()["checker"], "test");
}

#[test]
fn every_alternative_is_tried_and_sig_merges_states() {
    let alternatives = r#"
mutate = [ { name = "a", steps = [ { sh = "echo a >>{path}/db" } ] }, { name = "b", steps = [ { sh = "rm -f {path}/db" } ] } ]
check = "true"
"#;
    let desk = Desk::new();
    let all = desk.run(&checked(2, alternatives), 0);
    assert_eq!((count(&all, "states"), count(&all, "operations")), (1 + 2 + 4, 2 + 4));
    let merged = desk.run(
        &checked(2, &format!("{alternatives}sig = \"cat {{path}}/db 2>/dev/null || true\"")),
        0,
    );
    // Nothing, "a", and "aa". b leads back to the first state, which is not explored again.
    assert_eq!((count(&merged, "states"), count(&merged, "operations")), (3, 2 + 2));
    let broken = desk.run(&checked(1, &format!("{alternatives}sig = \"echo no; exit 1\"")), 4);
    assert!(broken.broken().contains("`echo no; exit 1` ended with 1"), "{broken:?}");
}

#[test]
fn a_failed_step_ends_its_alternative() {
    let desk = Desk::new();
    let stack = |step: &str| {
        checked(
            2,
            &format!(
                r#"
mutate = [ {{ name = "try", steps = [ {{ sh = "echo step >>LOG" }}, {step}, {{ sh = "echo after >>LOG" }} ] }} ]
check = "cat $EXPLODE_DONE >>LOG"
"#
            ),
        )
    };
    desk.run(&stack("{ sh = 'exit 5', must = false }"), 0);
    // The first mutate, the first again to restore its state, and the second. The alternative was
    // never completed.
    assert_eq!(desk.logged(), ["step"; 3]);
    let failed = desk.run(&stack("{ sh = 'echo why; exit 5', must = true }"), 1);
    let finding = failed.finding();
    assert_eq!(finding["verdict"], "check-failed");
    assert_eq!(finding["message"], "`echo why; exit 5` ended with 5: why");
    assert_eq!(finding["signature"], "test/check-failed/must");
    assert!(finding["epoch"].is_null());
    let broken = desk.run(&stack("{ sh = '$(echo no-such-program)' }"), 4);
    assert!(broken.broken().contains("ended with 127"), "{broken:?}");
}

/// The story of a trace shows the step that failed.
#[test]
fn show_reports_a_failed_step() {
    let desk = Desk::new();
    let stack = checked(
        2,
        r#"
mutate = [
    { name = "tries", steps = [ { sh = "touch {path}/tried" }, { sh = "echo no room {n}; exit 5" }, { sh = "echo after >>LOG" } ] },
    { name = "adds", steps = [ { sh = "touch {path}/db" } ] },
]
check = "if [ -e {path}/db ] && [ -e {path}/tried ]; then echo both are there; exit 1; fi"
"#,
    );
    let finding = desk.run(&stack, 1).finding().clone();
    let show = format!("show --run {}", finding["trace"].as_str().unwrap());
    let reported = desk.explode(&show).expect(0).out;
    let line = "a step failed, and those after it were not run: `echo no room {n}; exit 5` ended \
                with 5: no room 1\n";
    assert_eq!(reported.matches(line).count(), 1, "{reported}");
    assert_eq!(reported.matches("a step failed").count(), 1, "{reported}");
    let lines = desk.explode(&format!("{show} --format jsonl")).expect(0).json();
    let of_mutates = lines.iter().filter(|line| line["type"] == "mutate");
    let failed: Vec<_> = of_mutates.map(|line| line["failed_step"].as_str()).collect();
    assert_eq!(failed, [Some("`echo no room {n}; exit 5` ended with 5: no room 1"), None]);
    assert_eq!(desk.logged(), [""; 0]);
}

#[test]
fn the_exit_code_of_check_decides() {
    let desk = Desk::new();
    let run = |check: &str, code: i32| {
        let mutate = r#"mutate = [ { name = "a", steps = [ { sh = "true" } ] } ]"#;
        desk.run(&checked(1, &format!("{mutate}\ncheck = '{check}'")), code)
    };
    let lost = run("echo k17 is gone >&2; echo; exit 1", 1);
    assert_eq!(lost.finding()["message"], "k17 is gone");
    assert_eq!(lost.finding()["signature"], "test/check-failed/#-is-gone");
    assert_eq!(lost.finding()["epoch"], "soft");
    let silent = run("exit 1", 1);
    assert_eq!(silent.finding()["message"], "`exit 1` ended with 1 and printed nothing");
    for check in ["echo no; exit 2", "kill -9 $$"] {
        let broken = run(check, 4);
        assert!(broken.broken().contains(check), "{broken:?}");
    }
}

#[test]
fn a_trace_replays_without_its_file() {
    let desk = Desk::new();
    let stack = checked(
        2,
        r#"
mutate = [ { name = "a", steps = [ { sh = "echo a >>{path}/db" }, { crash = ["k{n}"] } ] } ]
check = "test $(wc -l <{path}/db) -lt 2 || { echo two lines; exit 1; }"
"#,
    );
    let outcome = desk.run(&stack, 1);
    assert_eq!(outcome.finding()["replayed"], true);
    let trace = outcome.finding()["trace"].as_str().unwrap();
    fs::remove_file(desk.path().join("test.toml")).unwrap();
    let ran = desk.explode(&format!("replay {trace} --format jsonl")).expect(1);
    assert_eq!(ran.json()[0]["reproduced"], true);
    // The commands in the trace are the ones that run.
    let text = fs::read_to_string(desk.path().join(trace)).unwrap();
    fs::write(desk.path().join("edited.json"), text.replace("-lt 2", "-lt 9")).unwrap();
    desk.explode("replay edited.json --trust").expect(5);
    fs::write(desk.path().join("edited.json"), text.replace("\"crash\"", "\"crush\"")).unwrap();
    desk.explode("replay edited.json --trust").refused(&["crush"]);
}

/// A checker or component of explode with options behaves the same in a file as on the command
/// line.
#[test]
fn a_stack_file_equals_the_same_command_line() {
    let desk = Desk::new();
    desk.write("[[component]]\nuse = \"simfiles\"\n[checker]\nuse = \"fs-basic\"\n");
    let summary = |args: &str| {
        let mut summary = desk
            .explode(&format!("{args} --depth 2 --format jsonl"))
            .expect(0)
            .json()
            .pop()
            .unwrap();
        summary["seconds"].take();
        summary
    };
    let by_name = summary("run fs-basic --stack simfiles --limit 500 --samples 50");
    assert_eq!(summary("run test.toml --limit 500 --samples 50"), by_name);
    assert_eq!(summary("run fs-basic --stack test.toml --limit 500 --samples 50"), by_name);
}

/// A counter outside the folder differs in each run, so the disk that failed does not occur again.
/// The message names the first difference, and the trace stays.
#[test]
fn minimising_a_nondeterministic_system_names_the_difference() {
    let desk = Desk::new();
    let checker = r#"
mutate = [
  { name = "count", steps = [ { sh = "echo . >>LOG; wc -l <LOG >{path}/n" }, { crash = [] } ] },
  { name = "copy", steps = [ { sh = "echo . >>LOG; wc -l <LOG >{path}/n; cp {path}/n {path}/m" }, { crash = [] } ] },
]
check = "test ! -e {path}/n || { echo it is there; exit 1; }"
"#;
    let trace = desk.run(&checked(1, checker), 1).finding()["trace"].as_str().unwrap().to_owned();
    let ran = desk.explode(&format!("minimise {trace}")).expect(5);
    for words in [
        "    DIVERGED the same choices did not lead to the disk that failed again\n",
        "first difference: event ",
        " of the log, before request 1 for crash checks: submit request ",
        "; in another run of the same choices: submit request ",
        "usual causes: the clock, random numbers, the order of a hash map, threads",
        "    recorded check-failed: it is there\n",
    ] {
        assert!(ran.out.contains(words), "{words}\n{ran:?}");
    }
    assert!(desk.path().join(trace).exists());
}

/// The program removes the old file before the new one has its name, so for a moment there is
/// neither.
#[test]
fn a_program_asks_for_a_crash_in_the_middle_of_a_command() {
    let desk = Desk::new();
    let stack = |sh: &str| {
        let steps = format!("steps = [ {{ sh = '''{sh}''', must = true }} ]");
        let check = r#"'''echo "$EXPLODE_EPOCH|$EXPLODE_ARGS|$(cat $EXPLODE_DONE)|$(cat {path}/db {path}/new 2>&1)" >>LOG
test -e {path}/db || { echo gone; exit 1; }'''"#;
        checked(1, &format!("mutate = [ {{ name = \"add\", {steps} }} ]\ncheck = {check}\n"))
    };
    let begins = "echo a >{path}/new; rm -f {path}/db";
    let ends = "mv {path}/new {path}/db";
    desk.run(&stack(&format!("{begins}; {ends}")), 0);
    let outcome = desk.run(&stack(&format!("{begins}; explode-mark crash half && {ends}")), 1);
    let finding = outcome.finding();
    assert_eq!(
        (finding["epoch"].as_str(), finding["message"].as_str()),
        (Some("now"), Some("gone"))
    );
    assert_eq!(finding["replayed"].as_bool(), Some(true));
    // Two requests in order, and then the end of the step.
    fs::write(desk.log(), "").unwrap();
    let fixed =
        "echo a >{path}/db; explode-mark crash one; explode-mark crash two; echo b >{path}/db";
    desk.run(&stack(fixed).replace(" {path}/new 2>&1", ""), 0);
    assert_eq!(desk.logged(), ["now|one||a", "now|two||a", "soft|||b"]);
    let misused = desk.run(&stack("explode-mark crash a/b"), 1);
    assert!(
        misused.finding()["message"].as_str().unwrap().contains("the name 'a/b' is not made of")
    );
}
