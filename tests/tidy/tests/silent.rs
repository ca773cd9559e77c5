//! Code that only looks like an upward use is not reported.

use crate::check::Findings;

use super::{small, upward_in_low};

#[test]
fn comments_and_strings() {
    for text in [
        "// use crate::up::X;",
        "/* use crate::up::X; */",
        "/* /* */ use crate::up::X; */",
        "//! Uses [`crate::up::X`].",
        "/// Uses [`crate::up::X`].\nfn f() {}",
        "/** Uses [`crate::up::X`]. */ fn f() {}",
        "const TEXT: &str = \"use crate::up::X;\";",
        "const TEXT: &str = \"\\\"; use crate::up::X;\";",
        "const TEXT: &str = r\"use crate::up::X;\";",
        "const TEXT: &str = r#\"\"; use crate::up::X;\"#;",
        "const TEXT: &[u8] = b\"use crate::up::X;\";",
        "fn f() { print!(\"crate::up::x()\") }",
    ] {
        assert!(upward_in_low(text).is_empty(), "{text}");
    }
}

#[test]
fn test_code() {
    for text in [
        "#[cfg(test)] use crate::up::X;",
        "#[cfg(test)] mod tests { use crate::up::X; }",
        "#[cfg(test)] mod tests;",
        "#[allow(unused)] #[cfg(test)] #[path = \"low/tests.rs\"] pub(crate) mod other;",
        "#[cfg(all(test, unix))] mod tests;",
        "#[cfg(test)] fn f<A, B>(_: [u8; 2]) -> u8 { crate::up::x() }",
        "#[cfg(test)] const fn f() { crate::up::x() }",
        "#[cfg(test)] const X: crate::up::X = { crate::up::X };",
        "#[cfg(test)] impl From<crate::up::X> for u8 { fn f() { crate::up::x() } }",
        "#[cfg(test)] pub(crate) struct S(crate::up::X);",
        "struct S { #[cfg(test)] field: crate::up::X, other: u8 }",
        "enum E { #[cfg(test)] One(crate::up::X), Two }",
        "fn f() { #[cfg(test)] crate::up::x(); }",
        "fn f() { #[cfg(test)] let x = [crate::up::x(), 1]; }",
        "fn f() { match 1 { #[cfg(test)] 1 => { crate::up::x() } _ => {} } }",
        "#[test] fn f() { crate::up::x() }",
        "#![cfg(test)] use crate::up::X;",
    ] {
        let files = small(&[("src/low.rs", text), ("src/low/tests.rs", "use crate::up::X;")]);
        assert!(Findings::new(&files).order.is_empty(), "{text}");
    }
}

/// Code after test code counts again.
#[test]
fn code_behind_test_code() {
    for text in [
        "#[cfg(test)] use crate::base::{Base}; use crate::up::X;",
        "#[cfg(test)] mod tests { } use crate::up::X;",
        "struct S { #[cfg(test)] field: u8, other: crate::up::X }",
        "fn f() { #[cfg(test)] let x = 1; crate::up::x(); }",
        "fn f() { match 1 { #[cfg(test)] 1 => {} _ => crate::up::x() } }",
        "#[cfg(test)] #[path = \"low/tests.rs\"] mod tests; mod inner { use crate::up::X; }",
    ] {
        assert_eq!(upward_in_low(text).len(), 1, "{text}");
    }
}

/// Names of other things: of other crates, of fields and methods, of local items.
#[test]
fn other_names() {
    for text in [
        "use std::up::X;",
        "use crate::base::Base;",
        "fn f(s: S) { s.note; s.up::<u8>(); s.x() }",
        "fn up() {} fn f() { up() }",
        "mod up { pub fn x() {} } fn f() { up::x() }",
        "macro_rules! note { () => {} } fn f() { note!() }",
        "fn f<T: Up>() { T::up() }",
        "fn f() -> impl Iterator + use<> {}",
        "struct X; fn f() -> X { X }",
        "pub(in crate::low) fn f(a: u8) -> bool { a != (1) }",
    ] {
        assert!(upward_in_low(text).is_empty(), "{text}");
    }
}

/// The root may use all rooms, and a room those below it.
#[test]
fn downward_uses() {
    assert!(Findings::new(&small(&[])).order.is_empty());
    let door = "use crate::{low, up::*, base::Base}; fn f() { crate::note!() }";
    assert!(Findings::new(&small(&[("src/door.rs", door)])).order.is_empty());
}
