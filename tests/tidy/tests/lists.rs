//! Lists of rooms with errors are reported.

use crate::check::Findings;

use super::small;

/// Returns all problems of the small crate with these files.
fn problems(parts: &[(&str, &str)]) -> Vec<String> {
    Findings::new(&small(parts)).all()
}

/// Returns the problems of the small crate after a change of its list of rooms.
fn problems_of_list(from: &str, to: &str) -> Vec<String> {
    let root = super::SMALL[1].1;
    assert!(root.contains(from));
    problems(&[("src/lib.rs", &root.replace(from, to))])
}

#[test]
fn rooms_that_are_not_listed_right() {
    assert!(problems(&[]).is_empty());
    let base = "//! - [`base`]: what all need\n";
    for (from, to, expected) in [
        (
            "# Rooms, bottom first",
            "# Rooms",
            "src/lib.rs:1: no list of rooms: write one under the line `//! # Rooms, bottom first`",
        ),
        (base, "", "src/lib.rs:9: room base is not in the list of rooms: add it"),
        (": what all need", "", "src/lib.rs:10: room base is not in the list of rooms: add it"),
        (
            base,
            "//! - `base`: one\n//! - `base`: two\n",
            "src/lib.rs:11: room base is listed twice: delete one line",
        ),
        (
            base,
            "//! - `base`: one\n//! - `roof`: two\n",
            "src/lib.rs:1: there is no room roof: delete its line",
        ),
    ] {
        assert_eq!(problems_of_list(from, to), [expected]);
    }
}

#[test]
fn rooms_that_are_too_large() {
    let lines = "fn f() {}\n".repeat(4 * 2500);
    let problems = problems(&[("src/low.rs", &lines)]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("lines of code in 4 rooms: split a room"), "{problems:?}");
    let tests = format!("#[cfg(test)]\nmod tests {{\n{lines}}}\n// {}", "\n// ".repeat(9999));
    assert!(self::problems(&[("src/low.rs", &tests)]).is_empty());
}
