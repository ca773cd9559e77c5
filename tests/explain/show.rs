//! `explode show`: the whole story of a trace, and the part of it that needs no run.

use libtest_mimic::Trial;
use serde_json::json;
use tempfile::tempdir;

use crate::common::{file, keys, of_type, words};
use crate::{explode, read, trace_of, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the whole story", story),
        trial("a crash during recovery has two crashes", recovery),
        trial("a step that ended its process", died),
        trial("an error that mutate saw", mutate),
        trial("files have names", files_have_names),
        trial("files of a recovery have names", files_of_a_recovery_have_names),
        trial("JSON lines", lines),
        trial("a trace that cannot be run here", file_only),
        trial("traces and options that show refuses", refused),
    ]
}

fn story() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "journal", "whole");
    let path = trace.display().to_string();
    let absolute = folder.path().join(&path).display().to_string();
    let said = explode(folder.path(), &format!("show {path}")).expect(0).out;
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        r"       Trace {path}
             target    journal in mem, found by explode {version}
             stack     ramdisk < journal
        FAIL lost: committed, with 0 of 3 blocks
             bug       journal/lost/whole
             when      after a crash, epoch in-between
             broken    whole
    Mutate 1 commit (1 of 2 at what)
      Events up to the crash in request 1 for crash checks; 1 event came after it
             lost      write sector 8+24 (3 times)
             kept      write sector 0+8 (in flight)
       Crash epoch in-between; the check gets: after; of 4 pending ranges 1 kept, 3 lost
             kept      device 0 sector 0, 4096 bytes
             lost      device 0 sector 8, 4096 bytes
             lost      device 0 sector 16, 4096 bytes
             lost      device 0 sector 24, 4096 bytes
    Critical device 0 sector 0 reached the disk: after that no disk that a crash could still leave recovers
             decision  4 of 4, in the order of writing
             recovers  without device 0 sector 0
        More /proc/self/exe show --all {absolute}
    Minimise /proc/self/exe minimise {absolute}
      Replay /proc/self/exe replay {absolute}
"
    );
    assert_eq!(said, expected);
    // `--all` shows each event, and no command that shows more.
    let all = explode(folder.path(), &format!("show --all {path}")).expect(0).out;
    for line in ["submit request 1 device 0 sector 8, 4096 bytes\n", "complete request 3\n"] {
        assert!(all.contains(line), "'{line}' is not in {all}");
    }
    assert!(!all.contains("        More "), "{all}");
}

fn recovery() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "begun", "steps");
    let said = explode(folder.path(), &format!("show {}", trace.display())).expect(0).out;
    let crashes: Vec<&str> =
        said.lines().filter(|line| line.starts_with("       Crash ")).collect();
    assert_eq!(crashes.len(), 2, "{said}");
    assert!(
        crashes[1].starts_with("       Crash during that recovery; of 8 pending ranges "),
        "{said}"
    );
    assert!(
        said.contains("FAIL recover-failed: redo: the second step was taken, the first was not\n"),
        "{said}"
    );
    let recovery = "\n      Events of its recovery, up to the next crash; 1 event came after it\n";
    assert!(said.contains(recovery), "{said}");
}

/// The writes of a recovery have the names of the files at its end, as the writes before the crash
/// have. The recovery has removed the log.
fn files_of_a_recovery_have_names() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "wal-kv+recovery-not-idempotent", "durable");
    let said = explode(folder.path(), &format!("show {}", trace.display())).expect(0).out;
    let recovery =
        said.split_once("      Events of its recovery, up to the next crash; ").expect(&said).1;
    for part in [
        "             kept      dirty the size of /log.1 (removed)\n",
        "       Crash during that recovery; of 1 pending ranges 1 kept, 0 lost\n             kept      \
         the size of /log.1 (removed)\n",
        "    Critical the size of /log.1 (removed) reached the disk: ",
    ] {
        assert!(recovery.contains(part), "'{part}' is not in {recovery}");
    }
    let lines = explode(folder.path(), &format!("show {} --format jsonl", trace.display()))
        .expect(0)
        .json();
    let during = lines.iter().filter(|line| line["crash"] == 1 && !line["sector"].is_null());
    let whose: Vec<&str> =
        during.map(|line| line["whose"].as_str().expect("it has a name")).collect();
    assert_eq!(whose, ["the size of /log.1 (removed)"; 2]);
}

fn died() {
    let folder = tempdir().unwrap();
    let args = "armed-exit --strategy random --seed 1 --states 400 --depth 6";
    let trace = trace_of(folder.path(), args, "died-in-check");
    let said = explode(folder.path(), &format!("show {}", trace.display())).expect(0).out;
    for part in [
        "FAIL check-failed: in step check: the process ended with exit code 7\n",
        "when      step check hung, or ended its process or guest\n",
        "    Critical not looked for: each disk that fails would end another worker\n",
        "             lost      device 0 sector 0, 4096 bytes",
    ] {
        assert!(said.contains(part), "'{part}' is not in {said}");
    }
}

fn mutate() {
    let folder = tempdir().unwrap();
    let args = "armed-mutate --strategy random --seed 2 --states 400 --depth 9";
    let trace = trace_of(folder.path(), args, "order");
    let said = explode(folder.path(), &format!("show {}", trace.display())).expect(0).out;
    assert!(said.contains("when      without a crash: mutate itself saw it\n"), "{said}");
    assert!(!said.contains("Crash ") && !said.contains("Critical "), "{said}");
}

/// The calls of the database, each with its state after the crash, and a line of the profile.
fn files_have_names() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "sqlite-off --depth 1 --limit 500 --samples 100", "intact");
    let said = explode(folder.path(), &format!("show {}", trace.display())).expect(0).out;
    for part in [
        "       Calls up to the crash in request 1 for crash checks",
        "lost      open /db-journal O_CREAT\n",
        "pwrite /db-journal 0+",
        " times)\n",
        "lost      pwrite /db 3072+1024  <- critical\n",
        "lost      the name /db-journal\n",
        "Critical pwrite /db 3072+1024 (/db at byte 0 version 4) was lost: ",
        "recovers  with pwrite /db 3072+1024 (/db at byte 0 version 4)",
        " promises it: \"",
        "https://www.sqlite.org/",
        "kept old  /db at byte 0, version ",
        " of 1 to 4\n",
    ] {
        assert!(said.contains(part), "'{part}' is not in {said}");
    }
}

fn lines() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "journal", "whole");
    let lines =
        explode(folder.path(), &format!("show {} --as text --format jsonl", trace.display()))
            .expect(0)
            .json();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = [&["story", "mutate"][..], &["event"; 8], &["range"; 4], &["critical"]].concat();
    assert_eq!(types, expected);
    let fields = "type trace target in stack checker versions verdict message signature by_design \
                  epoch args died promise \
                  reproduced why_not by_search replay";
    assert_eq!(keys(&lines[0]), words(fields));
    assert_eq!((&lines[0]["reproduced"], &lines[0]["args"]), (&json!(true), &json!(["after"])));
    assert_eq!(lines[1]["choices"][0]["name"], "commit");
    let events = of_type(&lines, "event");
    assert_eq!(keys(events[0]), words("type crash e dev id sector len notes whose by"));
    assert_eq!((&events[6]["sector"], &events[6]["len"]), (&json!(0), &json!(4096)));
    let ranges = of_type(&lines, "range");
    assert_eq!(keys(ranges[0]), words("type crash dev sectors whose versions kept"));
    let kept: Vec<_> = ranges.iter().map(|range| range["kept"].clone()).collect();
    assert_eq!(kept, [json!(1), json!(null), json!(null), json!(null)]);
}

/// A kernel is missing; the error is gone; the choices are different.
fn file_only() {
    let folder = tempdir().unwrap();
    let trace = trace_of(folder.path(), "journal", "whole");
    let real = read(&folder.path().join(trace));
    let show = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut trace = real.clone();
        edit(&mut trace);
        file(folder.path(), "edited.json", trace.to_string());
        let lines = explode(folder.path(), "show edited.json --format jsonl").expect(0).json();
        assert_eq!((&lines[0]["reproduced"], lines.len()), (&json!(false), 2), "{lines:?}");
        let why = lines[0]["why_not"].as_str().unwrap().to_owned();
        let said = explode(folder.path(), "show edited.json").expect(0).out;
        assert!(
            said.contains(&format!("     NOT RUN {why}; this is what the file has\n")),
            "{said}"
        );
        assert!(
            said.contains("     Choices commit (1 of 2 at ")
                || said.contains("    Mutate 1 commit (1 of 2 at "),
            "{said}"
        );
        assert!(said.contains("       Crash kept 0:0v1 (device:sector, version)\n"), "{said}");
        let path = folder.path().join("edited.json");
        assert!(
            said.ends_with(&format!("      Replay /proc/self/exe replay {}\n", path.display())),
            "{said}"
        );
        why
    };
    let why = show(&|trace| {
        let ext2 = json!({ "name": "ext2", "use": "ext2", "children": ["ramdisk"] });
        trace["stack"].as_array_mut().unwrap().push(ext2);
    });
    assert_eq!(
        why,
        "it cannot be run here: component 'ext2' needs a kernel; use --in vm or --in here"
    );
    let why = show(&|trace| trace["checker_options"] = json!({ "fixed": true }));
    assert!(
        why.starts_with("it was not seen again: no crash can leave the recorded disk"),
        "{why}"
    );
    let why = show(&|trace| trace["choices"][0]["label"]["site"] = json!("elsewhere"));
    assert!(
        why.starts_with("its replay diverged: choice 0: recorded 2 options at elsewhere"),
        "{why}"
    );
}

fn refused() {
    let folder = tempdir().unwrap();
    file(folder.path(), "damaged.json", "{\"format\": 1");
    explode(folder.path(), "show damaged.json").refused(&["damaged.json", "not a trace"]);
    explode(folder.path(), "show absent.json").refused(&["absent.json", "No such file"]);
    for form in ["sh", "xfstests"] {
        explode(folder.path(), &format!("show damaged.json --as {form}"))
            .refused(&["damaged.json", "not a trace"]);
    }
    explode(folder.path(), "show damaged.json --as prose").refused(&["invalid value", "xfstests"]);
}
