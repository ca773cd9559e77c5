//! The log trees of btrfs (`fs/btrfs/tree-log.c`).
//!
//! A sync of an inode does not make the changes before it durable. It logs the inode, its names,
//! and what these need. After a crash the log trees are put over the last transaction. A
//! transaction can end at any time, so a crash leaves the first k changes, for any k, and all log
//! trees that were written after them.
//!
//! Most of what a log tree holds depends on k: only the names that were changed after a transaction
//! are in the log trees that follow it. So a [`LoggedName`] has the range of k for which it is
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::files::inode::InodeNumber;

/// The log tree of a sync of one inode: the inode with its contents and attributes, for a directory
/// also its names; and names in other directories. All of it is as it was at the sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLog {
    /// The inode.
    pub inode: InodeNumber,
    /// The names.
    pub names: Vec<LoggedName>,
}

impl TreeLog {
    /// Returns true if btrfs may leave out a name.
    pub fn may_leave_out(&self) -> bool {
        self.names.iter().any(|name| name.also)
    }
}

/// A name in a log tree. It leads to an inode or nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedName {
    /// The place of the name.
    pub place: NameSlot,
    /// The name is there if the number of valid changes is in this range.
    pub changes: Range<u64>,
    /// True if btrfs may leave the name out.
    pub also: bool,
}

/// The place of a name: a slot of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NameSlot {
    /// The directory.
    pub directory: InodeNumber,
    /// The sector of its device.
    pub slot: u64,
}

/// A change of one name.
#[derive(Clone, Copy, Debug)]
pub struct NameChange {
    /// The place of the name.
    pub place: NameSlot,
    /// The inode that it led to before.
    pub was: Option<InodeNumber>,
    /// The inode that it leads to.
    pub is: Option<InodeNumber>,
}

impl NameChange {
    /// Returns true if an inode gets or loses the name.
    fn is_of(&self, inode: InodeNumber) -> bool {
        self.was == Some(inode) || self.is == Some(inode)
    }
}

/// The changes of names that are not durable, and the inodes that were made and logged since.
#[derive(Clone, Debug, Default)]
pub struct NameChanges {
    /// The changes, each with its number.
    changes: Vec<(u64, NameChange)>,
    /// The new inodes, each with the number of the change that made it.
    made: BTreeMap<InodeNumber, u64>,
    /// The number of changes when an inode was logged last.
    logged: BTreeMap<InodeNumber, u64>,
}

/// The names of each inode.
pub type NamesOfInodes = BTreeMap<InodeNumber, BTreeSet<NameSlot>>;

impl NameChanges {
    /// Adds a change of a name.
    pub fn add(&mut self, number: u64, change: NameChange) {
        self.changes.push((number, change));
    }

    /// Records that a change makes an inode.
    pub fn made(&mut self, number: u64, inode: InodeNumber) {
        self.made.insert(inode, number);
    }

    /// Forgets everything, because all changes are durable.
    pub fn clear(&mut self) {
        *self = NameChanges::default();
    }

    /// Returns the log tree of an inode after `now` changes.
    pub fn log(&mut self, inode: InodeNumber, existing: &NamesOfInodes, now: u64) -> TreeLog {
        let mut logging = Logging { all: self, inode, existing, names: BTreeSet::new() };
        logging.inode(inode, 0..now, false);
        for place in self.places_in(inode) {
            logging.replaced(place, 0..now, false);
        }
        logging.children(inode, 0..now, true);
        if self.is_renamed(inode) {
            logging.parents_of(inode, 0..now);
        }
        for (earlier, at) in &self.logged {
            if self.has_changed(*earlier, *at) {
                logging.updated(*earlier, 0..*at);
            }
        }
        let names = logging.names.into_iter();
        let names = names
            .map(|(place, from, before, also)| LoggedName { place, changes: from..before, also })
            .collect();
        self.logged.insert(inode, now);
        TreeLog { inode, names }
    }

    /// Returns the inode that a name leads to now. `None` if nowhere, or if it has not changed.
    fn target(&self, place: NameSlot) -> Option<InodeNumber> {
        let newest = self.changes.iter().rev().find(|(_, change)| change.place == place);
        newest.and_then(|(_, change)| change.is)
    }

    /// Returns the places of the names of an inode that have changed.
    fn places_of(&self, inode: InodeNumber) -> BTreeSet<NameSlot> {
        let of_inode = self.changes.iter().filter(|(_, change)| change.is_of(inode));
        of_inode.map(|(_, change)| change.place).collect()
    }

    /// Returns true if an inode has a name.
    fn has(&self, inode: InodeNumber, place: NameSlot) -> bool {
        self.target(place) == Some(inode)
    }

    /// Returns true if an inode has lost a name because a rename has put another in its place
    /// (`btrfs_rename` does not call `btrfs_record_unlink_dir` for the replaced one).
    fn is_replaced(&self, inode: InodeNumber, place: NameSlot) -> bool {
        self.lost(inode, place)
            .is_some_and(|(number, lost)| lost.is.is_some() && !self.is_named_by(inode, number))
    }

    /// Returns true if unlink(2) has taken a name from an inode.
    fn is_unlinked(&self, inode: InodeNumber, place: NameSlot) -> bool {
        self.lost(inode, place)
            .is_some_and(|(number, lost)| lost.is.is_none() && !self.is_named_by(inode, number))
    }

    /// Returns the last change that takes a name from an inode.
    fn lost(&self, inode: InodeNumber, place: NameSlot) -> Option<(u64, NameChange)> {
        let newest = self.changes.iter().rfind(|(_, change)| {
            change.place == place && change.was == Some(inode) && change.is != Some(inode)
        });
        newest.copied()
    }

    /// Returns true if a change gives a name to an inode.
    fn is_named_by(&self, inode: InodeNumber, number: u64) -> bool {
        self.changes.iter().any(|(other, change)| *other == number && change.is == Some(inode))
    }

    /// Returns true if an inode has got or lost a name since it was made.
    fn is_renamed(&self, inode: InodeNumber) -> bool {
        let made = self.made.get(&inode);
        self.changes.iter().any(|(number, change)| change.is_of(inode) && made != Some(number))
    }

    /// Returns true if an inode has got or lost a name, or a directory has one changed, after this
    /// number of changes.
    fn has_changed(&self, inode: InodeNumber, after: u64) -> bool {
        let is_of = |change: &NameChange| change.is_of(inode) || change.place.directory == inode;
        self.changes.iter().any(|(number, change)| *number > after && is_of(change))
    }

    /// Returns the places of a directory that have changed.
    fn places_in(&self, directory: InodeNumber) -> BTreeSet<NameSlot> {
        let places = self.changes.iter().map(|(_, change)| change.place);
        places.filter(|place| place.directory == directory).collect()
    }

    /// Returns the inodes that a name has led to, each with the numbers of changes after which it
    /// did.
    fn holders(&self, place: NameSlot) -> Vec<(InodeNumber, Range<u64>)> {
        let mut since = 0;
        let mut holders = Vec::new();
        for (number, change) in self.changes.iter().filter(|(_, change)| change.place == place) {
            holders.extend(change.was.map(|inode| (inode, since..*number)));
            since = *number;
        }
        holders
    }
}

/// A log tree that is being made.
struct Logging<'a> {
    all: &'a NameChanges,
    /// The inode that is synced.
    inode: InodeNumber,
    existing: &'a NamesOfInodes,
    /// The names: each with its place, its range of changes, and whether it may be left out.
    names: BTreeSet<(NameSlot, u64, u64, bool)>,
}

impl Logging<'_> {
    /// Adds a name. False if it is there already, or if the range is empty.
    fn name(&mut self, place: NameSlot, changes: Range<u64>, also: bool) -> bool {
        !changes.is_empty() && self.names.insert((place, changes.start, changes.end, also))
    }

    /// Logs the names of an inode that have changed (`copy_inode_items_to_log`), with the new
    /// directories above them. Another inode than the one that is synced may keep those that it has
    /// lost.
    fn inode(&mut self, inode: InodeNumber, changes: Range<u64>, also: bool) {
        for place in self.all.places_of(inode) {
            let may_stay = inode != self.inode || self.all.is_replaced(inode, place);
            let also = also || may_stay && !self.all.has(inode, place);
            if self.name(place, changes.clone(), also) {
                self.replaced(place, changes.clone(), also);
            }
        }
        self.ancestors(inode, changes, also);
    }

    /// Logs the inodes that had a name in the last transaction and have others now
    /// (`add_conflicting_inode`). Otherwise the replay would lose them. btrfs may leave them out if
    /// they also have a name as before (`need_log_inode`), and does not log what unlink(2) has
    /// taken the name from.
    fn replaced(&mut self, place: NameSlot, changes: Range<u64>, also: bool) {
        let target = self.all.target(place);
        for (inode, held) in self.all.holders(place) {
            let both = changes.start.max(held.start)..changes.end.min(held.end);
            let is_unlinked = || target.is_none() && self.all.is_unlinked(inode, place);
            let also = also || self.keeps_a_name(inode) || is_unlinked();
            if Some(inode) != target && !both.is_empty() {
                self.inode(inode, both, also);
            }
        }
    }

    /// Returns true if an inode has a name that has not changed.
    fn keeps_a_name(&self, inode: InodeNumber) -> bool {
        let changed = self.all.places_of(inode);
        self.existing.get(&inode).is_some_and(|names| !names.is_subset(&changed))
    }

    /// Returns the directories that have a name of an inode.
    fn parents(&self, inode: InodeNumber) -> BTreeSet<InodeNumber> {
        let names = self.existing.get(&inode).into_iter().flatten();
        names.map(|place| place.directory).collect()
    }

    /// Logs the names of the new directories above an inode (`log_all_new_ancestors`).
    fn ancestors(&mut self, inode: InodeNumber, changes: Range<u64>, also: bool) {
        for directory in self.parents(inode) {
            let made = self.all.made.get(&directory).copied().unwrap_or(0);
            let before = changes.start..changes.end.min(made);
            for place in self.all.places_of(directory) {
                if self.all.has(directory, place) && self.name(place, before.clone(), also) {
                    self.replaced(place, before.clone(), also);
                }
            }
            self.ancestors(directory, changes.clone(), also);
        }
    }

    /// Logs what the changed names in a directory lead to, and new directories among it with their
    /// names (`log_new_dir_dentries`).
    fn children(&mut self, directory: InodeNumber, changes: Range<u64>, also: bool) {
        for place in self.all.places_in(directory) {
            self.replaced(place, changes.clone(), also);
            let Some(inode) = self.all.target(place) else { continue };
            self.inode(inode, changes.clone(), also);
            let made = self.all.made.get(&inode).copied().unwrap_or(0);
            self.directory(inode, changes.start..changes.end.min(made), also);
        }
    }

    /// Logs all changed names in a directory.
    fn directory(&mut self, directory: InodeNumber, changes: Range<u64>, also: bool) {
        let places = self.all.places_in(directory);
        let new = places.into_iter().filter(|at| self.name(*at, changes.clone(), also)).count();
        if new > 0 {
            self.children(directory, changes, also);
        }
    }

    /// Logs the directories that have, or have lost, a name of an inode (`btrfs_log_all_parents`).
    fn parents_of(&mut self, inode: InodeNumber, changes: Range<u64>) {
        let lost = self.all.places_of(inode).into_iter().map(|place| place.directory);
        for directory in lost.chain(self.parents(inode)).collect::<BTreeSet<_>>() {
            self.directory(directory, changes.clone(), true);
        }
    }

    /// Logs the names of an inode that was logged before and has changed since
    /// (`btrfs_log_new_name`, `btrfs_del_dir_entries_in_log`).
    fn updated(&mut self, inode: InodeNumber, changes: Range<u64>) {
        self.inode(inode, changes.clone(), true);
        for place in self.all.places_in(inode) {
            self.name(place, changes.clone(), true);
        }
    }
}
