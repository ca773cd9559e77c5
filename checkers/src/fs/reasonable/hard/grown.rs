//! Trees by seed: possible results of a crash, some of them with errors.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::super::Reasonable;
use super::super::tree::{FoundNode, FoundTree};
use crate::fs::model::History;
use crate::fs::model::{Abstract, Groups, Id, ModelNode as Made};
use crate::fs::topology::Limits;

/// A random number generator with a seed.
pub struct Dice(Pcg64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Pcg64::seed_from_u64(seed))
    }

    /// Returns a number less than `n`, which must not be zero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    pub fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }
}

/// A tree under construction. Each name of the model leads to one of its possible inodes, or later
/// to a wrong one.
pub struct Grown<'a> {
    fs: &'a Abstract,
    history: &'a History,
    calls: Groups,
    dice: &'a mut Dice,
    tree: FoundTree,
    /// The probabilities in percent that a name that may be missing is there, that it leads to the
    /// newest inode, that it leads to a copy of the inode, and that a file has its contents.
    present: usize,
    newest: usize,
    own: usize,
    full: usize,
}

/// The number of inodes from which on a tree gets no more copies.
const MOST: u32 = 64;

impl Grown<'_> {
    pub fn of(checker: &Reasonable, dice: &mut Dice) -> FoundTree {
        let Reasonable { fs, history, limits: Limits { calls, .. }, .. } = checker;
        let history = &history.now;
        let [present, newest, own, full] =
            std::array::from_fn(|_| [0, 10, 50, 90, 100][dice.below(5)]);
        let tree = FoundTree { root: 0, nodes: Default::default(), attributes: Default::default() };
        let mut grown =
            Grown { fs, history, calls: *calls, dice, tree, present, newest, own, full };
        let mut inodes = vec![(Abstract::ROOT, 0)];
        grown.add(Abstract::ROOT, 0, &mut inodes);
        for _ in 0..grown.dice.below(3) {
            grown.spoil();
        }
        grown.tree
    }

    fn add(&mut self, id: Id, inode: u32, inodes: &mut Vec<(Id, u32)>) {
        if self.calls.are_of_attributes() && id != Abstract::ROOT && !self.fs.is_symlink(id) {
            self.tree.attributes.insert(inode, self.fs.attributes(id).seen(self.calls));
        }
        if !self.fs.is_directory(id) {
            let file = |bytes: &[u8]| FoundNode::File {
                path: String::new(),
                links: 1,
                names: 1,
                bytes: bytes.to_vec(),
            };
            let node = match self.fs.node(id) {
                Made::Symlink(target) => FoundNode::Symlink {
                    path: String::new(),
                    links: 1,
                    names: 1,
                    target: target.clone(),
                },
                _ if self.dice.percent(self.full) || self.history.is_made(id) => {
                    file(self.fs.bytes(id))
                }
                _ => file(&[]),
            };
            self.tree.nodes.insert(inode, node);
            return;
        }
        self.tree.nodes.insert(inode, FoundNode::Directory(Default::default()));
        let names: Vec<String> = self.history.names(id).map(str::to_owned).collect();
        for name in names {
            let leads = self.history.leads(id, &name);
            let may_be: Vec<Id> = leads.iter().copied().flatten().collect();
            if may_be.is_empty() || leads.contains(&None) && !self.dice.percent(self.present) {
                continue;
            }
            let to = if self.dice.percent(self.newest) {
                may_be[0]
            } else {
                may_be[self.dice.below(may_be.len())]
            };
            let known: Vec<u32> =
                inodes.iter().filter(|(id, _)| *id == to).map(|(_, inode)| *inode).collect();
            let next = inodes.len() as u32;
            let own = known.is_empty() || next < MOST && self.dice.percent(self.own);
            let below = if own { next } else { known[self.dice.below(known.len())] };
            let Some(FoundNode::Directory(names)) = self.tree.nodes.get_mut(&inode) else { return };
            names.insert(name, below);
            if own {
                inodes.push((to, below));
                self.add(to, below, inodes);
            }
        }
    }

    /// Makes a random change.
    fn spoil(&mut self) {
        let all: Vec<u32> = self.tree.nodes.keys().copied().collect();
        let (inode, other) = (all[self.dice.below(all.len())], all[self.dice.below(all.len())]);
        let which = self.dice.below(4);
        match self.tree.nodes.get_mut(&inode) {
            Some(FoundNode::Directory(names)) if !names.is_empty() => {
                let name =
                    names.keys().nth(self.dice.below(names.len())).cloned().unwrap_or_default();
                match which {
                    0 => drop(names.remove(&name)),
                    1 => drop(names.insert("z".to_owned(), other)),
                    _ => drop(names.insert(name, other)),
                }
            }
            Some(FoundNode::File { bytes, .. }) => match which {
                0 => *bytes = b"his!".to_vec(),
                1 => bytes.clear(),
                2 => *bytes = self.fs.bytes(self.dice.below(self.fs.next())).to_vec(),
                _ => drop(self.tree.nodes.insert(inode, FoundNode::Directory(Default::default()))),
            },
            _ => {}
        }
    }
}
