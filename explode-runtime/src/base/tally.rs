//! Counts by name, for what only one kind of system has: its crashes, its lost messages.

use serde::{Deserialize, Serialize};

use super::ExactCount;

/// Counts under one heading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyGroup {
    /// The heading.
    pub name: String,
    /// The names and their counts, in the order in which they were first counted.
    pub tallies: Vec<(String, ExactCount)>,
}

impl TallyGroup {
    /// Adds a count to that of a name in a list of groups.
    pub fn add(groups: &mut Vec<TallyGroup>, group: &str, name: &str, count: &ExactCount) {
        let at = groups.iter().position(|known| known.name == group).unwrap_or_else(|| {
            groups.push(TallyGroup { name: group.to_owned(), tallies: Vec::new() });
            groups.len() - 1
        });
        let tallies = &mut groups[at].tallies;
        match tallies.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count.0.clone(),
            None => tallies.push((name.to_owned(), count.clone())),
        }
    }

    /// Adds the counts of other groups.
    pub fn add_all(groups: &mut Vec<TallyGroup>, others: &[TallyGroup]) {
        for TallyGroup { name: group, tallies } in others {
            for (name, count) in tallies {
                TallyGroup::add(groups, group, name, count);
            }
        }
    }
}
