//! The search (EX-103) for some of the volatile operations that build the recovered tree together
//! with all stable ones.
//!
//! Each found inode must be one of the model's: one that all its names may lead to, of its kind,
//! and with contents that it may have. [`History::leads`] lists all that a name may lead to.
//! Whether two inodes fit is determined here, once per pair. `pairs.rs` derives what follows from
//! all pairs together, and `assign.rs` tries the rest.
//!
//! Nothing is promised about an inode that has lost its last name, even if the name is back,
//! because its number and its blocks may have been used again. So anything may be found there, and
//! a name that may lead to it requires nothing.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::verdict::{Verdict, Violation};

use super::contents::{self, UnwrittenBytes};
use super::tree::{FoundNode as Found, FoundTree};
use super::words::KIND;
use crate::fs::RESERVED;
use crate::fs::model::History;
use crate::fs::model::promise::PromisedContents;
use crate::fs::model::{Abstract, Id, ModelNode};

/// A search on one tree.
pub struct StateSearch<'a> {
    pub fs: &'a Abstract,
    pub history: &'a History,
    pub tree: &'a FoundTree,
    /// The possible values of unsynced bytes.
    pub garbage: UnwrittenBytes,
    /// True if one inode may be found as two, unless both have a settled name.
    pub copies: bool,
    /// True if an exchange must be there whole or not at all.
    pub whole: bool,
    /// True if modes and extended attributes that are not forced count.
    pub attributes: bool,
    /// The inodes that have a name.
    alive: BTreeSet<Id>,
    /// The known results of `fits`, for pairs of a found inode and one of the model's.
    fits: BTreeMap<(u32, Id), bool>,
    /// The promised contents of each file that was examined.
    promised: BTreeMap<Id, Option<PromisedContents>>,
    /// The number of states that the search has examined.
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

    /// Returns the inodes that have a name.
    pub fn alive(&self) -> &BTreeSet<Id> {
        &self.alive
    }

    /// Returns the inodes of which one was not made if the name is missing. Empty if the name may
    /// lead nowhere. `None` if the name cannot be missing.
    pub fn missing(&self, directory: Id, name: &str) -> Option<Vec<Id>> {
        let leads = self.history.leads(directory, name);
        if leads.contains(&None) {
            return Some(Vec::new());
        }
        let unmade: Vec<Id> =
            leads.into_iter().flatten().filter(|id| !self.history.is_made(*id)).collect();
        (!unmade.is_empty()).then_some(unmade)
    }

    /// Returns true if a found inode can be this one, by its kind, contents and attributes.
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

    /// Checks the mode and the extended attributes of a found inode, if it is this one.
    ///
    /// # Errors
    /// Returns the violation as a text that follows the path.
    pub fn attributes(&self, inode: u32, id: Id) -> Result<(), Violation> {
        let seen = self.tree.attributes.get(&inode).filter(|_| !self.fs.is_symlink(id));
        seen.map_or(Ok(()), |seen| self.history.judge(self.fs, id, seen, self.attributes))
    }

    /// Checks the target of a found symbolic link, if it is this inode. The target may be empty
    /// until it is forced.
    ///
    /// # Errors
    /// Returns the violation as a text that follows the path.
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

/// Returns true for a name in the root that is reserved by the file system, or under which fsck.fat
/// sets aside what it has found.
pub fn is_set_aside(history: &History, directory: Id, name: &str) -> bool {
    let chains = name.strip_prefix("FSCK").or_else(|| name.strip_prefix("fsck"));
    let of_fat = chains.is_some_and(|rest| rest.to_ascii_lowercase().ends_with(".rec"));
    directory == Abstract::ROOT
        && (RESERVED.iter().any(|path| path[1..] == *name) || of_fat)
        && history.leads(directory, name).is_empty()
}
