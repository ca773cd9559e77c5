//! Assigns an inode of the model to each found inode.
//!
//! Each found inode that a name requires has a set of inodes that it may be. Everything that cannot
//! be is removed from these sets before anything is tried ([`State::follow`]; in the literature:
//! arc consistency, and a matching if no inode may be found as two). The rest is tried in this
//! order: first, which of several inodes is the one that must not be there; second, found inodes
//! with several names, because without these the rest is mostly a tree, in which every remaining
//! possibility agrees with those above and below; third, directories; last, files.

use super::pairs::{NumberSet, Pairing, PairingChange, Pairs};
use super::search::StateSearch;

impl StateSearch<'_> {
    /// Returns true if the tree can be built.
    pub fn is_legal(&mut self) -> bool {
        let pairs = Pairs::of(self);
        let mut assign = Assign::new(&pairs, self.copies);
        let is_possible = assign.is_possible();
        self.visited = assign.visited;
        is_possible
    }
}

/// A search for a way to build the tree.
#[derive(Debug)]
pub struct Assign<'a> {
    pairs: &'a Pairs,
    copies: bool,
    /// The number of states that were examined.
    pub visited: u64,
}

/// A state of the search.
#[derive(Clone, Debug)]
struct State {
    /// The inodes that each found inode may still be.
    may_be: Vec<NumberSet>,
    /// True for each found inode that a name requires.
    required: Vec<bool>,
    /// True for each found inode with a name that a crash cannot change.
    settled: Vec<bool>,
    /// True for each found inode that has one possibility left, and whose needs are required.
    done: Vec<bool>,
    /// The inodes of the model that found inodes with one possibility are.
    present: NumberSet,
    /// The inodes that must not be there.
    absent: NumberSet,
    /// The sets of inodes of which at least one must not be there.
    unmade: Vec<NumberSet>,
    /// True if anything has changed.
    changed: bool,
}

/// The state leads to no solution.
#[derive(Debug)]
struct DeadEnd;

impl<'a> Assign<'a> {
    /// Returns a new search. With `copies` one inode may be found as two, unless both have a
    /// settled name.
    pub fn new(pairs: &'a Pairs, copies: bool) -> Assign<'a> {
        Assign { pairs, copies, visited: 0 }
    }

    pub fn is_possible(&mut self) -> bool {
        let none = vec![false; self.pairs.possible.len()];
        let mut state = State {
            may_be: self.pairs.possible.clone(),
            required: none.clone(),
            settled: none.clone(),
            done: none,
            present: NumberSet::default(),
            absent: NumberSet::default(),
            unmade: Vec::new(),
            changed: false,
        };
        (state.required[self.pairs.root], state.settled[self.pairs.root]) = (true, true);
        self.goes_on(state)
    }

    fn goes_on(&mut self, mut state: State) -> bool {
        self.visited += 1;
        if state.follow(self.pairs, self.copies).is_err() {
            return false;
        }
        if let Some(unmade) = state.unmade.iter().copied().min_by_key(|unmade| unmade.len()) {
            return unmade.each().any(|id| {
                let absent = state.absent.or(NumberSet::one(id));
                self.goes_on(State { absent, ..state.clone() })
            });
        }
        let open =
            (0..state.may_be.len()).filter(|inode| state.required[*inode] && !state.done[*inode]);
        let first = open.min_by_key(|inode| {
            (
                !self.pairs.shared[*inode],
                !self.pairs.is_directory(*inode),
                state.may_be[*inode].len(),
            )
        });
        first.is_none_or(|inode| {
            state.may_be[inode].each().any(|id| {
                let mut next = state.clone();
                next.may_be[inode] = NumberSet::one(id);
                self.goes_on(next)
            })
        })
    }
}

impl State {
    /// Removes impossible inodes from the sets until nothing changes.
    fn follow(&mut self, pairs: &Pairs, copies: bool) -> Result<(), DeadEnd> {
        self.changed = true;
        while self.changed {
            self.changed = false;
            (0..self.may_be.len()).try_for_each(|inode| self.narrow(pairs, inode))?;
            self.leave_out()?;
            self.keep_apart(copies)?;
            pairs.exchanges.iter().try_for_each(|names| self.exchange(names))?;
        }
        if copies || self.are_enough() { Ok(()) } else { Err(DeadEnd) }
    }

    /// Limits a found inode to these inodes.
    fn limit(&mut self, inode: usize, to: NumberSet) -> Result<(), DeadEnd> {
        let left = self.may_be[inode].and(to);
        self.changed |= left != self.may_be[inode];
        self.may_be[inode] = left;
        if left.is_empty() { Err(DeadEnd) } else { Ok(()) }
    }

    /// Removes the inodes whose needs cannot be met from the set of a found inode. Requires the
    /// names that all remaining inodes need.
    fn narrow(&mut self, pairs: &Pairs, inode: usize) -> Result<(), DeadEnd> {
        if !self.required[inode] {
            return Ok(());
        }
        let can_be = |id: &usize| {
            let needs = pairs.needs(inode, *id);
            needs.unmade.iter().all(|unmade| !unmade.without(self.present).is_empty())
                && needs.leads.iter().all(|lead| {
                    !self.may_be[lead.inode].and(lead.may_be).without(self.absent).is_empty()
                })
        };
        let left = self.may_be[inode].without(self.absent).each().filter(can_be);
        let left = left.fold(NumberSet::default(), |left, id| left.or(NumberSet::one(id)));
        self.limit(inode, left)?;
        // The needs of an inode that is done are required already.
        if self.done[inode] {
            return Ok(());
        }
        if let Some(id) = left.only() {
            (self.done[inode], self.changed) = (true, true);
            self.present = self.present.or(left);
            self.unmade.extend(&pairs.needs(inode, id).unmade);
        }
        let all: Vec<&[Pairing]> = left.each().map(|id| &*pairs.needs(inode, id).leads).collect();
        let of_name =
            |leads: &[Pairing], name| leads.iter().find(|lead| lead.name == name).copied();
        all[0].iter().try_for_each(|lead| {
            let same: Option<Vec<Pairing>> =
                all.iter().map(|leads| of_name(leads, lead.name)).collect();
            same.map_or(Ok(()), |same| self.require(&same))
        })
    }

    /// Requires that a name is as one of these pairings has it.
    fn require(&mut self, leads: &[Pairing]) -> Result<(), DeadEnd> {
        let inode = leads[0].inode;
        let settled = self.settled[inode] || leads.iter().all(|lead| lead.settled);
        self.changed |= !self.required[inode] || settled != self.settled[inode];
        (self.required[inode], self.settled[inode]) = (true, settled);
        self.limit(inode, leads.iter().fold(NumberSet::default(), |all, lead| all.or(lead.may_be)))
    }

    /// If all inodes of an `unmade` set except one are there, the last one must be absent.
    fn leave_out(&mut self) -> Result<(), DeadEnd> {
        let (present, absent) = (self.present, self.absent);
        self.unmade.retain(|unmade| unmade.and(absent).is_empty());
        for unmade in &mut self.unmade {
            *unmade = unmade.without(present);
            if unmade.is_empty() {
                return Err(DeadEnd);
            }
            if let Some(last) = unmade.only() {
                self.absent = self.absent.or(NumberSet::one(last));
                self.changed = true;
            }
        }
        Ok(())
    }

    /// Ensures that no inode is found as two or, with `copies`, not by settled names.
    fn keep_apart(&mut self, copies: bool) -> Result<(), DeadEnd> {
        let done: Vec<usize> = (0..self.done.len()).filter(|inode| self.done[*inode]).collect();
        let mut taken = NumberSet::default();
        for inode in done.iter().filter(|inode| !copies || self.settled[**inode]) {
            if !taken.and(self.may_be[*inode]).is_empty() {
                return Err(DeadEnd);
            }
            taken = taken.or(self.may_be[*inode]);
        }
        if copies {
            return Ok(());
        }
        let open = |inode: &usize| self.required[*inode] && !self.done[*inode];
        let open: Vec<usize> = (0..self.done.len()).filter(open).collect();
        open.into_iter().try_for_each(|inode| self.limit(inode, self.may_be[inode].without(taken)))
    }

    /// Ensures that two exchanged names do not lead to the same inode. If their directory was found
    /// twice, this holds in each of the two.
    fn exchange(&mut self, [one, other]: &[PairingChange; 2]) -> Result<(), DeadEnd> {
        let is = |state: &State, directory: usize, id| {
            state.done[directory] && state.may_be[directory].has(id)
        };
        for (directory, first) in &one.found {
            for (opposite, second) in &other.found {
                let are =
                    is(self, *directory, one.directory) && is(self, *opposite, other.directory);
                let whole = one.directory != other.directory || directory == opposite;
                if !are || !whole || !self.required[*first] || !self.required[*second] {
                    continue;
                }
                if first == second {
                    return Err(DeadEnd);
                }
                for (done, open) in [(*first, *second), (*second, *first)] {
                    if self.done[done] {
                        self.limit(open, self.may_be[open].without(self.may_be[done]))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns true if all found inodes can be different inodes. Looks for an augmenting path for
    /// each, as for any matching in a bipartite graph.
    fn are_enough(&self) -> bool {
        let mut owners = vec![None; NumberSet::MOST];
        let mut required = (0..self.may_be.len()).filter(|inode| self.required[*inode]);
        required.all(|inode| self.finds_one(inode, &mut owners, &mut NumberSet::default()))
    }

    fn finds_one(&self, inode: usize, owners: &mut [Option<usize>], tried: &mut NumberSet) -> bool {
        self.may_be[inode].without(self.absent).each().any(|id| {
            if tried.has(id) {
                return false;
            }
            *tried = tried.or(NumberSet::one(id));
            let is_free = owners[id].is_none_or(|other| self.finds_one(other, owners, tried));
            if is_free {
                owners[id] = Some(inode);
            }
            is_free
        })
    }
}
