//! A full disk under the run folder: the error is reported, and no finding is lost.
//!
//! The disk is a tmpfs, which only root can mount. Where that is impossible the tests report it and
//! do nothing, or fail if CI=true.

mod common;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ran, explode, file, files};
use tempfile::{TempDir, tempdir};

/// The least space of a file on a tmpfs.
const PAGE: usize = 4096;
const RUN: &str = "run sqlite-off --depth 1 --format jsonl";

/// A mounted tmpfs. It is unmounted however the test ends.
struct Mount {
    folder: TempDir,
}

impl Mount {
    /// Mounts a tmpfs with space for `pages` more small files. `None` if this process may not
    /// mount.
    fn with_room_for(pages: usize) -> Option<Mount> {
        let folder = tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder.path())
            .output();
        let why = match mount {
            Ok(ran) if ran.status.success() => {
                let mount = Mount { folder };
                mount.fill_but(pages);
                return Some(mount);
            }
            Ok(ran) => String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "CI must be able to mount a tmpfs: {why}"
        );
        say(&format!("unsupported: mounting a tmpfs: {why}"));
        None
    }

    fn fill_but(&self, pages: usize) {
        let mut filler =
            OpenOptions::new().create(true).append(true).open(self.path("filler")).unwrap();
        let mut written = 0;
        while filler.write_all(&[0; PAGE]).is_ok() {
            written += PAGE;
        }
        filler.set_len((written - pages * PAGE) as u64).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn explode(&self, args: &str) -> Ran {
        explode(args.split_whitespace().chain(["--out", self.path("run").to_str().unwrap()]))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            say(&format!("{} is still mounted", self.folder.path().display()));
        }
    }
}

/// Prints a line whether the test fails or not. `eprintln!` is shown only if it fails.
fn say(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

/// Returns the error, and the texts of the traces that could not be written.
fn said(ran: &Ran) -> (&str, Vec<&str>) {
    const HEAD: &str = "a trace that could not be written; save it to a file to replay it:\n";
    let (error, rest) = ran.err.split_once('\n').unwrap();
    let mut parts = rest.split(HEAD);
    assert_eq!(parts.next(), Some(""), "{ran:#?}");
    (error, parts.collect())
}

fn no_room(error: &str, path: &Path) {
    let expected = format!(
        "error: cannot write {}: No space left on device (os error 28); make room there, or name \
         a folder elsewhere with --out",
        path.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn without_any_room_nothing_begins() {
    let Some(mount) = Mount::with_room_for(0) else { return };
    let ran = mount.explode(RUN).expect(4);
    let (error, traces) = said(&ran);
    no_room(error, &mount.path("run/run.jsonl"));
    assert!(traces.is_empty());
}

/// There is space for run.jsonl and `room` traces.
#[test]
fn a_trace_that_cannot_be_written_is_reported_and_earlier_ones_are_whole() {
    let elsewhere = tempdir().unwrap();
    for room in [0, 1, 3] {
        let Some(mount) = Mount::with_room_for(1 + room) else { return };
        let ran = mount.explode(RUN).expect(1);
        let (error, unwritten) = said(&ran);

        let written = files(&mount.path("run/traces"));
        assert_eq!(written.len(), room, "whole traces only, and no temporary file: {written:?}");
        for name in &written {
            let trace = mount.path("run/traces").join(name);
            explode(["replay", trace.to_str().unwrap()]).expect(1);
        }
        let findings: Vec<_> =
            ran.json().into_iter().filter(|line| line["type"] == "finding").collect();
        assert_eq!(findings.len(), room, "each is reported when it was replayed");
        let kept = std::fs::read_to_string(mount.path("run/run.jsonl")).unwrap();
        // The error that ends the run is on standard output alone.
        let last = ran.out.strip_prefix(&kept).unwrap();
        assert!(
            last.starts_with(r#"{"type":"broken","kind":"tool","message":"cannot write "#),
            "{last}"
        );
        assert_eq!(last.lines().count(), 1, "{last}");

        // Of the four bugs at this depth, the unwritten ones of one unit are all printed.
        assert!(!unwritten.is_empty() && written.len() + unwritten.len() <= 4);
        for trace in unwritten {
            let trace = file(elsewhere.path(), "unwritten.json", trace);
            let replayed = explode(["replay", trace.to_str().unwrap()]).expect(1);
            assert!(replayed.out.starts_with("        FAIL "), "{replayed:#?}");
        }
        let path = error.strip_prefix("error: cannot write ").unwrap().split(": ").next().unwrap();
        no_room(error, Path::new(path));
        assert!(Path::new(path).starts_with(mount.path("run/traces")));
        assert!(!Path::new(path).exists());
    }
}

/// Long paths fill the first page of run.jsonl when all is found. There is no second page.
#[test]
fn messages_are_printed_even_if_they_cannot_be_stored() {
    let Some(mount) = Mount::with_room_for(1 + 4) else { return };
    let out = mount.path(&"long".repeat(35)).join("name".repeat(35));
    let ran = explode(RUN.split_whitespace().chain(["--out", out.to_str().unwrap()])).expect(1);
    no_room(said(&ran).0, &out.join("run.jsonl"));
    let kept = std::fs::read_to_string(out.join("run.jsonl")).unwrap();
    assert!(ran.out.starts_with(&kept) && kept.len() == PAGE, "{} bytes: {kept}", kept.len());
    let traces = files(&out.join("traces"));
    assert_eq!(traces.len(), 4);
    for name in traces {
        explode(["replay", out.join("traces").join(name).to_str().unwrap()]).expect(1);
    }
}

/// A trace by design does not count as a finding, whether it can be written or not.
#[test]
fn a_loss_by_design_is_no_finding_on_a_full_disk() {
    let Some(mount) = Mount::with_room_for(1) else { return };
    let ran = mount.explode("run sqlite-normal --depth 1").expect(4);
    let (error, traces) = said(&ran);
    no_room(error, &mount.path("run/traces/5750aa73.json"));
    assert!(traces.len() == 1 && traces[0].contains("\"by_design\": true"));
}

#[test]
fn an_image_that_cannot_be_written_is_named() {
    let Some(mount) = Mount::with_room_for(2) else { return };
    let events: Vec<_> = (0..4).map(|block| common::log::dirty(0, block * 8, 8, 'A')).collect();
    let elsewhere = tempdir().unwrap();
    let images = mount.path("images");
    let args = format!("--size 16384 --write {}", images.display());
    let ran = common::log::crash_disks(elsewhere.path(), &events, &args).expect(4);
    let lines = ran.json();
    assert!(lines.is_empty(), "disks are listed once all of them are written");
    let whole =
        |name: &String| images.join(name).metadata().is_ok_and(|found| found.len() == 16_384);
    let written = files(&images);
    assert!(written.iter().all(|name| name.ends_with(".0.img") && whole(name)), "{written:?}");
    assert!(ran.err.starts_with(&format!("error: cannot write {}/", images.display())), "{ran:#?}");
    assert!(ran.err.contains("No space left on device") && ran.err.contains("--write"), "{ran:#?}");
}

/// The old file stays complete, and no temporary file is left.
#[test]
fn an_output_file_that_cannot_be_written_stays_as_it_was() {
    let elsewhere = tempdir().unwrap();
    let run = |args: &str| common::explode_in(elsewhere.path(), args.split_whitespace());
    run("run sqlite-off --depth 1 --out found").expect(1);
    let trace = format!("found/traces/{}", files(&elsewhere.path().join("found/traces"))[0]);
    for (command, code) in [
        ("run sqlite-extra --depth 1 --out junit --junit", 4),
        ("run sqlite-extra --depth 1 --out events --events", 4),
        (&format!("minimise {trace} --out"), 4),
        ("matrix toyfs --check fsync-dir --out matrix --html", 4),
    ] {
        let Some(mount) = Mount::with_room_for(1) else { return };
        let output = mount.path("output");
        file(mount.folder.path(), "output", "old contents");
        let ran = run(&format!("{command} {}", output.display())).expect(code);
        let said = format!(
            "error: cannot write {}: No space left on device (os error 28)",
            output.display()
        );
        assert!(ran.err.contains(&said), "{ran:#?}");
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "old contents", "{command}");
        assert_eq!(files(mount.folder.path()), ["filler", "output"], "{command}");
    }
}
