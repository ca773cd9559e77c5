//! Profiles: the promises of the kernel's file systems. An excluded error is by design and would be
//! a bug otherwise.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use common::{explode, explode_in, file, keys, of_type, words};

fn list(systems: &str) -> Vec<Value> {
    let words = ["list", "profiles", "--format", "jsonl"];
    explode(words.into_iter().chain(systems.split_whitespace())).expect(0).json()
}

/// Lists the promises of each row of the matrix and of other systems, also with options.
#[test]
fn profiles_are_listed() {
    let lines = list("");
    let systems: BTreeSet<&str> = lines.iter().map(|line| line["of"].as_str().unwrap()).collect();
    assert!(systems.contains("ext2") && systems.contains("btrfs"), "{systems:?}");
    for line in &lines {
        assert_eq!(keys(line), words("type of system name kept quote source"));
        let long = |key: &str| line[key].as_str().unwrap().len() > 10;
        assert!(line["type"] == "promise" && long("quote") && long("source"), "{line}");
    }
    let kept = |lines: &[Value], name: &str| {
        let found =
            lines.iter().filter(|line| line["name"] == name).map(|line| line["kept"] == true);
        let found: Vec<bool> = found.collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0]
    };
    for (system, unsynced, mounted) in [
        ("ext2", false, true),
        ("ext4", true, true),
        ("vfat", false, true),
        ("minix", false, false),
    ] {
        let lines = list(system);
        assert_eq!(kept(&lines, "unsynced-contents"), unsynced, "{system}");
        assert_eq!(kept(&lines, "metadata-synced-by-mount-sync"), mounted, "{system}");
    }
    let folder = tempdir().unwrap();
    let text =
        "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"ext4\"\ndata = \"writeback\"\n";
    file(folder.path(), "fast.toml", text);
    let run = |args: &str| explode_in(folder.path(), args.split_whitespace());
    let lines = run("list profiles fast.toml toyfs --format jsonl").expect(0).json();
    assert!(!kept(&lines, "unsynced-contents"));
    let text = run("list profiles fast.toml toyfs").expect(0).out;
    assert!(
        text.starts_with("fast.toml: ext4 in Linux\n")
            && text.ends_with("every promise must be kept\n"),
        "{text}"
    );
    let overlaid = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse \
                    = \"ext2\"\n[[component]]\nuse = \"overlay\"\n";
    file(folder.path(), "overlaid.toml", overlaid);
    let lines = run("list profiles overlaid.toml --format jsonl").expect(0).json();
    assert!(!kept(&lines, "replaced-name"));
    assert!(kept(&list("overlay"), "replaced-name"));
    run("list profiles ext5").refused(&["unknown system 'ext5'", "did you mean 'ext"]);
    run("list targets ext4").refused(&["explode list profiles ext4"]);
}

/// After a sync or fsync no profile promises less than POSIX. Excluded are only synchronous mounts
/// and the effects of a crash on unsynced data.
#[test]
fn profiles_exclude_only_excludable_promises() {
    let excluded: BTreeSet<String> = list("")
        .iter()
        .filter(|line| line["kept"] == false)
        .map(|line| line["name"].as_str().unwrap().to_owned())
        .collect();
    let mount = ["", "metadata-"].map(|what| format!("{what}synced-by-mount-sync"));
    let partly = mount.clone().map(|word| format!("partly-{word}"));
    let others = "replaced-by-rename replaced-name moved-name unsynced-contents \
                  unsynced-attributes readable kind created-name one-sequence \
                  link-count atomic-call durable-call";
    let others = words(others).into_iter().map(str::to_owned);
    assert_eq!(excluded, mount.into_iter().chain(partly).chain(others).collect());
}

/// Runs `fs-reasonable` on walks over one of toyfs's designs, whose profile excludes this. Returns
/// the findings and the summary.
fn reasonable(folder: &Path, metadata: &str, excludes: &str, code: i32) -> (Vec<Value>, Value) {
    let name = format!("{metadata}-{excludes}.toml");
    let text = format!(
        "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"toyfs\"\nmetadata \
         = \"{metadata}\"\n\
         [[component]]\nuse = \"lying-sync\"\nexcludes = \"{excludes}\"\n"
    );
    file(folder, &name, text);
    let args = format!(
        "run fs-reasonable --stack {name} --depth 5 --strategy random --states 60 --crash-depth 0 \
         --format jsonl --set fs-reasonable.start=empty \
         --set fs-reasonable.far=4096 --set fs-reasonable.files=1 --set fs-reasonable.dirs=0"
    );
    let lines = explode_in(folder, args.split_whitespace()).expect(code).json();
    let findings = of_type(&lines, "finding").into_iter().cloned().collect();
    (findings, lines.last().unwrap().clone())
}

/// Without a journal, a reused inode may keep the size of its old file. If the profile does not
/// promise the contents of an unsynced file, that is by design. If it excludes only sync, that is a
/// bug. A design that keeps versions has no such error.
#[test]
fn unsynced_contents_are_by_design_only_if_excluded() {
    let folder = tempdir().unwrap();
    let signature = "fs-reasonable/corrupt/unsynced-contents";
    for (excludes, by_design, code) in
        [("none", false, 1), ("synced-by-sync", false, 1), ("unsynced-contents", true, 0)]
    {
        let (findings, summary) = reasonable(folder.path(), "in-place", excludes, code);
        assert!(!findings.is_empty(), "{excludes}");
        for finding in findings {
            assert_eq!(
                [&finding["signature"], &finding["by_design"], &finding["replayed"]],
                [&json!(signature), &json!(by_design), &json!(true)]
            );
            let line = "lying-sync: \"its syncs lie\" (the option lying-sync.excludes)";
            assert_eq!(finding["profile"], if by_design { json!(line) } else { json!(null) });
        }
        assert_eq!(
            [&summary["findings"] == 1, &summary["by_design"] == 0],
            [!by_design, !by_design]
        );
    }
    for excludes in ["none", "unsynced-contents"] {
        let (findings, summary) = reasonable(folder.path(), "versions", excludes, 0);
        assert!(
            findings.is_empty() && summary["checked"].as_u64().unwrap() > 100,
            "{excludes}: {summary}"
        );
        assert_eq!(summary["by_design"], 0);
    }
}
