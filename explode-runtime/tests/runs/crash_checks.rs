//! Crash checks through the whole pipeline, on one disk whose crash disks can be counted by hand.

use std::cell::RefCell;

use explode_ramdisk::{Flags, Payload, RamDisk};
use explode_runtime::base::Options;
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::report::Message;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common;

thread_local! {
    /// The arguments and observations of every check: epoch, arguments, the first byte of sectors
    /// 0, 8, 16 ...
    static SEEN: RefCell<Vec<(Epoch, String, String)>> = const { RefCell::new(Vec::new()) };
}

fn seen() -> Vec<(Epoch, String, String)> {
    SEEN.with_borrow_mut(std::mem::take)
}

/// Returns the first byte of each block, as letters.
fn blocks(disk: &RamDisk, count: u64) -> String {
    let mut sector = [0; 512];
    let letter = |block: u64| {
        disk.read(block * 8, &mut sector);
        if sector[0] == 0 { '.' } else { char::from(sector[0]) }
    };
    (0..count).map(letter).collect()
}

fn note(stack: &Stack, epoch: Epoch, args: &[String], count: u64) -> Result<String, CheckError> {
    let found = blocks(&stack.disk()?, count);
    SEEN.with_borrow_mut(|seen| seen.push((epoch, args.join(" "), found.clone())));
    Ok(found)
}

/// EX-63: A and B are on the disk. A is renamed over B, then sync is called. The fields choose the
/// bugs.
struct Rename {
    /// True if the new name is written first, and the old one is removed only after a flush.
    atomic: bool,
    /// True if sync flushes.
    honest: bool,
}

impl Checker for Rename {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        disk.write(0, &[b'A'; 512], Flags::NONE);
        disk.write(8, &[b'B'; 512], Flags::NONE);
        disk.flush();
        cx.check_crashes_start(&["begin".into()]);
        if self.atomic {
            disk.write(8, &[b'A'; 512], Flags::NONE);
            disk.flush();
            disk.write(0, &[0; 512], Flags::NONE);
        } else {
            disk.write(0, &[0; 512], Flags::NONE);
            disk.write(8, &[b'A'; 512], Flags::NONE);
        }
        if self.honest {
            disk.flush();
        }
        cx.check_crashes_end(self, &["end".into()])
    }

    fn check(&self, stack: &Stack, epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let found = note(stack, epoch, args, 2)?;
        let legal: &[&str] = match epoch {
            Epoch::Begin => &["AB"],
            Epoch::InBetween => &["AB", "AA", ".A"],
            _ => &[".A"],
        };
        if legal.contains(&found.as_str()) {
            return Ok(());
        }
        Err(Violation::new(Verdict::Lost, format!("rename-{epoch}"), format!("{found} at {epoch}"))
            .into())
    }
}

fn rename(atomic: bool, honest: bool) -> (Vec<String>, common::Said) {
    let registry = common::registry(match (atomic, honest) {
        (true, true) => |_: &Options| Ok(Box::new(Rename { atomic: true, honest: true })),
        (true, false) => |_: &Options| Ok(Box::new(Rename { atomic: true, honest: false })),
        (false, _) => |_: &Options| Ok(Box::new(Rename { atomic: false, honest: true })),
    });
    let said = common::run(&registry, &common::plan(1));
    (said.findings().iter().map(|finding| finding.signature.clone()).collect(), said)
}

#[test]
fn a_correct_rename_is_clean_and_counted() {
    let (findings, said) = rename(true, true);
    assert!(findings.is_empty());
    let summary = said.summary();
    // Emissions: 2 disks before the first flush ends, 2 before the second, 1 at the end.
    assert_eq!(summary.crash_disks, 5.into());
    // Keys: AB at begin; AB, AA, .A in between; .A at the end.
    assert_eq!((&summary.distinct, &summary.checked), (&5.into(), &5.into()));
    let mut checks = seen();
    checks.sort();
    let expected = [
        (Epoch::Begin, "begin", "AB"),
        (Epoch::InBetween, "end", ".A"),
        (Epoch::InBetween, "end", "AA"),
        (Epoch::InBetween, "end", "AB"),
        (Epoch::End, "end", ".A"),
    ];
    let expected: Vec<_> =
        expected.map(|(epoch, args, found)| (epoch, args.into(), found.into())).into();
    assert_eq!(checks, expected);
}

#[test]
fn a_rename_that_is_not_atomic_fails_in_between_only() {
    assert_eq!(rename(false, true).0, ["test/lost/rename-in-between"]);
}

#[test]
fn a_sync_that_lies_fails_at_the_end_only() {
    assert_eq!(rename(true, false).0, ["test/lost/rename-end"]);
}

/// 30 blocks in flight, far above the limit.
struct Many;

impl Checker for Many {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        for sector in 0..30 {
            disk.write(sector, &[b'a'; 512], Flags::NONE);
        }
        cx.check_crashes_now(self, &[])
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let mut bytes = vec![0; 30 * 512];
        stack.disk()?.read(0, &mut bytes);
        let drawn =
            bytes.chunks(512).map(|sector| if sector[0] == 0 { '.' } else { 'a' }).collect();
        SEEN.with_borrow_mut(|seen| seen.push((Epoch::Now, String::new(), drawn)));
        Ok(())
    }
}

/// EX-75: there are exactly as many checks as samples, and one seed gives one sample. The run
/// reports the number of disks that it left out.
#[test]
fn above_the_limit_exactly_the_sample_is_checked() {
    let run = |seed| {
        let mut plan = common::plan(1);
        plan.settings.limit = 1000;
        plan.settings.samples = 200;
        plan.settings.seed = seed;
        let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Many))), &plan);
        let summary = said.summary();
        assert_eq!((&summary.checked, &summary.distinct), (&200.into(), &200.into()));
        assert_eq!(summary.crash_disks, (1u64 << 30).into());
        assert_eq!(summary.left_out, ((1u64 << 30) - 200).into());
        assert!(!summary.complete);
        seen()
    };
    let (first, again, other) = (run(1), run(1), run(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let drawn: Vec<_> = first.iter().map(|(_, _, drawn)| drawn.as_str()).collect();
    assert!(drawn.contains(&".".repeat(30).as_str()) && drawn.contains(&"a".repeat(30).as_str()));
}

/// A check that panics is a failure of the tool, never of the checked system.
struct Panics;

impl Checker for Panics {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        disk.write(0, &[b'a'; 512], Flags::NONE);
        cx.check_crashes_now(self, &[])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        assert!(blocks(&stack.disk()?, 1) != "a", "seen an a");
        Ok(())
    }
}

#[test]
fn a_check_that_panics_is_broken_and_the_others_are_made() {
    let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Panics))), &common::plan(1));
    let summary = said.summary();
    assert_eq!(
        (&summary.checked, &summary.broken, &summary.findings),
        (&2.into(), &1.into(), &0.into())
    );
}

/// The writes of a crash disk's stack stay on that disk.
struct Writes;

impl Checker for Writes {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        let request = disk.submit(0, Payload::Data(vec![b'a'; 512].into()), Flags::NONE);
        cx.check_crashes_now(self, &[])?;
        disk.complete(request);
        cx.check_crashes_now(self, &[])?;
        match blocks(&disk, 2).as_str() {
            "a." => Ok(()),
            found => Err(CheckError::broken(format!("the live disk holds {found}"))),
        }
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let disk = stack.disk()?;
        if blocks(&disk, 2).ends_with('x') {
            return Err(CheckError::broken("another crash disk's write is here"));
        }
        disk.write(8, &[b'x'; 512], Flags::FUA);
        Ok(())
    }
}

#[test]
fn crash_disks_share_nothing_that_is_written() {
    let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Writes))), &common::plan(2));
    let summary = said.summary();
    assert_eq!((&summary.broken, &summary.findings), (&0.into(), &0.into()));
    assert_eq!(summary.operations, 2.into());
}

/// A system that is not deterministic cannot be restored. The run reports this with the place.
struct Moody;

thread_local! {
    static MOOD: RefCell<usize> = const { RefCell::new(2) };
}

impl Checker for Moody {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let options = MOOD.with_borrow_mut(|mood| {
            *mood += 1;
            *mood
        });
        cx.choose(options);
        Ok(())
    }
    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

#[test]
fn a_restore_that_takes_another_path_names_the_place() {
    let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Moody))), &common::plan(2));
    // The first state and its one known child could not be restored. The run went on after each.
    assert_eq!(said.summary().broken, 2.into());
    let broken = said.messages.iter().find_map(|message| match message {
        Message::Broken { message, .. } => Some(message),
        _ => None,
    });
    let message = broken.expect("it is reported");
    assert!(
        message.contains(
            "choice 0: recorded 3 options at explode-runtime/tests/runs/crash_checks.rs:"
        ),
        "{message}"
    );
    assert!(message.contains("now 4 options"), "{message}");
}

/// An error that its replay does not show does not count as a finding: it is reported as not
/// replayed, counted as broken, and tried again.
struct Flaky;

thread_local! {
    static CHECKS: RefCell<u32> = const { RefCell::new(0) };
}

impl Checker for Flaky {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        cx.stack().disk()?.write(0, &[b'a'; 512], Flags::NONE);
        cx.check_crashes_now(self, &[])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let first = CHECKS.with_borrow_mut(|checks| {
            *checks += 1;
            *checks == 2
        });
        match blocks(&stack.disk()?, 1).as_str() {
            "a" if first => Err(Violation::new(Verdict::Lost, "once", "seen once").into()),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_violation_that_does_not_replay_is_no_finding() {
    let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Flaky))), &common::plan(1));
    let summary = said.summary();
    assert_eq!((&summary.findings, &summary.broken), (&0.into(), &1.into()));
    let findings = said.findings();
    assert_eq!((findings.len(), findings[0].replayed), (1, false));
    assert!(
        findings[0].not_replayed.as_ref().is_some_and(|why| why.contains("NotReproduced")),
        "{findings:?}"
    );
}
