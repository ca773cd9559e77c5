//! The canonical form of a state (EX-99): the tree with all that a crash may leave of it. Two
//! states have the same form only if one becomes the other by a change of names, inodes and
//! contents. Then the same trees are legal for both, under the changed names, and each step of one
//! corresponds to a step of the other.
//!
//! The form leaves out everything that no check depends on: the contents of removed directories,
//! the identity of the inodes without a name that a name may have led to, and the number of equal
//! writes. A name that was removed durably stays, because it has its own promise (`deleted-name`).
//! Free names are used again, the last one first ([`Free`]). So the free names of a directory count
//! in their order, and its other names in any order.
//!
//! Most inodes are reached by one name, and their form is a part of the form of that name. Things
//! that occur in several places (an inode that may be found under several names, contents that
//! several files have, an exchange) are numbered. They are first distinguished by the whole form as
//! seen from each of them. If some are still equal, each of them is tried as the first, and the
//! least form is taken. After [`TRIES`] forms the rest keeps the order in which it was made. Then
//! two equal states may count as two.

mod contents;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::free::Free;
use crate::fs::model::AttributeHistory;
use crate::fs::model::{Abstract, Id, ModelNode};
use crate::fs::model::{History, NamePlace};
use contents::SignedContents;

/// Returns the canonical form. `whole` is true if exchanges count.
pub fn signature(fs: &Abstract, history: &History, free: &Free, whole: bool) -> Vec<u8> {
    let form = Form::new(fs, history, free, whole);
    let mut tries = TRIES;
    let kinds = form.several.iter().map(|item| match item {
        Item::Inode(_) => 0,
        Item::Version(_) => 1,
        Item::Exchange(_) => 2,
    });
    form.least(kinds.collect(), &mut tries).into_bytes()
}

/// The largest number of forms that are compared.
const TRIES: usize = 120;
/// The label of the thing from which the form is seen.
const MYSELF: usize = usize::MAX;

/// The forms of an inode without a name, which was made or was not made.
const GONE: &str = "+";
const UNMADE: &str = "!";

/// Something that occurs in several places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Inode(Id),
    /// The data of the write with this version.
    Version(u32),
    Exchange(usize),
}

/// A state, prepared for its form.
struct Form<'a> {
    fs: &'a Abstract,
    history: &'a History,
    free: &'a Free,
    /// The names in each existing directory, in order.
    places: BTreeMap<Id, Vec<NamePlace<'a>>>,
    /// The contents of each existing file.
    files: BTreeMap<Id, SignedContents>,
    alive: BTreeSet<Id>,
    exchanges: Vec<&'a [(Id, String); 2]>,
    /// The things that occur in several places, in any order. A label for each of them
    /// distinguishes them.
    several: Vec<Item>,
}

impl<'a> Form<'a> {
    fn new(fs: &'a Abstract, history: &'a History, free: &'a Free, whole: bool) -> Form<'a> {
        let alive: BTreeSet<Id> =
            fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect();
        let mut places: BTreeMap<Id, Vec<NamePlace<'a>>> = BTreeMap::new();
        for place in history.places().filter(|place| alive.contains(&place.directory)) {
            places.entry(place.directory).or_default().push(place);
        }
        let known = |id: &Id| history.file(*id).map(|written| (*id, SignedContents::of(written)));
        let files: BTreeMap<Id, SignedContents> = alive.iter().filter_map(known).collect();
        let exchanges = history
            .exchanges()
            .filter(|places| whole && places.iter().all(|(id, _)| alive.contains(id)));
        let exchanges: Vec<_> = exchanges.collect();
        let mut counts: BTreeMap<Item, usize> = BTreeMap::new();
        let leads = places.values().flatten().flat_map(|place| place.leads.iter().flatten());
        let ids = leads.filter(|id| alive.contains(id)).map(|id| Item::Inode(*id));
        let versions = files.values().flat_map(SignedContents::versions).map(Item::Version);
        for item in ids.chain(versions) {
            *counts.entry(item).or_default() += 1;
        }
        let several = counts.into_iter().filter(|(_, times)| *times > 1).map(|(item, _)| item);
        let several = several.chain((0..exchanges.len()).map(Item::Exchange)).collect();
        Form { fs, history, free, places, files, alive, exchanges, several }
    }

    /// Returns the least form that these labels permit. Things that are equal so far have the same
    /// label.
    fn least(&self, labels: Vec<usize>, tries: &mut usize) -> String {
        let labels = self.refine(labels);
        let alike = |label: &usize| labels.iter().filter(|other| *other == label).count() > 1;
        let Some(label) = labels.iter().copied().filter(alike).min() else {
            *tries = tries.saturating_sub(1);
            return self.whole(&labels);
        };
        let mut least: Option<String> = None;
        for first in (0..labels.len()).filter(|at| labels[*at] == label) {
            if least.is_some() && *tries == 0 {
                break;
            }
            let mut labels: Vec<usize> = labels.iter().map(|label| 2 * label + 1).collect();
            labels[first] -= 1;
            let form = self.least(labels, tries);
            least = Some(least.map_or(form.clone(), |least| least.min(form)));
        }
        least.unwrap_or_default()
    }

    /// Gives different labels, from 0 up, to things from which the form looks different, until
    /// nothing changes.
    fn refine(&self, mut labels: Vec<usize>) -> Vec<usize> {
        let count = |labels: &[usize]| labels.iter().collect::<BTreeSet<_>>().len();
        loop {
            let before = count(&labels);
            let seen: Vec<(usize, String)> = (0..labels.len())
                .map(|at| {
                    let mut mine = labels.clone();
                    mine[at] = MYSELF;
                    (
                        labels[at],
                        if before == labels.len() { String::new() } else { self.whole(&mine) },
                    )
                })
                .collect();
            let order: BTreeSet<&(usize, String)> = seen.iter().collect();
            let order: Vec<_> = order.into_iter().collect();
            labels = seen.iter().map(|one| order.partition_point(|other| *other < one)).collect();
            if count(&labels) == before {
                return labels;
            }
        }
    }

    fn whole(&self, labels: &[usize]) -> String {
        let ids = self.several.iter().zip(labels);
        let mut bodies: Vec<String> = ids
            .filter_map(|(item, label)| match item {
                Item::Inode(id) => Some(format!("{}:{}", number(*label), self.node(*id, labels))),
                Item::Version(_) | Item::Exchange(_) => None,
            })
            .collect();
        bodies.sort_unstable();
        self.node(Abstract::ROOT, labels) + &bodies.concat()
    }

    /// Returns the number of something that occurs in several places. `None` for anything else.
    fn label(&self, item: Item, labels: &[usize]) -> Option<String> {
        let at = self.several.iter().position(|other| *other == item)?;
        Some(number(labels[at]))
    }

    fn node(&self, id: Id, labels: &[usize]) -> String {
        let made = if self.history.is_made(id) || id == Abstract::ROOT { "" } else { "?" };
        let new = AttributeHistory::new(self.fs.is_directory(id)).form();
        let past = self.history.past(id).map(AttributeHistory::form).filter(|past| *past != new);
        let past = past.map_or_else(String::new, |past| format!("@{past}"));
        match self.fs.node(id) {
            ModelNode::Symlink(target) => format!("l{made}{target};"),
            ModelNode::File(_) => {
                let contents = self.files.get(&id);
                let shared = |version: u32| self.label(Item::Version(version), labels);
                let contents = contents.map(|contents| contents.form(&shared)).unwrap_or_default();
                format!("f{made}{contents}{past};")
            }
            ModelNode::Directory(_) => {
                let places = self.places.get(&id).map(Vec::as_slice).unwrap_or_default();
                let of = |place: &&NamePlace<'_>| self.place(place, labels);
                let mut used: Vec<String> = places
                    .iter()
                    .filter(|place| place.now.is_some())
                    .map(|place| of(&place))
                    .collect();
                used.sort_unstable();
                let free = self.free.of(id).iter();
                let free: String = free
                    .filter_map(|name| places.iter().find(|place| place.name == name))
                    .map(|place| of(&place))
                    .collect();
                format!("({made}{}|{}{past})", free, used.concat())
            }
        }
    }

    fn place(&self, place: &NamePlace<'_>, labels: &[usize]) -> String {
        let now = self.lead(place.now, labels);
        let is_place = |one: &(Id, String)| one.0 == place.directory && one.1 == place.name;
        let exchanged =
            self.exchanges.iter().enumerate().filter(|(_, both)| both.iter().any(is_place));
        let mut numbers: Vec<String> =
            exchanged.filter_map(|(at, _)| self.label(Item::Exchange(at), labels)).collect();
        numbers.sort_unstable();
        let numbers: String = numbers.iter().map(|number| format!("x{number}")).collect();
        if place.is_forced {
            return format!("={now}{numbers}");
        }
        // The current inode is one of them.
        let others = place.leads.iter().filter(|lead| **lead != place.now);
        let mut others: Vec<String> = others.map(|lead| self.lead(*lead, labels)).collect();
        if place.leads.contains(&None) {
            // The name may be missing anyway, whether the inode was made or not.
            others
                .iter_mut()
                .filter(|lead| *lead == UNMADE)
                .for_each(|lead| *lead = GONE.to_owned());
        }
        others.sort_unstable();
        others.dedup_by(|one, other| one == other && [GONE, UNMADE].contains(&one.as_str()));
        format!("~{now}[{}]{numbers}", others.concat())
    }

    /// Returns the form of what a name leads to: nowhere, an inode without a name, the number of an
    /// inode, or the inode itself.
    fn lead(&self, lead: Option<Id>, labels: &[usize]) -> String {
        match lead {
            None => "-".to_owned(),
            Some(id) if !self.alive.contains(&id) => {
                if self.history.is_made(id) {
                    GONE.to_owned()
                } else {
                    UNMADE.to_owned()
                }
            }
            Some(id) => {
                self.label(Item::Inode(id), labels).unwrap_or_else(|| self.node(id, labels))
            }
        }
    }
}

fn number(label: usize) -> String {
    if label == MYSELF { "#me ".to_owned() } else { format!("#{label} ") }
}
