//! The storage engines of others (`docs/results/engines.md`): the results of each target, with
//! exact counts; the canaries; and the bugs that were found, which replay.

#[cfg(feature = "engines")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "engines")]
mod engines;

/// Without the feature there is nothing to test, which may not go unnoticed where everything is
/// tested.
#[cfg(not(feature = "engines"))]
#[test]
#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
fn the_engines_are_built() {
    let how = "the engines are not built: use cargo test --features engines";
    assert!(std::env::var_os("CI").is_none(), "{how}");
    eprintln!("SKIP {how}");
}
