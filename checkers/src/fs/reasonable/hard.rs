//! Sequences of steps and trees that are drawn by seed, for tests and benches. The sequences are
//! long and force little, so that names may lead to many similar inodes. A crash may leave some of
//! the trees, and not others.

mod grown;

use std::collections::BTreeSet;

use explode_ramdisk::files::FsCall;
use explode_runtime::base::{Options, UsageError};

use super::Reasonable;
#[cfg(test)]
use super::search::StateSearch;
use super::step::FsStep;
use super::tree::FoundTree;
use crate::fs::model::Abstract;
use crate::fs::topology::TopologyCall;
#[cfg_attr(not(test), allow(unused_imports))]
pub(super) use grown::Dice;
use grown::Grown;

/// A sequence of steps, and a tree.
#[derive(Clone, Debug)]
pub struct Case {
    pub(super) checker: Reasonable,
    pub(super) tree: FoundTree,
    /// The names of the steps.
    pub calls: Vec<String>,
}

/// Returns the kind of a step. Each kind is drawn with its own weight.
fn kind(step: &FsStep) -> usize {
    use FsCall::{Exchange, Link, Mkdir, Open, Rename, RenameNoReplace, Rmdir, Symlink, Unlink};
    use TopologyCall::{Clone, One, Tmpfile, UnlinkHeld};
    match step {
        FsStep::Call(Tmpfile { .. }) => 0,
        FsStep::Call(UnlinkHeld { .. }) => 2,
        FsStep::Call(Clone { .. }) => 7,
        FsStep::Call(One(call)) => match call {
            Open { .. } | Symlink { .. } => 0,
            Mkdir { .. } => 1,
            Unlink { .. } => 2,
            Rmdir { .. } => 3,
            Link { .. } => 4,
            Rename { .. } | RenameNoReplace { .. } => 5,
            Exchange { .. } => 6,
            _ => 7,
        },
        FsStep::Fsync(_, Abstract::ROOT) | FsStep::Sync => 8,
        FsStep::Fsync(..) => 9,
    }
}

impl Case {
    /// Draws `steps` steps of `fs-reasonable` with these options, and a tree. Equal seeds give
    /// equal cases.
    ///
    /// # Errors
    /// Returns an error if the checker does not have these options.
    pub fn drawn(options: &Options, seed: u64, steps: usize) -> Result<Case, UsageError> {
        let mut checker = Reasonable::of(options)?;
        let mut dice = Dice::new(seed);
        let mut calls = Vec::new();
        // The weight of each kind.
        let weights: [usize; 10] = std::array::from_fn(|kind| match kind {
            0 | 1 => [1, 4, 16][dice.below(3)],
            8 => [0, 0, 0, 1][dice.below(4)],
            9 => [0, 0, 1, 2][dice.below(4)],
            _ => [0, 1, 4, 16][dice.below(4)],
        });
        for _ in 0..steps {
            let mut steps =
                FsStep::possible(&checker.fs, &checker.history.now, &checker.free, &checker.limits);
            // The name by which a file is forced makes no difference here.
            let mut forced = BTreeSet::new();
            steps.retain(|step| !matches!(step, FsStep::Fsync(_, id) if !forced.insert(*id)));
            let kinds: BTreeSet<usize> = steps.iter().map(kind).collect();
            let tickets: Vec<usize> = kinds
                .into_iter()
                .flat_map(|kind| std::iter::repeat_n(kind, weights[kind]))
                .collect();
            if tickets.is_empty() {
                break;
            }
            let which = tickets[dice.below(tickets.len())];
            let of_kind: Vec<&FsStep> = steps.iter().filter(|step| kind(step) == which).collect();
            let step = of_kind[dice.below(of_kind.len())];
            checker.imagine(step);
            calls.push(step.name());
        }
        let tree = Grown::of(&checker, &mut dice);
        Ok(Case { checker, tree, calls })
    }

    /// Returns true if the tree is reasonable.
    #[must_use]
    pub fn is_reasonable(&self) -> bool {
        self.checker.judge(&self.tree, &self.checker.history.now).is_ok()
    }

    /// Returns the search that the checker makes.
    #[cfg(test)]
    pub(super) fn search(&self) -> StateSearch<'_> {
        let Reasonable { fs, history, garbage, copies, whole, .. } = &self.checker;
        StateSearch::new(fs, &history.now, &self.tree, *garbage, (*copies, *whole))
    }
}

/// One of the slowest cases among several hundred thousand, with many possible names, many states,
/// or large contents (docs/results/benchmarks.md has their times).
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    pub calls: &'static str,
    pub copies: bool,
    pub exchange: &'static str,
    pub steps: usize,
    pub seed: u64,
}

const LONG: Worst = Worst { calls: "exchange", copies: true, exchange: "half", steps: 50, seed: 0 };

pub const WORST: [Worst; 14] = [
    Worst { calls: "names", seed: 18_960, ..LONG },
    Worst { calls: "names", seed: 19_438, ..LONG },
    Worst { calls: "names", seed: 12_147, ..LONG },
    Worst { calls: "names", seed: 12_053, ..LONG },
    Worst { calls: "names", seed: 5762, ..LONG },
    Worst { calls: "names", seed: 10_721, ..LONG },
    Worst { calls: "names", copies: false, seed: 1319, ..LONG },
    Worst { steps: 32, seed: 24_881, ..LONG },
    Worst { steps: 40, exchange: "whole", seed: 6739, ..LONG },
    Worst { steps: 22, seed: 187_321, ..LONG },
    Worst { calls: "all", exchange: "whole", seed: 3091, ..LONG },
    Worst { calls: "all", exchange: "whole", copies: false, seed: 3978, ..LONG },
    Worst { calls: "more", seed: 3121, ..LONG },
    Worst { calls: "more", exchange: "whole", seed: 2503, ..LONG },
];

impl Worst {
    /// Returns the case, of at most four files and four directories.
    ///
    /// # Errors
    /// Returns an error if the checker does not have these options.
    pub fn case(&self) -> Result<Case, UsageError> {
        let options =
            Options::none().with("files", 4_u64).with("dirs", 4_u64).with("calls", self.calls);
        let options = options.with("copies", self.copies).with("exchange", self.exchange);
        Case::drawn(&options, self.seed, self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the examined states, and checks the verdict.
    #[test]
    fn the_hardest_searches_visit_few_states() {
        let counts = WORST.map(|worst| {
            let case = worst.case().unwrap();
            let mut search = case.search();
            (search.is_legal(), search.visited)
        });
        let (yes, no) = (|visited: u64| (true, visited), |visited: u64| (false, visited));
        let names = [yes(1), no(1), yes(1), no(1), yes(1), yes(1), no(1)];
        let (states, contents) = ([yes(18), yes(27), yes(28)], [no(1), no(1), no(1), yes(1)]);
        assert_eq!(counts.to_vec(), [&names[..], &states, &contents].concat());
    }
}
