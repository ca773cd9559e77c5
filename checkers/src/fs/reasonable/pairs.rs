//! The pairs of a found inode and an inode of the model that it may be, as far as each pair can be
//! judged by itself, and the needs of each pair.
//!
//! Found inodes, and inodes of the model that have a name, are each numbered from 0 here.

use std::collections::BTreeMap;

use super::search::{StateSearch, is_set_aside};
use super::tree::FoundNode;
use crate::fs::model::{Abstract, Id};

/// A set of inodes of the model. There are at most 20 files, 20 directories and the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberSet(u64);

impl NumberSet {
    /// The largest number of inodes that a set can distinguish.
    pub const MOST: usize = u64::BITS as usize;

    pub fn one(id: usize) -> NumberSet {
        assert!(id < NumberSet::MOST, "more than {} inodes have names", NumberSet::MOST);
        NumberSet(1 << id)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub fn has(self, id: usize) -> bool {
        self.0 >> id & 1 == 1
    }

    /// Returns the only inode of the set. `None` if it has none or several.
    pub fn only(self) -> Option<usize> {
        (self.len() == 1).then(|| self.0.trailing_zeros() as usize)
    }

    pub fn and(self, other: NumberSet) -> NumberSet {
        NumberSet(self.0 & other.0)
    }

    pub fn or(self, other: NumberSet) -> NumberSet {
        NumberSet(self.0 | other.0)
    }

    pub fn without(self, other: NumberSet) -> NumberSet {
        NumberSet(self.0 & !other.0)
    }

    pub fn each(self) -> impl Iterator<Item = usize> {
        let next = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
        let lefts = std::iter::successors(Some(self.0).filter(|left| *left != 0), next);
        lefts.map(|left| left.trailing_zeros() as usize)
    }
}

/// A name in a found directory: the inode that it leads to, the inodes that this may be, and
/// whether the name is settled, which means that a crash cannot change it.
#[derive(Clone, Copy, Debug)]
pub struct Pairing {
    /// The index of the name in its directory.
    pub name: usize,
    pub inode: usize,
    pub may_be: NumberSet,
    pub settled: bool,
}

/// The needs of a found directory if it is one of the model's. A file has no needs.
#[derive(Clone, Debug, Default)]
pub struct PairingNeeds {
    /// The names that are there, except those that may lead to an inode without a name, which may
    /// be anything.
    pub leads: Vec<Pairing>,
    /// For each missing name, the inodes of which at least one must not have been made.
    pub unmade: Vec<NumberSet>,
}

/// A name that was exchanged with another: its directory in the model, and each found directory
/// that has such a name, with the inode that the name leads to.
#[derive(Clone, Debug)]
pub struct PairingChange {
    pub directory: usize,
    pub found: Vec<(usize, usize)>,
}

/// All pairs of found inodes and inodes of the model.
#[derive(Clone, Debug)]
pub struct Pairs {
    pub root: usize,
    /// The inodes that each found inode may be, by itself and with everything below it. Empty if no
    /// name requires it. The found root can only be the root.
    pub possible: Vec<NumberSet>,
    /// The exchanged names, if an exchange must be there whole or not at all.
    pub exchanges: Vec<[PairingChange; 2]>,
    /// True for each found inode to which more than one name leads.
    pub shared: Vec<bool>,
    /// The inodes that each found directory may be, by itself and with everything below it, each
    /// with its needs.
    needs: Vec<Vec<(usize, PairingNeeds)>>,
    nothing: PairingNeeds,
}

/// The numbers of found inodes and of inodes of the model.
struct Numbers {
    inodes: BTreeMap<u32, usize>,
    ids: BTreeMap<Id, usize>,
}

impl Pairs {
    pub fn of(search: &mut StateSearch<'_>) -> Pairs {
        let inodes: BTreeMap<u32, usize> = search.tree.nodes.keys().copied().zip(0..).collect();
        let ids: BTreeMap<Id, usize> = search.alive().iter().copied().zip(0..).collect();
        let found: Vec<u32> = inodes.keys().copied().collect();
        let alive: Vec<Id> = ids.keys().copied().collect();
        let numbers = Numbers { inodes, ids };
        let root = numbers.inodes[&search.tree.root];
        let mut pairs = Pairs {
            root,
            possible: vec![NumberSet::default(); found.len()],
            shared: numbers.shared(search),
            exchanges: if search.whole { numbers.exchanges(search) } else { Vec::new() },
            needs: vec![Vec::new(); found.len()],
            nothing: PairingNeeds::default(),
        };
        let mut seen = pairs.possible.clone();
        let mut waiting = vec![(root, NumberSet::one(numbers.ids[&Abstract::ROOT]))];
        while let Some((inode, may_be)) = waiting.pop() {
            let news = may_be.without(seen[inode]);
            seen[inode] = seen[inode].or(news);
            for id in news.each() {
                if !search.fits(found[inode], alive[id]) {
                    continue;
                }
                if let Some(FoundNode::Directory(names)) = search.tree.nodes.get(&found[inode]) {
                    let Some(needs) = numbers.needs(search, names, alive[id]) else { continue };
                    waiting.extend(needs.leads.iter().map(|lead| (lead.inode, lead.may_be)));
                    pairs.needs[inode].push((id, needs));
                }
                pairs.possible[inode] = pairs.possible[inode].or(NumberSet::one(id));
            }
        }
        pairs.possible[root] =
            pairs.possible[root].and(NumberSet::one(numbers.ids[&Abstract::ROOT]));
        pairs.prune();
        pairs
    }

    /// Removes the pairs whose needs cannot be met.
    fn prune(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (inode, needs) in self.needs.iter_mut().enumerate() {
                needs.retain(|(id, needs)| {
                    let is_left =
                        |lead: &Pairing| !self.possible[lead.inode].and(lead.may_be).is_empty();
                    let can_be = self.possible[inode].has(*id) && needs.leads.iter().all(is_left);
                    if !can_be {
                        self.possible[inode] = self.possible[inode].without(NumberSet::one(*id));
                        changed = true;
                    }
                    can_be
                });
            }
        }
    }

    /// Returns true if the found inode may be a directory.
    pub fn is_directory(&self, inode: usize) -> bool {
        !self.needs[inode].is_empty()
    }

    /// Returns the needs of a possible pair.
    pub fn needs(&self, inode: usize, id: usize) -> &PairingNeeds {
        self.needs[inode].iter().find(|(of, _)| *of == id).map_or(&self.nothing, |(_, needs)| needs)
    }
}

impl Numbers {
    /// Returns the needs of a directory with these names if it is this one of the model's. `None`
    /// if that is impossible, because a name is missing that must be there, or is there and cannot
    /// be.
    fn needs(
        &self,
        search: &StateSearch<'_>,
        names: &BTreeMap<String, u32>,
        id: Id,
    ) -> Option<PairingNeeds> {
        let history = search.history;
        let set = |ids: &[Id]| {
            ids.iter().fold(NumberSet::default(), |set, id| set.or(NumberSet::one(self.ids[id])))
        };
        let is_required = |ids: &[Id]| !ids.is_empty() && !ids.iter().any(|id| search.is_gone(*id));
        let mut needs = PairingNeeds::default();
        for name in history.names(id).filter(|name| !names.contains_key(*name)) {
            let unmade = search.missing(id, name)?;
            needs.unmade.extend(is_required(&unmade).then(|| set(&unmade)));
        }
        let judged =
            names.iter().zip(0..).filter(|((name, _), _)| !is_set_aside(history, id, name));
        for ((name, inode), at) in judged {
            let leads = history.leads(id, name);
            let may_be: Vec<Id> = leads.iter().copied().flatten().collect();
            if may_be.is_empty() {
                return None;
            }
            if is_required(&may_be) {
                let (inode, may_be) = (*self.inodes.get(inode)?, set(&may_be));
                needs.leads.push(Pairing { name: at, inode, may_be, settled: leads.len() == 1 });
            }
        }
        Some(needs)
    }

    /// Returns for each found inode whether more than one name leads to it.
    fn shared(&self, search: &StateSearch<'_>) -> Vec<bool> {
        let mut names = vec![0_usize; self.inodes.len()];
        for node in search.tree.nodes.values() {
            let FoundNode::Directory(below) = node else { continue };
            below
                .values()
                .filter_map(|inode| self.inodes.get(inode))
                .for_each(|inode| names[*inode] += 1);
        }
        names.into_iter().map(|names| names > 1).collect()
    }

    fn exchanges(&self, search: &StateSearch<'_>) -> Vec<[PairingChange; 2]> {
        let changed = |(directory, name): &(Id, String)| {
            let found = search.tree.nodes.iter().filter_map(|(inode, node)| match node {
                FoundNode::Directory(names) => {
                    Some((self.inodes[inode], *self.inodes.get(names.get(name)?)?))
                }
                _ => None,
            });
            Some(PairingChange { directory: *self.ids.get(directory)?, found: found.collect() })
        };
        let both = |[one, other]: &[(Id, String); 2]| Some([changed(one)?, changed(other)?]);
        search.history.exchanges().filter_map(both).collect()
    }
}
