//! Broken rules for single files are reported.

use crate::promises::problems;
use crate::workspace::Files;

use super::files;

const COMPONENT: &str = "explode-runtime/src/stack/component.rs";

/// Returns a workspace that keeps all rules except in these files.
fn with(parts: &[(&str, &str)]) -> Files {
    let mut all = files(&[
        ("ekm-kmod/ekm.rs", ""),
        ("ramdisk/kmod/rdd.rs", ""),
        ("explode-runtime/src/judge/mod.rs", "pub fn judge() {}\n"),
        (
            COMPONENT,
            "pub trait Component: Send \
             { fn init(&mut self) { let f: fn() = g; f() } fn mount(&mut self); }",
        ),
        ("explode-runtime/src/check/checker.rs", "pub trait Checker {}"),
    ]);
    all.extend(files(parts));
    all
}

#[test]
fn promises_that_hold() {
    assert!(problems(&with(&[])).is_empty());
    let eight = format!("pub trait Component {{ {} }} fn other() {{}}", "fn f(&self) {}".repeat(8));
    let long = "fn f() {}\n".repeat(149);
    assert!(
        problems(&with(&[(COMPONENT, &eight), ("explode-runtime/src/judge/mod.rs", &long)]))
            .is_empty()
    );
}

#[test]
fn promises_that_do_not_hold() {
    let nine = format!("pub trait Component {{ {} }}", "fn f(&self) {}".repeat(9));
    let ten = format!("pub trait Checker {{ {} }}", "fn f(&self);".repeat(10));
    let long = "fn f() {}\n".repeat(150);
    let (judge, checker) =
        ("explode-runtime/src/judge/mod.rs", "explode-runtime/src/check/checker.rs");
    for (path, text, expected) in [
        (COMPONENT, nine.as_str(), "trait Component has 9 methods: it may have 8"),
        (checker, ten.as_str(), "trait Checker has 10 methods: it may have 9"),
        (checker, "", "trait Checker is not there: name its file in METHODS"),
        (judge, long.as_str(), "150 lines: it has some, and fewer than 150"),
        (judge, "", "0 lines: it has some, and fewer than 150"),
    ] {
        assert_eq!(problems(&with(&[(path, text)])), [format!("{path}: {expected}")]);
    }
}

#[test]
fn a_cell_where_code_borrows() {
    let text = "use std::cell::RefCell;\n";
    for (path, is_wrong) in [
        ("explode-runtime/src/worker/probe/mod.rs", true),
        ("explode-runtime/src/unit/driver.rs", true),
        ("explode-runtime/src/unit/runner.rs", false),
        ("explode-runtime/src/choose/lend.rs", false),
    ] {
        let expected =
            format!("{path}:1: a RefCell: only the cache of chopped states may be one here");
        let expected = if is_wrong { vec![expected] } else { Vec::new() };
        assert_eq!(problems(&with(&[(path, text)])), expected);
    }
    let tests = "#[cfg(test)] mod tests { use std::cell::RefCell; }";
    assert!(problems(&with(&[("explode-runtime/src/unit/driver.rs", tests)])).is_empty());
}

/// A Kbuild tree that is not at tidy's path would be skipped silently.
#[test]
fn a_kernel_module_that_is_not_there() {
    for (name, main) in [("ekm", "ekm-kmod/ekm.rs"), ("rdd", "ramdisk/kmod/rdd.rs")] {
        let mut files = with(&[]);
        files.remove(main);
        let expected =
            format!("{main}: the main file of {name} is not there: name its place in KBUILD");
        assert_eq!(problems(&files), [expected]);
    }
}
