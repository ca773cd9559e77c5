//! `explode matrix` on a file system of the kernel, one whose mkfs is missing, one whose mkfs does
//! not end, and one whose fsck is slow. Each has a cell, in separate guests.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{explode_in, file, of_type};

/// Writes a stack file of a file system made of shell commands.
fn of_commands(folder: &Path, name: &str, init: &str) {
    let commands = "mount = \"mount -t none {dev} {path}\"\nunmount = \"umount {path}\"\n";
    let component = format!("[[component]]\nname = \"{name}\"\ninit = \"{init}\"\n{commands}");
    file(folder, &format!("{name}.toml"), format!("[[component]]\nuse = \"ramdisk\"\n{component}"));
}

/// Returns an error if the matrix is not as expected.
pub fn names_what_it_cannot_ask(folder: &Path) -> Result<(), String> {
    of_commands(folder, "missing", "mkfs.none {dev}");
    of_commands(folder, "endless", "sleep 1000");
    let args = "matrix ext4 missing.toml endless.toml --check sync --in vm --cell 120s --jobs 2 \
                --format jsonl --out m";
    let ran = explode_in(folder, args.split_whitespace());
    let lines = ran.json();
    let cell = |system: &str| {
        of_type(&lines, "cell")
            .into_iter()
            .find(|cell| cell["system"] == system)
            .cloned()
            .unwrap_or_default()
    };
    let (ext4, missing, endless) = (cell("ext4"), cell("missing"), cell("endless"));
    let says =
        |cell: &Value, words: &str| cell["why"].as_str().is_some_and(|why| why.contains(words));
    let counts = ["states", "operations", "crash_disks", "distinct", "left_out", "complete"]
        .map(|key| ext4["summary"][key].clone());
    let good = ran.code == 4
        && ext4["outcome"] == "pass"
        && ext4["sees"] == "fs-ways/lost/synced-by-sync"
        && counts == [json!(12), json!(16), json!(494), json!(478), json!(0), json!(true)]
        && missing["outcome"] == "not-supported"
        && says(&missing, "the program 'mkfs.none' is neither")
        && endless["outcome"] == "broken"
        && says(&endless, "no end within the deadline of 30 s");
    good.then_some(()).ok_or(format!("{ran:?}"))
}

/// A fsck that is slower than the deadline is named and does not count as a bug. Returns an error
/// if the matrix is not as expected.
pub fn tells_a_slow_fsck_from_one_that_hangs(folder: &Path) -> Result<(), String> {
    let disk = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse = \"ext2\"\nfsck = false\n";
    let fsck = "[[component]]\nname = \"fsck\"\nrecover = \"sleep 12\"\n";
    file(folder, "slow.toml", format!("{disk}{fsck}"));
    let args =
        "matrix slow.toml --check fsync --in vm --cell 60s --deadline 6s --format jsonl --out m";
    let ran = explode_in(folder, args.split_whitespace());
    let lines = ran.json();
    let why = "slow: in step recover: no end within the deadline of 6 s (it runs sleep 12); tried \
               again with a deadline of 60 s it ended, so it is no bug; run the matrix with \
               --deadline 60s";
    let good = |cell: &&&Value| {
        cell["outcome"] == "broken" && cell["findings"] == json!([]) && cell["why"] == why
    };
    let good = of_type(&lines, "cell").iter().filter(good).count() == 1 && ran.code == 4;
    good.then_some(()).ok_or(format!("{ran:?}"))
}

/// Half of the blocks of ext4 are on a disk that ignores flushes. Without the array everything is on
/// the other disk. Returns an error if the matrix does not say that the bug needs the array.
pub fn names_the_layer_of_a_bug(folder: &Path) -> Result<(), String> {
    let stack = "[[component]]\nuse = \"ramdisk\"\nname = \"d0\"\n[[component]]\nuse = \"ramdisk\"\n\
                 name = \"d1\"\nflushes = \"dropped\"\n[[component]]\nuse = \"md\"\nlevel = 0\n\
                 chunk = 4096\nchildren = [\"d0\", \"d1\"]\n[[component]]\nuse = \"ext4\"\n";
    file(folder, "striped.toml", stack);
    let args = "matrix striped.toml --check fsync --limit 4 --samples 2 --cell 60s --in vm \
                --format jsonl --out m";
    let ran = explode_in(folder, args.split_whitespace());
    let lines = ran.json();
    let faults = of_type(&lines, "fault");
    let needs_md = |fault: &&Value| {
        let without = &fault["without"][0];
        [&without["without"], &without["finding"]] == [&json!("md"), &json!("hidden")]
    };
    let good = ran.code == 1 && !faults.is_empty() && faults.iter().all(needs_md);
    good.then_some(()).ok_or(format!("{ran:?}"))
}
