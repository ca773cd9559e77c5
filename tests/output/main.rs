//! What the commands print for a person, kept as sessions of a shell: `*.trycmd`, each command
//! after `$`, then its exit code after `?` if it is not 0, then its output.
//!
//! `TRYCMD=overwrite cargo test --features engines --test output` writes what is printed now. Where
//! a session has `[..]`, anything may stand: times, folders, versions. A session with folders `.in`
//! and `.out` begins with the files of the first, in a folder of its own.

mod bugs;
#[path = "../common/mod.rs"]
mod common;

#[test]
fn sessions() {
    let cases = trycmd::TestCases::new();
    cases.insert_var("[EXPLODE]", common::program()).expect("it is a name in brackets");
    cases
        .register_bin("explode", std::path::Path::new(common::program()))
        .env("NO_COLOR", "1")
        .case("tests/output/*.trycmd");
}
