//! The script as a test of the suite xfstests, in the layout of the suite's tests, on a loop device
//! in its test file system.
//!
//! There are three kinds ([`CrashedBy`]). With two of them the kernel under test must write, or
//! flush, what was promised, so the test passes on a mended kernel. Otherwise the disk is recorded.

use super::reproduction::Reproduction;
use super::sh::{LIBRARY, RECORDED, ScriptParts, all};
use super::steps::comment;
use crate::base::quoted;
use crate::choose::{Choice, ChoiceKind};
use crate::crash::Epoch;
use crate::events::{LoggedAction, LoggedCall};

/// The common part of all tests.
const SUITE: &str = include_str!("suite.sh");
/// The device of a test with a recorded disk.
const LOOP: &str = include_str!("loop.sh");
/// The device of a test that loses the writes that were not submitted.
const FLAKEY: &str = include_str!("flakey.sh");
/// The devices of a test that loses the writes that were not flushed.
const LOGWRITES: &str = include_str!("logwrites.sh");

/// The source of the crash disk in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrashedBy {
    /// dm-flakey drops all writes from the end of the workload on.
    Dropping,
    /// dm-log-writes keeps what was flushed until the end of the workload.
    Flushing,
    /// The disk is recorded.
    Recording,
}

/// A test and its output if nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XfstestsCase {
    /// The name of the script file. The output file has the suffix `.out`.
    pub name: String,
    /// The script.
    pub script: String,
    /// Its golden output.
    pub golden: String,
}

impl Reproduction {
    /// Returns the test. `path` is the path of the trace. The name has the form that the suite
    /// accepts, and the suite has no test with its number.
    pub fn xfstest(&self, path: &str, id: &str) -> XfstestsCase {
        let name = format!("999-explode-{id}");
        let crashed_by = self.crashed_by();
        let ScriptParts { settings, functions, data, programs } = self.parts();
        let honesty = match crashed_by {
            CrashedBy::Dropping => dropped(path),
            CrashedBy::Flushing => flushed(path),
            CrashedBy::Recording => self.honesty(path),
        };
        let mut lines = vec![
            "#! /bin/bash".to_owned(),
            "# SPDX-License-Identifier: GPL-2.0".to_owned(),
            "#".to_owned(),
        ];
        lines.push(format!("# FS QA Test {name}"));
        lines.push("#".to_owned());
        lines.extend(self.listed());
        lines.push("#".to_owned());
        lines.extend(comment(&self.head()));
        lines.push("#".to_owned());
        lines.extend(comment(&honesty));
        lines.push("#".to_owned());
        lines.push(". ./common/preamble".to_owned());
        lines.push("_begin_fstest auto quick".to_owned());
        lines.push(String::new());
        let (disks, parts) = match crashed_by {
            CrashedBy::Dropping => (None, vec![LIBRARY, FLAKEY]),
            CrashedBy::Flushing => (None, vec![LIBRARY, LOGWRITES]),
            CrashedBy::Recording => (Some(self.recorded(&data)), vec![LIBRARY, RECORDED, LOOP]),
        };
        let programs = all(programs, disks.as_ref().map_or(&[], |disks| disks.programs));
        lines.push(format!("programs='{}'", programs.join(" ")));
        lines.extend(settings);
        let (settings, building) =
            disks.map_or_else(Default::default, |disks| (disks.settings, disks.functions));
        lines.extend(settings);
        lines.push(String::new());
        lines.extend(functions);
        if !building.is_empty() {
            lines.push(String::new());
            lines.extend(building);
        }
        lines.push(String::new());
        let script = format!("{}\n{}\n{SUITE}", lines.join("\n"), parts.join("\n"));
        let golden = format!("QA output created by {name}\nSilence is golden\n");
        XfstestsCase { name, script, golden }
    }

    /// Returns true if there is one crash, and no command of the checker in the workload: time did
    /// not pass before commands when the unflushed disk was tested.
    fn is_of_calls(&self) -> bool {
        let is_command = |done: &LoggedCall| matches!(done.what, LoggedAction::Shell(_));
        self.moments.len() == 1 && !self.done.iter().any(is_command)
    }

    /// Returns the source of the crash disk. Dropping all writes at the end of the workload leaves
    /// it if it has exactly the writes that were submitted. Losing what was not flushed by then
    /// leaves another disk, which must show the loss as well. In both cases the kernel has done
    /// nothing between two calls that a command does not cause. Also, no space is freed and
    /// allocated again, because its new place may depend on the process that asks
    /// (`ext2_find_near`), and each command is a process.
    fn crashed_by(&self) -> CrashedBy {
        let at_end = matches!(self.trace.epoch, Some(Epoch::Now | Epoch::End));
        let of_itself = |choice: &Choice| {
            !matches!(choice.kind, ChoiceKind::Action | ChoiceKind::Input) && choice.rank() > 0
        };
        let mut rest = self.done.iter().skip_while(|done| !done.gives_back()).skip(1);
        let is_repeatable =
            at_end && !self.choices.iter().flatten().any(of_itself) && !rest.any(LoggedCall::takes);
        match is_repeatable {
            true if self.submitted => CrashedBy::Dropping,
            true if self.unflushed && self.is_of_calls() => CrashedBy::Flushing,
            _ => CrashedBy::Recording,
        }
    }
}

/// Returns the text about what a test that drops writes shows and does not show.
fn dropped(path: &str) -> String {
    format!(
        "The crash of the trace lost no write that had reached the disk: everything that is \
         missing was not yet written to it. So this test needs no recorded disk. It makes the \
         calls of the workload by commands on dm-flakey, drops all writes from the end of the \
         workload on, and recovers the disk. The kernel that runs the test must have written what \
         was promised. dm-flakey has no write cache, so the test does not check flushes.\n\
         Replay of the whole: explode replay {}",
        quoted(path)
    )
}

/// Returns the text about what a test that loses unflushed writes shows and does not show.
fn flushed(path: &str) -> String {
    format!(
        "The crash of the trace lost writes that had reached the disk, which has a volatile cache. \
         A crash that loses all that was not flushed loses what was promised as well. So this test \
         needs no recorded disk. It makes the calls of the workload by commands on dm-log-writes, \
         which logs a write once it is flushed, or at once if it was sent with FUA. The log up to \
         the end of the workload makes the disk that is recovered. The kernel that runs the test \
         must have flushed what was promised.\n\
         Replay of the whole: explode replay {}",
        quoted(path)
    )
}
