//! What a script runs as root, as a list at its head: a person reads it before the script runs.

use super::case::Case;
use super::steps::comment_line;
use super::{What, printable};
use crate::check::Demand;

impl Case {
    /// The list, as comments.
    pub(super) fn listed(&self) -> Vec<String> {
        let system = &self.system;
        let options =
            if system.options.is_empty() { String::new() } else { format!(" -o {}", system.options) };
        let mut own = vec![
            format!("{} DEVICE", system.make.trim()),
            format!("mount -t {}{options} DEVICE FOLDER; umount FOLDER", system.driver),
        ];
        let looks =
            system.repair.iter().map(|(line, _)| line).chain(system.strict.iter().map(|(line, _)| line));
        own.extend(looks.map(|line| format!("{} DEVICE", line.trim())));
        let mut lines = vec![
            "# This file runs the following as root. Its own functions, below, call plain programs."
                .to_owned(),
        ];
        lines.extend(own.iter().map(|line| comment_line(&format!("  {line}"))));
        lines.extend(self.carried().iter().map(|text| comment_line(&format!("  of the trace: {text}"))));
        lines
    }

    /// The commands of the trace that the script has, each once.
    fn carried(&self) -> Vec<&str> {
        let steps =
            self.done.iter().filter(|done| done.error.is_none()).filter_map(|done| match &done.what {
                What::Shell(text) => Some(text.as_str()),
                _ => None,
            });
        let checks = self.demands.iter().filter_map(|demand| match demand {
            Demand::Command { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let mut commands: Vec<&str> = Vec::new();
        for text in steps.chain(checks) {
            if !commands.contains(&text) {
                commands.push(text);
            }
        }
        commands
    }
}

/// A command of the trace as the script has it: one that has control characters, as text that a terminal can show.
pub(super) fn runnable(text: &str) -> String {
    printable(text).map_or_else(|| text.to_owned(), |word| format!("eval {word}"))
}
