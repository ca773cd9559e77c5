//! A user's kernel tree for guests: builds that fail or are interrupted, and a kernel that is older
//! than its sources.

use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::processes::Mark;
use crate::common::{guest, ran};
use crate::kernel_tree::{HEADER, SOURCE, Tree};

const RUN: &str = "run fs-sync --stack ext2 --depth 1 --out run";

/// The compiler reports an error in the middle of other output, as with parallel jobs.
const FAILING: &str = "@for i in $$(seq 60); do echo \"  CC      fs/before$$i.o\"; done; \
    gcc -fsyntax-only $(CURDIR)/broken.c; code=$$?; \
    for i in $$(seq 60); do echo \"  CC      fs/after$$i.o\"; done; exit $$code";

const BROKEN: &str = "int broken(void)\n{\n\treturn missing;\n}\n";

#[test]
fn a_build_that_fails_runs_once_and_names_the_cause() {
    if !guest::required() {
        return;
    }
    for args in [RUN, "run fs-sync --stack ext2 --jobs 2 --out run", "vm build"] {
        let tree = Tree::new(FAILING);
        tree.write("broken.c", BROKEN, 10);
        let ran = ran(&mut tree.explode(args)).expect(4);
        assert_eq!(tree.starts(), 1, "{args}: {ran:#?}");
        let error =
            &ran.err[ran.err.find("error: make failed").unwrap_or_else(|| panic!("{ran:#?}"))..];
        // Further lines of an error are indented.
        let lines: Vec<&str> =
            error.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        assert_eq!(lines[0], "error: make failed (exit status: 2); its errors:", "{ran:#?}");
        let words = [
            "/broken.c: In function 'broken':",
            "/broken.c:3:16: error: 'missing' undeclared",
            "return missing;",
            "^~~~~~~",
        ];
        for (line, word) in lines[1..].iter().zip(words) {
            assert!(line.contains(word), "'{word}' is not in '{line}': {ran:#?}");
        }
        assert!(!error.contains("fs/before59.o") && !error.contains("fs/after10.o"), "{ran:#?}");
        let log = lines
            .last()
            .unwrap()
            .strip_prefix("all its output is in ")
            .unwrap_or_else(|| panic!("{ran:#?}"));
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("fs/before1.o") && log.contains("fs/after60.o"), "{log}");
        assert!(!tree.folder().with_file_name("run").exists(), "no run has begun");
    }
}

#[test]
fn ctrl_c_ends_a_build() {
    if !guest::required() {
        return;
    }
    // A terminal sends the signal to all processes of the group, a script to one.
    for (args, to_group) in [(RUN, true), (RUN, false), ("vm build", true), ("vm build", false)] {
        let tree = Tree::new("sleep 600");
        let folder = tree.folder();
        let mark = Mark::of(&folder);
        let mut command = tree.explode(args);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut explode = mark.put(&mut command).spawn().unwrap();
        let started = Instant::now();
        while tree.starts() == 0 {
            assert_eq!(explode.try_wait().unwrap(), None, "it must not end by itself");
            assert!(started.elapsed() < Duration::from_secs(120), "nothing is built");
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = explode.id().cast_signed();
        kill(Pid::from_raw(if to_group { -process } else { process }), Signal::SIGINT).unwrap();
        let interrupted = Instant::now();
        while explode.try_wait().unwrap().is_none()
            && interrupted.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Does nothing if the process has ended.
        explode.kill().unwrap();
        let status = explode.wait().unwrap();
        mark.nothing_left();
        assert_eq!(
            status.signal(),
            Some(Signal::SIGINT as i32),
            "{args}, to the group: {to_group}"
        );
        assert_eq!(tree.starts(), 1, "{args}, to the group: {to_group}");
        assert!(!tree.folder().with_file_name("run").exists(), "no run has begun");
    }
}

#[test]
fn a_kernel_that_is_older_than_its_sources_is_refused() {
    if !guest::required() {
        return;
    }
    let refused = |tree: &Tree, name: &str| {
        let words = [
            " is older than its sources",
            name,
            "; run make in ",
            &tree.folder().display().to_string(),
        ];
        for args in [RUN, "vm build"] {
            let ran = ran(&mut tree.explode(args)).expect(3);
            words
                .iter()
                .for_each(|word| assert!(ran.err.contains(word), "'{word}' is not in {ran:#?}"));
        }
        let doctor = ran(&mut tree.explode("doctor")).expect(3);
        assert!(doctor.out.contains("MISSING kernel ") && doctor.out.contains(name), "{doctor:#?}");
        assert_eq!(tree.starts(), 0, "nothing is built for it");
    };
    for name in [SOURCE, HEADER] {
        let tree = Tree::new("exit 1");
        tree.write(name, "changed", 40);
        refused(&tree, name);
        tree.write(name, "", 10);
        ran(&mut tree.explode("vm build")).expect(4);
        assert_eq!(tree.starts(), 1, "with its first contents it is accepted");
    }
}
