//! The possible places of a node that is moved from directory to directory, if a rename is one
//! change, as with a journal of metadata. In [`History`](super::History) each name is written by
//! itself.
//!
//! 1. After a crash a moved node is in exactly one directory: its new one, or one that it was in
//!    since its place was forced.
//! 2. fsync(2) of the directory that it is in forces its place: it is nowhere else.
//! 3. fsync(2) of a directory that the node has left removes that directory from the possible
//!    places, until the node is moved there again.

use std::collections::BTreeSet;

use super::tree::Id;

/// The place of one node, and its possible places after a crash.
#[derive(Clone, Debug, Hash)]
pub struct Whereabouts {
    /// The directory that the node is in.
    pub now: Id,
    /// True if that directory was forced since the node was moved there.
    pub is_forced: bool,
    /// The directories in which a crash may leave the node, newest last.
    pub may_be: Vec<Id>,
    /// The directories that were forced without the node.
    pub gone: BTreeSet<Id>,
}

impl Whereabouts {
    /// Returns the whereabouts of a node whose place is forced.
    pub fn new(directory: Id) -> Whereabouts {
        let may_be = vec![directory];
        Whereabouts { now: directory, is_forced: true, may_be, gone: BTreeSet::new() }
    }

    /// Returns true if a crash may leave the node in more than one place.
    pub fn is_moving(&self) -> bool {
        self.may_be.len() > 1
    }

    /// Moves the node to another directory, as a rename does.
    pub fn move_to(&mut self, directory: Id) {
        (self.now, self.is_forced) = (directory, false);
        self.may_be.retain(|other| *other != directory);
        self.may_be.push(directory);
        self.gone.remove(&directory);
    }

    /// Forces a directory that may hold the node.
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
    fn a_moved_node_is_in_one_of_its_directories_since_it_was_forced() {
        let mut node = Whereabouts::new(1);
        node.move_to(2);
        node.move_to(0);
        assert_eq!(
            (&node.may_be[..], node.is_moving(), node.is_forced),
            (&[1, 2, 0][..], true, false)
        );
        node.move_to(2);
        assert_eq!(node.may_be, [1, 0, 2]);
        node.force(2);
        assert_eq!((&node.may_be[..], node.is_moving(), node.is_forced), (&[2][..], false, true));
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
