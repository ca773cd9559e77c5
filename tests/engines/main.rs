//! Storage engines of third parties (`docs/results/engines.md`): the exact counts of each target,
//! the canaries, and replays of the bugs that were found.

#[cfg(feature = "engines")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "engines")]
mod engines;

/// Without the feature there is nothing to test. In CI, where everything must be tested, that is a
/// failure.
#[cfg(not(feature = "engines"))]
#[test]
#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
fn the_engines_are_built() {
    let how = "the engines are not built: use cargo test --features engines";
    assert!(std::env::var_os("CI").is_none(), "{how}");
    eprintln!("SKIP {how}");
}
