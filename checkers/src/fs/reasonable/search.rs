//! The search (EX-103): do some of the volatile operations, with all stable ones, build the
//! recovered tree?
//!
//! Each inode that was found must be one of the model's: one that all names that lead to it may
//! lead to, of its kind, and with contents that it may have. What a name may lead to is known
//! ([`History::leads`]). Whether two inodes fit is looked up once, here; what follows of all pairs
//! together is in `pairs.rs`, and what is left to try in `assign.rs`.
//!
//! Nothing is promised about an inode that has lost its last name, even where its name is back: its
//! number and its blocks may have been used again. So what is found there may be anything, and a
//! name that may lead to it asks for nothing.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::verdict::{Verdict, Violation};

use super::contents::{self, UnwrittenBytes};
use super::tree::{FoundNode as Found, FoundTree};
use super::words::KIND;
use crate::fs::RESERVED;
use crate::fs::model::History;
use crate::fs::model::promise::PromisedContents;
use crate::fs::model::{Abstract, Id, ModelNode};

/// Looks at one tree.
pub struct StateSearch<'a> {
    pub fs: &'a Abstract,
    pub history: &'a History,
    pub tree: &'a FoundTree,
    /// May an unsynced file hold anything?
    pub garbage: UnwrittenBytes,
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
    /// What must be in each file that was asked for.
    promised: BTreeMap<Id, Option<PromisedContents>>,
    /// How many states the search has looked at.
    pub visited: u64,
}

impl<'a> StateSearch<'a> {
    pub fn new(
        fs: &'a Abstract,
        history: &'a History,
        tree: &'a FoundTree,
        garbage: UnwrittenBytes,
        (copies, whole): (bool, bool),
    ) -> StateSearch<'a> {
        let alive = fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect();
        let (fits, promised, visited) = Default::default();
        StateSearch {
            fs,
            history,
            tree,
            garbage,
            copies,
            whole,
            attributes: true,
            alive,
            fits,
            promised,
            visited,
        }
    }

    /// The inodes that have a name.
    pub fn alive(&self) -> &BTreeSet<Id> {
        &self.alive
    }

    /// Why a name can be missing: it leads nowhere, for which nothing is asked, or to an inode that
    /// was not made; none if it cannot.
    pub fn missing(&self, directory: Id, name: &str) -> Option<Vec<Id>> {
        let leads = self.history.leads(directory, name);
        if leads.contains(&None) {
            return Some(Vec::new());
        }
        let unmade: Vec<Id> =
            leads.into_iter().flatten().filter(|id| !self.history.is_made(*id)).collect();
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
                written.is_some_and(|written| {
                    let promised =
                        self.promised.entry(id).or_insert_with(|| contents::promised(written));
                    contents::judge_by(written, promised.as_ref(), bytes, self.garbage).is_ok()
                })
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

    /// Can this inode, which was found as a symbolic link, hold this? It may hold nothing as long
    /// as it is not forced.
    ///
    /// # Errors
    /// Why not, without its path.
    pub fn target(&self, id: Id, found: &str) -> Result<(), Violation> {
        let ModelNode::Symlink(wanted) = self.fs.node(id) else {
            return Err(Violation::new(Verdict::Corrupt, KIND, "is a symbolic link"));
        };
        let volatile = !self.history.is_made(id);
        if wanted == found || volatile && (found.is_empty() || self.garbage != UnwrittenBytes::Own)
        {
            return Ok(());
        }
        let promise = if volatile { contents::UNSYNCED } else { contents::FLUSHED };
        let verdict = if found.is_empty() { Verdict::Lost } else { Verdict::Corrupt };
        Err(Violation::new(
            verdict,
            promise,
            format!("is a symbolic link to '{found}', not to '{wanted}'"),
        ))
    }

    /// Returns true if the inode has lost its last name, so that nothing is promised about it.
    pub fn is_gone(&self, id: Id) -> bool {
        !self.alive.contains(&id)
    }
}

/// Is it a name in the root that the file system keeps for itself, or under which fsck.fat sets
/// aside what it has found?
pub fn is_set_aside(history: &History, directory: Id, name: &str) -> bool {
    let chains = name.strip_prefix("FSCK").or_else(|| name.strip_prefix("fsck"));
    let of_fat = chains.is_some_and(|rest| rest.to_ascii_lowercase().ends_with(".rec"));
    directory == Abstract::ROOT
        && (RESERVED.iter().any(|path| path[1..] == *name) || of_fat)
        && history.leads(directory, name).is_empty()
}
