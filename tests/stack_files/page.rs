//! `docs/reference/stack-files.md` agrees with the code.

use std::collections::BTreeSet;

use crate::Desk;
use crate::common::explode;

const PAGE: &str = include_str!("../../docs/reference/stack-files.md");

/// Returns the examples of the page.
pub fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

#[test]
fn each_example_is_a_stack_file_that_holds() {
    let desk = Desk::new();
    assert_eq!(examples().len(), 3);
    for (example, code) in examples().iter().zip([3, 0, 3]) {
        desk.write(example);
        // An example that needs a kernel is parsed completely before it is refused.
        let ran = desk.explode("run test.toml --in mem --depth 2").expect(code);
        assert!(code == 0 || ran.err.contains("needs a kernel"), "{ran:?}");
    }
}

/// Returns the keys that a section's first table names.
fn documented(section: &str) -> BTreeSet<String> {
    let from =
        PAGE.find(&format!("\n## {section}\n")).unwrap_or_else(|| panic!("no section {section}"));
    let rows = PAGE[from..].lines().skip_while(|line| !line.starts_with("| key |")).skip(2);
    let keys = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('`').nth(1).unwrap().to_owned());
    keys.collect()
}

/// Returns the keys that the parser names when it finds an unknown one.
fn known(file: &str) -> BTreeSet<String> {
    let desk = Desk::new();
    desk.write(&file.replace("?", "qqqqqqqqqqqqqqqqqqqqqqqq = 1"));
    let ran = desk.explode("run test.toml").expect(2);
    let (_, keys) = ran.err.trim().rsplit_once("one of: ").unwrap_or_else(|| panic!("{ran:?}"));
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn each_key_is_documented_and_each_documented_key_is_one() {
    let folder = "[[component]]\nuse = \"folder\"\n";
    let checker = |mutate: &str| {
        format!("{folder}[checker]\nname = \"a\"\ncheck = \"true\"\nmutate = [ {mutate} ]")
    };
    for (section, file) in [
        ("The file", "?".to_owned()),
        ("`[guest]`", format!("{folder}[guest]\n?")),
        ("`[[component]]` that uses one of explode's", format!("{folder}?")),
        ("`[[component]]` made of shell commands", "[[component]]\nname = \"a\"\n?".to_owned()),
        ("`[checker]`", format!("{folder}[checker]\n?")),
        ("An alternative", checker("{ name = \"a\", ? }")),
        ("A step", checker("{ name = \"a\", steps = [ { ? } ] }")),
    ] {
        assert_eq!(documented(section), known(&file), "{section}");
    }
}

#[test]
fn each_long_option_but_two_can_stand_in_run() {
    let help = explode(["run", "--help"]).expect(0).out;
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    let letters = |word: &str| {
        word.chars()
            .take_while(|letter| letter.is_ascii_lowercase() || *letter == '-')
            .collect::<String>()
    };
    let lines = help
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("-h, ").strip_prefix("--"));
    let expected: BTreeSet<String> = lines
        .map(letters)
        .filter(|name| name != "stack" && name != "help")
        .map(|name| name.replace('-', "_"))
        .collect();
    assert!(options.count() >= expected.len() && expected.contains("crash_depth"));
    assert_eq!(known("[run]\n?"), expected);
}
