//! Findings: their lines, their traces, and the commands that reproduce them.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use super::run;
use crate::common::{explode_in, files, keys, of_type, program, shell, words};

/// SQLite without syncs and one transaction, with every kind of its errors.
const FINDINGS: &str = "sqlite-off --depth 1 --out run";

#[test]
fn the_first_line_names_the_run_and_the_last_its_result() {
    let folder = tempdir().unwrap();
    let lines = run(
        folder.path(),
        1,
        &format!("{FINDINGS} --seed 5 --atom sector --limit 3000 --samples 20"),
    );
    let first = &lines[0];
    assert_eq!(
        keys(first),
        words(
            "type target in seed stack checker checker_options options versions unobserved hides skipping out"
        )
    );
    assert_eq!(first["type"], "run");
    assert_eq!(
        (&first["target"], &first["in"], &first["seed"]),
        (&json!("sqlite-off"), &json!("mem"), &json!(5))
    );
    assert_eq!((&first["checker"], &first["out"]), (&json!("sqlite-transactions"), &json!("run")));
    let layers: Vec<&str> = first["stack"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| layer["use"].as_str().unwrap())
        .collect();
    assert_eq!(layers, ["simfiles", "sqlite"]);
    assert_eq!(first["versions"]["explode"], env!("CARGO_PKG_VERSION"));
    let rules = json!({"completion": "volatile", "atom": "sector", "block_bytes": 4096,
        "replace_versions": false});
    assert_eq!(
        first["options"],
        json!({"strategy": "exhaust", "seed": 5, "depth": 1, "states": null, "budget_ms": null,
               "rules": rules, "limit": 3000, "samples": 20, "crash_depth": 1, "soft": false,
               "chop": null,
               "deadline_ms": 30000, "skip": true})
    );

    let last = lines.last().unwrap();
    assert_eq!(
        keys(last),
        words(
            "type states deepest operations choices crash_disks distinct checked equivalent pending \
             left_out \
             crash_crash_disks crash_crash_left_out by_design broken findings complete seconds"
        )
    );
    assert_eq!(of_type(&lines, "summary").len(), 1);
    assert_eq!(of_type(&lines, "run").len(), 1);
    for key in keys(last).into_iter().filter(|key| !["type", "complete", "seconds"].contains(key)) {
        assert!(last[key].is_u64(), "{key} is an integer: {last}");
    }
    assert_eq!(last["complete"], false, "disks were left out");
    assert!(last["left_out"].as_u64().unwrap() > 0);
}

#[test]
fn a_finding_has_its_fields_and_a_trace() {
    let folder = tempdir().unwrap();
    let lines = run(folder.path(), 1, FINDINGS);
    let findings = of_type(&lines, "finding");
    let verdicts: Vec<&str> =
        findings.iter().map(|finding| finding["verdict"].as_str().unwrap()).collect();
    for verdict in ["lost", "corrupt", "recover-failed"] {
        assert!(verdicts.contains(&verdict), "{verdicts:?}");
    }
    for finding in &findings {
        let fields = "type id verdict by_design message epoch signature count trace replayed";
        assert_eq!(keys(finding), words(fields));
        let text = |key: &str| finding[key].as_str().unwrap();
        assert_eq!((&finding["by_design"], &finding["replayed"]), (&json!(false), &json!(true)));
        assert!(["begin", "in-between", "end"].contains(&text("epoch")));
        assert!(finding["count"].as_u64().unwrap() > 0);
        assert!(
            text("signature").starts_with(&format!("sqlite-transactions/{}/", text("verdict")))
        );
        assert_eq!(text("trace"), format!("run/traces/{}.json", text("id")));
        let trace: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join(text("trace"))).unwrap())
                .unwrap();
        assert_eq!(trace["format"], 1);
        for key in ["verdict", "message", "epoch", "signature", "by_design"] {
            assert_eq!(trace[key], finding[key], "{key}");
        }
        for key in ["target", "stack", "checker", "checker_options", "options"] {
            assert_eq!(trace[key], lines[0][key], "{key}");
        }
    }
    let ids: std::collections::BTreeSet<String> = findings
        .iter()
        .map(|finding| format!("{}.json", finding["id"].as_str().unwrap()))
        .collect();
    assert_eq!(files(&folder.path().join("run/traces")), ids.into_iter().collect::<Vec<_>>());
}

/// A finding is reported when it is replayed, and again before the summary if its count has grown.
/// The run folder has both messages.
#[test]
fn a_finding_is_reported_again_when_its_count_has_grown() {
    let folder = tempdir().unwrap();
    let ran =
        explode_in(folder.path(), format!("run {FINDINGS} --format jsonl").split_whitespace())
            .expect(1);
    let lines = ran.json();
    let summary = lines.last().unwrap();
    let findings = of_type(&lines, "finding");
    let distinct = summary["findings"].as_u64().unwrap() as usize;
    let mut counts = std::collections::BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        let count = finding["count"].as_u64().unwrap();
        let before = counts.insert(finding["id"].to_string(), count);
        assert_eq!(before.is_some(), index >= distinct, "all for the first time, then some again");
        assert!(before.is_none_or(|before| before < count));
    }
    assert!(findings.len() > distinct, "some were seen again");
    assert_eq!(counts.len(), distinct);
    assert_eq!(std::fs::read_to_string(folder.path().join("run/run.jsonl")).unwrap(), ran.out);
    assert_eq!(files(&folder.path().join("run")), ["journal", "run.jsonl", "traces"]);
}

/// The last line of every finding reproduces it when pasted into a shell in another folder.
#[test]
fn every_printed_command_replays_its_finding() {
    for out in ["run", "with space/it's $HOME", "-n"] {
        let (folder, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
        let out = format!("--out={out}");
        let text =
            explode_in(folder.path(), ["run", "sqlite-off", "--depth", "1", &out]).expect(1).out;
        check_commands(elsewhere.path(), &text, 4);
    }
}

/// The commands of minimise, of show, of a report for a build server, and of a run that is resumed
/// by another name of its folder also work. The program is called by a relative path.
#[test]
fn the_other_printed_commands_work_in_any_folder() {
    let (folder, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
    let (folder, elsewhere) = (folder.path(), elsewhere.path());
    std::os::unix::fs::symlink(program(), folder.join("it's here")).unwrap();
    let here = |args: &str| shell(folder, &format!("\"./it's here\" {args}"));
    let there = |command: &str, code: i32| shell(elsewhere, command).expect(code).out;
    here("run sqlite-off --depth 1 '--out=a \"run\"' --junit report.xml").expect(1);
    let report = std::fs::read_to_string(folder.join("report.xml")).unwrap();
    let commands = report.lines().filter(|line| line.contains(" replay ")).map(|line| {
        let command = line.trim().trim_end_matches("</failure>");
        command.replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
    });
    let commands: Vec<String> = commands.collect();
    assert_eq!(commands.len(), 4, "{report}");
    commands.iter().for_each(|command| drop(there(command, 1)));
    let traces = folder.join("a \"run\"/traces");
    let trace = format!("'a \"run\"/traces/{}'", files(&traces)[0]);
    let said = here(&format!("minimise {trace}")).expect(0).out;
    let command = |word: &str| {
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(word));
        line.unwrap_or_else(|| panic!("{word}: {said}")).trim_start().to_owned()
    };
    let story = there(&command("story"), 0);
    there(&command("replay"), 1);
    there(story.lines().last().unwrap().trim_start().strip_prefix("Replay ").unwrap(), 1);
    let story = here(&format!("show {trace} --format jsonl")).expect(0).json();
    there(story[0]["replay"].as_str().unwrap(), 1);
}

fn check_commands(folder: &Path, text: &str, findings: usize) {
    // A finding has its own line and the indented ones after it. A finding that is reported again
    // has no indented lines.
    let is_detail = |line: &&str| line.starts_with("             ");
    let lines: Vec<&str> = text.lines().collect();
    let mut seen = 0;
    for (index, line) in lines.iter().enumerate() {
        let Some(said) = line.strip_prefix("        FAIL ") else { continue };
        let Some(last) = lines[index + 1..].iter().copied().take_while(is_detail).last() else {
            continue;
        };
        let command =
            last.strip_prefix("             replay    ").expect("the last line is the command");
        let human = shell(folder, command).expect(1);
        assert!(human.out.starts_with(&format!("        FAIL {said}\n")), "{command}: {human:#?}");
        let json = shell(folder, &format!("{command} --format jsonl")).expect(1).json();
        assert_eq!(json.len(), 1);
        assert_eq!(
            keys(&json[0]),
            words("type trace signature reproduced verdict message replayed_by")
        );
        assert_eq!((&json[0]["type"], &json[0]["reproduced"]), (&json!("replay"), &json!(true)));
        let verdict = said.split_once(": ").unwrap().0;
        assert_eq!(
            (&json[0]["verdict"], &json[0]["replayed_by"]),
            (&json!(verdict), &json!("log"))
        );
        seen += 1;
    }
    assert_eq!(seen, findings, "{text}");
}

/// An error that the profile excludes keeps its verdict and its trace, and does not count as a
/// finding.
#[test]
fn a_loss_by_design_is_reported_with_its_line_and_replays() {
    let folder = tempdir().unwrap();
    let lines = run(folder.path(), 0, "sqlite-normal --depth 1 --out run");
    let summary = lines.last().unwrap();
    assert_eq!((&summary["findings"], &summary["by_design"]), (&json!(0), &json!(6)));
    let findings = of_type(&lines, "finding");
    let fields = "type id verdict by_design profile message epoch signature count trace replayed";
    assert_eq!(keys(findings[0]), words(fields));
    assert_eq!(
        (&findings[0]["by_design"], &findings[0]["verdict"]),
        (&json!(true), &json!("lost"))
    );
    assert!(
        findings[0]["profile"].as_str().unwrap().contains("https://"),
        "the line has its source"
    );
    assert_eq!(findings.last().unwrap()["count"], 6);
    let trace = findings[0]["trace"].as_str().unwrap();
    let replayed = explode_in(folder.path(), ["replay", trace]).expect(1);
    assert!(replayed.out.starts_with("   by design lost: "), "{replayed:#?}");
}
