//! Choices: wherever the system can go one way or another, it asks, and gets an answer (EX-10 to
//! EX-17).
//!
//! A [`ChoicePoint`] is a place that asks; a [`Choice`] is one answer, with the place, so that a
//! replay can tell whether it still goes the same way. The [`Chooser`] answers: first from a
//! script, then by a [`Policy`], and writes down what was answered.

mod book;
mod chooser;
mod draws;
mod lend;
mod policy;

use std::fmt;
use std::panic::Location;

use serde::{Deserialize, Serialize};

pub(crate) use book::ChoiceBook;
pub use chooser::{Chooser, Divergence};
pub use draws::Draws;
pub use lend::{Lendable, lend};
pub(crate) use lend::{Shared, choose_lent};
pub use policy::{Answers, MakeAnswers, Policies, Policy};

/// What is being chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChoiceKind {
    /// What to do next, in a checker or a component.
    #[default]
    Action,
    /// Which of several runs next.
    Schedule,
    /// What the kernel does on its own between two calls, which thread of it runs; 0 is nothing.
    Thread,
    /// Shall an allocation fail?
    AllocFailure,
    /// Shall a request fail?
    IoFailure,
    /// Which crash disk.
    CrashDisk,
    /// Which message arrives.
    NetDelivery,
    /// Shall a message be lost?
    NetDrop,
    /// Does a timer fire?
    Timer,
    /// Does a node crash?
    NodeCrash,
    /// Which of two times is earlier.
    TimeCompare,
    /// A value from outside.
    Input,
    /// Does a slab allocation of the kernel fail? This and those that follow are the kernel's own:
    /// 0 fails, 1 runs normally (EX-13).
    SlabFailure,
    /// Does a page allocation fail?
    PageFailure,
    /// Does a copy from user memory fail?
    CopyFailure,
    /// Does reading a block into the buffer cache fail?
    BufferFailure,
    /// Does reading a page into the page cache fail?
    CacheFailure,
    /// Does a request fail before it gets to its device?
    RequestFailure,
    /// Which way does a module of the kernel go? It has asked (`ekm_choose`); the last option is to
    /// run normally.
    ModuleChoice,
    /// Does a function fail that the user has named?
    ProbeFailure,
    /// Does a write end late (0), or at once (1)?
    LateCompletion,
}

/// The kernel's own kinds, each with its word.
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
    /// The kernel's own kinds, each with its word.
    pub fn of_kernel() -> impl Iterator<Item = (ChoiceKind, &'static str)> {
        OF_KERNEL.into_iter()
    }

    /// Is it chosen where no strategy can be asked, in the kernel or between two calls? The answers
    /// are laid out before.
    pub fn is_kernel_side(self) -> bool {
        self.is_of_kernel() || self == ChoiceKind::Thread
    }

    /// Is it a choice between what happens normally and faults, or turns of others? Random
    /// strategies draw at most so many of these as the stack's budget allows.
    pub fn is_fault(self) -> bool {
        self.is_kernel_side() || matches!(self, ChoiceKind::AllocFailure | ChoiceKind::IoFailure)
    }

    /// Is it chosen in the kernel: does a function of it fail, or a write end late, or does all go
    /// on normally? The last option is to run normally.
    pub fn is_of_kernel(self) -> bool {
        OF_KERNEL.iter().any(|(kind, _)| *kind == self)
    }
}

/// The word that traces have for it.
impl fmt::Display for ChoiceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Where a choice point is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// `file:line`, a name, or a kernel symbol.
    pub site: String,
    /// Under which stack: a hash that is the same in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
    /// On which object: a device, a node, a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

impl Label {
    /// The label of a place in Rust code.
    pub fn at(location: &Location<'_>) -> Label {
        Label { site: format!("{}:{}", location.file(), location.line()), ..Label::default() }
    }

    /// The label of a point that has a name of its own: traces and samples go by labels, and a line
    /// of code moves.
    pub fn named(name: &str) -> Label {
        Label { site: name.to_owned(), ..Label::default() }
    }

    /// The same place on an object: a host, a component, a device.
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

/// A place that asks for a choice.
#[derive(Clone, Debug)]
pub struct ChoicePoint<'a> {
    /// What is being chosen.
    pub kind: ChoiceKind,
    /// How many options there are, at least 1.
    pub options: u32,
    /// Each option's identity, the same in every run; empty if their numbers say it all.
    pub names: &'a [String],
    /// Each option's weight, for strategies that weigh; empty if all are equal. One of weight 0 is
    /// never drawn, and tried all the same by strategies that exhaust.
    pub weights: &'a [u32],
    /// Where it is.
    pub label: Label,
}

impl ChoicePoint<'_> {
    /// The plain form: an action among `options`.
    pub fn action(options: u32, label: Label) -> ChoicePoint<'static> {
        ChoicePoint { kind: ChoiceKind::Action, options, names: &[], weights: &[], label }
    }

    /// The answer of what happens if nothing else is wanted.
    pub fn normal(&self) -> u32 {
        if self.kind.is_of_kernel() { self.options - 1 } else { 0 }
    }

    /// Has it no weights, or one for each option, and one that is not 0?
    fn is_weighted_well(&self) -> bool {
        let each = self.weights.len() == self.options as usize
            && self.weights.iter().any(|weight| *weight > 0);
        self.weights.is_empty() || each
    }
}

/// One answered point of two or more options.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What was chosen.
    pub kind: ChoiceKind,
    /// Among how many options.
    pub options: u32,
    /// The answer, less than `options`.
    pub value: u32,
    /// The identity of the answer, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place where the choice is made.
    pub label: Label,
}

impl Choice {
    /// The answer to a point.
    pub fn of(point: &ChoicePoint<'_>, value: u32) -> Choice {
        let ChoicePoint { kind, options, names, label, .. } = point;
        let name = names.get(value as usize).cloned();
        Choice { kind: *kind, options: *options, value, name, label: label.clone() }
    }

    /// Its point, as far as it says what that was.
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

    /// The place of its value among those of its point, in the order in which they are tried: 0 is
    /// what happens by default. Of a function of the kernel that is to run normally, not to fail.
    pub fn rank(&self) -> u32 {
        if self.kind.is_of_kernel() { self.options - 1 - self.value } else { self.value }
    }

    /// The same choice with the value of this place.
    #[must_use = "this returns the other choice"]
    pub fn with_rank(&self, rank: u32) -> Choice {
        let value = if self.kind.is_of_kernel() { self.options - 1 - rank } else { rank };
        let name = if value == self.value { self.name.clone() } else { None };
        Choice { value, name, ..self.clone() }
    }
}

/// A hash of a sequence of choices: the identity of the state that they lead to. It takes in every
/// field of a choice: two points that differ only in what they are about are two points.
pub fn choices_hash(choices: &[Choice]) -> u128 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for Choice { kind, options, value, name, label } in choices {
        hasher.update(&options.to_le_bytes());
        hasher.update(&value.to_le_bytes());
        let Label { site, stack, object } = label;
        let kind = kind.to_string();
        let stack = stack.map(|stack| format!("{stack:016x}"));
        // Each text with its length, one more for those that are there: no two sequences are
        // encoded alike.
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
