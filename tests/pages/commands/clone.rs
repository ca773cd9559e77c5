//! A folder that looks like a clone of the project after a build.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process;

use tempfile::TempDir;

use super::{Ended, root};
use crate::common::{program, ran};

/// The folders that a build creates. They are not linked: this folder has its own.
const NOT_LINKED: [&str; 3] = ["target", "explode-runs", ".git"];

/// A substitute for cargo. Everything that it would build is built.
const CARGO: &str = r#"#!/bin/sh
all="$*"
case $all in build | "build --examples" | "build --bins --examples") exit 0 ;; esac
test "$1" = run && shift
while test $# -gt 0; do
    case $1 in
    -q) shift ;;
    --features) test "$2" = engines || break; shift 2 ;;
    --profile) grep -qF "[profile.$2]" Cargo.toml || break; shift 2 ;;
    --example) example=$2; shift 2; exec "target/debug/examples/$example" "$@" ;;
    --) shift; exec explode "$@" ;;
    *) break ;;
    esac
done
echo "this test does not know: cargo $all" >&2
exit 99
"#;

/// The folder, and the programs of a page beside it.
pub struct Clone {
    all: TempDir,
}

impl Clone {
    pub fn new() -> Clone {
        let clone = Clone { all: tempfile::tempdir().unwrap() };
        let (folder, bin) = (clone.folder(), clone.bin());
        fs::create_dir_all(folder.join("target/debug")).unwrap();
        fs::create_dir(&bin).unwrap();
        for entry in fs::read_dir(root()).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().into_string().unwrap();
            if !NOT_LINKED.contains(&name.as_str()) {
                symlink(entry.path(), folder.join(name)).unwrap();
            }
        }
        let examples = Path::new(program()).parent().unwrap().join("examples");
        let notes = examples.join("notes");
        assert!(notes.is_file(), "build the examples: cargo build --examples");
        symlink(&examples, folder.join("target/debug/examples")).unwrap();
        symlink(program(), folder.join("target/debug/explode")).unwrap();
        symlink(program(), bin.join("explode")).unwrap();
        symlink(notes, bin.join("notes")).unwrap();
        let cargo = bin.join("cargo");
        fs::write(&cargo, CARGO).unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        clone
    }

    pub fn folder(&self) -> PathBuf {
        self.all.path().join("explode")
    }

    fn bin(&self) -> PathBuf {
        self.all.path().join("bin")
    }

    /// Runs commands in one shell, each even if the one before has failed.
    pub fn run(&self, commands: &[&str]) -> Vec<Ended> {
        let end = format!("{}/end", self.all.path().display());
        let quoted = |command: &&str| format!("'{}'", command.replace('\'', r"'\''"));
        let line = |command: &&str| format!("eval {}\necho \"{end} $?\"\n", quoted(command));
        let script: String = commands.iter().map(line).collect();
        let path = format!("{}:{}", self.bin().display(), std::env::var("PATH").unwrap());
        let mut shell = process::Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n{script}")]);
        let said = ran(shell.current_dir(self.folder()).env("PATH", path)).out;
        let mark = format!("{end} ");
        let mut parts = said.split(&mark);
        let mut out = parts.next().unwrap().to_owned();
        let mut ended = Vec::new();
        for part in parts {
            let (code, next) = part.split_once('\n').unwrap();
            ended.push(Ended { code: code.parse().unwrap(), out });
            out = next.to_owned();
        }
        assert_eq!(ended.len(), commands.len(), "{script}\n{said}");
        ended
    }
}
