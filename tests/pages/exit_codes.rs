//! `docs/reference/exit-codes.md`.

use std::os::unix::fs::PermissionsExt;

use tempfile::tempdir;

use crate::common::{explode_in, file};
use crate::{run_commands, table};

const PAGE: &str = include_str!("../../docs/reference/exit-codes.md");
const CODE: &str = include_str!("../../explode-runtime/src/base/exit.rs");

/// Returns the number and the meaning of each variant in the code, in the page's form.
fn variants() -> Vec<(u8, String)> {
    let lines: Vec<&str> = CODE.lines().map(str::trim).collect();
    let begin = lines.iter().position(|line| *line == "pub enum Exit {").unwrap();
    let variants = lines[begin + 1..].iter().take_while(|line| **line != "}").collect::<Vec<_>>();
    let variant = |pair: &[&&str]| {
        let meaning =
            pair[0].strip_prefix("/// ").expect("one line of meaning").trim_end_matches('.');
        let (_, number) =
            pair[1].trim_end_matches(',').split_once(" = ").expect("a variant with its number");
        (number.parse().unwrap(), meaning[..1].to_lowercase() + &meaning[1..])
    };
    variants.chunks(2).map(variant).collect()
}

#[test]
fn each_row_is_a_variant_and_each_variant_a_row() {
    let rows = table(PAGE, "| code | meaning |");
    let variants = variants();
    assert_eq!(rows.len(), variants.len());
    for (row, (number, meaning)) in rows.iter().zip(&variants) {
        assert_eq!(row[0], number.to_string());
        assert!(row[1].starts_with(meaning), "{number}: '{}' and '{meaning}'", row[1]);
    }
}

/// Two codes apply to each run, and the first in the list decides. Other tests cover codes that
/// apply alone.
#[test]
fn the_first_that_applies_decides() {
    assert!(PAGE.contains("The first of 2, 3, 1, 4, 6, 0 that applies decides."));
    let folder = tempdir().unwrap();
    let run = |code: i32, args: &str| {
        explode_in(folder.path(), format!("run {args} --format jsonl").split_whitespace())
            .expect(code)
    };
    // 2 before 3: an option of the upper layer is wrong, and the lower one needs a kernel.
    let stack = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nuse \
                 = \"ext2\"\n[[component]]\nuse = \"sqlite\"\n";
    file(folder.path(), "sqlite.toml", stack);
    run(3, "sqlite-transactions --stack sqlite.toml --in mem");
    run(2, "sqlite-transactions --stack sqlite.toml --in mem --set sqlite.journal=wall");
    // 3 before 1: the program of a run with a finding is missing when the run is resumed.
    let tool = folder.path().join("tool");
    file(folder.path(), "tool", "#!/bin/sh\nexit 1\n");
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    run_commands(folder.path(), "tool-run", &tool.display().to_string(), &["true"], "").expect(1);
    run(1, "--resume tool-run");
    std::fs::remove_file(&tool).unwrap();
    let gone = run(3, "--resume tool-run");
    assert!(
        gone.err.contains(&format!("the program '{}' is not on the PATH", tool.display())),
        "{gone:?}"
    );
    // 1 before 6, and 6 before 0.
    run(1, "sqlite-off --depth 1 --limit 100 --samples 50 --require-complete --out findings");
    run(6, "fs-basic --states 2 --require-complete --out incomplete");
    run(0, "fs-basic --states 2 --out clean");
    // 1 before 4, and 4 before 6: a check without a verdict is broken.
    let check = "if test -e {path}/broken; then exit 7; fi; ! test -e {path}/lost";
    let (lose, breaks) = ("touch {path}/lost", "touch {path}/broken");
    for (name, steps, states, code, counts) in [
        ("both", &[lose, breaks][..], "", 1, (1, 1, true)),
        ("broken", &[breaks, "true", "true"], "--states 2", 4, (1, 0, false)),
    ] {
        let ran = run_commands(
            folder.path(),
            name,
            check,
            steps,
            &format!("{states} --require-complete"),
        );
        let lines = ran.expect(code).json();
        let summary = lines.last().unwrap();
        let count = |key: &str| summary[key].as_u64().unwrap();
        assert_eq!(
            (count("broken"), count("findings"), summary["complete"] == true),
            counts,
            "{summary}"
        );
    }
}
