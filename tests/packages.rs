//! The packages of the workspace: they can be made, and contain the files that the program embeds.
//! `scripts/long/packages` builds explode from them.

mod common;

use std::process::Command;

use common::{explode, ran};

/// The version of all crates.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn every_crate_can_be_packaged() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["package", "--workspace", "--no-verify", "--offline", "--allow-dirty", "--quiet"];
    let mut cargo = Command::new(env!("CARGO"));
    ran(cargo.args(args).arg("--target-dir").arg(folder.path())).expect(0);

    let files = |package: &str| {
        let package = folder.path().join(format!("package/{package}-{VERSION}.crate"));
        ran(Command::new("tar").arg("-tf").arg(package)).expect(0).out
    };
    let program = files("explode-check");
    assert!(program.contains("/README.md") && program.contains("/src/main.rs"), "{program}");
    assert!(!program.contains("/tests/"), "{program}");
    let modules = [("explode-ekm", "/ekm.rs"), ("explode-ekm-abi", "/src/wire.rs")];
    for (package, file) in modules.into_iter().chain([("explode-ramdisk", "/kmod/rdd.rs")]) {
        assert!(files(package).contains(file), "{package} has no {file}");
    }
}

#[test]
fn completions_know_the_names() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = explode(["completions", shell]).expect(0).out;
        // The other scripts do not complete values of arguments.
        let has_values = matches!(shell, "bash" | "zsh");
        let values = ["sqlite-off", "fs-sync", "ext4"].into_iter().filter(|_| has_values);
        for name in values.chain(["crash-disks", "require-complete"]) {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let words = "source <(\"$EXPLODE\" completions bash); COMP_WORDS=(explode run sqlite-of); \
                 COMP_CWORD=2; _explode explode sqlite-of run; echo ${COMPREPLY[*]}";
    let mut bash = Command::new("bash");
    let ran = ran(bash.args(["-c", words]).env("EXPLODE", env!("CARGO_BIN_EXE_explode")));
    assert_eq!(ran.expect(0).out, "sqlite-off sqlite-off-wal\n");
    explode(["completions", "tcsh"]).refused(&["invalid value 'tcsh'", "possible values"]);
}
