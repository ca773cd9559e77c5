//! Crash tests of small stores that use `std::fs`.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use explode_posix::{CrashTest, FileModel, Result, Step, crash_test, crash_test_under};

/// A log of bytes in one file, none of them zero.
struct Log(PathBuf);

fn open(folder: &Path) -> Result<Log> {
    let path = folder.join("log");
    if !path.exists() {
        File::create(&path)?;
        File::open(folder)?.sync_all()?;
    }
    Ok(Log(path))
}

fn append(log: &Log, bytes: &mut Vec<u8>, step: &mut Step<'_, '_>, sync: bool) -> Result<()> {
    let byte = [b'a', b'b'][step.choose(2)];
    bytes.push(byte);
    let mut file = OpenOptions::new().append(true).open(&log.0)?;
    file.write_all(&[byte])?;
    if sync {
        file.sync_data()?;
    }
    Ok(())
}

fn read(log: &mut Log) -> Result<Vec<u8>> {
    Ok(fs::read(&log.0)?.into_iter().take_while(|byte| *byte != 0).collect())
}

fn log(name: &str, sync: bool) -> CrashTest {
    let step = move |log: &mut Log, bytes: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        append(log, bytes, step, sync)
    };
    crash_test(name, open, step, read)
}

#[test]
fn a_sound_log_is_explored_to_the_end() {
    let summary = log("log", true).run();
    assert!(summary.complete && summary.broken.is_zero());
    assert_eq!((summary.states, summary.operations), (15.into(), 14.into()));
    assert_eq!((summary.crash_disks, summary.distinct), ((14 * 5).into(), (14 * 6).into()));
}

#[test]
fn a_log_without_a_sync_loses() {
    let text = log("log without a sync", false).outcome().expect_err("there is a bug");
    assert!(text.contains("FAIL lost: 1 steps were durable, 0 are there; it holds []"), "{text}");
}

/// Sets the size of a file to a block a step, and makes it durable by fdatasync(2).
#[test]
fn a_new_size_survives_fdatasync_under_each_model() {
    let open = |folder: &Path| {
        let file = OpenOptions::new().append(true).create(true).open(folder.join("blocks"))?;
        File::open(folder)?.sync_all()?;
        Ok(file)
    };
    let step = |file: &mut File, blocks: &mut u64, step: &mut Step<'_, '_>| {
        *blocks += 1 + step.choose(2) as u64;
        file.set_len(*blocks * 4096)?;
        Ok(file.sync_data()?)
    };
    for model in FileModel::ALL {
        let read = |file: &mut File| Ok(file.metadata()?.len() / 4096);
        let summary = crash_test_under(model, "blocks", open, step, read).run();
        assert!(summary.complete, "{model}");
        // Under btrfs the earlier changes stay as they are: after step d a crash leaves d + 1
        // numbers of them. They count twice before the log tree is durable, and once after it.
        let disks = match model {
            FileModel::Btrfs => 2 * (3 * 2) + 4 * (3 * 3) + 8 * (3 * 4),
            _ => 14 * 3,
        };
        assert_eq!((summary.states, summary.crash_disks), (15.into(), disks.into()), "{model}");
    }
}

/// The command of a finding starts this program again, which finds the same.
#[test]
fn a_finding_is_replayed_in_another_process() {
    let text = log("log without a sync, again", false).outcome().expect_err("there is a bug");
    let (_, command) = text.rsplit_once("EXPLODE_REPLAY=").unwrap();
    let trace = command.split(' ').next().unwrap();
    let mut replay = std::process::Command::new(std::env::current_exe().unwrap());
    if std::env::var_os(explode_posix::REPLAY).is_none() {
        let test = ["--exact", "a_finding_is_replayed_in_another_process", "--nocapture"];
        let ran = replay.args(test).env(explode_posix::REPLAY, trace).output().unwrap();
        let reported = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && reported.contains("test result: ok"), "{reported}");
    } else {
        assert!(text.starts_with("reproduced crash-test/lost/durable"), "{text}");
    }
}
