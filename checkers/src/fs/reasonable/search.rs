//! The search (EX-103): do some of the volatile operations, with all stable ones, build the recovered tree?
//!
//! Each inode that was found must be one of the model's: one that all names that lead to it may lead to, of its kind, and with contents
//! that it may have. What a name may lead to is known ([`History::leads`]); the search goes through the names and gives each inode the
//! newest that fits, and goes back where a later name does not agree. Whether two inodes fit is looked up once.
//!
//! An inode that has lost its last name is promised to nobody, even where its name is back: its number and its blocks may have been
//! used again. So what is found there may be anything.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::check::{Verdict, Violation};

use super::contents::{self, Garbage};
use super::history::History;
use super::tree::{Node as Found, Tree};
use super::words::KIND;
use crate::fs::RESERVED;
use crate::fs::topology::{Abstract, Id, Node};

/// Looks at one tree.
pub struct Search<'a> {
    pub fs: &'a Abstract,
    pub history: &'a History,
    pub tree: &'a Tree,
    /// May an unsynced file hold anything?
    pub garbage: Garbage,
    /// May one inode be found as two, where not both of their names are settled?
    pub copies: bool,
    /// Is an exchange there whole or not at all?
    pub whole: bool,
    /// Do modes and extended attributes count that are not forced?
    pub attributes: bool,
    /// The inodes that have a name.
    alive: BTreeSet<Id>,
    /// Whether an inode that was found can be one of the model's, by itself.
    fits: BTreeMap<(u32, Id), bool>,
    /// For each name that is missing, as far as the search has come, the inodes of which one must not have been made.
    unmade: Vec<Vec<Id>>,
}

/// A name that was found: the inode it leads to, which ones of the model that may be, and whether a crash can change nothing of the name.
#[derive(Clone, Debug)]
struct Lead {
    inode: u32,
    may_be: Vec<Id>,
    settled: bool,
}

/// What each inode that was found is: one of the model's, and whether a settled name leads there.
type Assigned = BTreeMap<u32, (Id, bool)>;

impl<'a> Search<'a> {
    pub fn new(
        fs: &'a Abstract,
        history: &'a History,
        tree: &'a Tree,
        garbage: Garbage,
        (copies, whole): (bool, bool),
    ) -> Search<'a> {
        let alive = fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect();
        let (fits, unmade) = Default::default();
        Search { fs, history, tree, garbage, copies, whole, attributes: true, alive, fits, unmade }
    }

    /// Is there a way to build the tree?
    pub fn is_legal(&mut self) -> bool {
        let root = Lead { inode: self.tree.root, may_be: vec![Abstract::ROOT], settled: true };
        self.assign(&mut vec![root], &mut Assigned::new())
    }

    /// Gives an inode of the model to what each lead has found; `waiting` is as it was if there is no way.
    fn assign(&mut self, waiting: &mut Vec<Lead>, assigned: &mut Assigned) -> bool {
        let Some(lead) = waiting.pop() else {
            let is_found = |id: &Id| assigned.values().any(|(found, _)| found == id);
            return self.unmade.iter().all(|ids| !ids.iter().all(is_found))
                && self.are_exchanges_whole(assigned);
        };
        let done = self.assign_one(&lead, waiting, assigned);
        if !done {
            waiting.push(lead);
        }
        done
    }

    /// Do no two names that have changed places lead to the same inode?
    fn are_exchanges_whole(&self, assigned: &Assigned) -> bool {
        let is = |inode: &u32| assigned.get(inode).map(|(id, _)| *id);
        let leads = |(directory, name): &(Id, String)| {
            let there = self.tree.nodes.iter().filter(|(inode, _)| is(inode) == Some(*directory));
            let mut leads = there.filter_map(|(_, node)| match node {
                Found::Directory(names) => names.get(name).and_then(is),
                _ => None,
            });
            leads.next()
        };
        let is_half = |[one, other]: &[(Id, String); 2]| leads(one).is_some() && leads(one) == leads(other);
        !self.whole || !self.history.exchanges().any(is_half)
    }

    fn assign_one(&mut self, lead: &Lead, waiting: &mut Vec<Lead>, assigned: &mut Assigned) -> bool {
        let known = assigned.get(&lead.inode).map(|(id, _)| *id);
        for id in lead.may_be.iter().copied() {
            if !self.alive.contains(&id) {
                if self.assign(waiting, assigned) {
                    return true;
                }
                continue;
            }
            if known == Some(id) {
                if self.assign(waiting, assigned) {
                    return true;
                }
                continue;
            }
            let taken = assigned
                .values()
                .any(|(other, settled)| *other == id && (!self.copies || lead.settled && *settled));
            if known.is_some() || taken || !self.fits(lead.inode, id) {
                continue;
            }
            let Some((leads, unmade)) = self.leads(lead.inode, id) else { continue };
            assigned.insert(lead.inode, (id, lead.settled));
            let before = (waiting.len(), self.unmade.len());
            waiting.extend(leads);
            self.unmade.extend(unmade);
            if self.assign(waiting, assigned) {
                return true;
            }
            waiting.truncate(before.0);
            self.unmade.truncate(before.1);
            assigned.remove(&lead.inode);
        }
        false
    }

    /// The names in a directory that was found, if it is this one of the model's, and what those that are missing ask for; none if
    /// that cannot be: a name is not there that must be, or one is there that cannot be. A file has no names.
    fn leads(&self, inode: u32, id: Id) -> Option<(Vec<Lead>, Vec<Vec<Id>>)> {
        let Some(Found::Directory(found)) = self.tree.nodes.get(&inode) else {
            return Some(Default::default());
        };
        let missing = self.history.names(id).filter(|name| !found.contains_key(*name));
        let unmade = missing.map(|name| self.missing(id, name)).collect::<Option<Vec<_>>>()?;
        let judged = found.iter().filter(|(name, _)| !is_set_aside(self.history, id, name));
        let leads = judged.map(|(name, inode)| {
            let leads = self.history.leads(id, name);
            let settled = leads.len() == 1;
            let may_be: Vec<Id> = leads.into_iter().flatten().collect();
            (!may_be.is_empty()).then_some(Lead { inode: *inode, may_be, settled })
        });
        let asks = unmade.into_iter().filter(|ids| !ids.is_empty()).collect();
        Some((leads.collect::<Option<_>>()?, asks))
    }

    /// Why a name can be missing: it leads nowhere, for which nothing is asked, or to an inode that was not made; none if it cannot.
    pub fn missing(&self, directory: Id, name: &str) -> Option<Vec<Id>> {
        let leads = self.history.leads(directory, name);
        if leads.contains(&None) {
            return Some(Vec::new());
        }
        let unmade: Vec<Id> = leads.into_iter().flatten().filter(|id| !self.history.is_made(*id)).collect();
        (!unmade.is_empty()).then_some(unmade)
    }

    /// Can what was found be this inode, for its kind and its contents?
    pub fn fits(&mut self, inode: u32, id: Id) -> bool {
        if let Some(known) = self.fits.get(&(inode, id)) {
            return *known;
        }
        let fits = match self.tree.nodes.get(&inode) {
            Some(Found::Directory(_)) => self.fs.is_directory(id),
            Some(Found::File { bytes, .. }) => {
                let written = self.history.file(id).filter(|_| self.fs.is_file(id));
                written.is_some_and(|written| contents::judge(written, bytes, self.garbage).is_ok())
            }
            Some(Found::Symlink { target, .. }) => self.target(id, target).is_ok(),
            None => false,
        };
        let fits = fits && self.attributes(inode, id).is_ok();
        self.fits.insert((inode, id), fits);
        fits
    }

    /// Can what was found have its mode and its extended attributes, if it is this inode?
    ///
    /// # Errors
    /// Why not, without its path.
    pub fn attributes(&self, inode: u32, id: Id) -> Result<(), Violation> {
        let seen = self.tree.attributes.get(&inode).filter(|_| !self.fs.is_symlink(id));
        seen.map_or(Ok(()), |seen| self.history.judge(self.fs, id, seen, self.attributes))
    }

    /// Can this inode, which was found as a symbolic link, hold this? It may hold nothing as long as it is not forced.
    ///
    /// # Errors
    /// Why not, without its path.
    pub fn target(&self, id: Id, found: &str) -> Result<(), Violation> {
        let Node::Symlink(wanted) = self.fs.node(id) else {
            return Err(Violation::new(Verdict::Corrupt, KIND, "is a symbolic link"));
        };
        let volatile = !self.history.is_made(id);
        if wanted == found || volatile && (found.is_empty() || self.garbage != Garbage::Own) {
            return Ok(());
        }
        let promise = if volatile { contents::UNSYNCED } else { contents::FLUSHED };
        let verdict = if found.is_empty() { Verdict::Lost } else { Verdict::Corrupt };
        Err(Violation::new(verdict, promise, format!("is a symbolic link to '{found}', not to '{wanted}'")))
    }

    /// Is it promised to nobody?
    pub fn is_gone(&self, id: Id) -> bool {
        !self.alive.contains(&id)
    }
}

/// Is it a name in the root that the file system keeps for itself, or under which fsck.fat sets aside what it has found?
pub fn is_set_aside(history: &History, directory: Id, name: &str) -> bool {
    let chains = name.strip_prefix("FSCK").or_else(|| name.strip_prefix("fsck"));
    let of_fat = chains.is_some_and(|rest| rest.to_ascii_lowercase().ends_with(".rec"));
    directory == Abstract::ROOT
        && (RESERVED.iter().any(|path| path[1..] == *name) || of_fat)
        && history.leads(directory, name).is_empty()
}
