//! Tests that the search agrees with a brute force that tries every subset of the volatile
//! operations: on every sequence of a few calls, and every tree that any of them can leave.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::FsCall;
use explode_runtime::base::Options;
use explode_runtime::verdict::{
    ExcludedPromises, Profile, Promise, ShellDemand, Verdict, Violation,
};

use super::contents::UnwrittenBytes;
use super::free::Free;
use super::search::StateSearch;
use super::tree::{FoundNode, FoundTree};
use super::words::{EXCLUDABLE, STRUCTURE};
use super::{demands, explain};
use crate::fs::model::History;
use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Group, Groups, Id, Seen, split};
use crate::fs::topology::{BLOCK, Limits, TopologyCall};

/// An operation, recorded independently of [`History`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Make(Id),
    Lead(Id, char, Option<Id>),
}

/// A sequence of calls: its tree, its history, and its operations, each with true if it is stable.
#[derive(Clone)]
pub(super) struct Sequence {
    pub(super) fs: Abstract,
    pub(super) history: History,
    pub(super) free: Free,
    pub(super) ops: Vec<(Op, bool)>,
}

impl Sequence {
    fn new() -> Sequence {
        let (fs, mut history) = (Abstract::new(), History::default());
        history.sync(&fs);
        Sequence { fs, history, free: Free::default(), ops: Vec::new() }
    }

    fn lead(&mut self, path: &str, to: Option<Id>) {
        let (parent, name) = split(path);
        let parent = self.fs.find(parent).unwrap();
        self.ops.push((Op::Lead(parent, name.chars().next().unwrap(), to), false));
    }

    fn call(&self, call: &TopologyCall) -> Sequence {
        let mut sequence = self.clone();
        let next = sequence.fs.next();
        match call {
            TopologyCall::One(FsCall::Open { path, .. } | FsCall::Mkdir { path }) => {
                sequence.ops.push((Op::Make(next), false));
                sequence.lead(path, Some(next));
            }
            TopologyCall::One(FsCall::Unlink { path } | FsCall::Rmdir { path }) => {
                sequence.lead(path, None);
            }
            TopologyCall::One(FsCall::Link { from, to }) => {
                sequence.lead(to, sequence.fs.find(from))
            }
            TopologyCall::One(FsCall::Rename { from, to }) => {
                if sequence.fs.find(to).is_some() {
                    sequence.lead(to, None);
                }
                sequence.lead(to, sequence.fs.find(from));
                sequence.lead(from, None);
            }
            TopologyCall::One(FsCall::Exchange { from: one, to: other }) => {
                let (first, second) = (sequence.fs.find(one), sequence.fs.find(other));
                sequence.lead(one, second);
                sequence.lead(other, first);
            }
            other => panic!("{other:?} changes no name"),
        }
        call.calls(&[]).iter().for_each(|call| sequence.history.add(&sequence.fs, call));
        call.apply(&mut sequence.fs, &[]);
        sequence.free.follow(&self.fs, &sequence.fs);
        sequence
    }

    fn sync(&self) -> Sequence {
        let mut sequence = self.clone();
        sequence.history.sync(&sequence.fs);
        sequence.ops.iter_mut().for_each(|(_, stable)| *stable = true);
        sequence
    }

    fn fsync(&self, id: Id) -> Sequence {
        let mut sequence = self.clone();
        sequence.history.fsync(&sequence.fs, id, By::Fsync);
        for (op, stable) in &mut sequence.ops {
            *stable |= match op {
                Op::Make(made) => *made == id,
                Op::Lead(directory, ..) => *directory == id,
            };
        }
        sequence
    }

    pub(super) fn alive(&self) -> BTreeSet<Id> {
        self.fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect()
    }

    /// Returns the result of each subset of the volatile operations together with the stable ones,
    /// in their order.
    pub(super) fn outcomes(&self) -> Vec<BTreeMap<(Id, char), Id>> {
        let volatile: Vec<usize> = (0..self.ops.len()).filter(|at| !self.ops[*at].1).collect();
        let subset = |bits: u32| {
            let is_in = |at: usize| {
                self.ops[at].1
                    || volatile.iter().position(|v| *v == at).is_some_and(|v| bits >> v & 1 == 1)
            };
            let made =
                |id: Id| (0..self.ops.len()).any(|at| is_in(at) && self.ops[at].0 == Op::Make(id));
            let mut names = BTreeMap::new();
            for at in (0..self.ops.len()).filter(|at| is_in(*at)) {
                match self.ops[at].0 {
                    Op::Lead(directory, name, Some(id)) if made(id) => {
                        names.insert((directory, name), id);
                    }
                    // The inode was not made, so the name leads nowhere.
                    Op::Lead(directory, name, _) => drop(names.remove(&(directory, name))),
                    Op::Make(_) => {}
                }
            }
            names
        };
        (0..1_u32 << volatile.len()).map(subset).collect()
    }

    /// Returns the tree of a result, as it would be found.
    fn tree(&self, names: &BTreeMap<(Id, char), Id>) -> FoundTree {
        let mut tree = FoundTree { root: 0, nodes: BTreeMap::new(), attributes: BTreeMap::new() };
        let mut waiting = vec![Abstract::ROOT];
        while let Some(id) = waiting.pop() {
            if tree.nodes.contains_key(&(id as u32)) {
                continue;
            }
            let node = if self.fs.is_directory(id) {
                let entries = names.iter().filter(|((directory, _), _)| *directory == id);
                waiting.extend(entries.clone().map(|(_, to)| *to));
                FoundNode::Directory(
                    entries.map(|((_, name), to)| (name.to_string(), *to as u32)).collect(),
                )
            } else {
                FoundNode::File { path: String::new(), links: 1, names: 1, bytes: Vec::new() }
            };
            tree.nodes.insert(id as u32, node);
        }
        tree
    }

    /// Returns true if a found tree is one of the results, except for inodes about which nothing is
    /// promised.
    fn leaves(&self, found: &FoundTree) -> bool {
        let alive = self.alive();
        self.outcomes().iter().any(|names| {
            let mut same = BTreeMap::new();
            is_same(&self.tree(names), 0, found, found.root, &alive, &mut same)
        })
    }

    fn allows(&self, found: &FoundTree) -> bool {
        StateSearch::new(&self.fs, &self.history, found, UnwrittenBytes::Own, (false, false))
            .is_legal()
    }
}

/// Returns true if two trees are equal from these inodes on, with one inode of one for each of the
/// other. Anything may be found for an inode that has no name.
fn is_same(
    wanted: &FoundTree,
    id: u32,
    found: &FoundTree,
    inode: u32,
    alive: &BTreeSet<Id>,
    same: &mut BTreeMap<u32, u32>,
) -> bool {
    if !alive.contains(&(id as Id)) {
        return true;
    }
    if let Some(known) = same.get(&id) {
        return *known == inode;
    }
    if same.values().any(|known| *known == inode) {
        return false;
    }
    same.insert(id, inode);
    match (&wanted.nodes[&id], &found.nodes[&inode]) {
        (FoundNode::Directory(names), FoundNode::Directory(other)) => {
            names.len() == other.len()
                && names.iter().all(|(name, id)| {
                    other
                        .get(name)
                        .is_some_and(|inode| is_same(wanted, *id, found, *inode, alive, same))
                })
        }
        (FoundNode::File { .. }, FoundNode::File { .. }) => true,
        _ => false,
    }
}

/// Returns every sequence of up to `steps` steps.
pub(super) fn sequences(limits: &Limits, steps: usize) -> Vec<Sequence> {
    let mut all = vec![Sequence::new()];
    let mut last = all.clone();
    for _ in 0..steps {
        let next = |sequence: &Sequence| -> Vec<Sequence> {
            let calls = TopologyCall::possible_by(&sequence.fs, limits, &|id| {
                sequence.free.next(&sequence.fs, id)
            });
            let ids = sequence
                .alive()
                .into_iter()
                .filter(|id| !sequence.history.is_forced(&sequence.fs, *id));
            let synced = ids.map(|id| sequence.fsync(id)).chain([sequence.sync()]);
            calls.iter().map(|call| sequence.call(call)).chain(synced).collect()
        };
        last = last.iter().flat_map(next).collect();
        all.extend(last.clone());
    }
    all
}

#[test]
fn the_search_agrees_with_a_brute_force() {
    let limits = |files, dirs, calls| Limits { files, dirs, far: BLOCK, calls };
    assert_eq!(agrees(&limits(2, 2, Groups::NONE)), (104, 2056, 18_848));
    assert_eq!(agrees(&limits(1, 1, Groups::of(&[Group::Exchange]))), (41, 710, 4046));
}

/// Compares every sequence of up to three steps with every tree that one of them can leave. Returns
/// the number of trees, and the numbers of pairs that are legal and that are not.
fn agrees(limits: &Limits) -> (usize, usize, usize) {
    // Every tree that three steps can leave, once.
    let mut trees: BTreeMap<String, FoundTree> = BTreeMap::new();
    for sequence in sequences(limits, 3) {
        for names in sequence.outcomes() {
            let tree = sequence.tree(&names);
            trees.insert(format!("{tree:?}"), tree);
        }
    }
    let (mut legal, mut illegal) = (0, 0);
    for sequence in sequences(limits, 3) {
        for tree in trees.values() {
            let expected = sequence.leaves(tree);
            assert_eq!(sequence.allows(tree), expected, "{tree:?} after {:?}", sequence.ops);
            *(if expected { &mut legal } else { &mut illegal }) += 1;
        }
    }
    (trees.len(), legal, illegal)
}

/// Two exchanged names lead to the two inodes, before and after. They lead to the same one only if
/// that is allowed.
#[test]
fn an_exchange_is_whole_if_that_is_promised() {
    let made = Sequence::new()
        .call(&TopologyCall::creat("/a"))
        .call(&FsCall::Mkdir { path: "/b".into() }.into())
        .sync();
    let sequence = made.call(&FsCall::Exchange { from: "/a".into(), to: "/b".into() }.into());
    let legal = |whole: bool, leads: [Id; 2]| {
        let tree = sequence
            .tree(&[((Abstract::ROOT, 'a'), leads[0]), ((Abstract::ROOT, 'b'), leads[1])].into());
        StateSearch::new(&sequence.fs, &sequence.history, &tree, UnwrittenBytes::Own, (true, whole))
            .is_legal()
    };
    let all = [[1, 2], [2, 1], [1, 1], [2, 2]];
    assert_eq!(all.map(|leads| legal(false, leads)), [true; 4]);
    assert_eq!(all.map(|leads| legal(true, leads)), [true, true, false, false]);
}

/// Two settled names of one file lead to one inode, whatever a third name that is not settled leads
/// to, and in any order of the names.
#[test]
fn settled_names_of_one_file_lead_to_one() {
    for [first, second, third] in [["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"]] {
        let path = |name| format!("/{name}");
        let sequence = Sequence::new().call(&TopologyCall::creat(&path(first)));
        let sequence =
            sequence.call(&FsCall::Link { from: path(first), to: path(second) }.into()).sync();
        let sequence = sequence.call(&FsCall::Link { from: path(first), to: path(third) }.into());
        let file =
            || FoundNode::File { path: String::new(), links: 1, names: 1, bytes: Vec::new() };
        let legal = |copies: bool, leads: [u32; 3]| {
            let names = [first, second, third].map(str::to_owned).into_iter().zip(leads);
            let nodes = leads.into_iter().map(|inode| (inode, file()));
            let nodes = nodes.chain([(0, FoundNode::Directory(names.collect()))]).collect();
            let tree = FoundTree { root: 0, nodes, attributes: BTreeMap::new() };
            StateSearch::new(
                &sequence.fs,
                &sequence.history,
                &tree,
                UnwrittenBytes::Own,
                (copies, false),
            )
            .is_legal()
        };
        let all = [[1, 1, 1], [1, 1, 2], [1, 2, 1], [1, 2, 2], [1, 2, 3]];
        assert_eq!(all.map(|leads| legal(true, leads)), [true, true, false, false, false]);
        assert_eq!(all.map(|leads| legal(false, leads)), [true, false, false, false, false]);
    }
}

/// The example of the paper.
#[test]
fn two_directories_may_be_there_both_one_or_none() {
    let mkdir = |path: &str| TopologyCall::One(FsCall::Mkdir { path: path.into() });
    let first = Sequence::new().call(&mkdir("/a"));
    let both = first.call(&mkdir("/a/a"));
    let trees: BTreeSet<String> =
        both.outcomes().iter().map(|names| format!("{:?}", both.tree(names))).collect();
    assert_eq!(trees.len(), 3);
    assert!(both.outcomes().iter().all(|names| both.allows(&both.tree(names))));
    // If /a is forced, it must be there.
    let forced = first.sync().call(&mkdir("/a/a"));
    let empty = forced.tree(&BTreeMap::new());
    assert!(both.allows(&empty) && !forced.allows(&empty));
}

/// Data that is written to a file, and data that was never written.
const MINE: [u8; 4096] = [b'm'; 4096];
const HIS: [u8; 4096] = [b'h'; 4096];

/// Returns the sequence of these steps.
fn sequence(steps: &[&str]) -> Sequence {
    steps.iter().fold(Sequence::new(), |mut sequence, step| {
        let words: Vec<String> = step.split(' ').map(str::to_owned).collect();
        let path = |at: usize| words[at].clone();
        match &*words[0] {
            "sync" => sequence.sync(),
            "fsync" => sequence.fsync(sequence.fs.find(&words[1]).unwrap()),
            "write" => {
                sequence.history.add(&sequence.fs, &FsCall::pwrite(&path(1), 0, MINE.to_vec()));
                sequence
            }
            "creat" => sequence.call(&TopologyCall::creat(&path(1))),
            "mkdir" => sequence.call(&FsCall::Mkdir { path: path(1) }.into()),
            "rename" => sequence.call(&FsCall::Rename { from: path(1), to: path(2) }.into()),
            other => panic!("what is {other}?"),
        }
    })
}

/// Returns a tree of files in the root, each with its own inode.
fn found(files: &[(&str, &[u8])]) -> FoundTree {
    let file = |name: &str, bytes: &[u8]| {
        let path = format!("/{name}");
        FoundNode::File { path, links: 1, names: 1, bytes: bytes.to_vec() }
    };
    let names =
        files.iter().zip(1..).map(|((name, _), inode)| ((*name).to_owned(), inode)).collect();
    let nodes = files.iter().zip(1..).map(|((name, bytes), inode)| (inode, file(name, bytes)));
    let nodes = nodes.chain([(0, FoundNode::Directory(names))]).collect();
    FoundTree { root: 0, nodes, attributes: BTreeMap::new() }
}

/// Returns the violation in a tree if a profile excludes these promises.
fn judge(excluded: &[&'static str], sequence: &Sequence, tree: &FoundTree) -> Option<Violation> {
    let line = |name: &&'static str| Promise { name, kept: false, quote: "", source: "" };
    let profile = Profile { system: String::new(), promises: excluded.iter().map(line).collect() };
    let mut checker = super::Reasonable::of(&Options::none().with("copies", false)).unwrap();
    checker.fs = sequence.fs.clone();
    checker.excluded = ExcludedPromises::by(Some(&profile));
    checker.judge(tree, &sequence.history).err()
}

/// Asserts the promise that the violation breaks, or "nothing".
#[track_caller]
fn assert_promise(excluded: &[&'static str], sequence: &Sequence, tree: &FoundTree, word: &str) {
    let judge = judge(excluded, sequence, tree).map(|violation| violation.promise);
    assert_eq!(judge.as_deref().unwrap_or("nothing"), word, "without {excluded:?}");
}

const CONTENTS: &[&str] = &["unsynced-contents"];
const ATTRIBUTES: &[&str] = &["unsynced-attributes"];
const BOTH: &[&str] = &EXCLUDABLE;

/// If the promise on unsynced bytes is excluded, its violation is reported only if no other promise
/// is broken.
#[test]
fn an_exclusion_of_unsynced_contents_hides_nothing_else() {
    let sequence = sequence(&["creat /a", "creat /b", "sync", "write /a"]);
    let with = |a: &[u8]| found(&[("a", a), ("b", b"")]);
    for excluded in [&[][..], CONTENTS] {
        assert_promise(excluded, &sequence, &with(&MINE), "nothing");
        // Not written yet.
        assert_promise(excluded, &sequence, &with(b""), "nothing");
        assert_promise(excluded, &sequence, &with(b"his!"), "unsynced-contents");
        assert_promise(excluded, &sequence, &with(&[b'm'; 5000]), "unsynced-contents");
    }
    assert_promise(CONTENTS, &sequence, &found(&[("a", b"his!")]), "flushed-name");
    assert_promise(CONTENTS, &sequence, &found(&[("a", &[b'm'; 5000])]), "flushed-name");
}

/// A name may lead to an unsynced file or to something newer. The violation that is excluded, of
/// the unsynced file, is reported, and not that of the newer inode.
#[test]
fn an_excluded_violation_is_reported_before_that_of_a_newer_inode() {
    let steps = ["creat /c", "sync", "creat /a", "write /a", "rename /a /b"];
    let forced: &[&str] = &["creat /a", "fsync /a"];
    for (newer, kept) in [(&["mkdir /a"][..], "kind"), (forced, "flushed-contents")] {
        let sequence = sequence(&[&steps[..], newer].concat());
        let tree = found(&[("a", &HIS), ("c", b"")]);
        assert_promise(&[], &sequence, &tree, kept);
        assert_promise(ATTRIBUTES, &sequence, &tree, kept);
        for excluded in [CONTENTS, BOTH] {
            assert_promise(excluded, &sequence, &tree, "unsynced-contents");
            let text = judge(excluded, &sequence, &tree).unwrap().message;
            assert_eq!(text, "/a has byte 104 at 0, which was never written there");
            assert_promise(excluded, &sequence, &found(&[("a", &HIS)]), "flushed-name");
            assert_promise(
                excluded,
                &sequence,
                &found(&[("a", &HIS), ("c", b"his!")]),
                "flushed-contents",
            );
            assert_promise(
                excluded,
                &sequence,
                &found(&[("a", &HIS), ("c", b""), ("d", b"")]),
                "created-name",
            );
        }
        // The same holds for the mode. If both are wrong, both promises must be excluded.
        for (bytes, word) in [(&MINE, "unsynced-attributes"), (&HIS, "unsynced-contents")] {
            let mut tree = found(&[("a", bytes), ("c", b"")]);
            tree.attributes.insert(1, Seen { mode: Some(0o7), xattrs: None });
            assert_promise(&[], &sequence, &tree, kept);
            assert_promise(BOTH, &sequence, &tree, word);
            let by_design = [CONTENTS, ATTRIBUTES].map(|excluded| {
                let judge = judge(excluded, &sequence, &tree).unwrap().promise;
                excluded.iter().any(|word| *word == judge)
            });
            assert_eq!(by_design, [false, bytes == &MINE], "{newer:?}");
        }
    }
}

/// Each name is possible by itself, but not all of them at once, except with the exclusion.
#[test]
fn an_excluded_violation_is_reported_if_only_the_names_together_are_wrong() {
    let sequence = sequence(&["creat /a", "write /a", "rename /a /b", "creat /a"]);
    let tree = found(&[("a", &MINE), ("b", &MINE)]);
    for excluded in [&[][..], ATTRIBUTES] {
        assert_promise(excluded, &sequence, &tree, "one-sequence");
    }
    for excluded in [CONTENTS, BOTH] {
        assert_promise(excluded, &sequence, &tree, "unsynced-contents");
    }
}

/// The same holds if the structure is excluded: the name may be that of the directory, which has
/// become a file, while the file is missing.
#[test]
fn an_excluded_structure_violation_is_reported_before_that_of_a_newer_inode() {
    let sequence = sequence(&["mkdir /a", "rename /a /b", "creat /a", "fsync /a"]);
    let tree = found(&[("a", &HIS)]);
    for excluded in [&[][..], BOTH] {
        assert_promise(excluded, &sequence, &tree, "flushed-contents");
    }
    assert_promise(&[BOTH, &STRUCTURE].concat(), &sequence, &tree, "kind");
}

/// Returns true if a tree meets a demand.
fn does(tree: &FoundTree, demand: &ShellDemand) -> bool {
    let (ShellDemand::Directory(path)
    | ShellDemand::Nothing(path)
    | ShellDemand::File(path, _)
    | ShellDemand::Perhaps(path, _)) = demand
    else {
        panic!("{demand:?} of a tree without symbolic links")
    };
    let mut at = tree.nodes.get(&tree.root);
    for name in path.split('/').skip(1) {
        let Some(FoundNode::Directory(names)) = at else {
            return matches!(demand, ShellDemand::Nothing(_) | ShellDemand::Perhaps(..));
        };
        at = names.get(name).and_then(|inode| tree.nodes.get(inode));
    }
    match demand {
        ShellDemand::Directory(_) => matches!(at, Some(FoundNode::Directory(_))),
        ShellDemand::Nothing(_) => at.is_none(),
        ShellDemand::File(..) => matches!(at, Some(FoundNode::File { .. })),
        _ => !matches!(at, Some(FoundNode::Directory(_))),
    }
}

/// Every legal tree meets the demands on single names. If demands are returned for a violation, its
/// tree breaks one of them. Counts the violations of each promise, and those that have demands.
#[test]
fn each_violation_with_demands_breaks_one_of_them() {
    let limits = Limits { files: 2, dirs: 2, far: BLOCK, calls: Groups::NONE };
    let all = sequences(&limits, 3);
    let mut trees: BTreeMap<String, FoundTree> = BTreeMap::new();
    for sequence in &all {
        for names in sequence.outcomes() {
            let tree = sequence.tree(&names);
            trees.insert(format!("{tree:?}"), tree);
        }
    }
    let mut counts_of: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for sequence in &all {
        let of = |promise: &str, path: &str| {
            let violation = Violation::new(Verdict::Lost, promise, format!("{path} is wrong"));
            demands::demands(&sequence.fs, &sequence.history, limits.calls, &violation)
        };
        // All demands, whatever the violation is.
        let any = ["/a", "/b", "/a/a"]
            .iter()
            .find_map(|path| of("flushed-name", path))
            .unwrap_or_default();
        for tree in trees.values() {
            let mut search = StateSearch::new(
                &sequence.fs,
                &sequence.history,
                tree,
                UnwrittenBytes::Own,
                (false, false),
            );
            if search.is_legal() {
                assert!(
                    any.iter().all(|demand| does(tree, demand)),
                    "{any:?} of {tree:?} after {:?}",
                    sequence.ops
                );
                continue;
            }
            let violation = explain::why(&mut search, &|_| false);
            let demanded =
                demands::demands(&sequence.fs, &sequence.history, limits.calls, &violation);
            let [times, known] = counts_of.entry(violation.promise.clone()).or_default();
            *times += 1;
            if let Some(demanded) = demanded {
                *known += 1;
                let broken = demanded.iter().any(|demand| !does(tree, demand));
                assert!(
                    broken,
                    "{demanded:?} of {tree:?}, {violation:?}, after {:?}",
                    sequence.ops
                );
            }
        }
    }
    let counts_of: Vec<(&str, [usize; 2])> =
        counts_of.iter().map(|(word, counts)| (&**word, *counts)).collect();
    let expected = [
        ("created-name", [8238, 0]),
        ("deleted-name", [528, 528]),
        ("flushed-name", [1090, 1090]),
        ("kind", [8758, 0]),
        ("one-sequence", [234, 0]),
    ];
    assert_eq!(counts_of, expected);
}
