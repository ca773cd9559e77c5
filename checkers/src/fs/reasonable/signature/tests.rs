//! Tests that two states have the same form if and only if a brute force finds names and inodes
//! that make one of them the other. Then the same trees are legal, and each step of one corresponds
//! to a step of the other.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::base::Options;

use super::signature;
use crate::fs::model::History;
use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Group, Groups, Id};
use crate::fs::reasonable::FsStep;
use crate::fs::reasonable::free::Free;
use crate::fs::reasonable::tests::{Op, Sequence, sequences};
use crate::fs::topology::{self, BLOCK, Limits};

/// The target of a name: nowhere, an inode, or an inode without a name, which was made or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    Nowhere,
    Inode(Id),
    Gone(bool),
}

/// A name: its target, whether that is stable, and all its possible targets.
type Name = (To, bool, BTreeSet<To>);

/// A state that is derived from its operations.
struct Plain {
    alive: Vec<Id>,
    made: BTreeSet<Id>,
    names: BTreeMap<(Id, char), Name>,
    /// The free names of each directory, in order.
    free: BTreeMap<Id, Vec<char>>,
    /// The result of each subset of the volatile operations, as far as anything is promised about
    /// it.
    outcomes: BTreeSet<BTreeMap<(Id, char), To>>,
}

impl Plain {
    fn of(sequence: &Sequence) -> Plain {
        let alive = sequence.alive();
        let make = |(op, stable): &(Op, bool)| match op {
            Op::Make(id) if *stable => Some(*id),
            _ => None,
        };
        let made: BTreeSet<Id> = sequence.ops.iter().filter_map(make).collect();
        let to = |lead: Option<Id>| match lead {
            None => To::Nowhere,
            Some(id) if alive.contains(&id) => To::Inode(id),
            Some(id) => To::Gone(made.contains(&id)),
        };
        let mut names: BTreeMap<(Id, char), Name> = BTreeMap::new();
        for (op, stable) in &sequence.ops {
            let Op::Lead(directory, name, lead) = op else { continue };
            if !alive.contains(directory) {
                continue;
            }
            let name = names.entry((*directory, *name));
            let name = name.or_insert_with(|| (To::Nowhere, true, BTreeSet::from([To::Nowhere])));
            (name.0, name.1) = (to(*lead), *stable);
            if *stable {
                name.2.clear();
            }
            name.2.insert(to(*lead));
        }
        // If a name may be missing anyway, it does not matter whether the inode was made.
        for (_, _, leads) in names.values_mut().filter(|(_, _, leads)| leads.contains(&To::Nowhere))
        {
            if leads.remove(&To::Gone(false)) {
                leads.insert(To::Gone(true));
            }
        }
        let mut outcomes = BTreeSet::new();
        for outcome in sequence.outcomes() {
            let (mut waiting, mut seen, mut kept) =
                (vec![Abstract::ROOT], BTreeSet::new(), BTreeMap::new());
            while let Some(id) = waiting.pop() {
                if !seen.insert(id) {
                    continue;
                }
                for ((_, name), lead) in outcome.iter().filter(|((at, _), _)| *at == id) {
                    let is_alive = alive.contains(lead);
                    kept.insert(
                        (id, *name),
                        if is_alive { To::Inode(*lead) } else { To::Gone(true) },
                    );
                    waiting.extend(is_alive.then_some(*lead));
                }
            }
            outcomes.insert(kept);
        }
        let letter = |name: &String| name.chars().next().unwrap();
        let free = alive
            .iter()
            .map(|id| (*id, sequence.free.of(*id).iter().map(letter).collect()))
            .collect();
        Plain { alive: alive.into_iter().collect(), made, names, free, outcomes }
    }

    fn in_directory(&self, id: Id) -> Vec<char> {
        self.names.keys().filter(|(directory, _)| *directory == id).map(|(_, name)| *name).collect()
    }
}

/// Returns all permutations.
fn orders<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    if all.is_empty() {
        return vec![Vec::new()];
    }
    let first = |at: usize| {
        let rest = [&all[..at], &all[at + 1..]].concat();
        orders(&rest).into_iter().map(move |rest| [vec![all[at].clone()], rest].concat())
    };
    (0..all.len()).flat_map(first).collect()
}

/// Returns true if names and inodes exist that make one state the other. Free names keep their
/// order.
fn is_the_same(one: &Plain, other: &Plain, fs: [&Abstract; 2]) -> bool {
    let counts = |plain: &Plain| (plain.alive.len(), plain.names.len(), plain.outcomes.len());
    counts(one) == counts(other)
        && orders(&other.alive).into_iter().any(|order| {
            let ids: BTreeMap<Id, Id> = one.alive.iter().copied().zip(order).collect();
            let alike = |(id, to): (&Id, &Id)| {
                (*id == Abstract::ROOT) == (*to == Abstract::ROOT)
                    && fs[0].is_directory(*id) == fs[1].is_directory(*to)
                    && one.made.contains(id) == other.made.contains(to)
            };
            ids.iter().all(alike) && with_names(one, other, &ids, &one.alive, &mut BTreeMap::new())
        })
}

/// Returns true if names exist for these directories that agree with those of the others.
fn with_names(
    one: &Plain,
    other: &Plain,
    ids: &BTreeMap<Id, Id>,
    left: &[Id],
    names: &mut BTreeMap<(Id, char), (Id, char)>,
) -> bool {
    let Some((id, rest)) = left.split_first() else {
        let to = |to: &To| if let To::Inode(id) = to { To::Inode(ids[id]) } else { *to };
        let same_names = one.names.iter().all(|(name, (now, forced, leads))| {
            other.names[&names[name]] == (to(now), *forced, leads.iter().map(to).collect())
        });
        let renamed = |outcome: &BTreeMap<(Id, char), To>| -> BTreeMap<_, _> {
            outcome.iter().map(|(name, lead)| (names[name], to(lead))).collect()
        };
        if same_names {
            // States that are equal in their names leave equal results.
            assert_eq!(one.outcomes.iter().map(renamed).collect::<BTreeSet<_>>(), other.outcomes);
        }
        return same_names;
    };
    let (own, others) = (one.in_directory(*id), other.in_directory(ids[id]));
    own.len() == others.len()
        && orders(&others).into_iter().any(|order| {
            let to: BTreeMap<char, char> = own.iter().copied().zip(order).collect();
            let free: Vec<char> = one.free[id].iter().map(|name| to[name]).collect();
            names.extend(to.iter().map(|(a, b)| ((*id, *a), (ids[id], *b))));
            free == other.free[&ids[id]] && with_names(one, other, ids, rest, names)
        })
}

/// Classifies all sequences of up to `steps` steps by their forms. Returns the numbers of sequences
/// and of forms.
fn classes(limits: &Limits, steps: usize) -> (usize, usize) {
    let all = sequences(limits, steps);
    let mut classes: Vec<(Vec<u8>, Plain, &Sequence)> = Vec::new();
    for sequence in &all {
        let (form, plain) = (
            signature(&sequence.fs, &sequence.history, &sequence.free, false),
            Plain::of(sequence),
        );
        let same = classes
            .iter()
            .filter(|(_, known, of)| is_the_same(&plain, known, [&sequence.fs, &of.fs]));
        let same: Vec<&[u8]> = same.map(|(form, ..)| form.as_slice()).collect();
        let known = classes.iter().any(|(other, ..)| *other == form);
        assert_eq!(same, if known { vec![form.as_slice()] } else { vec![] }, "{:?}", sequence.ops);
        if !known {
            classes.push((form, plain, sequence));
        }
    }
    (all.len(), classes.len())
}

#[test]
fn canonical_forms_agree_with_brute_force() {
    let limits = |files, dirs, calls| Limits { files, dirs, far: BLOCK, calls };
    let counted = [
        classes(&limits(2, 2, Groups::NONE), 3),
        classes(&limits(1, 1, Groups::of(&[Group::Exchange])), 4),
    ];
    assert_eq!(counted, [(201, 96), (741, 172)]);
}

/// A state without a file system below it.
#[derive(Clone)]
struct State {
    fs: Abstract,
    now: History,
    free: Free,
    writes: u32,
}

impl State {
    fn new() -> State {
        let (fs, mut now) = (Abstract::new(), History::default());
        now.sync(&fs);
        State { fs, now, free: Free::default(), writes: 0 }
    }

    fn take(&self, step: &FsStep) -> State {
        let mut state = self.clone();
        match step {
            FsStep::Call(call) => {
                state.writes += u32::from(call.writes());
                let bytes = call.bytes(&state.fs, state.writes);
                let calls = call.calls(&bytes);
                state.now.follow(&mut state.fs.clone(), &calls);
                call.apply(&mut state.fs, &bytes);
                state.free.follow(&self.fs, &state.fs);
                calls.iter().for_each(|call| state.now.end(&state.fs, call));
            }
            FsStep::Sync => state.now.sync(&state.fs),
            FsStep::Fsync(_, id) => state.now.fsync(&state.fs, *id, By::Fsync),
        }
        state
    }

    fn form(&self) -> Vec<u8> {
        signature(&self.fs, &self.now, &self.free, true)
    }

    /// Returns the form of each state that one step leads to, with repetitions.
    fn next(&self, limits: &Limits) -> Vec<Vec<u8>> {
        let steps = FsStep::possible(&self.fs, &self.now, &self.free, limits);
        let mut forms: Vec<Vec<u8>> = steps.iter().map(|step| self.take(step).form()).collect();
        forms.sort_unstable();
        forms
    }
}

/// The topology of a state, and the form of each state that one step leads to.
type Goes = (Vec<u8>, Vec<Vec<u8>>);

/// Makes every sequence of `steps` steps, and checks that states with the same form lead to the
/// same forms. Returns the numbers of states and of their forms.
fn like_for_like(words: &str, (files, dirs): (usize, usize), steps: usize) -> (usize, usize) {
    let calls = Groups::given(&Options::none().with("calls", words)).unwrap();
    let limits = Limits { files, dirs, far: 2 * BLOCK, calls };
    let mut known: BTreeMap<Vec<u8>, Goes> = BTreeMap::new();
    let mut last = vec![State::new()];
    let mut states = 0;
    for step in 0..=steps {
        let mut next = Vec::new();
        for state in &last {
            states += 1;
            let of = (topology::signature(&state.fs), state.next(&limits));
            let form = state.form();
            let before = known.entry(form).or_insert_with(|| of.clone());
            let text = |of: &Vec<Vec<u8>>| {
                of.iter().map(|form| form.escape_ascii().to_string()).collect::<Vec<_>>().join("\n")
            };
            assert_eq!(before.0, of.0);
            assert_eq!(text(&before.1), text(&of.1), "after {step} steps: {:?}", state.now);
            if step < steps {
                next.extend(
                    FsStep::possible(&state.fs, &state.now, &state.free, &limits)
                        .iter()
                        .map(|step| state.take(step)),
                );
            }
        }
        last = next;
    }
    (states, known.len())
}

#[test]
fn states_of_one_form_have_equal_successors() {
    let counted = [
        like_for_like("names", (2, 1), 3),
        like_for_like("names", (3, 0), 4),
        like_for_like("all", (1, 0), 4),
        like_for_like("contents,reflink,shift,punch", (2, 0), 3),
        like_for_like("exchange,chmod,xattr,symlink,held,mmap,tmpfile", (2, 1), 2),
    ];
    assert_eq!(counted, [(134, 71), (482, 111), (447, 150), (116, 69), (73, 57)]);
}
