//! The human output of the commands, recorded as sessions of a shell: `*.trycmd`. Each command
//! follows `$`. Then come its exit code after `?` if it is not 0, and its output.
//!
//! `TRYCMD=overwrite cargo test --features engines --test output` writes the present output. `[..]`
//! in a session matches any text: times, folders, versions. A session with folders `.in` and `.out`
//! begins with the files of the first, in a separate folder.

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
