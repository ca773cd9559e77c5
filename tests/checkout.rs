//! `scripts/checkout`: a command runs in a checkout that is kept, with the files of the commit and
//! no others.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::tempdir;

use common::unsupported::unsupported;

const SCRIPT: &str = include_str!("../scripts/checkout");

/// A clone with the script, and an empty cache folder.
struct Clone<'a> {
    folder: &'a Path,
}

impl Clone<'_> {
    fn new(folder: &Path) -> Clone<'_> {
        let clone = Clone { folder };
        clone.git(&["init", "--quiet", "clone"], folder);
        fs::create_dir(clone.path("clone/scripts")).unwrap();
        fs::write(clone.path("clone/scripts/checkout"), SCRIPT).unwrap();
        fs::write(clone.path("clone/unchanged"), "same").unwrap();
        fs::write(clone.path("clone/changed"), "old").unwrap();
        fs::write(clone.path("clone/removed"), "old").unwrap();
        clone.commit();
        clone
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.join(name)
    }

    fn kept(&self, name: &str) -> std::path::PathBuf {
        self.path("cache/explode/checkout").join(name)
    }

    fn git(&self, args: &[&str], folder: &Path) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(folder);
        assert!(git.status().expect("git runs").success(), "git {args:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"], &self.path("clone"));
        self.git(&["commit", "--quiet", "--message", "a"], &self.path("clone"));
    }

    /// Runs a shell command by the script.
    fn run(&self, command: &str) -> Output {
        let mut run = Command::new("bash");
        run.args(["scripts/checkout", "bash", "-c", command]);
        run.current_dir(self.path("clone")).env("XDG_CACHE_HOME", self.path("cache"));
        run.env_remove("EXPLODE_CHECKOUT");
        run.output().expect("bash runs")
    }

    /// Returns the folder in which a command runs, and the line of the script.
    fn folder_of_command(&self) -> (String, String) {
        let Output { stdout, stderr, .. } = self.run("pwd");
        let text = |bytes| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        (text(stdout), text(stderr))
    }

    fn runs_in_the_clone(&self, reason: &str) {
        let (folder, line) = self.folder_of_command();
        assert_eq!(Path::new(&folder), self.path("clone").canonicalize().unwrap());
        assert!(line.contains(reason), "{line}");
    }
}

#[test]
fn a_commit_replaces_the_changed_files_only() {
    let folder = tempdir().unwrap();
    let clone = Clone::new(folder.path());
    let (at, line) = clone.folder_of_command();
    if line.contains("GiB are free") {
        return unsupported(&line);
    }
    assert_eq!(Path::new(&at), clone.kept("").canonicalize().unwrap());

    // Files that are not of the commit, and the target folder.
    fs::create_dir(clone.kept("target")).unwrap();
    fs::write(clone.kept("target/built"), "").unwrap();
    fs::write(clone.kept("left"), "").unwrap();
    fs::write(clone.kept("changed"), "by a test").unwrap();
    let modified = || fs::metadata(clone.kept("unchanged")).unwrap().modified().unwrap();
    let before = modified();

    fs::write(clone.path("clone/changed"), "new").unwrap();
    fs::remove_file(clone.path("clone/removed")).unwrap();
    clone.commit();
    let ran = clone.run("cat unchanged changed; ls; exit 3");
    assert_eq!(
        String::from_utf8(ran.stdout).unwrap(),
        "samenewchanged\nscripts\ntarget\nunchanged\n"
    );
    assert_eq!(ran.status.code(), Some(3));
    assert!(clone.kept("target/built").exists());
    assert_eq!(modified(), before);
}

#[test]
fn without_the_checkout_the_command_runs_in_the_clone() {
    let folder = tempdir().unwrap();
    let clone = Clone::new(folder.path());
    let (_, line) = clone.folder_of_command();
    if line.contains("GiB are free") {
        return unsupported(&line);
    }
    let nested = "bash scripts/checkout pwd";
    let ran = clone.run(&format!("cd '{}' && {nested}", clone.path("clone").display()));
    let lines = String::from_utf8(ran.stderr).unwrap();
    assert!(lines.contains("another run uses"), "{lines}");

    fs::write(clone.path("clone/changed"), "not committed").unwrap();
    clone.runs_in_the_clone("has uncommitted changes, or is no git clone");
    clone.commit();
    fs::remove_dir_all(clone.path("clone/.git")).unwrap();
    clone.runs_in_the_clone("has uncommitted changes, or is no git clone");
}
