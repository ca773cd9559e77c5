//! The host's side: boots the guest for the shared cases, then runs the cases that boot other
//! guests.

use std::io::{BufRead as _, BufReader};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use explode_vm::{
    Agent, BuildOptions, Builder, Cache, Guest, GuestFile, GuestSpec, KernelSource, Silent,
    VmError, VmErrorKind,
};

use serde_json::{Value, json};

use crate::IN_GUEST;
use crate::breadth::{LOGS, same_everywhere};
use crate::bugs::{self, BUGS};
use crate::common::{Ran, explode_in, files, program, ran};
use crate::kernel_choices::POINTS;
use crate::kernel_sites::MODULE;
use crate::log_writes;
use crate::matrix;
use crate::programs_ask;
use crate::report::Line;

/// The tests' own module, and explode's header, which it includes.
const CHOOSY: [(&str, &[u8]); 3] = [
    ("Kbuild", include_bytes!("kmod/Kbuild")),
    ("choosy.c", include_bytes!("kmod/choosy.c")),
    ("explode.h", include_bytes!("../../ekm-kmod/include/explode.h")),
];

const PORT: &str = "/dev/virtio-ports/explode";

/// Runs all cases whose name contains `only`, and prints a summary like a test program.
pub fn main(only: Option<String>) -> ExitCode {
    let spec = match spec(&only.clone().unwrap_or_default()) {
        Ok(spec) => spec,
        // In CI a missing requirement is a failure.
        Err(error) if error.kind() == VmErrorKind::Missing && std::env::var_os("CI").is_none() => {
            println!("unsupported: {error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            println!("FAILED: {error}");
            return ExitCode::FAILURE;
        }
    };
    let tally = Tally { only: only.unwrap_or_default(), passed: 0.into(), failed: 0.into() };
    // Two guests at a time: the one of the shared cases, and those of the other cases.
    let (found, fresh) = thread::scope(|scope| {
        let apart = scope.spawn(|| apart(&tally));
        // This case mostly waits.
        scope.spawn(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            tally.case(
                "matrix: what is safe on ext4; a mkfs that is missing, and one that does not end",
                || matrix::names_what_it_cannot_ask(folder.path()),
            );
            let folder = tempfile::tempdir().expect("a temporary folder");
            tally.case("matrix: an fsck that is slower than the deadline", || {
                matrix::tells_a_slow_fsck_from_one_that_hangs(folder.path())
            });
            let folder = tempfile::tempdir().expect("a temporary folder");
            tally.case("matrix: the bug of a file system that needs the array", || {
                matrix::names_the_layer_of_a_bug(folder.path())
            });
        });
        let found = in_guest(&spec, &tally);
        (found, apart.join().expect("its cases tell how they end"))
    });
    same_in_fresh(&tally, &found, fresh);
    replayed(&tally, found.traces);
    let (passed, failed) = (tally.passed.into_inner(), tally.failed.into_inner());
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 \
         filtered out"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// Checks that a fresh guest finds the same as the guest that cases share.
fn same_in_fresh(tally: &Tally, found: &Found, fresh: Fresh) {
    if let Some(fresh) = fresh.points {
        tally.case("kernel choices: the same in a fresh guest", || match fresh {
            Ok(Found { points, .. }) if points == found.points && !points.is_empty() => Ok(()),
            Ok(Found { points, .. }) => {
                Err(format!("{:#?}\nand in a fresh guest {points:#?}", found.points))
            }
            Err(error) => Err(error.to_string()),
        });
    }
    if let Some(fresh) = fresh.logs {
        tally.case(&format!("{LOGS}: the same log in a fresh guest"), || match fresh {
            Ok(Found { logs, .. })
                if logs == found.logs && logs.len() == same_everywhere().count() =>
            {
                Ok(())
            }
            Ok(Found { logs, .. }) => {
                Err(format!("{:?}\nand in a fresh guest {logs:?}", found.logs))
            }
            Err(error) => Err(error.to_string()),
        });
    }
}

/// Replays each trace in a fresh guest, two at a time.
fn replayed(tally: &Tally, traces: Vec<(String, String)>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let left = Mutex::new(traces.into_iter());
    let next = || left.lock().expect("nobody panics with it").next();
    let replay = || {
        while let Some((name, trace)) = next() {
            tally.case(&format!("{name}: its trace replays in a fresh guest"), || {
                std::fs::write(folder.path().join(&name), trace)
                    .map_err(|error| error.to_string())?;
                let ran = explode_in(folder.path(), ["replay", "--format", "jsonl", &name]);
                let by_log = ran.out.contains(r#""replayed_by":"log""#);
                (ran.code == 1 && by_log).then_some(()).ok_or(format!("{ran:?}"))
            });
        }
    };
    thread::scope(|scope| {
        scope.spawn(replay);
        scope.spawn(replay);
    });
}

/// The findings of fresh guests that run some of the shared cases. `None` if these cases are not
/// selected.
struct Fresh {
    points: Option<Result<Found, VmError>>,
    logs: Option<Result<Found, VmError>>,
}

/// Runs the cases that boot their own guests.
fn apart(tally: &Tally) -> Fresh {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (run, least) in SAME_LOG {
        tally.case(&format!("{run}: the same log in every guest"), || {
            same_log(folder.path(), run, least)
        });
    }
    if tally.only.is_empty() || tally.only.contains(BUGS) {
        let only = if tally.only.is_empty() { BUGS } else { &tally.only }.to_owned();
        match self::spec(&only) {
            Ok(mut spec) => {
                spec.files.push(GuestFile {
                    path: bugs::IN_GUEST.to_owned(),
                    mode: 0o644,
                    contents: serde_json::to_vec(&bugs::kept()).expect("plain data"),
                });
                in_guest(&spec, tally);
            }
            Err(error) => tally.ended("a guest for bugs/", Some(error.to_string())),
        }
    }
    let (trace, says) = READERS;
    tally.case(&format!("{trace} replays as its readers do it"), || {
        kept_bug(folder.path(), trace, says)
    });
    for (file, says) in BY_PROGRAMS {
        tally
            .case(&format!("{file}: by programs alone"), || by_programs(folder.path(), file, says));
    }
    tally.case("a finding that needs equal times is not there when time passes", || {
        when_time_passes(folder.path())
    });
    for (trace, signature) in bugs::OWN_GUEST {
        tally.case(&format!("{trace} replays in a guest of its own"), || {
            kept_bug(folder.path(), trace, signature)
        });
    }
    for (trace, verdict) in bugs::deadly() {
        let says = format!(r#""verdict":"{}""#, verdict.as_str());
        tally.case(&format!("{trace} ends a guest of its own"), || {
            kept_bug(folder.path(), &trace, &says)
        });
    }
    tally.case(
        "reiserfs: found where flushes do nothing, and the kernel divides by zero there",
        || oops_of_reiserfs(folder.path()),
    );
    tally.case(
        "probe sites: a stack file's finds a rename in steps, which replays without it",
        || named_in_a_file(folder.path()),
    );
    for run in [
        "paxos+unsynced-promise --walks 1000 --faults crashes=3,drops=2",
        "raft+votes-unsynced --walks 1000",
    ] {
        tally.case(&format!("cluster: what {run} finds replays in a guest"), || {
            cluster(folder.path(), run)
        });
    }
    tally.case("a folder of crash stacks that a command has removed is made again", || {
        removed_folder(folder.path())
    });
    for (name, case) in programs_ask::CASES {
        tally.case(&format!("programs ask: {name}"), || case(folder.path()));
    }
    tally.case("one guest measures several targets, and restoring", || measured(folder.path()));
    let fresh = |cases: &str| {
        cases.contains(&tally.only).then(|| spec(cases).map(|spec| in_guest(&spec, tally)))
    };
    Fresh { points: fresh(POINTS), logs: fresh(LOGS) }
}

/// Returns the guest: this program as its agent, and the selftest of the modules.
fn spec(only: &str) -> Result<GuestSpec, VmError> {
    let (cache, options) = (Cache::of_user()?, BuildOptions::of_environment()?);
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let tree = std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty());
    let kernel = builder
        .kernel(&tree.map_or(KernelSource::Debian, |tree| KernelSource::Tree(tree.into())))?;
    let mut spec = GuestSpec::new(&kernel, &builder.image()?.file);
    spec.modules = Some(builder.modules(&kernel)?);
    // btrfs needs disks of 125 MiB, and has up to three.
    spec.memory_mib = 2048;
    let breadth =
        ["btrfs", "exfat", "f2fs", "hfs", "jfs", "nilfs2", "ntfs3", "overlay", "reiserfs", "udf"];
    for driver in ["raid0", "raid10", "raid456", "dm-log-writes", "xfs"].into_iter().chain(breadth)
    {
        spec.drivers.extend(builder.driver(&kernel, driver)?);
    }
    spec.accelerator = builder.accelerator(&kernel, &spec.image)?;
    spec.agent = Some(Agent::this_program([IN_GUEST, PORT]));
    // The first message comes after the modules' selftest.
    spec.boot_deadline = Duration::from_secs(600);
    let program = std::env::current_exe().expect("this program has a path");
    let selftest = program
        .parent()
        .and_then(Path::parent)
        .expect("it is in target/<profile>/deps")
        .join("examples/selftest");
    let contents = std::fs::read(&selftest).map_err(|error| VmError::Broken {
        text: format!(
            "{}: {error}; build it: cargo build -p explode-ekm-abi --examples",
            selftest.display()
        ),
        tail: String::new(),
    })?;
    spec.files.push(GuestFile { path: "/selftest".to_owned(), mode: 0o755, contents });
    let choosy =
        std::fs::read(builder.module(&kernel, "choosy", &CHOOSY)?).expect("it was just built");
    spec.files.push(GuestFile { path: MODULE.to_owned(), mode: 0o644, contents: choosy });
    spec.files.push(GuestFile {
        path: "/only".to_owned(),
        mode: 0o644,
        contents: only.as_bytes().to_vec(),
    });
    Ok(spec)
}

/// Counts cases and prints their results.
struct Tally {
    only: String,
    passed: AtomicU32,
    failed: AtomicU32,
}

impl Tally {
    fn ended(&self, name: &str, why: Option<String>) {
        match why {
            None => {
                self.passed.fetch_add(1, Relaxed);
                println!("case {name} ... ok");
            }
            Some(why) => {
                self.failed.fetch_add(1, Relaxed);
                println!("case {name} --- FAILED\n{why}");
            }
        }
    }

    fn case(&self, name: &str, case: impl FnOnce() -> Result<(), String>) {
        if name.contains(&self.only) {
            let why = case().err();
            self.ended(name, why);
        }
    }
}

/// The results of a guest.
#[derive(Default)]
struct Found {
    /// The traces, each of which is replayed in a fresh guest.
    traces: Vec<(String, String)>,
    /// The choices of the kernel in each call.
    points: Vec<(String, Vec<String>)>,
    /// For each file system the number of events in its log, and their hash.
    logs: Vec<(String, u64, u64)>,
}

/// Boots the guest, receives the results of its cases, and checks that it dies. Returns its
/// findings.
fn in_guest(spec: &GuestSpec, tally: &Tally) -> Found {
    let mut guest = match Guest::boot(spec) {
        Ok(guest) => guest,
        Err(error) => {
            tally.ended("a guest boots", Some(error.to_string()));
            return Found::default();
        }
    };
    tally.ended("a guest boots", None);
    let (reader, _writer) = guest.take_stream().expect("nobody has it yet");
    let mut found = Found::default();
    let mut ended = false;
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Line::Case(name, why)) => tally.ended(&name, why),
            Ok(Line::Trace(name, trace)) => found.traces.push((name, trace)),
            Ok(Line::Points(call, there)) => {
                println!("{call}: {} points", there.len());
                found.points.push((call, there));
            }
            Ok(Line::Log(system, events, hash)) => {
                println!("{system}: {events} events");
                found.logs.push((system, events, hash));
            }
            Ok(Line::Logged(name, log, device)) => {
                tally.case(
                    &format!("{name}: explode reads the log that dm-log-writes has made"),
                    || {
                        let checked = catch_unwind(|| log_writes::check(&name, &log, &device));
                        checked.map_err(|_| "see the panic above".to_owned())
                    },
                );
            }
            Ok(Line::End) => ended = true,
            Err(error) => tally.ended("the guest speaks clearly", Some(format!("{error}: {line}"))),
        }
    }
    let died = guest.wait(Duration::from_secs(20)).is_ok_and(|status| status.is_some());
    let panicked = guest.console().contains("sysrq triggered crash");
    let lost = ended && died && panicked;
    let why = (!lost).then(|| format!("its console ends:\n{}", guest.console_tail(30)));
    tally.ended("the host sees a guest that panics, after its last case", why);
    found
}

/// Runs a cluster in process, and replays its finding in a guest.
fn cluster(folder: &Path, run: &str) -> Result<(), String> {
    let out = run.split(' ').next().unwrap_or_default();
    let found = explode_in(folder, format!("run {run} --out {out}").split_whitespace());
    let traces = files(&folder.join(out).join("traces"));
    let [trace] = &traces[..] else { return Err(format!("{traces:?}: {found:?}")) };
    let trace = format!("{out}/traces/{trace}");
    let ran = explode_in(folder, ["replay", &trace, "--in", "vm", "--format", "jsonl"]);
    let is_seen = ran.code == 1 && ran.out.contains(r#""reproduced":true"#);
    is_seen.then_some(()).ok_or(format!("{ran:?}"))
}

/// A transaction without its blocks, which no disk with flushes has. Its replay causes a divide
/// error (`bugs/reiserfs-divide-by-zero`), which ends the guest.
fn oops_of_reiserfs(folder: &Path) -> Result<(), String> {
    let args = "run reiserfs+flush-lies --depth 1 --limit 8 --samples 8 --crash-depth 0 --set \
                fs-sync.start=empty --format jsonl --out reiserfs";
    let ran = explode_in(folder, args.split_whitespace());
    let found = ["fs-sync/lost/synced-by-fsync", "fs-sync/kernel-oops/mount"];
    let all = found.iter().all(|signature| ran.out.contains(signature))
        && ran.out.contains("divide error");
    (ran.code == 1 && all).then_some(()).ok_or(format!("{ran:?}"))
}

/// Replays a trace of a known bug with the command line. `says` must be in the output.
fn kept_bug(folder: &Path, trace: &str, says: &str) -> Result<(), String> {
    let trace = format!("{}/{trace}", env!("CARGO_MANIFEST_DIR"));
    let ran = explode_in(folder, ["replay", "--format", "jsonl", &trace]);
    let shown = ran.out.contains(r#""replayed_by":"log""#) && ran.out.contains(says);
    (ran.code == 1 && shown).then_some(()).ok_or(format!("{ran:?}"))
}

/// Replays the trace of a finding that needs equal times, with a clock that goes on between two
/// calls. The file's times then change, so F2FS writes its inode and flushes.
fn when_time_passes(folder: &Path) -> Result<(), String> {
    let trace = format!("{}/bugs/f2fs-fsync-two-names/trace.json", env!("CARGO_MANIFEST_DIR"));
    let still = std::fs::read_to_string(trace).map_err(|error| error.to_string())?;
    let passes = still.replace(r#""time": "still""#, r#""time": "passes""#);
    assert_ne!(still, passes, "the trace was recorded with a clock that stands still");
    std::fs::write(folder.join("passes.json"), passes).map_err(|error| error.to_string())?;
    let ran = explode_in(folder, ["replay", "passes.json"]);
    (ran.code == 5).then_some(()).ok_or(format!("{ran:?}"))
}

/// Runs a stack file of a known bug whose calls are made by programs. `says` is the finding's
/// message.
fn by_programs(folder: &Path, file: &str, says: &str) -> Result<(), String> {
    let out = file.replace('/', "-");
    let file = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let ran = explode_in(folder, ["run", &file, "--format", "jsonl", "--out", &out]);
    (ran.code == 1 && ran.out.contains(says)).then_some(()).ok_or(format!("{ran:?}"))
}

/// A stack file that names a function.
const PROBES: &str = r#"
[run]
depth = 1
[[component]]
use = "ramdisk"
[[component]]
use = "ext2"
[[component.probe]]
symbol = "ext2_add_link"
returns = "-ENOSPC"
unlisted = true
[[component]]
use = "rename-in-steps"
steps = true
[checker]
use = "fs-failures"
"#;

/// Runs a stack file of this name and removes it afterwards.
fn run_file(folder: &Path, name: &str, text: &str) -> Result<Ran, String> {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let command = format!("run {name}.toml --format jsonl --out {name}");
    let ran = explode_in(folder, command.split_whitespace());
    std::fs::remove_file(&file).map_err(|error| error.to_string())?;
    Ok(ran)
}

fn named_in_a_file(folder: &Path) -> Result<(), String> {
    let ran = run_file(folder, "probes", PROBES)?;
    let lines = ran.json();
    let found: Vec<&Value> = lines.iter().filter(|line| line["type"] == "finding").collect();
    let signature = "fs-failures/corrupt/failed-rename-has-no-effect";
    let right = ran.code == 1
        && !found.is_empty()
        && found.iter().all(|line| line["signature"] == signature && line["replayed"] == true);
    if !right {
        return Err(format!("{ran:?}"));
    }
    let trace = found[0]["trace"].as_str().unwrap_or_default();
    let again = explode_in(folder, ["replay", "--format", "jsonl", trace]);
    let named = std::fs::read_to_string(folder.join(trace)).is_ok_and(|trace| {
        trace.contains(r#""kind": "probe-failure""#)
            && trace.contains(r#""site": "probe ext2_add_link""#)
    });
    (again.code == 1 && named).then_some(()).ok_or(format!("{again:?}"))
}

/// A layer below ext2 removes the folder on which ext2 of a crash disk is mounted.
const REMOVED: &str = r#"
[run]
depth = 1
limit = 4
samples = 4
[[component]]
use = "ramdisk"
[[component]]
name = "tidy"
recover = "rmdir /run/explode/crash/ext2"
[[component]]
use = "ext2"
[checker]
use = "fs-sync"
"#;

fn removed_folder(folder: &Path) -> Result<(), String> {
    let ran = run_file(folder, "removed", REMOVED)?;
    let lines = ran.json();
    let checked = lines.last().and_then(|summary| summary["checked"].as_u64());
    (ran.code == 0 && checked > Some(2)).then_some(()).ok_or(format!("{ran:?}"))
}

/// One of the kept bugs, replayed by the command line in a fresh guest. `bugs` replays the others
/// in one guest.
const READERS: (&str, &str) = (
    "bugs/ext4-fsync-unwritten/trace.json",
    r#""message":"fsync /file succeeded, and on the disk /file has another byte 8192: 0,"#,
);

/// Stack files and their messages: a file that is replaced with all fsyncs is empty on the only
/// crash disk; of an exchanged file and directory both names lead to the file, and fsck.fat empties
/// it under one name; a file has the contents of a removed file; the new name of a renamed file
/// leads nowhere; a file that was removed from a synced directory is there; a file that was
/// overwritten and synced, by fsync or by sync(2), has its old contents.
const BY_PROGRAMS: [(&str, &str); 7] = [
    ("bugs/f2fs-fsync-two-names/overwritten.toml", "a begins with old"),
    ("bugs/hfs-removed-while-open/reused.toml", "b has 4096 bytes of others: c"),
    ("bugs/ntfs3-rename/rename.toml", "b cannot be read; there are: b"),
    ("bugs/vfat-fsync-new-directory/removed.toml", "f is there, removed and its directory synced"),
    ("bugs/vfat-rename/replace.toml", "t has ''; there are: FSCK0000.REC t"),
    ("bugs/vfat-exchange/exchange.toml", "y is gone; there are: FSCK0000.REC FSCK0001.REC a b"),
    ("bugs/xfs-sync-clean-log/overwritten.toml", "a holds: old"),
];

/// The variable with the number of guests whose logs are compared. The default is 3.
const BOOTS: &str = "EXPLODE_SAME_LOG_GUESTS";

fn boots() -> Result<u32, String> {
    let said = std::env::var(BOOTS).unwrap_or_else(|_| "3".to_owned());
    said.parse()
        .ok()
        .filter(|boots| *boots > 1)
        .ok_or(format!("{BOOTS}={said}; use a number above 1"))
}

/// The runs whose logs are compared, and the least number of their lines: synced writes, also with
/// all background work that the kernel may do between two calls, and calls that unlink, including a
/// file's last name.
const SAME_LOG: [(&str, usize); 4] = [
    ("fs-sync-ext4", 100),
    ("fs-sync-ext4 --set ext4.between=all --states 60", 1000),
    ("fs-sync-xfs", 40),
    ("fs-failures-xfs --set xfs.fail=none", 100),
];

/// Compares the events of one workload on a file system byte for byte. There must be at least
/// `least`.
fn same_log(folder: &Path, run: &str, least: usize) -> Result<(), String> {
    let mut logs = Vec::new();
    for boot in 0..boots()? {
        let out = format!("{}-{boot}", run.replace(' ', "-"));
        let arguments = format!(
            "run {run} --depth 1 --limit 2 --samples 2 --crash-depth 0 --events {boot}.jsonl \
             --out {out}"
        );
        // Guests that go on from one snapshot would be equal from the start.
        let mut command = std::process::Command::new(program());
        command.current_dir(folder).args(arguments.split_whitespace());
        let ran = ran(command.env("EXPLODE_SNAPSHOTS", "off"));
        if ran.code != 0 {
            return Err(format!("{ran:?}"));
        }
        logs.push(
            std::fs::read(folder.join(format!("{boot}.jsonl")))
                .map_err(|error| error.to_string())?,
        );
    }
    let equal = logs.iter().all(|log| log == &logs[0]);
    let lines = logs[0].iter().filter(|byte| **byte == b'\n').count();
    (equal && lines >= least).then_some(()).ok_or(format!("{lines} lines, equal: {equal}"))
}

/// Checks the output of `explode bench`, except the times.
fn measured(folder: &Path) -> Result<(), String> {
    let arguments =
        "bench fs-sync-ext4 fs-sync-vfat --each vfat.fsck=true,false --checks 2 --format jsonl"
            .split_whitespace();
    let ran = explode_in(folder, arguments);
    let lines = ran.json();
    let is_time = |line: &Value, key: &str| line[key].as_f64().is_some_and(|time| time > 0.0);
    let checks = |line: &Value| {
        let keys = ["type", "target", "in", "set", "disks", "violations"];
        let times = ["explode_us", "floor_us", "share", "recovery_us", "host_seconds"];
        (keys.map(|key| line[key].clone()), times.iter().all(|key| is_time(line, key)))
    };
    let expected = |target: &str, set: Value| {
        ([json!("bench"), json!(target), json!("vm"), set, json!(2), json!(0)], true)
    };
    let restores = |line: &Value| {
        let keys = ["type", "mib", "blocks"];
        (keys.map(|key| line[key].clone()), is_time(line, "restore_us"))
    };
    let restored = [16, 64, 256, 1024].map(|mib| ([json!("restore"), json!(mib), json!(20)], true));
    let (benches, rest) = lines.split_at(lines.len().min(3));
    let (rest, tracing) = rest.split_at(rest.len().min(4));
    let traced = |line: &Value| {
        let times = ["off_us", "on_us", "probed_us", "armed_us", "read_us"];
        let times = times.iter().all(|key| is_time(line, key));
        (["type", "calls"].map(|key| line[key].clone()), times && line["points"].as_u64() > Some(0))
    };
    let right = ran.code == 0
        && benches.iter().map(checks).eq([
            expected("fs-sync-ext4", json!([])),
            expected("fs-sync-vfat", json!(["vfat.fsck=true"])),
            expected("fs-sync-vfat", json!(["vfat.fsck=false"])),
        ])
        && rest.iter().map(restores).eq(restored)
        && tracing.iter().map(traced).eq([([json!("tracing"), json!(720)], true)]);
    right.then_some(()).ok_or(format!("{ran:?}"))
}
