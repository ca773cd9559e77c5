//! Tests that the search agrees with one that tries everything: each found inode is assigned each
//! inode of the model, or none, and only then are the rules checked.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::base::Options;

use super::hard::Case;
use super::search::{StateSearch, is_set_aside};
use super::tree::FoundNode;
use crate::fs::model::{Abstract, Id};

/// Returns true if a tree is legal. `None` if there are too many assignments to try.
fn is_legal(search: &mut StateSearch<'_>) -> Option<bool> {
    let inodes: Vec<u32> = search.tree.nodes.keys().copied().collect();
    let alive: Vec<Id> = search.alive().iter().copied().collect();
    let may_be: Vec<Vec<Option<Id>>> = inodes
        .iter()
        .map(|inode| {
            let fit = alive.iter().filter(|id| search.fits(*inode, **id)).map(|id| Some(*id));
            fit.chain([None]).collect()
        })
        .collect();
    let all = may_be.iter().try_fold(1_usize, |all, may_be| all.checked_mul(may_be.len()))?;
    let mut numbers = (all <= 4096).then_some(0..all)?;
    Some(numbers.any(|mut number| {
        let mut given = BTreeMap::new();
        for (inode, may_be) in inodes.iter().zip(&may_be) {
            given.extend(may_be[number % may_be.len()].map(|id| (*inode, id)));
            number /= may_be.len();
        }
        holds(search, &given)
    }))
}

/// Returns true if the found inodes can be these. No name requires the inodes that are left out.
fn holds(search: &StateSearch<'_>, given: &BTreeMap<u32, Id>) -> bool {
    let history = search.history;
    let names = |inode: &u32| match &search.tree.nodes[inode] {
        FoundNode::Directory(names) => Some(names),
        _ => None,
    };
    let is_found = |id: &Id| given.values().any(|found| found == id);
    let mut settled = BTreeSet::from([search.tree.root]);
    for (inode, id) in given {
        let Some(names) = names(inode) else { continue };
        for name in history.names(*id).filter(|name| !names.contains_key(*name)) {
            match search.missing(*id, name) {
                Some(unmade) if unmade.is_empty() || !unmade.iter().all(is_found) => {}
                _ => return false,
            }
        }
        for (name, below) in names.iter().filter(|(name, _)| !is_set_aside(history, *id, name)) {
            let leads = history.leads(*id, name);
            if !leads.iter().flatten().any(|id| search.is_gone(*id)) {
                if !given.get(below).is_some_and(|is| leads.contains(&Some(*is))) {
                    return false;
                }
                settled.extend((leads.len() == 1).then_some(*below));
            }
        }
    }
    let is_twice = |one: &u32, other: &u32| {
        one < other
            && given[one] == given[other]
            && (!search.copies || settled.contains(one) && settled.contains(other))
    };
    let is_half = |[one, other]: &[(Id, String); 2]| {
        given.iter().any(|(first, id)| {
            let opposite = given.iter().filter(|(second, _)| one.0 != other.0 || first == *second);
            let mut opposite = opposite.filter(|(_, id)| **id == other.0);
            let led = |inode: &u32, name: &String| {
                names(inode)?.get(name).and_then(|below| given.get(below))
            };
            *id == one.0
                && opposite.any(|(second, _)| {
                    let leads = [led(first, &one.1), led(second, &other.1)];
                    leads[0].is_some() && leads[0] == leads[1]
                })
        })
    };
    given.get(&search.tree.root) == Some(&Abstract::ROOT)
        && !given.keys().any(|one| given.keys().any(|other| is_twice(one, other)))
        && !(search.whole && history.exchanges().any(is_half))
}

/// Returns the numbers of trees that are legal, that are not, and that are too large to try
/// everything.
fn agree(copies: bool, exchange: &str) -> [usize; 3] {
    let options =
        Options::none().with("files", 3_u64).with("dirs", 2_u64).with("calls", "exchange");
    let options = options.with("copies", copies).with("exchange", exchange);
    let mut counts = [0; 3];
    for seed in 0..3000 {
        let case = Case::drawn(&options, seed, 2 + seed as usize % 15).unwrap();
        let mut search = case.search();
        let expected = is_legal(&mut search);
        counts[expected.map_or(2, |is_legal| usize::from(!is_legal))] += 1;
        if let Some(expected) = expected {
            assert_eq!(
                search.is_legal(),
                expected,
                "seed {seed}: {:?} after {:?}",
                case.tree,
                case.calls
            );
        }
    }
    counts
}

#[test]
fn the_search_agrees_with_one_that_tries_everything() {
    let all = [(false, "half"), (true, "half"), (false, "whole"), (true, "whole")];
    let counts = all.map(|(copies, exchange)| agree(copies, exchange));
    assert_eq!(counts, [[2415, 536, 49], [2534, 417, 49], [2406, 545, 49], [2520, 431, 49]]);
}
