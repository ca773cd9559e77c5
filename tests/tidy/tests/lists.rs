//! Lists of rooms and of exceptions that do not fit are reported.

use crate::check::{CIRCLES, Findings, ORDER};
use crate::workspace::Files;

use super::small;

/// All problems of the small crate with these files.
fn problems(parts: &[(&str, &str)]) -> Vec<String> {
    let files: Files = small(parts);
    Findings::new(&files).beside(&files)
}

/// The problems of the small crate if its list of rooms is changed.
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

#[test]
fn exceptions_of_the_order() {
    let upward = ("src/low.rs", "use crate::up::X;");
    let entry = "# A comment.\n\nsmall: low.rs -> up\n";
    assert_eq!(problems(&[upward]).len(), 1);
    assert!(problems(&[upward, (ORDER, entry)]).is_empty());
    let stale = "tests/tidy/order.txt: `small: low.rs -> up` is not needed any more: delete the line";
    assert_eq!(problems(&[(ORDER, entry)]), [stale]);
}

#[test]
fn exceptions_of_circles() {
    // `low` and `up` use each other; `up` may.
    let low = ("src/low.rs", "use crate::up::X; pub struct Low;");
    let up = ("src/up.rs", "use crate::low::Low; pub struct X; pub struct Shown; pub mod deep {}");
    let order = (ORDER, "small: low.rs -> up");
    assert_eq!(problems(&[low, up, order]).len(), 1);
    assert!(problems(&[low, up, order, (CIRCLES, "small: low.rs up.rs")]).is_empty());
    let larger = "tests/tidy/circles.txt: `small: door.rs low.rs up.rs` is smaller now: \
                  write `small: low.rs up.rs` instead";
    assert_eq!(problems(&[low, up, order, (CIRCLES, "small: door.rs low.rs up.rs")]), [larger]);
    let stale = "tests/tidy/circles.txt: `small: low.rs up.rs` is no circle any more: delete the line";
    assert_eq!(problems(&[(CIRCLES, "small: low.rs up.rs")]), [stale]);
}

/// The lists that are written allow all that was found.
#[test]
fn lists_that_are_written() {
    let low = ("src/low.rs", "use crate::up::X; pub struct Low;");
    let up = ("src/up.rs", "use crate::low::Low; pub struct X; pub struct Shown; pub mod deep {}");
    let mut files = small(&[low, up]);
    let findings = Findings::new(&files);
    assert_eq!(findings.beside(&files).len(), 2);
    files.extend(findings.lists().map(|(path, text)| (path.to_owned(), text)));
    assert!(findings.beside(&files).is_empty());
}
