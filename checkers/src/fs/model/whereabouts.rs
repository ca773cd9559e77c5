//! Where a node may be while it is moved from directory to directory, if a rename is one change:
//! the reading of a journal of metadata. [`History`](super::History) has the other one, by which
//! each name is written for itself.
//!
//! 1. A node that is moved is, after a crash, in its new directory or in any that it was in since
//!    its place was forced; in one of them.
//! 2. fsync(2) of the directory that it is in forces its place: it is nowhere else.
//! 3. fsync(2) of a directory that it has left takes that one from where it may be, for good until
//!    it is moved there again.

use std::collections::BTreeSet;

use super::tree::Id;

/// Where one node is and may be.
#[derive(Clone, Debug, Hash)]
pub struct Whereabouts {
    /// The directory that it is in.
    pub now: Id,
    /// Was that directory forced since it is there?
    pub is_forced: bool,
    /// Where a crash may leave it, the newest last.
    pub may_be: Vec<Id>,
    /// The directories that were forced without it.
    pub gone: BTreeSet<Id>,
}

impl Whereabouts {
    /// Of a node whose place is forced.
    pub fn new(directory: Id) -> Whereabouts {
        let may_be = vec![directory];
        Whereabouts { now: directory, is_forced: true, may_be, gone: BTreeSet::new() }
    }

    /// May a crash leave it in more than one place?
    pub fn is_on_its_way(&self) -> bool {
        self.may_be.len() > 1
    }

    /// A rename moves it to another directory.
    pub fn move_to(&mut self, directory: Id) {
        (self.now, self.is_forced) = (directory, false);
        self.may_be.retain(|other| *other != directory);
        self.may_be.push(directory);
        self.gone.remove(&directory);
    }

    /// A directory that can hold it was forced.
    pub fn force(&mut self, directory: Id) {
        if self.now == directory {
            self.is_forced = true;
            self.may_be = vec![directory];
        } else {
            self.may_be.retain(|place| *place != directory);
            self.gone.insert(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_is_in_one_of_the_directories_since_it_was_forced() {
        let mut node = Whereabouts::new(1);
        node.move_to(2);
        node.move_to(0);
        assert_eq!(
            (&node.may_be[..], node.is_on_its_way(), node.is_forced),
            (&[1, 2, 0][..], true, false)
        );
        node.move_to(2);
        assert_eq!(node.may_be, [1, 0, 2]);
        node.force(2);
        assert_eq!(
            (&node.may_be[..], node.is_on_its_way(), node.is_forced),
            (&[2][..], false, true)
        );
    }

    #[test]
    fn a_directory_that_was_forced_without_it_has_it_again_when_it_is_moved_there() {
        let mut node = Whereabouts::new(1);
        node.move_to(2);
        node.force(1);
        assert_eq!((&node.may_be[..], node.gone.contains(&1)), (&[2][..], true));
        node.move_to(1);
        assert_eq!((&node.may_be[..], node.gone.contains(&1)), (&[2, 1][..], false));
    }
}
