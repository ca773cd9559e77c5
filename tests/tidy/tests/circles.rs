//! Circles of files and of crates are reported.

use crate::check::Findings;

use super::{files, small};

/// Returns the circles if the room `low` is a folder with these files.
fn circles(parts: &[(&str, &str)]) -> Vec<String> {
    let mut files = small(parts);
    files.remove("src/low.rs");
    Findings::new(&files).circles.into_keys().collect()
}

#[test]
fn files_that_use_each_other() {
    let sides = ["small: low/a.rs low/b.rs"];
    let doors = "mod a; mod b; pub use a::A; pub(crate) use b::*;";
    for (module, a, b) in [
        ("mod a; mod b;", "use super::b::B; pub struct A;", "use super::a::A; pub struct B;"),
        (doors, "use super::B; pub struct A;", "use crate::low::A; pub struct B;"),
        (doors, "use crate::low::*; pub struct A(B);", "fn f() { super::A::new() } pub struct B;"),
        (
            "mod a; mod b;",
            "pub const A: u8 = super::b::B;",
            "use super::a; pub const B: u8 = a::A;",
        ),
        (
            "mod a; mod b;",
            "macro_rules! a { () => {} } use super::b::B;",
            "pub struct B; fn f() { a!() }",
        ),
    ] {
        let parts = [("src/low/mod.rs", module), ("src/low/a.rs", a), ("src/low/b.rs", b)];
        assert_eq!(circles(&parts), sides, "{module} {a} {b}");
    }
}

#[test]
fn a_parent_and_its_child() {
    let expected = ["small: low/a.rs low/mod.rs"];
    for (module, a) in [
        ("mod a; pub struct P; fn f() { a::g() }", "use super::P; pub fn g() {}"),
        ("mod a; pub use a::g; pub struct P; fn f() { g() }", "use super::P; pub fn g() {}"),
        ("mod a; pub use a::A; pub struct P(A);", "use super::P; pub struct A;"),
        ("mod a; use a::A; pub struct P;", "pub struct A(super::P);"),
    ] {
        assert_eq!(
            circles(&[("src/low/mod.rs", module), ("src/low/a.rs", a)]),
            expected,
            "{module} {a}"
        );
    }
}

#[test]
fn no_circle() {
    for (module, a, b) in [
        (
            "mod a; mod b; pub use a::A; pub use b::B;",
            "use super::B; pub struct A;",
            "pub struct B;",
        ),
        ("mod a; mod b; pub struct P;", "use super::P;", "use super::a; pub struct B;"),
        (
            "mod a; mod b;",
            "use super::b::B; pub struct A;",
            "#[cfg(test)] use super::a::A; pub struct B;",
        ),
        (
            "mod a; mod b; use a::A;",
            "use super::b::B; pub struct A;",
            "pub use super::a::A; pub struct B;",
        ),
        ("mod a; mod b; pub use a::g; fn f(g: u8) { g }", "pub fn g() {}", "use super::a::g;"),
    ] {
        let parts = [("src/low/mod.rs", module), ("src/low/a.rs", a), ("src/low/b.rs", b)];
        assert!(circles(&parts).is_empty(), "{module} {a} {b}");
    }
}

/// A path continues after a module, not after a function of the same name.
#[test]
fn a_function_with_the_name_of_a_module() {
    for (module, b, c) in [
        ("pub fn a() { b::g() }", "use super::a::A; pub fn g() {}", ""),
        ("use a as k; pub fn k() { b::g() }", "use super::k::A; pub fn g() {}", ""),
        ("pub use c::h as a;", "use super::a::A; pub fn g() {}", "pub fn h() { super::b::g() }"),
    ] {
        let module = format!("mod a; mod b; mod c; {module}");
        let a = ("src/low/a.rs", "pub struct A;");
        let parts = [("src/low/mod.rs", &*module), a, ("src/low/b.rs", b), ("src/low/c.rs", c)];
        assert!(circles(&parts).is_empty(), "{module} {b} {c}");
    }
}

/// A field or a method may have the name of an item.
#[test]
fn methods_with_the_name_of_a_function() {
    let module = "mod a; pub use a::g; pub struct P; fn f(p: P) { p.g(); (p.g)(); 0..p.g() }";
    let parts = [("src/low/mod.rs", module), ("src/low/a.rs", "use super::P; pub fn g() {}")];
    assert!(circles(&parts).is_empty());
}

#[test]
fn the_shortest_way_is_shown() {
    let low = [
        ("src/low/mod.rs", "mod a;\nmod b;"),
        ("src/low/a.rs", "use super::b::B;\npub struct A;"),
        ("src/low/b.rs", "pub struct B;\nfn f() { super::a::A }"),
    ];
    let mut files = small(&low);
    files.remove("src/low.rs");
    let expected = [
        "src/low/a.rs:1: use super::b::B, defined in src/low/b.rs",
        "src/low/b.rs:2: super::a::A, defined in src/low/a.rs",
    ];
    assert_eq!(Findings::new(&files).circles["small: low/a.rs low/b.rs"].way, expected);
}

#[test]
fn crates_that_depend_on_each_other() {
    let head = "//! # Rooms, bottom first\n";
    let problems = |one: &str, two: &str| {
        let one = format!("[package]\nname = \"one-crate\"\n{one}");
        let two = format!("[package]\nname = \"two\"\n{two}");
        let files = files(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\n"),
            ("one/Cargo.toml", &one),
            ("one/src/lib.rs", head),
            ("two/Cargo.toml", &two),
            ("two/src/lib.rs", head),
        ]);
        Findings::new(&files).problems
    };
    let one = "[dependencies]\ntwo.workspace = true\n";
    let expected =
        "a circle of crates:\n    one-crate depends on two\n    two depends on one-crate";
    for two in [
        "[dependencies]\none-crate = { path = \"../one\" }\n",
        "[dependencies.one-crate]\npath = \"../one\"\n",
        "[dependencies]\nuno = { path = \"../one\", package = \"one-crate\" }\n",
        "[build-dependencies]\none-crate.workspace = true\n",
        "[target.'cfg(unix)'.dependencies]\none-crate.workspace = true\n",
    ] {
        assert_eq!(problems(one, two), [expected], "{two}");
    }
    assert!(problems(one, "[dev-dependencies]\none-crate.workspace = true\n").is_empty());
    assert!(problems(one, "").is_empty());
}
