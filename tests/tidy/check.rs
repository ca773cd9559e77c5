//! Applies all rules to a workspace.

use std::collections::BTreeMap;

use crate::circles::{Circle, circles, crates_of, files_of};
use crate::messages;
use crate::rooms::{list_problems, upward_uses};
use crate::uses::uses;
use crate::workspace::{Files, Workspace};

/// The findings in a workspace.
#[derive(Debug)]
pub struct Findings {
    /// The problems of all other kinds.
    pub problems: Vec<String>,
    /// Uses that run upwards, by `crate: file -> room`.
    pub order: BTreeMap<String, String>,
    /// Circles of files, by `crate: file file ...`.
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

    /// Returns all problems. There are no exceptions.
    pub fn all(&self) -> Vec<String> {
        let circles = self.circles.values().map(|circle| {
            let way = circle.way.join("\n    ");
            let advice = "move what they share into a file of its own";
            format!("a circle of {} files: {advice}\n    {way}", circle.nodes.len())
        });
        self.problems.iter().chain(self.order.values()).cloned().chain(circles).collect()
    }
}
