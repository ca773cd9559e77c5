//! Tests on random sequences of all calls: every subset of the volatile operations leaves a
//! reasonable tree, and the same tree with one thing that no subset leaves is not reasonable. The
//! operations are derived from the trees before and after each step, independently of
//! [`History`](crate::fs::model::History).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::{FsCall, WriteMethod};
use explode_runtime::base::Options;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::hard::Dice;
use super::step::FsStep;
use super::tree::{FoundNode, FoundTree};
use super::{Reasonable, words};
use crate::fs::model::{Abstract, Attributes, Id, ModelNode as Made, Moments};
use crate::fs::topology::TopologyCall;

/// A name in a directory.
type Place = (Id, String);

/// The changes of the file system, and which of them are stable.
struct World {
    checker: Reasonable,
    made: BTreeSet<Id>,
    /// The targets of each name, oldest first. The first is stable.
    leads: BTreeMap<Place, Vec<Option<Id>>>,
    /// The contents and the attributes of each inode since it was forced, oldest first.
    contents: BTreeMap<Id, Vec<Vec<u8>>>,
    attributes: BTreeMap<Id, Vec<Attributes>>,
}

impl World {
    fn new() -> World {
        let options =
            Options::none().with("files", 3_u64).with("dirs", 3_u64).with("calls", "more");
        let checker = Reasonable::of(&options.with("far", 8192_u64)).unwrap();
        let (leads, contents, attributes) = Default::default();
        World { checker, made: [Abstract::ROOT].into(), leads, contents, attributes }
    }

    /// Takes one of the possible steps.
    fn step(&mut self, draw: usize) {
        let Reasonable { fs, history: Moments { now, .. }, free, limits, .. } = &self.checker;
        let steps = FsStep::possible(fs, now, free, limits);
        let step = &steps[draw % steps.len()];
        let before = fs.clone();
        self.checker.imagine(step);
        let after = self.checker.fs.clone();
        let names = |fs: &Abstract, id: Id| -> BTreeMap<String, Id> {
            let names = (id < fs.next()).then(|| fs.names(id));
            names.into_iter().flatten().map(|(name, id)| (name.to_owned(), id)).collect()
        };
        for id in 0..after.next() {
            let (old, new) = (names(&before, id), names(&after, id));
            for name in old.keys().chain(new.keys()).filter(|name| old.get(*name) != new.get(*name))
            {
                let leads = self.leads.entry((id, name.clone())).or_insert_with(|| vec![None]);
                // A name that is changed is in both.
                if leads.last() != Some(&new.get(name).copied()) {
                    leads.push(new.get(name).copied());
                }
            }
            let contents = self.contents.entry(id).or_insert_with(|| vec![Vec::new()]);
            if contents.last().is_some_and(|last| last != after.bytes(id)) {
                contents.push(after.bytes(id).to_vec());
            }
            let attributes = self.attributes.entry(id);
            let attributes =
                attributes.or_insert_with(|| vec![Attributes::new(after.is_directory(id))]);
            if attributes.last() != Some(after.attributes(id)) {
                attributes.push(after.attributes(id).clone());
            }
        }
        match step {
            FsStep::Sync => (0..after.next()).for_each(|id| self.force(id)),
            FsStep::Fsync(_, id) => self.force(*id),
            FsStep::Call(TopologyCall::One(FsCall::Pwrite {
                path,
                method: WriteMethod::Mapped,
                ..
            })) => {
                last(self.contents.get_mut(&after.find(path).unwrap()).unwrap());
            }
            FsStep::Call(_) => {}
        }
    }

    fn force(&mut self, id: Id) {
        self.made.insert(id);
        self.contents.get_mut(&id).into_iter().for_each(last);
        self.attributes.get_mut(&id).into_iter().for_each(last);
        self.leads
            .iter_mut()
            .filter(|((directory, _), _)| *directory == id)
            .for_each(|(_, leads)| last(leads));
    }

    /// Returns the tree that one random subset leaves.
    fn subset(&self, dice: &mut Dice) -> FoundTree {
        let fs = &self.checker.fs;
        let made = |id: &Id, dice: &mut Dice| self.made.contains(id) || dice.percent(70);
        let made: BTreeSet<Id> = (0..fs.next()).filter(|id| made(id, dice)).collect();
        let lead = |leads: &Vec<Option<Id>>, dice: &mut Dice| leads[dice.below(leads.len())];
        let names: BTreeMap<&Place, Id> = self
            .leads
            .iter()
            .filter_map(|(place, leads)| {
                lead(leads, dice).filter(|id| made.contains(id)).map(|id| (place, id))
            })
            .collect();
        let mut tree = FoundTree { root: 0, nodes: BTreeMap::new(), attributes: BTreeMap::new() };
        let mut waiting = vec![Abstract::ROOT];
        let mut links: BTreeMap<Id, u32> = BTreeMap::new();
        while let Some(id) = waiting.pop() {
            *links.entry(id).or_default() += 1;
            if tree.nodes.contains_key(&(id as u32)) {
                continue;
            }
            let node = match fs.node(id) {
                Made::Directory(_) => {
                    let entries: Vec<_> =
                        names.iter().filter(|((directory, _), _)| *directory == id).collect();
                    waiting.extend(entries.iter().map(|(_, id)| **id));
                    FoundNode::Directory(
                        entries.iter().map(|((_, name), id)| (name.clone(), **id as u32)).collect(),
                    )
                }
                Made::File(_) => {
                    let all = &self.contents[&id];
                    let bytes = all[dice.below(all.len())].clone();
                    FoundNode::File { path: String::new(), links: 0, names: 0, bytes }
                }
                Made::Symlink(target) => {
                    let target =
                        if self.made.contains(&id) || dice.percent(50) { target } else { "" };
                    FoundNode::Symlink {
                        path: String::new(),
                        links: 0,
                        names: 0,
                        target: target.to_owned(),
                    }
                }
            };
            tree.nodes.insert(id as u32, node);
            let all =
                self.attributes.get(&id).filter(|_| id != Abstract::ROOT && !fs.is_symlink(id));
            let seen = all.map(|all| all[dice.below(all.len())].seen(self.checker.limits.calls));
            tree.attributes.extend(seen.map(|seen| (id as u32, seen)));
        }
        for (inode, node) in &mut tree.nodes {
            if let FoundNode::File { links: count, names, .. }
            | FoundNode::Symlink { links: count, names, .. } = node
            {
                (*count, *names) = (links[&(*inode as usize)], links[&(*inode as usize)]);
            }
        }
        tree
    }

    /// Returns the names below a directory that no crash can change, each with the inode that it
    /// leads to.
    fn forced(&self, directory: Id) -> Vec<(Place, Option<Id>)> {
        let alive: BTreeSet<Id> = self.checker.fs.paths().into_iter().map(|(_, id)| id).collect();
        let mut all = Vec::new();
        for (place, leads) in
            self.leads.iter().filter(|((of, _), leads)| *of == directory && leads.len() == 1)
        {
            match leads[0] {
                Some(id) if alive.contains(&id) && self.made.contains(&id) => {
                    all.push((place.clone(), Some(id)));
                    all.extend(self.forced(id));
                }
                Some(_) => {}
                None => all.push((place.clone(), None)),
            }
        }
        all
    }

    fn judge(&self, tree: &FoundTree) -> Option<String> {
        self.checker.judge(tree, &self.checker.history.now).err().map(|violation| violation.promise)
    }
}

/// Removes everything except the last element.
fn last<T>(all: &mut Vec<T>) {
    all.drain(..all.len() - 1);
}

/// Returns the names in a found directory.
fn names(tree: &mut FoundTree, inode: Id) -> &mut BTreeMap<String, u32> {
    match tree.nodes.get_mut(&(inode as u32)) {
        Some(FoundNode::Directory(names)) => names,
        other => panic!("{other:?} is no directory"),
    }
}

#[test]
fn subsets_of_the_operations_are_reasonable_and_additions_are_not() {
    let counts = RefCell::new(BTreeMap::<&str, usize>::new());
    let count = |kind| *counts.borrow_mut().entry(kind).or_default() += 1;
    let mut runner =
        TestRunner::new_with_rng(Config::with_cases(5000), TestRunner::deterministic().new_rng());
    let draws_and_seed = (proptest::collection::vec(any::<usize>(), 1..=6), any::<u64>());
    let held = runner.run(&draws_and_seed, |(draws, seed)| {
        let mut world = World::new();
        draws.iter().for_each(|draw| world.step(*draw));
        let mut dice = Dice::new(seed);
        let tree = world.subset(&mut dice);
        prop_assert_eq!(world.judge(&tree), None, "{:?}", tree);
        count("legal");

        let mut other = tree.clone();
        names(&mut other, Abstract::ROOT).insert("nobody".to_owned(), 1000);
        other.nodes.insert(1000, FoundNode::Directory(BTreeMap::new()));
        prop_assert_eq!(world.judge(&other), Some(words::CREATED_NAME.to_owned()));
        count("a name that no call has made");

        let forced = world.forced(Abstract::ROOT);
        if forced.is_empty() {
            return Ok(());
        }
        let ((directory, name), id) = &forced[dice.below(forced.len())];
        let mut other = tree.clone();
        let Some(id) = id else {
            names(&mut other, *directory).insert(name.clone(), 1000);
            other.nodes.insert(1000, FoundNode::Directory(BTreeMap::new()));
            prop_assert_eq!(world.judge(&other), Some(words::DELETED_NAME.to_owned()));
            count("a name that was taken away");
            return Ok(());
        };
        prop_assert!(names(&mut other, *directory).remove(name).is_some());
        prop_assert_eq!(world.judge(&other), Some(words::FLUSHED_NAME.to_owned()));
        count("a name that was forced");

        let mut other = tree.clone();
        let Some(FoundNode::File { bytes, .. }) = other.nodes.get_mut(&(*id as u32)) else {
            return Ok(());
        };
        // No pattern has this byte.
        bytes.resize(bytes.len().max(1), 0);
        bytes[0] = 0xff;
        let promise = world.judge(&other);
        prop_assert!(
                promise.as_deref().is_some_and(
                    |promise| ["flushed-contents", "unsynced-contents"].contains(&promise)
                ),
                "{:?}",
                promise
            );
        count("contents that no call has written");
        Ok(())
    });
    held.unwrap();
    let counts: Vec<(&str, usize)> = counts.into_inner().into_iter().collect();
    let expected = [
        ("a name that no call has made", 5000),
        ("a name that was forced", 434),
        ("a name that was taken away", 159),
        ("contents that no call has written", 168),
        ("legal", 5000),
    ];
    assert_eq!(counts, expected);
}
