//! The small trees on which checkers begin.

use explode_ramdisk::files::FsCall;

use crate::fs::model::{Group, Groups};
use crate::fs::topology::{BLOCK, TopologyCall};

/// The files that are there before the first call that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// No files, or those that the stack begins with.
    AsMade,
    /// A tree that was made and synced.
    Committed {
        /// The tree.
        tree: StartTree,
        /// True if the file system was unmounted and mounted again since. Then no inode is in
        /// memory.
        remounted: bool,
        /// True if each file is open, by each of its names.
        open: bool,
    },
}

/// A tree that is made before the first call of a workload. No two nodes of a tree are symmetric,
/// so no two workloads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartTree {
    /// An empty directory, and another one with a file of one block.
    Small,
    /// Two directories, a file of two blocks in the first one with a second name in the other, a
    /// file of one block there, and a symbolic link where they are available.
    Large,
    /// The files on which a checker of steps takes its steps. The checker makes them.
    OfSteps,
}

impl Start {
    /// All starts, the simplest first.
    pub const ALL: [Start; 9] = [
        Start::AsMade,
        Start::committed(StartTree::Small, false, false),
        Start::committed(StartTree::Small, true, false),
        Start::committed(StartTree::Small, false, true),
        Start::committed(StartTree::Small, true, true),
        Start::committed(StartTree::Large, false, false),
        Start::committed(StartTree::Large, true, false),
        Start::committed(StartTree::Large, false, true),
        Start::committed(StartTree::Large, true, true),
    ];

    /// The starts of a checker of steps.
    pub const OF_STEPS: [Start; 3] = [
        Start::AsMade,
        Start::committed(StartTree::OfSteps, false, false),
        Start::committed(StartTree::OfSteps, true, false),
    ];

    /// Returns the start on a committed tree.
    pub const fn committed(tree: StartTree, remounted: bool, open: bool) -> Start {
        Start::Committed { tree, remounted, open }
    }

    /// Returns the name of the start in traces.
    pub fn name(self) -> String {
        match self {
            Start::AsMade => "the files as the stack makes them".to_owned(),
            Start::Committed { tree, remounted, open } => {
                let tree = match tree {
                    StartTree::Small => "a small committed tree",
                    StartTree::Large => "a committed tree",
                    StartTree::OfSteps => "committed files",
                };
                let again = if remounted { ", mounted again" } else { "" };
                let open = if open { ", files open" } else { "" };
                format!("{tree}{again}{open}")
            }
        }
    }

    pub fn is_committed(self) -> bool {
        self != Start::AsMade
    }

    pub fn is_remounted(self) -> bool {
        matches!(self, Start::Committed { remounted: true, .. })
    }

    /// Returns the same start without a second mount.
    pub fn before_remount(self) -> Start {
        match self {
            Start::AsMade => Start::AsMade,
            Start::Committed { tree, open, .. } => Start::committed(tree, false, open),
        }
    }

    pub fn is_open(self) -> bool {
        matches!(self, Start::Committed { open: true, .. })
    }

    /// Returns the calls that make the tree. There are none for the files of a checker of steps.
    pub fn calls(self, calls: Groups) -> Vec<TopologyCall> {
        let tree = match self {
            Start::AsMade | Start::Committed { tree: StartTree::OfSteps, .. } => return Vec::new(),
            Start::Committed { tree, .. } => tree,
        };
        let mkdir = |path: &str| FsCall::Mkdir { path: path.to_owned() }.into();
        let mut made = vec![
            mkdir("/a"),
            mkdir("/b"),
            TopologyCall::creat("/a/a"),
            TopologyCall::pwrite("/a/a", 0),
        ];
        if tree == StartTree::Small {
            return made;
        }
        made.extend([
            TopologyCall::pwrite("/a/a", BLOCK),
            TopologyCall::creat("/b/a"),
            TopologyCall::pwrite("/b/a", 0),
            FsCall::Link { from: "/a/a".to_owned(), to: "/b/b".to_owned() }.into(),
        ]);
        if calls.has(Group::Symlink) {
            made.push(FsCall::Symlink { target: "a".to_owned(), path: "/a/b".to_owned() }.into());
        }
        made
    }
}
