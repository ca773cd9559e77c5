//! The totals of a run. Nothing is counted anywhere else.
//!
//! [`Totals::merge`] is called with the result of each unit, in the order of the units, and takes
//! what is new from it. That is equal for one worker and many, a resumed run, and jobs that were
//! run elsewhere.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use tracing::debug_span;
use tracing::field::Empty;

use crate::base::{ExactCount, TallyGroup, as_json};
use crate::choose::Choice;
use crate::dedup::{
    KeyHasherBuilder, KeyList, KeySet, KnownChecks, SeenChecks, SeenStates, nested_key,
};
use crate::explore::{Novelty, ReachedState, Unit, UnitDisks};
use crate::report::{DepthCounts, Summary};
use crate::trace::FoundError;
use crate::verdict::Broken;
use crate::worker::{Segment, UnitResult};

/// The totals of a run.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The number of crashes during recovery that are followed.
    crash_depth: u32,
    states: SeenStates,
    /// The topologies of the states.
    topologies: KeySet,
    checks: SeenChecks,
    /// The keys of checks that have shown an error themselves.
    shown: KeySet,
    /// The sums so far.
    pub summary: Summary,
    /// The counts of the units of one mutate, by the depth that they lead to.
    depths: BTreeMap<u32, DepthTotals>,
}

/// The counts of the units of one mutate that lead to one depth.
#[derive(Debug, Default)]
struct DepthTotals {
    mutates: u64,
    checked: u64,
    /// The number of units that followed the crashes during recovery alone.
    followed: u64,
    /// True if the strategy follows crashes during recovery by such units.
    follows_last: bool,
}

/// The changes that a unit has made to the totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Merged {
    /// The choices after those of the unit's state. The journal writes them in its own form.
    #[serde(skip)]
    pub choices: Vec<Choice>,
    /// The states on the path of the unit, in order.
    pub arrivals: Vec<(ReachedState, Novelty)>,
    /// The novelty of the state that the last mutate reached; `None` if it reached no state.
    pub reached: Option<Novelty>,
    /// True if a bound has ended the run before all segments of the unit were merged.
    pub is_cut: bool,
    /// The checks that are new.
    pub known: KnownChecks,
    /// The new keys of checks that have shown an error themselves.
    pub shown: KeyList,
    counts: UnitCounts,
    /// The errors, each with the number of times that it was newly shown.
    #[serde(skip)]
    pub errors: Vec<(FoundError, u64)>,
    /// The failures of the tool or a component, each with the number of times it happened.
    #[serde(skip)]
    pub broken: Vec<(Broken, u64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct UnitCounts {
    operations: u64,
    choices: u64,
    #[serde(with = "as_json")]
    crash_disks: ExactCount,
    checked: u64,
    equivalent: u64,
    pending: u64,
    #[serde(with = "as_json")]
    left_out: ExactCount,
    #[serde(with = "as_json")]
    crash_crash_left_out: ExactCount,
    by_design: u64,
    #[serde(with = "as_json", default)]
    tallies: Vec<TallyGroup>,
}

impl Merged {
    /// Returns the novelty of the state that the last mutate reached, and [`Novelty::Aborted`]
    /// without one.
    pub fn reached(&self) -> Novelty {
        self.reached.unwrap_or(Novelty::Aborted)
    }
}

impl Totals {
    /// Creates empty totals. `crash_depth` is the number of crashes during recovery that are
    /// followed.
    pub fn new(crash_depth: u32) -> Totals {
        Totals { crash_depth, ..Totals::default() }
    }

    /// Merges the result of the next unit. If the run ends at a number of `states`, the segments
    /// after that state are left out.
    pub fn merge(&mut self, unit: &Unit, result: &UnitResult, states: Option<u64>) -> Merged {
        let span = debug_span!("merge", unit = %unit.id(), new_keys = Empty);
        let _entered = span.enter();
        let known = unit.state.choices.len();
        let mut merged = Merged::default();
        let mut shows: Vec<u64> = vec![0; result.errors.len()];
        let last = result.segments.len().saturating_sub(1);
        let mut length = known;
        for (index, segment) in result.segments.iter().enumerate() {
            self.add_segment(segment, result, &mut merged, &mut shows);
            if unit.disks == UnitDisks::Nested {
                // The rest was counted with the crash disks. The death of a worker after a crash
                // during recovery was not.
                let is_new =
                    |error: &&u32| !result.errors[**error as usize].way.recovery.is_empty();
                segment.seen.iter().filter(is_new).for_each(|error| shows[*error as usize] += 1);
                continue;
            }
            Totals::add_path(segment, &mut merged.counts, &mut shows);
            length = segment.choices as usize;
            // A segment without a mutate, which is finish, keeps the novelty of the mutate before
            // it.
            merged.reached = merged.reached.filter(|_| segment.operations == 0);
            let Some(arrival) = &segment.arrival else { continue };
            let new = self.states.reach(arrival.signature, arrival.depth);
            arrival.topology.iter().for_each(|topology| _ = self.topologies.insert(*topology));
            let reached = if new { Novelty::New } else { Novelty::Known };
            merged.arrivals.push((arrival.clone(), reached));
            // At depth 0 no mutate has reached a state yet.
            merged.reached = (arrival.depth > 0).then_some(reached);
            if (index < last || result.is_cut)
                && states.is_some_and(|most| self.states.len() >= most)
            {
                merged.is_cut = true;
                break;
            }
        }
        let end = if merged.is_cut { length } else { result.choices.len() };
        merged.choices = result.choices.get(known..end).unwrap_or_default().to_vec();
        if unit.disks != UnitDisks::Nested {
            merged.counts.choices += merged.choices.len() as u64;
        }
        let errors = result.errors.iter().zip(shows).filter(|(_, times)| *times > 0);
        merged.errors = errors.map(|(error, times)| (error.clone(), times)).collect();
        let by_design = merged.errors.iter().filter(|(error, _)| error.by_design.is_some());
        merged.counts.by_design = by_design.map(|(_, times)| times).sum();
        self.summarise(unit, &merged);
        span.record("new_keys", merged.known.seen.0.len());
        merged
    }

    fn add_segment(
        &mut self,
        segment: &Segment,
        result: &UnitResult,
        merged: &mut Merged,
        shows: &mut [u64],
    ) {
        let Merged { known, counts, .. } = merged;
        let mut new = HashSet::<u128, KeyHasherBuilder>::default();
        for (keys, count) in
            [(&segment.checked, &mut counts.checked), (&segment.equivalent, &mut counts.equivalent)]
        {
            for key in keys.0.iter().filter(|key| self.checks.insert(**key)) {
                *count += 1;
                known.seen.0.push(*key);
                new.insert(nested_key(*key, self.crash_depth));
            }
        }
        for key in segment.pending.0.iter().filter(|key| self.checks.insert(**key)) {
            counts.pending += 1;
            known.seen.0.push(*key);
        }
        for number in
            segment.followed.0.iter().filter(|number| self.checks.insert_followed(**number))
        {
            known.followed.0.push(*number);
            new.insert(*number);
        }
        for number in
            segment.nested.0.iter().filter(|number| self.checks.insert_crash_crash(**number))
        {
            known.crash_crash.0.push(*number);
            new.insert(*number);
        }
        for left_out in
            segment.nested_left_out.iter().filter(|left_out| new.contains(&left_out.number))
        {
            counts.crash_crash_left_out += left_out.count.0.clone();
        }
        for number in segment.unsound.0.iter().filter(|number| !self.checks.is_error(**number)) {
            known.errors.0.push(*number);
        }
        known.errors.0.iter().for_each(|number| self.checks.insert_error(*number));
        for (error, keys) in &segment.shown {
            for key in keys.0.iter().filter(|key| self.shown.insert(**key)) {
                merged.shown.0.push(*key);
                shows[*error as usize] += 1;
            }
        }
        merged.broken.extend(segment.broken.iter().cloned());
        assert!(segment.shown.iter().all(|(error, _)| (*error as usize) < result.errors.len()));
    }

    /// Adds what a segment has apart from its checks.
    fn add_path(segment: &Segment, counts: &mut UnitCounts, shows: &mut [u64]) {
        segment.seen.iter().for_each(|error| shows[*error as usize] += 1);
        counts.operations += segment.operations;
        counts.crash_disks += segment.crash_disks.0.clone();
        counts.left_out += segment.left_out.0.clone();
        counts.choices += segment.walked;
        TallyGroup::add_all(&mut counts.tallies, &segment.tallies);
    }

    /// Repeats the merge of an earlier process.
    pub fn repeat(&mut self, unit: &Unit, merged: &Merged) {
        for (arrival, _) in &merged.arrivals {
            self.states.reach(arrival.signature, arrival.depth);
            arrival.topology.iter().for_each(|topology| _ = self.topologies.insert(*topology));
        }
        self.checks.learn(&merged.known);
        merged.shown.0.iter().for_each(|key| _ = self.shown.insert(*key));
        self.summarise(unit, merged);
    }

    fn summarise(&mut self, unit: &Unit, merged: &Merged) {
        let Merged { known, counts, .. } = merged;
        if unit.mutates == 1 {
            let depth = self.depths.entry(unit.state.depth + 1).or_default();
            depth.mutates += counts.operations;
            depth.checked += counts.checked + counts.equivalent;
            depth.followed += u64::from(unit.disks == UnitDisks::Nested);
            depth.follows_last |= unit.disks != UnitDisks::All;
        }
        let summary = &mut self.summary;
        summary.operations += counts.operations;
        summary.choices += counts.choices;
        summary.crash_disks += counts.crash_disks.0.clone();
        summary.distinct += known.seen.0.len() as u64;
        summary.checked += counts.checked;
        summary.equivalent += counts.equivalent;
        summary.pending += counts.pending;
        summary.left_out += counts.left_out.0.clone();
        summary.crash_crash_disks += known.crash_crash.0.len() as u64;
        summary.crash_crash_left_out += counts.crash_crash_left_out.0.clone();
        summary.by_design += counts.by_design;
        TallyGroup::add_all(&mut summary.tallies, &counts.tallies);
    }

    /// Returns the number of distinct states that were reached.
    pub fn states(&self) -> u64 {
        self.states.len()
    }

    /// Returns the largest number of mutates on the shortest path to one of those states.
    pub fn deepest(&self) -> u32 {
        self.states.deepest()
    }

    /// Returns the counts of the paths of each length. All those of up to `explored` mutates are
    /// explored.
    /// `forecast` has the number of mutates at each depth in a complete run.
    pub fn depths(&self, explored: u32, forecast: &[ExactCount]) -> Vec<DepthCounts> {
        let counts = self.depths.iter().map(|(depth, totals)| DepthCounts {
            depth: *depth,
            mutates: totals.mutates.into(),
            forecast: forecast.get(*depth as usize - 1).cloned(),
            checked: totals.checked.into(),
            followed: totals.follows_last.then(|| totals.followed.into()),
            explored: *depth <= explored,
        });
        counts.collect()
    }

    /// Returns the number of distinct topologies of those states.
    pub fn topologies(&self) -> u64 {
        self.topologies.len() as u64
    }

    /// Returns the checks that are merged.
    pub fn checks(&self) -> &SeenChecks {
        &self.checks
    }
}
