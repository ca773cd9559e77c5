//! The store of waiting states. A state is stored as its difference from the state before it.
//!
//! A node is a few small numbers in one vector of bytes: the distance back to the node of the state
//! before it, its depth, and the numbers of the choices that were added. The whole [`State`] is
//! built on request. A node remains after its state is explored. A state that was ever reached
//! costs about five bytes, and one or two bytes for each choice of its last mutate.

use super::State;
use crate::choose::{Choice, ChoiceBook};

/// The identity of a state in a store of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(u64);

impl StateId {
    /// Returns the number of the state, which no other state of the store has.
    pub(super) fn number(self) -> u64 {
        self.0
    }
}

/// States with shared beginnings.
#[derive(Debug, Default)]
pub(super) struct StateTree {
    book: ChoiceBook,
    /// The nodes. A [`StateId`] is the offset of a node. All numbers are in LEB128.
    nodes: Vec<u8>,
}

/// A decoded node.
struct StateNode {
    /// The distance back to the node of the state before it. 0 if it has none.
    back: u64,
    depth: u32,
    /// The numbers of the choices that were added.
    choices: Vec<u32>,
    /// The offset of the end of the node.
    end: usize,
}

impl StateTree {
    /// Adds a state with which a search begins.
    pub fn begin(&mut self, state: &State) -> StateId {
        self.add(None, &state.choices, state.depth)
    }

    /// Adds the state that follows `before` after one mutate with these choices.
    pub fn after(&mut self, before: StateId, made: &[Choice]) -> StateId {
        let depth = self.node(before).depth + 1;
        self.add(Some(before), made, depth)
    }

    /// Returns the whole state.
    pub fn get(&self, id: StateId) -> State {
        let mut node = self.node(id);
        let depth = node.depth;
        let mut at = id.0;
        // The numbers are collected from the last choice to the first.
        let mut numbers: Vec<u32> = Vec::new();
        loop {
            numbers.extend(node.choices.iter().rev());
            if node.back == 0 {
                break;
            }
            at -= node.back;
            node = self.node(StateId(at));
        }
        State { choices: self.choices(numbers.iter().rev()), depth }
    }

    fn choices<'a>(&self, numbers: impl Iterator<Item = &'a u32>) -> Vec<Choice> {
        let known = |number| self.book.get(number).expect("a node has choices of the book");
        numbers.map(|number| known(*number).clone()).collect()
    }

    /// Returns the state before one, and the choices that lead from there to it.
    pub fn split(&self, id: StateId) -> (State, Vec<Choice>) {
        (self.get(self.before(id)), self.choices(self.node(id).choices.iter()))
    }

    /// Returns the state before one, or the state itself if a search begins with it.
    pub fn before(&self, id: StateId) -> StateId {
        StateId(id.0 - self.node(id).back)
    }

    /// Returns the number of mutates to the state.
    pub fn depth(&self, id: StateId) -> u32 {
        self.node(id).depth
    }

    /// Removes all states that were added after this one.
    pub fn forget_after(&mut self, id: StateId) {
        self.nodes.truncate(self.node(id).end);
    }

    /// Returns the memory that the store uses, in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() + self.book.bytes()
    }

    fn add(&mut self, before: Option<StateId>, made: &[Choice], depth: u32) -> StateId {
        let at = self.nodes.len() as u64;
        let mut node = Vec::new();
        write(&mut node, before.map_or(0, |before| at - before.0));
        write(&mut node, u64::from(depth));
        write(&mut node, made.len() as u64);
        made.iter().for_each(|choice| write(&mut node, u64::from(self.book.number(choice))));
        make_room(&mut self.nodes, node.len());
        self.nodes.extend(node);
        StateId(at)
    }

    fn node(&self, id: StateId) -> StateNode {
        let mut at = id.0 as usize;
        let mut read = || {
            let (number, end) = read(&self.nodes, at);
            at = end;
            number
        };
        let (back, depth, length) = (read(), read() as u32, read());
        let choices = (0..length).map(|_| read() as u32).collect();
        StateNode { back, depth, choices, end: at }
    }
}

/// Makes room for `more` elements. A long vector grows by an eighth, so that little of it is empty.
pub(super) fn make_room<T>(row: &mut Vec<T>, more: usize) {
    if row.capacity() - row.len() < more {
        row.reserve_exact(more.max(row.len() / 8));
    }
}

/// Writes a number with seven bits in each byte, the lowest first. The highest bit marks that more
/// follow.
fn write(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Returns the number that begins at an offset, and the offset of its end.
fn read(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[at];
        number |= u64::from(byte & 0x7f) << shift;
        (at, shift) = (at + 1, shift + 7);
        if byte < 0x80 {
            return (number, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::choose::{ChoicePoint, Label};

    fn choice(value: u32) -> Choice {
        Choice::of(&ChoicePoint::action(1 << 20, Label::named("here")), value)
    }

    proptest! {
        #[test]
        fn added_states_are_returned_unchanged(
            begin in prop::collection::vec(0_u32..1 << 20, 0..4),
            steps in prop::collection::vec((any::<prop::sample::Index>(),
                prop::collection::vec(0_u32..300, 0..5)), 0..80),
        ) {
            let mut states = StateTree::default();
            let first = State { choices: begin.into_iter().map(choice).collect(), depth: 7 };
            let mut all = vec![(states.begin(&first), first)];
            for (before, values) in steps {
                let (id, before) = before.get(&all).clone();
                let made: Vec<Choice> = values.into_iter().map(choice).collect();
                let choices = before.choices.iter().chain(&made).cloned().collect();
                all.push((states.after(id, &made), State { choices, depth: before.depth + 1 }));
            }
            for (id, state) in &all {
                prop_assert_eq!(&states.get(*id), state);
            }
            let half = all.len() / 2;
            states.forget_after(all[half].0);
            for (id, state) in &all[..=half] {
                prop_assert_eq!(&states.get(*id), state);
            }
            if let Some((id, _)) = all.get(half + 1) {
                prop_assert_eq!(id.0, states.nodes.len() as u64);
            }
        }

        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| write(&mut bytes, *number));
            let mut at = 0;
            for number in numbers {
                let (known, end) = read(&bytes, at);
                prop_assert_eq!(known, number);
                at = end;
            }
            prop_assert_eq!(at, bytes.len());
        }
    }
}
