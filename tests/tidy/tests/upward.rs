//! Each form of an upward use is reported.

use crate::check::Findings;
use crate::workspace::KBUILD;

use super::{files, small, upward_in_low};

const UP: &str = "small: low.rs -> up";
const DOOR: &str = "small: low.rs -> door";

#[test]
fn forms_of_imports() {
    for text in [
        "use crate::up::X;",
        "pub use crate::up::X;",
        "pub(crate) use crate::up::X;",
        "use crate::up;",
        "use crate::up::{self};",
        "use crate::up::X as Other;",
        "use crate::up::X as _;",
        "use super::up::X;",
        "use crate::{base::Base, up::{Kind, deep::{self, Y}}};",
        "use {crate::base::Base, crate::up};",
        "use crate::up::*;",
        "use crate::up::Kind::*;",
        "use crate::up::deep::*;",
        "fn f() { use crate::up::x; }",
        "mod inner { mod more { use super::super::super::up::X; } }",
        "macro_rules! import { () => { use $crate::up::X; } }",
        "#[cfg(not(test))] use crate::up::X;",
        "#[cfg(any(test, unix))] use crate::up::X;",
        "#[cfg(all(unix, feature = \"engines\"))] use crate::up::X;",
        "#[cfg(all(unix, not(test)))] use crate::up::X;",
    ] {
        assert_eq!(upward_in_low(text), [UP], "{text}");
    }
}

#[test]
fn forms_of_paths() {
    for text in [
        "fn f(x: crate::up::X) {}",
        "fn f() { let x = crate::up::X; }",
        "fn f() { crate::up::x() }",
        "fn f() { g(::small::up::x()) }",
        "fn f() { super::up::x() }",
        "mod inner { fn f() { super::super::up::x() } }",
        "fn f() { Vec::<crate::up::X>::new() }",
        "fn f() { for n in 0..crate::up::x() {} }",
        "impl From<crate::up::X> for u8 {}",
        "fn f() { print!(\"{}\", crate::up::x()) }",
        "thread_local! { static X: crate::up::X = crate::up::X; }",
        "macro_rules! call { () => { $crate::up::x() } }",
        "fn f() { crate::note!() }",
        "fn f() { note!() }",
        "use crate::note;",
        "fn f() { crate::up::deep::Y::new() }",
        "fn f() -> crate::up::r#Kind { crate::up::Kind::One }",
    ] {
        assert_eq!(upward_in_low(text), [UP], "{text}");
    }
}

#[test]
fn names_that_others_hand_on() {
    for (text, expected) in [
        ("use crate::Shown;", &[UP][..]),
        ("use crate::{Shown as Other};", &[UP]),
        ("fn f(_: crate::Shown) {}", &[UP]),
        ("use crate::door::X;", &[DOOR, UP]),
        ("fn f() { crate::door::X::new() }", &[DOOR, UP]),
        ("use crate::door::lent::Y;", &[DOOR, UP]),
        ("use crate::door; fn f(_: door::X) {}", &[DOOR, UP]),
        ("use crate::door::*; fn f(_: X) {}", &[DOOR, UP]),
        ("use crate::door::*;", &[DOOR]),
    ] {
        assert_eq!(upward_in_low(text), expected, "{text}");
    }
}

/// Text that looks like a comment or the end of a string does not hide the code after it.
#[test]
fn uses_after_literals_are_found() {
    for literal in [
        "'\"'",
        "'\\''",
        "'\\\\'",
        "'\\u{1F600}'",
        "b'\"'",
        "\"\\\"\"",
        "\"//\"",
        "\"/*\"",
        "r\"\\\"",
        "r#\"\"\"#",
        "br##\"\"#\"##",
        "c\"\\\"\"",
        "'/'",
        "\"\n\"",
        "&'static str",
        "/* /* */ */ 1",
        "1.0",
        "0..1",
        "'a: loop {}",
    ] {
        let text = format!("fn f() {{ {literal}; crate::up::x() }}");
        assert_eq!(upward_in_low(&text), [UP], "{text}");
    }
}

/// The kernel makes the root's `THIS_MODULE`. Items in the root's text are above all rooms.
#[test]
fn items_of_the_root() {
    let root = super::SMALL[1].1.to_owned() + "pub fn run() {}";
    let low = "fn f() { crate::run() } static M: u8 = crate::THIS_MODULE;";
    let order = Findings::new(&small(&[("src/lib.rs", &root), ("src/low.rs", low)])).order;
    assert_eq!(order.into_keys().collect::<Vec<_>>(), ["small: low.rs -> the root"]);
}

#[test]
fn messages_name_the_place_and_the_remedy() {
    let order = Findings::new(&small(&[("src/low.rs", "\n\nuse crate::{\n    up::X,\n};")])).order;
    let message = "src/low.rs:4: use crate::up::X: low stands below up: move what it names down, \
                   or this code up";
    assert_eq!(order[UP], message);
}

/// The files of modules are found by the rules of rustc.
#[test]
fn files_of_modules() {
    let low = [
        (
            "src/low/mod.rs",
            "mod deep; #[path = \"elsewhere/other.rs\"] mod moved; mod here { mod inside; }",
        ),
        ("src/low/deep.rs", "mod deeper;"),
        ("src/low/deep/deeper.rs", "use crate::up::X;"),
        ("src/low/elsewhere/other.rs", "mod beside;"),
        ("src/low/elsewhere/beside.rs", "use crate::up::X;"),
        ("src/low/here/inside.rs", "use crate::up::X;"),
    ];
    let mut files = small(&low);
    files.remove("src/low.rs");
    let expected = ["low/deep/deeper.rs", "low/elsewhere/beside.rs", "low/here/inside.rs"];
    let expected = expected.map(|file| format!("small: {file} -> up"));
    assert_eq!(Findings::new(&files).order.into_keys().collect::<Vec<_>>(), expected);
}

/// A crate may name the rooms of another one that it uses.
#[test]
fn rooms_of_other_crates() {
    let user = |head: &str, code: &str| {
        let text = format!(
            "//! A user.\n//!\n{head}\n//! # Rooms, bottom first\n//!\n//! - `one`: all\n\nmod one;"
        );
        let mut files = small(&[("user/src/lib.rs", &text), ("user/src/one.rs", code)]);
        let workspace = "[workspace]\nmembers = [\n    \"user\",\n]\n[package]\nname = \"small\"\n";
        let package = "[package]\nname = \"user\"\n[dependencies]\nsmall.workspace = true\n";
        files.extend(self::files(&[("Cargo.toml", workspace), ("user/Cargo.toml", package)]));
        Findings::new(&files).order.into_keys().collect::<Vec<_>>()
    };
    let declared = "//! Of `small` it uses `base`,\n//! `door`.\n//!";
    let up = ["user: one.rs -> small::up"];
    assert_eq!(user(declared, "use small::up::X;"), up);
    assert_eq!(user(declared, "use small::Shown;"), up);
    assert_eq!(user(declared, "fn f() { small::door::X::new() }"), up);
    assert!(user(declared, "use small::{base::Base, door};").is_empty());
    assert!(user("//!", "use small::up::X;").is_empty());
}

/// The order also applies to crates that Kbuild compiles.
#[test]
fn kernel_modules() {
    let text = "//! A module.\n//!\n//! # Rooms, bottom first\n//!\n//! - `low`: below\n//! - \
                `up`: above\n\nmod low;\nmod up;\n";
    for (name, main) in KBUILD {
        let folder = &main[..=main.rfind('/').unwrap()];
        let (low, up) = (format!("{folder}low.rs"), format!("{folder}up.rs"));
        let parts = [
            (main, text),
            (low.as_str(), "use crate::up::X; pub struct Low;"),
            (up.as_str(), "pub struct X(crate::low::Low);"),
        ];
        let findings = Findings::new(&small(&parts));
        assert_eq!(findings.order.keys().collect::<Vec<_>>(), [&format!("{name}: low.rs -> up")]);
        assert_eq!(findings.circles.keys().collect::<Vec<_>>(), [&format!("{name}: low.rs up.rs")]);
        assert_eq!(findings.all().len(), 2, "both are said");
    }
}
