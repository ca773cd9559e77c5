//! The same as a test of the suite xfstests: laid out as its tests are, on a loop device in its test file system.

use super::case::Case;
use super::sh::{LIBRARY, Parts};
use super::steps::comment;

/// What only the test does.
const SUITE: &str = include_str!("suite.sh");

/// A test, and what it prints where nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The name of its file; that of the output has `.out` besides.
    pub name: String,
    /// It.
    pub script: String,
    /// Its golden output.
    pub golden: String,
}

impl Case {
    /// The test; `path` is where the trace stands. Its name is one that the suite takes, and none of its own.
    pub fn xfstest(&self, path: &str, id: &str) -> Test {
        let name = format!("999-explode-{id}");
        let Parts { settings, functions, programs } = self.parts();
        let mut lines =
            vec!["#! /bin/bash".to_owned(), "# SPDX-License-Identifier: GPL-2.0".to_owned(), "#".to_owned()];
        lines.push(format!("# FS QA Test {name}"));
        lines.push("#".to_owned());
        lines.extend(comment(&self.head()));
        lines.push("#".to_owned());
        lines.extend(comment(&self.honesty(path)));
        lines.push("#".to_owned());
        lines.push(". ./common/preamble".to_owned());
        lines.push("_begin_fstest auto quick".to_owned());
        lines.push(String::new());
        lines.push(format!("programs='{}'", programs.join(" ")));
        lines.extend(settings);
        lines.push(String::new());
        lines.extend(functions);
        lines.push(String::new());
        let script = format!("{}\n{LIBRARY}\n{SUITE}", lines.join("\n"));
        let golden = format!("QA output created by {name}\nSilence is golden\n");
        Test { name, script, golden }
    }
}
