//! Choices: each point at which the system can go more than one way asks for an answer (EX-10 to
//! EX-17).
//!
//! A [`ChoicePoint`] is a point that asks. A [`Choice`] is one answer together with its point, so
//! that a replay can detect that it takes another path. The [`Chooser`] answers from a script
//! first, then by a [`Policy`], and records the answers.

mod bare;
mod book;
mod chooser;
mod draws;
mod lend;
mod pct;
mod policy;

use std::fmt;
use std::panic::Location;

use serde::{Deserialize, Serialize};

pub use bare::{BarePoint, WalkAnswers};
pub(crate) use book::ChoiceBook;
pub use chooser::{Chooser, Divergence};
pub use draws::Draws;
pub use lend::{Lendable, lend};
pub(crate) use lend::{Shared, choose_lent};
pub(crate) use policy::data_of_walk;
pub use policy::{Answers, MakeAnswers, MakeWalkAnswers, Policies, Policy};

/// The kind of a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChoiceKind {
    /// The next action of a checker or a component.
    #[default]
    Action,
    /// The next of several parties to run.
    Schedule,
    /// An action of the kernel between two calls: write-back, a commit, reclaim, or a thread that
    /// runs. 0 is none.
    Thread,
    /// An allocation fails, or not.
    AllocFailure,
    /// A request fails, or not.
    IoFailure,
    /// The crash disk that is checked.
    CrashDisk,
    /// The message that arrives next.
    NetDelivery,
    /// A message is lost, or not.
    NetDrop,
    /// A timer fires, or not.
    Timer,
    /// A node crashes, or not.
    NodeCrash,
    /// The earlier of two times.
    TimeCompare,
    /// A value from outside.
    Input,
    /// A slab allocation of the kernel fails, or not. This kind and all below are made in the
    /// kernel: 0 fails, 1 runs normally (EX-13).
    SlabFailure,
    /// A page allocation fails, or not.
    PageFailure,
    /// A copy from user memory fails, or not.
    CopyFailure,
    /// A read of a block into the buffer cache fails, or not.
    BufferFailure,
    /// A read of a page into the page cache fails, or not.
    CacheFailure,
    /// A request fails before it reaches its device, or not.
    RequestFailure,
    /// An option of a kernel module that calls `ekm_choose`. The last option is to run normally.
    ModuleChoice,
    /// A function that the user has named fails, or not.
    ProbeFailure,
    /// A write completes late (0) or at once (1).
    LateCompletion,
}

/// The kinds of the kernel, each with its word.
const OF_KERNEL: [(ChoiceKind, &str); 9] = [
    (ChoiceKind::SlabFailure, "slab"),
    (ChoiceKind::PageFailure, "page"),
    (ChoiceKind::CopyFailure, "copy"),
    (ChoiceKind::BufferFailure, "buffer"),
    (ChoiceKind::CacheFailure, "cache"),
    (ChoiceKind::RequestFailure, "request"),
    (ChoiceKind::ModuleChoice, "module"),
    (ChoiceKind::ProbeFailure, "probe"),
    (ChoiceKind::LateCompletion, "late"),
];

impl ChoiceKind {
    /// Returns the kinds of the kernel, each with its word.
    pub fn of_kernel() -> impl Iterator<Item = (ChoiceKind, &'static str)> {
        OF_KERNEL.into_iter()
    }

    /// Returns true if the choice is made in the kernel or between two calls, where no strategy can
    /// be asked. The answers are prepared before.
    pub fn is_kernel_side(self) -> bool {
        self.is_of_kernel() || self == ChoiceKind::Thread
    }

    /// Returns true if the choice is between normal behaviour and a fault, or another thread's
    /// turn. Random strategies draw at most as many of these as the stack's budget allows.
    pub fn is_fault(self) -> bool {
        self.is_kernel_side() || matches!(self, ChoiceKind::AllocFailure | ChoiceKind::IoFailure)
    }

    /// Returns true if the choice is made in the kernel: a function fails, a module branches, or a
    /// write completes late. The last option is to run normally.
    pub fn is_of_kernel(self) -> bool {
        OF_KERNEL.iter().any(|(kind, _)| *kind == self)
    }
}

/// Shows the word that traces use.
impl fmt::Display for ChoiceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The place of a choice point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// `file:line`, a name, or a kernel symbol.
    pub site: String,
    /// The call stack of the site, as a hash that is the same in every run. `None` if it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
    /// The object of the choice: a device, a node, a file. `None` if it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

impl Label {
    /// Returns the label of a place in Rust code.
    pub fn at(location: &Location<'_>) -> Label {
        Label { site: format!("{}:{}", location.file(), location.line()), ..Label::default() }
    }

    /// Returns the label of a point by a name. Traces and samples depend on labels, and the place
    /// of a line of code changes.
    pub fn named(name: &str) -> Label {
        Label { site: name.to_owned(), ..Label::default() }
    }

    /// Adds the object: a host, a component, a device.
    #[must_use = "this returns the label with the object"]
    pub fn on(self, object: impl fmt::Display) -> Label {
        Label { object: Some(object.to_string()), ..self }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.site)?;
        self.stack.iter().try_for_each(|stack| write!(f, " under {stack:016x}"))?;
        self.object.iter().try_for_each(|object| write!(f, " on {object}"))
    }
}

/// A point that asks for a choice.
#[derive(Clone, Debug)]
pub struct ChoicePoint<'a> {
    /// The kind of the choice.
    pub kind: ChoiceKind,
    /// The number of options, at least 1.
    pub options: u32,
    /// The identity of each option, the same in every run. Empty if the numbers are identities
    /// enough.
    pub names: &'a [String],
    /// The weight of each option, for weighted strategies. Empty if all are equal. An option of
    /// weight 0 is never drawn, but exhaustive strategies try it.
    pub weights: &'a [u32],
    /// The place of the point.
    pub label: Label,
}

impl ChoicePoint<'_> {
    /// Returns a point of kind [`ChoiceKind::Action`] with `options` options, without names and
    /// weights.
    pub fn action(options: u32, label: Label) -> ChoicePoint<'static> {
        ChoicePoint { kind: ChoiceKind::Action, options, names: &[], weights: &[], label }
    }

    /// Returns the answer for normal behaviour, in which no fault happens.
    pub fn normal(&self) -> u32 {
        if self.kind.is_of_kernel() { self.options - 1 } else { 0 }
    }

    /// Returns true if there are no weights, or one for each option of which at least one is not 0.
    fn is_weighted_well(&self) -> bool {
        let each = self.weights.len() == self.options as usize
            && self.weights.iter().any(|weight| *weight > 0);
        self.weights.is_empty() || each
    }
}

/// The answer to one point of two or more options.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The kind of the choice.
    pub kind: ChoiceKind,
    /// The number of options.
    pub options: u32,
    /// The answer, less than `options`.
    pub value: u32,
    /// The identity of the answer, if the point named its options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place where the choice is made.
    pub label: Label,
}

impl Choice {
    /// Returns the choice of an answer to a point.
    pub fn of(point: &ChoicePoint<'_>, value: u32) -> Choice {
        let ChoicePoint { kind, options, names, label, .. } = point;
        let name = names.get(value as usize).cloned();
        Choice { kind: *kind, options: *options, value, name, label: label.clone() }
    }

    /// Returns the point, without the names and weights, which a choice does not record.
    pub fn point(&self) -> ChoicePoint<'static> {
        let Choice { kind, options, label, .. } = self;
        ChoicePoint {
            kind: *kind,
            options: *options,
            names: &[],
            weights: &[],
            label: label.clone(),
        }
    }

    /// Returns the place of the value in the order in which the values of the point are tried. 0 is
    /// normal behaviour: for a kernel function it is to run normally, not to fail.
    pub fn rank(&self) -> u32 {
        if self.kind.is_of_kernel() { self.options - 1 - self.value } else { self.value }
    }

    /// Returns the choice of the same point with the value at this place of the order.
    #[must_use = "this returns the other choice"]
    pub fn with_rank(&self, rank: u32) -> Choice {
        let value = if self.kind.is_of_kernel() { self.options - 1 - rank } else { rank };
        let name = if value == self.value { self.name.clone() } else { None };
        Choice { value, name, ..self.clone() }
    }
}

/// Returns the hash of a sequence of choices, which is the identity of the state that they lead to.
/// It includes every field of a choice: points that differ only in the object are different points.
pub fn choices_hash(choices: &[Choice]) -> u128 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for Choice { kind, options, value, name, label } in choices {
        hasher.update(&options.to_le_bytes());
        hasher.update(&value.to_le_bytes());
        let Label { site, stack, object } = label;
        let kind = kind.to_string();
        let stack = stack.map(|stack| format!("{stack:016x}"));
        // Each text is preceded by its length plus one, or by 0 if it is absent, so no two
        // sequences have one encoding.
        for text in [Some(&kind), Some(site), name.as_ref(), stack.as_ref(), object.as_ref()] {
            hasher.update(&text.map_or(0, |text| text.len() as u64 + 1).to_le_bytes());
            hasher.update(text.map_or(&[][..], |text| text.as_bytes()));
        }
    }
    hasher.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_choice_is_in_the_hash() {
        let choice = Choice::of(&ChoicePoint::action(3, Label::named("site")), 1);
        let label = |change: &dyn Fn(&mut Label)| {
            let mut other = choice.clone();
            change(&mut other.label);
            other
        };
        let others = [
            Choice { kind: ChoiceKind::Thread, ..choice.clone() },
            Choice { options: 4, ..choice.clone() },
            Choice { value: 2, ..choice.clone() },
            Choice { name: Some("one".to_owned()), ..choice.clone() },
            Choice { name: Some(String::new()), ..choice.clone() },
            label(&|label| label.site = "elsewhere".to_owned()),
            label(&|label| label.stack = Some(0)),
            label(&|label| label.object = Some("d0".to_owned())),
            label(&|label| label.object = Some(String::new())),
        ];
        let mut all = vec![choice.clone()];
        all.extend(others);
        let hashes: std::collections::BTreeSet<u128> =
            all.iter().map(|choice| choices_hash(std::slice::from_ref(choice))).collect();
        assert_eq!(hashes.len(), all.len());
        assert_ne!(choices_hash(&[choice.clone(), choice.clone()]), choices_hash(&[choice]));
    }
}
