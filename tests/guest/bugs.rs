//! Replays the traces of `bugs/` that need a guest, all in one guest.
//!
//! These are all JSON files of the folder except three kinds: traces whose step ends the guest and
//! those of [`OWN_GUEST`], which have their own guests, and traces that need no guest, which
//! `tests/engines` replays.

use std::path::Path;

use explode_runtime::base::Mode;
use explode_runtime::explain::{StoryCommands, story_in_thread};
use explode_runtime::report::Line;
use explode_runtime::trace::{ReplayResult, Trace};
use explode_runtime::verdict::Verdict;
use explode_runtime::worker::replay;

use crate::cases::Cx;
use crate::report::Report;

/// The beginning of the names of these cases.
pub const BUGS: &str = "bugs/";

/// The path of the traces in the guest.
pub const IN_GUEST: &str = "/bugs.json";

/// The traces whose disks depend on the numbers of the devices, which are the same in each fresh
/// guest, and their signatures. ext4 writes the number of its journal's device into its superblock
/// (`s_journal_dev`, ext4_load_journal of fs/ext4/super.c).
pub const OWN_GUEST: [(&str, &str); 1] =
    [("bugs/ext4-external-journal/trace.json", "fs-sync/lost/synced-by-fsync")];

/// Returns the name and the text of each trace that does not end its guest and can share it.
pub fn kept() -> Vec<(String, String)> {
    let of_folder = traces().into_iter().map(|(name, text)| {
        let trace =
            Trace::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, text, trace)
    });
    let shares = |name: &str| !OWN_GUEST.iter().any(|(own, _)| *own == name);
    let here = of_folder
        .filter(|(name, _, trace)| trace.mode == Mode::Vm && trace.died.is_none() && shares(name));
    here.map(|(name, text, _)| (name, text)).collect()
}

/// Returns the traces whose replay ends its guest, and their verdicts.
pub fn deadly() -> Vec<(String, Verdict)> {
    let trace =
        |text: &str| Trace::from_json(text.as_bytes()).ok().filter(|trace| trace.died.is_some());
    traces().into_iter().filter_map(|(name, text)| Some((name, trace(&text)?.verdict))).collect()
}

/// Returns all traces in `bugs/`, by name.
fn traces() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs")) {
        let files = if folder.is_dir() { entries(&folder) } else { Vec::new() };
        for file in
            files.into_iter().filter(|file| file.extension().is_some_and(|word| word == "json"))
        {
            let name =
                file.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("it is below").display();
            found.push((name.to_string(), std::fs::read_to_string(&file).expect("a trace")));
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Replays the traces, if this guest has them.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let Ok(kept) = std::fs::read_to_string(IN_GUEST) else { return };
    let kept: Vec<(String, String)> = serde_json::from_str(&kept).expect("pairs");
    for (name, text) in kept {
        report.case(&format!("{name} replays as it is kept"), |_| {
            let trace = Trace::from_json(text.as_bytes()).expect("a sound trace");
            match replay(cx.registry, &trace, cx.backend) {
                Ok(ReplayResult::Reproduced { violation, by_search, .. }) => {
                    assert!(!by_search, "its log is another one");
                    assert_eq!(
                        (violation.verdict, violation.message.as_str()),
                        (trace.verdict, trace.message.as_str())
                    );
                }
                other => panic!("{other:?}"),
            }
            fits_one_screen(&name, cx, &trace);
        });
    }
}

/// Checks that the output of `explode show` fits one screen and ends with a command to paste.
fn fits_one_screen(name: &str, cx: Cx<'_>, trace: &Trace) {
    let story = story_in_thread(cx.registry, trace, cx.backend).expect("it is run");
    assert!(story.retold.is_ok(), "{:?}", story.retold);
    let commands = StoryCommands { all: Some("all"), minimise: Some("minimise"), replay: "replay" };
    let lines: Vec<String> = story.lines(name, &commands).iter().map(Line::plain).collect();
    let text = lines.join("\n");
    assert!(text.lines().count() <= 40, "{text}");
    assert_eq!(lines.last().map(|line| line.trim()), Some("Replay replay"));
}
