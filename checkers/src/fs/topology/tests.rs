//! Tests that the number of topologies equals that of a brute force which shares no code with the
//! calls and the canonical form.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use explode_ramdisk::files::{FsCall, Granule, SimFiles, WriteMethod};
use explode_ramdisk::{Image, Recording, Storage};
use explode_runtime::base::Options;

use super::canonical::{CanonicalForm, form};
use super::{Abstract, BLOCK, FoundTopology, Groups, Limits, TopologyCall, signature};
use crate::fs::model::Group;

fn limits(files: usize, dirs: usize, contents: bool) -> Limits {
    let calls = if contents { Groups::of(&[Group::Contents]) } else { Groups::NONE };
    Limits { files, dirs, far: 2 * BLOCK, calls }
}

/// Returns the distinct forms of all trees that the calls can make.
fn forms(limits: &Limits, regard: CanonicalForm) -> BTreeSet<Vec<u8>> {
    let mut seen = BTreeSet::from([form(&Abstract::new(), regard)]);
    let mut waiting = vec![Abstract::new()];
    while let Some(fs) = waiting.pop() {
        for call in TopologyCall::possible(&fs, limits) {
            let mut next = fs.clone();
            call.apply(&mut next, &call.bytes(&fs, 1));
            if seen.insert(form(&next, regard)) {
                waiting.push(next);
            }
        }
    }
    seen
}

fn count(files: usize, dirs: usize, contents: bool) -> usize {
    forms(&limits(files, dirs, contents), CanonicalForm::ALL).len()
}

/// Returns all permutations of 0 ... n - 1.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, n - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..n).map(move |at| insert(order, at))).collect()
}

/// Returns every list of `len` numbers in which the i-th is below
/// `bound(i, the numbers before it)`.
fn lists(len: usize, bound: &dyn Fn(usize, &[usize]) -> usize) -> Vec<Vec<usize>> {
    (0..len).fold(vec![Vec::new()], |lists, at| {
        let longer = |list: Vec<usize>| -> Vec<Vec<usize>> {
            (0..bound(at, &list)).map(|next| [list.as_slice(), &[next]].concat()).collect()
        };
        lists.into_iter().flat_map(longer).collect()
    })
}

/// A structure without its names: (directory, its parent, its colour) of each directory, and
/// (directory, file, shape of the file) of each name.
type Plain = (Vec<(usize, usize, usize)>, Vec<(usize, usize, usize)>);

/// Returns the number of topologies. It lists all labelled ones and represents each by the least of
/// its relabellings. `shapes` is the number of different files, `colours` the number of different
/// directories.
fn brute_force(files: usize, dirs: usize, shapes: usize, colours: usize) -> usize {
    let mut found: BTreeSet<Plain> = BTreeSet::new();
    for d in 0..=dirs {
        for f in 0..=files {
            // Directory i + 1 is in an earlier one. 0 is the root.
            for parents in lists(d, &|i, _| i + 1) {
                for places in lists(f, &|_, _| d + 1) {
                    // Each name leads to the file of an earlier name, or to the next new file.
                    let new = |list: &[usize]| list.iter().max().map_or(1, |most| most + 2);
                    for leads in lists(f, &|_, list| new(list)) {
                        let inodes = new(&leads) - 1;
                        for holds in lists(inodes, &|_, _| shapes) {
                            for colours in lists(d, &|_, _| colours) {
                                found.insert(least(&parents, &colours, &places, &leads, &holds));
                            }
                        }
                    }
                }
            }
        }
    }
    found.len()
}

fn least(
    parents: &[usize],
    colours: &[usize],
    places: &[usize],
    leads: &[usize],
    holds: &[usize],
) -> Plain {
    let mut least: Option<Plain> = None;
    for order in orders(parents.len()) {
        let dir = |i: usize| if i == 0 { 0 } else { order[i - 1] + 1 };
        let node = |(i, at): (usize, &usize)| (dir(i + 1), dir(*at), colours[i]);
        let mut tree: Vec<_> = parents.iter().enumerate().map(node).collect();
        tree.sort_unstable();
        for numbers in orders(holds.len()) {
            let names = places.iter().zip(leads);
            let mut names: Vec<_> =
                names.map(|(at, inode)| (dir(*at), numbers[*inode], holds[*inode])).collect();
            names.sort_unstable();
            let plain = (tree.clone(), names);
            if least.as_ref().is_none_or(|least| plain < *least) {
                least = Some(plain);
            }
        }
    }
    least.expect("there is one order at least")
}

/// Returns the number of different contents of a file, each given as the written bytes.
fn shapes() -> usize {
    let mut seen: BTreeSet<Vec<bool>> = BTreeSet::from([Vec::new()]);
    let mut waiting = vec![Vec::new()];
    while let Some(file) = waiting.pop() {
        for call in 0..4 {
            let mut next = file.clone();
            match call {
                0 | 1 => next.resize(call * 1000, false),
                _ => {
                    let at = (call - 2) * 8192;
                    next.resize(next.len().max(at + 4096), false);
                    next[at..at + 4096].fill(true);
                }
            }
            if seen.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn as_many_topologies_as_a_brute_force_finds() {
    let sizes = [(1, 0), (3, 0), (0, 3), (1, 1), (2, 1), (2, 2), (1, 3), (3, 2), (4, 1)];
    let counts: Vec<usize> =
        sizes.iter().map(|(files, dirs)| count(*files, *dirs, false)).collect();
    let brute: Vec<usize> =
        sizes.iter().map(|(files, dirs)| brute_force(*files, *dirs, 1, 1)).collect();
    assert_eq!(counts, brute);
    // One file or none. Three names of up to three files: 1 + 1 + 2 + 3. Unordered trees of up to
    // four nodes: 1 + 1 + 2 + 4.
    assert_eq!(counts[..3], [2, 7, 8]);
}

#[test]
fn as_many_contents_as_a_brute_force_finds() {
    // Nothing. A part of a block, zeroes or written. A block. A block behind a hole, after nothing,
    // a part of a block, or a block.
    assert_eq!(shapes(), 1 + 2 + 1 + 3);
    for (files, dirs) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
        assert_eq!(
            count(files, dirs, true),
            brute_force(files, dirs, shapes(), 1),
            "{files} {dirs}"
        );
    }
}

/// Returns limits with the groups of these words only.
fn with(files: usize, dirs: usize, words: &str) -> Limits {
    let calls = Groups::given(&Options::none().with("calls", words)).unwrap();
    Limits { calls, ..limits(files, dirs, false) }
}

#[test]
fn as_many_topologies_with_more_calls_as_a_brute_force_finds() {
    let count =
        |files, dirs, words: &str| forms(&with(files, dirs, words), CanonicalForm::ALL).len();
    for (files, dirs) in [(1, 0), (2, 0), (1, 1), (2, 1), (2, 2)] {
        let brute = |shapes, colours| brute_force(files, dirs, shapes, colours);
        // A file, or one of two symbolic links.
        assert_eq!(count(files, dirs, "names,symlink"), brute(3, 1), "{files} {dirs}");
        // Two modes. No extended attribute, or one of two values.
        assert_eq!(count(files, dirs, "names,chmod"), brute(2, 2), "{files} {dirs}");
        assert_eq!(count(files, dirs, "names,xattr"), brute(3, 3), "{files} {dirs}");
        // These groups make no additional trees.
        assert_eq!(
            count(files, dirs, "names,exchange,noreplace,held"),
            brute(1, 1),
            "{files} {dirs}"
        );
        assert_eq!(count(files, dirs, "names,tmpfile,reflink"), brute(2, 1), "{files} {dirs}");
    }
    for (files, dirs) in [(1, 0), (2, 0), (1, 1)] {
        let count = count(files, dirs, "names,symlink,chmod,xattr,exchange");
        assert_eq!(count, brute_force(files, dirs, 2 * 3 + 2, 2 * 3), "{files} {dirs}");
    }
}

/// Written blocks and zeroes move by whole blocks. Each file is a number of them and a part of one.
#[test]
fn as_many_contents_with_more_calls_as_a_brute_force_finds() {
    for (files, dirs) in [(1, 0), (2, 0), (1, 1)] {
        let count =
            forms(&with(files, dirs, "contents,mmap,fallocate,reflink"), CanonicalForm::ALL).len();
        assert_eq!(count, brute_force(files, dirs, more_shapes(), 1), "{files} {dirs}");
    }
}

/// Returns the number of different contents of a file with more calls, each given as the written
/// bytes.
fn more_shapes() -> usize {
    let far = 2 * BLOCK;
    let mut seen: BTreeSet<Vec<bool>> = BTreeSet::from([Vec::new()]);
    let mut waiting = vec![Vec::new()];
    while let Some(file) = waiting.pop() {
        let mut next: Vec<Vec<bool>> = Vec::new();
        let mut add = |change: &dyn Fn(&mut Vec<bool>)| {
            let mut file = file.clone();
            change(&mut file);
            next.push(file);
        };
        let write = |file: &mut Vec<bool>, at: usize, byte: bool| {
            file.resize(file.len().max(at + BLOCK), false);
            file[at..at + BLOCK].fill(byte);
        };
        add(&|file| file.clear());
        add(&|file| file.resize(1000, false));
        add(&|file| write(file, 0, true));
        add(&|file| write(file, far, true));
        add(&|file| write(file, 0, false));
        add(&|file| file.resize(file.len().max(BLOCK), false));
        add(&|file| file.iter_mut().take(BLOCK).for_each(|byte| *byte = false));
        if file.len() > BLOCK {
            add(&|file| *file = file.split_off(BLOCK));
        }
        if !file.is_empty() && file.len() <= far {
            add(&|file| *file = [vec![false; BLOCK], file.clone()].concat());
        }
        for file in next {
            if seen.insert(file.clone()) {
                waiting.push(file);
            }
        }
    }
    seen.len()
}

/// An incorrect canonical form gives other counts: different topologies have one form, or one
/// topology has several.
#[test]
fn a_wrong_canonical_form_gives_other_counts() {
    let right = |limits: &Limits| forms(limits, CanonicalForm::ALL).len();
    let (names, all) = (limits(4, 1, false), limits(1, 1, true));
    let count = |regard: CanonicalForm| forms(&names, regard).len();
    assert!(count(CanonicalForm { links: false, ..CanonicalForm::ALL }) < right(&names));
    assert!(count(CanonicalForm { unordered: false, ..CanonicalForm::ALL }) > right(&names));
    assert!(count(CanonicalForm { renumbered: false, ..CanonicalForm::ALL }) > right(&names));
    assert!(
        forms(&all, CanonicalForm { contents: false, ..CanonicalForm::ALL }).len() < right(&all)
    );
    let modes = with(2, 1, "names,chmod");
    assert!(
        forms(&modes, CanonicalForm { attributes: false, ..CanonicalForm::ALL }).len()
            < right(&modes)
    );
}

/// Names do not count, except for which of them lead to the same file.
#[test]
fn names_do_not_distinguish_topologies() {
    let made = |calls: &[TopologyCall]| {
        let mut fs = Abstract::new();
        for call in calls {
            call.apply(&mut fs, &[]);
        }
        signature(&fs)
    };
    let creat = TopologyCall::creat;
    let mkdir = |path: &str| TopologyCall::One(FsCall::Mkdir { path: path.into() });
    let link =
        |from: &str, to: &str| TopologyCall::One(FsCall::Link { from: from.into(), to: to.into() });
    let one = made(&[mkdir("/a"), creat("/b"), creat("/a/a"), link("/b", "/a/b")]);
    let other = made(&[creat("/x"), mkdir("/y"), link("/x", "/y/c"), creat("/y/d")]);
    assert_eq!(one, other);
    assert_ne!(one, made(&[creat("/x"), mkdir("/y"), creat("/z"), link("/x", "/y/c")]));
}

/// On the path to every topology of a size, each call has the same effect on real files as on the
/// abstract file system.
#[test]
fn simulated_files_equal_the_abstract_file_system() {
    assert_eq!(count_sequences(&limits(2, 2, true), 4), 108);
    assert_eq!(count_sequences(&with(2, 1, "more"), 3), 230);
}

/// Makes the calls on a shortest path to every topology that at most `longest` calls can make, on
/// simulated files. Returns the number of topologies.
fn count_sequences(limits: &Limits, longest: usize) -> usize {
    let mut seen = BTreeMap::from([(signature(&Abstract::new()), Vec::<TopologyCall>::new())]);
    let mut waiting = VecDeque::from([(Abstract::new(), Vec::new())]);
    while let Some((fs, calls)) = waiting.pop_front() {
        for call in TopologyCall::possible(&fs, limits) {
            let calls = [calls.as_slice(), std::slice::from_ref(&call)].concat();
            let mut next = fs.clone();
            call.apply(&mut next, &call.bytes(&fs, calls.len() as u32));
            if calls.len() <= longest && seen.insert(signature(&next), calls.clone()).is_none() {
                waiting.push_back((next, calls));
            }
        }
    }
    for calls in seen.values() {
        let storage = Storage::new(Image::new(), Recording::Off);
        let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
        let mut fs = Abstract::new();
        for (version, call) in (1..).zip(calls) {
            let bytes = call.bytes(&fs, version);
            call.make(&files, &bytes, WriteMethod::Plain)
                .unwrap_or_else(|errno| panic!("{call:?}: {errno}"));
            call.apply(&mut fs, &bytes);
            let found = FoundTopology::of(&files, limits.calls).unwrap();
            assert_eq!(
                found.difference(&FoundTopology::expected(&fs, limits.calls)),
                None,
                "{calls:?}"
            );
        }
    }
    seen.len()
}
