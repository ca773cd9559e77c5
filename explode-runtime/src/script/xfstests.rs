//! The script as a test of the suite xfstests, in the layout of the suite's tests, on a loop device
//! in its test file system.
//!
//! There are two kinds. If the crash has lost exactly the writes that were not submitted, the test
//! loses them by dm-flakey, as the suite's own tests do. Then it is the kernel under test that has
//! failed to write them. Otherwise the disk is the recorded one.

use super::reproduction::Reproduction;
use super::sh::{LIBRARY, RECORDED, ScriptParts, all};
use super::steps::comment;
use crate::base::quoted;
use crate::choose::{Choice, ChoiceKind};
use crate::crash::Epoch;

/// The common part of all tests.
const SUITE: &str = include_str!("suite.sh");
/// The device of a test with a recorded disk.
const LOOP: &str = include_str!("loop.sh");
/// The device of a test that loses the writes that were not submitted.
const FLAKEY: &str = include_str!("flakey.sh");

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
        let is_dropped = self.is_dropped();
        let ScriptParts { settings, functions, data, programs } = self.parts();
        let honesty = if is_dropped { self.dropped(path) } else { self.honesty(path) };
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
        let (disks, parts) = if is_dropped {
            (None, vec![LIBRARY, FLAKEY])
        } else {
            (Some(self.recorded(&data)), vec![LIBRARY, RECORDED, LOOP])
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

    /// Returns true if dropping all writes at the end of the workload leaves the crash disk. Then
    /// the disk has exactly the writes that were submitted, and the kernel has done nothing between
    /// two calls that a command does not cause. Also, no space is freed and allocated again,
    /// because its new place may depend on the process that asks (`ext2_find_near`), and each
    /// command is a process.
    fn is_dropped(&self) -> bool {
        let at_end = matches!(self.trace.epoch, Some(Epoch::Now | Epoch::End));
        let of_itself = |choice: &Choice| {
            !matches!(choice.kind, ChoiceKind::Action | ChoiceKind::Input) && choice.rank() > 0
        };
        let mut rest = self.done.iter().skip_while(|done| !done.gives_back()).skip(1);
        self.submitted
            && at_end
            && !self.choices.iter().flatten().any(of_itself)
            && !rest.any(crate::events::LoggedCall::takes)
    }

    /// Returns the text about what a test that drops writes shows and does not show.
    fn dropped(&self, path: &str) -> String {
        format!(
            "The crash of the trace lost no write that had reached the disk: everything that is \
             missing was not yet written to it. So this test needs no recorded disk. It makes the \
             calls of the workload by commands on dm-flakey, drops all writes from the end of the \
             workload on, and recovers the disk. The kernel that runs the test must have written \
             what was promised. dm-flakey has no write cache, so the test does not check \
             flushes.\n\
             Replay of the whole: explode replay {}",
            quoted(path)
        )
    }
}
