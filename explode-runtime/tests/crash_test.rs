//! Crash tests as users of the library write them: of a small log that is sound, and of logs with
//! one bug each.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use explode_runtime::crash_test::{CrashTest, Files, OpenFlags, Result, Step, crash_test};

const LOG: &str = "/log";

/// A log of bytes, none of them zero, in one block.
type Log = Rc<dyn Files>;

fn open(files: Log) -> Result<Log> {
    let log = files.open(LOG, OpenFlags::CREATE)?;
    files.close(log)?;
    files.sync_dir("/")?;
    Ok(files)
}

/// Appends one of two bytes.
fn append(files: &Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>, sync: bool) -> Result<()> {
    append_byte(files, log, [b'a', b'b'][step.choose(2)], sync)
}

fn append_byte(files: &Log, log: &mut Vec<u8>, byte: u8, sync: bool) -> Result<()> {
    let file = files.open(LOG, OpenFlags::EXISTING)?;
    files.pwrite(file, log.len() as u64, &[byte])?;
    if sync {
        files.fsync(file)?;
    }
    log.push(byte);
    Ok(files.close(file)?)
}

fn step(files: &mut Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    append(files, log, step, true)
}

/// Reads the log. A crash may leave a size without contents, which is a byte that was never
/// written.
fn read(files: &mut Log) -> Result<Vec<u8>> {
    let log = files.read_file(LOG)?;
    Ok(log.into_iter().take_while(|byte| *byte != 0).collect())
}

/// Returns the error text of a test that fails.
fn found(test: CrashTest) -> String {
    test.outcome().expect_err("there is a bug")
}

#[track_caller]
fn says(text: &str, words: &str) {
    assert!(
        text.lines().any(|line| line.trim_start().starts_with(words)),
        "no '{words}' in\n{text}"
    );
}

#[test]
fn a_sound_log_is_explored_to_the_end() {
    let summary = crash_test("log", open, step, read).run();
    assert!(summary.complete && summary.broken.is_zero());
    // Two options from each state, three steps deep.
    assert_eq!((summary.states, summary.operations), (15.into(), 14.into()));
    // A step leaves one block and one size pending, then nothing: 2 x 2 + 1 disks. The epochs have
    // 1, 4 and 1 of them.
    assert_eq!((summary.crash_disks, summary.distinct), ((14 * 5).into(), (14 * 6).into()));
}

#[test]
fn a_step_without_a_sync_loses() {
    let lazily = |files: &mut Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        append(files, log, step, false)
    };
    let text = found(crash_test("log without a sync", open, lazily, read));
    says(&text, "FAIL lost: 1 steps were durable, 0 are there; it holds []");
    says(&text, "Replay EXPLODE_REPLAY=");
    let allowed = |files: &mut Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        step.is_lazy();
        append(files, log, step, false)
    };
    assert!(crash_test("lazy log", open, allowed, read).run().complete);
}

/// The trace that the variable names may come from another user.
#[test]
fn a_trace_with_commands_is_not_replayed() {
    let lazily = |files: &mut Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        append(files, log, step, false)
    };
    let text = found(crash_test("log without a sync", open, lazily, read));
    let (_, command) = text.rsplit_once("EXPLODE_REPLAY=").unwrap();
    let trace = std::fs::read_to_string(command.split(' ').next().unwrap()).unwrap();
    let mut trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (canary, path) = (folder.path().join("canary"), folder.path().join("trace.json"));
    let init = format!("touch {}", canary.display());
    let layer =
        serde_json::json!({ "name": "evil", "use": "commands", "options": { "init": init } });
    trace["stack"].as_array_mut().unwrap().push(layer);
    std::fs::write(&path, trace.to_string()).unwrap();
    let test = ["--exact", "a_step_without_a_sync_loses"];
    let mut replay = std::process::Command::new(std::env::current_exe().unwrap());
    let ran = replay.args(test).env("EXPLODE_REPLAY", &path).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("it carries other shell commands") && !ran.status.success(), "{said}");
    assert!(!canary.exists(), "{said}");
}

#[test]
fn a_log_that_trusts_its_size_is_corrupt() {
    let trusting = |files: &mut Log| Ok(files.read_file(LOG)?);
    says(
        &found(crash_test("trusting log", open, step, trusting)),
        "FAIL corrupt: no step so far leaves what is there; it holds [0]",
    );
}

#[test]
fn a_panic_on_a_crash_disk_is_a_finding() {
    let strict = |files: Log| {
        let files = open(files)?;
        assert!(!files.read_file(LOG)?.contains(&0), "a byte that was never written");
        Ok(files)
    };
    let text = found(crash_test("strict log", strict, step, read));
    says(&text, "FAIL mount-failed: store: panicked at explode-runtime/tests/crash_test.rs:");
    let strict = |files: &mut Log| {
        assert!(!files.read_file(LOG)?.contains(&0), "a byte that was never written");
        read(files)
    };
    let text = found(crash_test("strict reader", open, step, strict));
    says(&text, "FAIL corrupt: panicked at explode-runtime/tests/crash_test.rs:");
}

/// A log that panics, also when it is dropped, if it holds a byte that was never written.
struct Brittle(Log);

impl Brittle {
    fn is_whole(&self) {
        let log = self.0.read_file(LOG).unwrap_or_default();
        assert!(!log.contains(&0), "a byte that was never written");
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        self.is_whole();
    }
}

#[test]
fn a_store_that_panics_when_it_is_dropped_hides_no_finding() {
    let read = |log: &mut Brittle| {
        log.is_whole();
        read(&mut log.0)
    };
    let step = |log: &mut Brittle, bytes: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        append(&log.0, bytes, step, true)
    };
    let text = found(crash_test("brittle log", |files| Ok(Brittle(open(files)?)), step, read));
    says(&text, "FAIL corrupt: panicked at explode-runtime/tests/crash_test.rs:");
}

#[test]
fn a_step_that_stays_in_memory_is_lost_when_the_program_dies() {
    let soft =
        |test: CrashTest| test.with(|settings| (settings.soft, settings.crash_depth) = (true, 0));
    assert!(soft(crash_test("log", open, step, read)).run().complete);
    let late = |store: &mut (Log, Vec<u8>), log: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        let mut written = log[..log.len() - store.1.len()].to_vec();
        for byte in store.1.drain(..) {
            let file = store.0.open(LOG, OpenFlags::EXISTING)?;
            store.0.pwrite(file, written.len() as u64, &[byte])?;
            store.0.close(file)?;
            written.push(byte);
        }
        let byte = [b'a', b'b'][step.choose(2)];
        store.1.push(byte);
        log.push(byte);
        Ok(())
    };
    let open = |files| Ok((open(files)?, Vec::new()));
    let read = |store: &mut (Log, Vec<u8>)| {
        let mut log = read(&mut store.0)?;
        log.extend(&store.1);
        Ok(log)
    };
    let text = found(soft(crash_test("late log", open, late, read)));
    says(&text, "FAIL lost: 2 steps were durable, 1 are there;");
}

#[test]
fn a_step_that_fails_is_reported() {
    let failing = |_: &mut Log, _: &mut Vec<u8>, _: &mut Step<'_, '_>| Err("no".into());
    assert_eq!(
        found(crash_test("failing", open, failing, read)),
        "the crash test could not be made: step 1: no"
    );
}

/// Appends two blocks in each step, so that a sample of three leaves out some disks.
fn in_blocks(files: &mut Log, log: &mut Vec<u8>, _: &mut Step<'_, '_>) -> Result<()> {
    let file = files.open(LOG, OpenFlags::EXISTING)?;
    files.pwrite(file, 4096 * log.len() as u64, &[[b'a'; 4096], [b'b'; 4096]].concat())?;
    files.fsync(file)?;
    log.extend(b"ab");
    Ok(files.close(file)?)
}

/// Reads whole pairs of blocks.
fn blocks(files: &mut Log) -> Result<Vec<u8>> {
    let pairs = files
        .read_file(LOG)?
        .chunks_exact(8192)
        .filter(|pair| pair[8191] == b'b' && pair[0] == b'a')
        .count();
    Ok(b"ab".repeat(pairs))
}

#[test]
fn a_sample_is_not_complete() {
    let sampled = || {
        crash_test("sampled log", open, in_blocks, blocks)
            .depth(2)
            .with(|settings| (settings.limit, settings.samples) = (3, 3))
    };
    let summary = sampled().run();
    assert!(!summary.complete && !summary.disks_left_out().is_zero(), "{summary:?}");
    let text = found(sampled().require_complete());
    let left_out = summary.disks_left_out();
    says(
        &text,
        &format!(
            "crash test 'sampled log' found nothing, and is not complete: {left_out} crash disks \
             were left out, "
        ),
    );
    says_at_end(&text, "; raise limit (now 3) or samples (now 3) by with(|settings| ...)");
    let stopped = crash_test("stopped log", open, in_blocks, blocks)
        .with(|settings| settings.states = Some(2));
    says_at_end(
        &found(stopped.require_complete()),
        "not complete: the run stopped after 2 states; raise states (now 2) by with(|settings| \
         ...)",
    );
    assert!(
        crash_test("whole log", open, in_blocks, blocks).depth(2).require_complete().run().complete
    );
}

#[track_caller]
fn says_at_end(text: &str, words: &str) {
    assert!(text.ends_with(words), "no '{words}' in\n{text}");
}

/// Appends the value of a counter outside of the files, which differs in every run.
fn count(counter: &AtomicU64, files: &Log, log: &mut Vec<u8>, sync: bool) -> Result<()> {
    append_byte(files, log, (counter.fetch_add(1, Ordering::Relaxed) % 255) as u8 + 1, sync)
}

/// A finding is reported even if its disk does not occur again.
#[test]
fn a_finding_of_a_nondeterministic_store_names_the_difference() {
    static COUNTER: AtomicU64 = AtomicU64::new(1);
    // Two blocks with the number. A crash may keep one of them.
    let step = |files: &mut Log, log: &mut Vec<u8>, _: &mut Step<'_, '_>| {
        let byte = (COUNTER.fetch_add(1, Ordering::Relaxed) % 255) as u8 + 1;
        let file = files.open(LOG, OpenFlags::EXISTING)?;
        files.pwrite(file, 0, &[byte; 8192])?;
        files.fsync(file)?;
        *log = vec![byte; 2];
        Ok(files.close(file)?)
    };
    let halves = |files: &mut Log| {
        let log = files.read_file(LOG)?;
        Ok(log.chunks(4096).map(|block| block[0]).collect())
    };
    let text = found(crash_test("counting log", open, step, halves).depth(2));
    says(&text, "DIVERGED the store is not deterministic: ");
    says(
        &text,
        "first difference: event 3 of the log, before request 1 for crash checks: dirty device ",
    );
    says(&text, "usual causes: the clock, random numbers, the order of a hash map, threads");
    says(&text, "FAIL corrupt: no step so far leaves what is there; it holds [");
    says(&text, "bug       crash-test/corrupt/atomic");
    let trace =
        text.lines().find_map(|line| line.trim_start().strip_prefix("trace ")).expect("a trace");
    assert!(std::path::Path::new(trace.trim()).exists(), "{trace}");
}

/// A finding is reported even if no replay shows it again.
#[test]
fn a_finding_that_does_not_replay_is_reported() {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let step = |files: &mut Log, log: &mut Vec<u8>, _: &mut Step<'_, '_>| {
        let first = COUNTER.load(Ordering::Relaxed) == 0;
        count(&COUNTER, files, log, !first)
    };
    let text = found(crash_test("late log", open, step, read).depth(2));
    says(&text, "DIVERGED the store is not deterministic: the finding was not replayed: ");
    says(&text, "FAIL lost: 1 steps were durable, 0 are there; it holds []");
    says(&text, "usual causes: ");
}

/// The choices differ when a state is restored.
#[test]
fn a_store_that_asks_for_other_choices_diverges() {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let step = |files: &mut Log, log: &mut Vec<u8>, step: &mut Step<'_, '_>| {
        let options = 2 + COUNTER.fetch_add(1, Ordering::Relaxed) % 2;
        step.choose(options as usize);
        append(files, log, step, true)
    };
    let text = found(crash_test("choosy log", open, step, read).depth(2));
    says(
        &text,
        "DIVERGED the store is not deterministic: restoring a state took another path: choice 0: \
         recorded ",
    );
    says(&text, "usual causes: ");
}
