//! Applies all rules to a workspace.

use std::collections::BTreeMap;

use crate::circles::{Circle, circles, crates_of, files_of};
use crate::exceptions::{compare_circles, compare_uses, text};
use crate::messages;
use crate::rooms::{list_problems, upward_uses};
use crate::uses::uses;
use crate::workspace::{Files, Workspace};

/// The list of uses that run upwards.
pub const ORDER: &str = "tests/tidy/order.txt";
/// The list of circles of files.
pub const CIRCLES: &str = "tests/tidy/circles.txt";

/// The findings in a workspace.
#[derive(Debug)]
pub struct Findings {
    /// Problems that no list may allow.
    pub problems: Vec<String>,
    /// By `crate: file -> room`.
    pub order: BTreeMap<String, String>,
    /// By `crate: file file ...`.
    pub circles: BTreeMap<String, Circle>,
}

impl Findings {
    pub fn new(files: &Files) -> Self {
        let workspace = Workspace::new(files);
        let uses = uses(&workspace);
        let mut problems = list_problems(files, &workspace);
        problems.extend(messages::problems(files, &workspace));
        for circle in circles(&crates_of(&workspace)) {
            problems.push(format!("a circle of crates:\n    {}", circle.way.join("\n    ")));
        }
        let mut found = BTreeMap::new();
        for (number, of) in workspace.crates.iter().enumerate() {
            for circle in circles(&files_of(&workspace, &uses, number)) {
                let shown: Vec<_> = circle.nodes.iter().map(|file| of.shown(file)).collect();
                found.insert(format!("{}: {}", of.name, shown.join(" ")), circle);
            }
        }
        Findings { problems, order: upward_uses(files, &workspace, &uses), circles: found }
    }

    /// Returns the problems that are no listed exceptions, and the exceptions that are not needed any more.
    pub fn beside(&self, files: &Files) -> Vec<String> {
        let listed = |path: &str| files.get(path).map_or("", String::as_str);
        let mut problems = self.problems.clone();
        problems.extend(compare_uses(&self.order, ORDER, listed(ORDER)));
        problems.extend(compare_circles(&self.circles, CIRCLES, listed(CIRCLES)));
        problems
    }

    /// Returns lists that allow all findings.
    pub fn lists(&self) -> [(&'static str, String); 2] {
        let order = text("Uses that run upwards: `crate: file -> room`.", self.order.keys());
        let circles = text("Files that use each other: `crate: file file ...`.", self.circles.keys());
        [(ORDER, order), (CIRCLES, circles)]
    }
}
