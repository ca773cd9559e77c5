//! Guests that cannot start, and guests that are lost: the error is reported, and no process goes
//! on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::common::processes::Mark;
use crate::common::{explode, file, guest, program, ran};
use crate::traces::trace;

/// The command that asks for a guest and has no other fault.
const RUN: &str = "run fs-sync --stack ext2 --depth 1 --out run";

/// The program in a separate folder, with a separate environment.
struct Bench {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempdir().unwrap(), variables: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: impl AsRef<Path>) -> Bench {
        self.variables.push((name, value.as_ref().display().to_string()));
        self
    }

    /// Puts a script with the name of QEMU first on the path.
    fn with_qemu(self, script: &str) -> Bench {
        let bin = self.folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let qemu = file(&bin, "qemu-system-x86_64", format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        self.with("PATH", format!("{}:{path}", bin.display()))
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(program());
        command.args(args.split_whitespace()).current_dir(self.folder.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Expects this exit code, no standard output, one error with these words, no run folder, and
    /// no process left.
    #[track_caller]
    fn fails(&self, args: &str, code: i32, words: &[&str]) {
        let mark = Mark::of(self.folder.path());
        let ran = ran(mark.put(&mut self.command(args))).expect(code);
        assert_eq!(ran.out, "", "{ran:#?}");
        let error = ran.err.find("error: ").unwrap_or_else(|| panic!("{ran:#?}"));
        for word in words {
            assert!(ran.err[error..].contains(word), "'{word}' is not in {ran:#?}");
        }
        assert!(!self.folder.path().join("run").exists(), "nothing was made");
        mark.nothing_left();
    }
}

#[test]
fn parts_of_a_stack_are_suggested() {
    let bench = Bench::new();
    let refused = |args: &str, words: &[&str]| bench.fails(args, 2, words);
    refused("run fs-sync --stack ext", &["unknown component 'ext'", "did you mean 'ext2'?"]);
    refused(
        "run fs-sync-ext4 --stack ext2",
        &["unknown checker 'fs-sync-ext4'", "did you mean 'fs-sync'?"],
    );
    refused("run fs-sync --stack ext2 --in guest", &["'guest'", "mem, vm, here"]);
    refused(
        "run fs-sync --stack simfiles --in vm",
        &["'simfiles'", "cannot run in vm", "--in mem"],
    );
    refused(
        "run fs-sync --stack simfiles --in here",
        &["'simfiles'", "cannot run in here", "--in mem"],
    );
    for malformed in ["ext2", "ext2.fsck", "fsck=true", "=", ""] {
        refused(&format!("{RUN} --set={malformed}"), &[malformed, "COMPONENT.KEY=VALUE"]);
    }
    let set = |setting: &str, words: &[&str]| refused(&format!("{RUN} --set {setting}"), words);
    set("ext3.fsck=true", &["unknown component of the stack 'ext3'", "did you mean 'ext2'?"]);
    set("ext4.fsck=true", &["unknown component of the stack 'ext4'"]);
    set(
        "ext2.blocksize=1024",
        &["unknown option of ext2 'blocksize'", "did you mean 'block_size'?"],
    );
    set("ext2.block_size=1000", &["block_size of 1000", "1024, 2048 or 4096"]);
    set("ext2.fsck=perhaps", &["'fsck'", "true or false", "'perhaps'"]);
    set("ext2.driver=ext5", &["'ext5'", "ext2"]);
    set("ramdisk.sectors=7", &["7 sectors", "multiple of 8"]);
}

#[test]
fn in_process_there_is_no_kernel() {
    Bench::new().fails(
        &format!("{RUN} --in mem"),
        3,
        &["'ext2' needs a kernel", "--in vm or --in here"],
    );
    Bench::new().fails("run fs-sync-ext4 --in mem", 3, &["'ext4' needs a kernel"]);
}

#[test]
fn here_needs_the_modules() {
    if Path::new("/dev/rdd-control").exists() {
        return;
    }
    let words = [
        "/dev/rdd-control is not there",
        "load the modules rdd and ekm",
        "explode vm build",
        "--in vm",
    ];
    Bench::new().fails(&format!("{RUN} --in here"), 3, &words);
    let bench = Bench::new();
    let mut trace: Value = serde_json::from_str(trace()).unwrap();
    trace["in"] = json!("here");
    trace["stack"] = json!([
        {"name": "ramdisk", "use": "ramdisk"},
        {"name": "ext4", "use": "ext4", "children": ["ramdisk"]},
    ]);
    file(bench.folder.path(), "here.json", trace.to_string());
    bench.fails("replay here.json", 3, &[&["here.json: "], &words[..]].concat());
}

/// A faulty trace is refused before a guest is booted for it.
#[test]
fn a_trace_is_looked_at_before_its_guest() {
    let bench = Bench::new().with("PATH", "/nonexistent");
    let mut trace: Value = serde_json::from_str(trace()).unwrap();
    trace["in"] = json!("vm");
    file(bench.folder.path(), "vm.json", trace.to_string());
    bench.fails("replay vm.json", 2, &["vm.json: ", "'simfiles' cannot run in vm"]);
    trace["stack"][0]["use"] = json!("ramdis");
    file(bench.folder.path(), "vm.json", trace.to_string());
    bench.fails("replay vm.json", 2, &["component 'ramdis'", "did you mean 'ramdisk'?"]);
}

#[test]
fn without_qemu_nothing_is_begun() {
    let bench = Bench::new().with("PATH", "/nonexistent").with("XDG_CACHE_HOME", "/dev/null");
    for args in [RUN, "vm build", "vm shell"] {
        bench.fails(
            args,
            3,
            &["qemu-system-x86_64 is not there", "apt-get install qemu-system-x86"],
        );
    }
    let doctor = ran(bench.command("doctor").env_remove("XDG_CACHE_HOME")).expect(3);
    assert!(doctor.out.contains("MISSING QEMU "), "{doctor:#?}");
    assert!(doctor.out.contains(" apt-get install qemu-system-x86\n"), "{doctor:#?}");
}

#[test]
fn a_kernel_tree_is_configured_and_built() {
    let tree = tempdir().unwrap();
    let folder = tree.path().display();
    let by_option = |words: &[&str], code| {
        Bench::new().with_qemu("").fails(&format!("vm build --kernel {folder}"), code, words);
        Bench::new().with_qemu("").fails(&format!("vm shell --kernel {folder}"), code, words);
    };
    let by_variable = |words: &[&str], code| {
        Bench::new().with_qemu("").with("EXPLODE_KERNEL", tree.path()).fails(RUN, code, words);
    };
    let without_config =
        ["is no configured kernel tree: it has no .config", "configure and build it"];
    by_option(&without_config, 3);
    by_variable(&without_config, 3);
    let of_doctor =
        ran(Bench::new().command("doctor").env("EXPLODE_KERNEL", tree.path())).expect(3);
    assert!(of_doctor.out.contains("MISSING kernel "), "{of_doctor:#?}");
    file(tree.path(), ".config", "CONFIG_64BIT=y\n# CONFIG_RUST is not set\n");
    let without_rust =
        ["CONFIG_RUST=y (explode's kernel modules are written in Rust)", "make rustavailable"];
    by_option(&without_rust, 3);
    by_variable(&without_rust, 3);
    fs::remove_dir_all(tree.path()).unwrap();
    let absent = ["kernel tree ", " cannot be opened", "No such file"];
    by_option(&absent, 2);
    by_variable(&absent, 2);
}

#[test]
fn packages_are_names_with_versions() {
    for args in [RUN, "vm build", "doctor"] {
        let of = |packages: &str| Bench::new().with("EXPLODE_PACKAGES", packages);
        of("nonsense").fails(args, 2, &["`nonsense` is not NAME=VERSION"]);
        of("emacs=1").fails(args, 2, &["does not use the package emacs", "busybox-static"]);
    }
}

#[test]
fn the_cache_is_a_folder_that_can_be_written() {
    let homeless = Bench::new().with("XDG_CACHE_HOME", "relative").with("HOME", "");
    homeless.fails("vm build", 3, &["no folder for the cache", "set HOME or XDG_CACHE_HOME"]);
    if !guest::required() {
        return;
    }
    for (place, why) in [("/dev/null", "Not a directory"), ("/proc", "No such file or directory")] {
        let words =
            [&format!("cannot make the folder {place}/explode/"), why, "set XDG_CACHE_HOME"];
        Bench::new().with("XDG_CACHE_HOME", place).fails("vm build", 4, &words);
        Bench::new().with("XDG_CACHE_HOME", place).fails(RUN, 4, &words);
    }
}

/// If QEMU does not run a guest, its last lines are reported.
#[test]
fn a_guest_that_does_not_boot_is_reported_with_its_last_words() {
    if !guest::required() {
        return;
    }
    let words =
        ["the guest ended before its agent answered (QEMU: exit status: 7)", "no machine today"];
    Bench::new().with_qemu("echo no machine today >&2; exit 7").fails(RUN, 4, &words);
    let on_console = "for word; do case $word in file,id=console,path=*)
        echo Kernel panic >${word##*path=} ;; esac; done";
    let words = ["(QEMU: signal: 9 (SIGKILL))", "Kernel panic"];
    Bench::new().with_qemu(&format!("{on_console}; kill -9 $$")).fails(RUN, 4, &words);
    let nonsense = format!("{on_console}; echo nonsense; exec sleep 600");
    let words = ["a message cannot be decoded", "the guest was lost", "Kernel panic"];
    Bench::new().with_qemu(&nonsense).fails(RUN, 4, &words);
}

/// The guest ends with explode, even if explode is killed.
#[test]
fn a_guest_ends_with_its_killed_host() {
    if !guest::required() {
        return;
    }
    let bench = Bench::new();
    let mark = Mark::of(bench.folder.path());
    let mut command = bench.command("run fs-sync --stack ext2 --in vm --out run");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut explode = mark.put(&mut command).spawn().unwrap();
    let started = Instant::now();
    while !bench.folder.path().join("run/run.jsonl").exists() {
        assert_eq!(explode.try_wait().unwrap(), None, "it must not end by itself");
        assert!(started.elapsed() < Duration::from_secs(600), "no run begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    let running = mark.running();
    assert!(running.iter().any(|name| name.starts_with("qemu")), "{running:?}");
    explode.kill().unwrap();
    explode.wait().unwrap();
    mark.nothing_left();
}

/// Only an agent in a guest has a port to its host.
#[test]
fn an_agent_without_a_host_reports_it() {
    let ran = explode(["agent", "/nonexistent"]).expect(4);
    assert!(ran.err.starts_with("error: /nonexistent: No such file"), "{ran:#?}");
}
