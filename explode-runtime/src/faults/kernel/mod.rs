//! Functions of the kernel that fail, as choices (EX-11 to EX-16, `docs/guide/kernel-faults.md`).
//!
//! A component that runs on a kernel has options for its failures ([`FAILURE_OPTIONS`]): the kinds,
//! the functions that the user names, and the number on a path. While mutate runs, EKM makes a
//! choice at each such function that a system call of the checked system enters: fail, or run
//! normally. The kernel cannot wait for a strategy, so the answers are prepared before: first the
//! script, then "run normally". A path has one sequence of choices (EX-11). It is handed to the
//! kernel when the checked system continues. It is taken back, with all choices made in the
//! meantime, before anything is chosen or checked here.

mod sites;

pub use sites::FaultSite;

use crate::base::{OptionDef, Options, UsageError};
use crate::choose::{Choice, ChoiceKind};

/// The failures that are possible on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFaults {
    /// The set of kinds, as bits in the order of [`ChoiceKind::of_kernel`]. The kind of named
    /// functions is in it if there are any.
    kinds: u32,
    /// The largest number of failures on a path, including late writes.
    pub max_per_path: u32,
    /// The functions that the user has named.
    pub sites: Vec<FaultSite>,
}

/// The options of a component for kernel failures.
pub const FAILURE_OPTIONS: [OptionDef; 3] = [
    OptionDef {
        name: "fail",
        about: "kernel functions that can fail in a mutate: none, all, or some of slab, \
                page, copy, buffer, cache, request, \
                module, with commas between them",
        default: "none",
    },
    OptionDef {
        name: "most_failures",
        about: "maximum number of failures on a path",
        default: "1",
    },
    OptionDef {
        name: "probe",
        about: "more kernel functions that can fail, each with its return value: \
                NAME:-EIO, with commas between them",
        default: "none",
    },
];

/// Returns the bit of a kind of the kernel.
fn bit(kind: ChoiceKind) -> u32 {
    ChoiceKind::of_kernel().position(|(known, _)| known == kind).map_or(0, |at| 1 << at)
}

impl KernelFaults {
    /// Returns the kinds that may fail, in the order of [`ChoiceKind::of_kernel`].
    pub fn kinds(&self) -> impl Iterator<Item = ChoiceKind> {
        let kinds = self.kinds;
        ChoiceKind::of_kernel().map(|(kind, _)| kind).filter(move |kind| kinds & bit(*kind) != 0)
    }

    /// Returns the failures that a component's options request.
    ///
    /// # Errors
    /// Returns an error for an unknown kind, for an invalid named function, and for an invalid
    /// number.
    pub fn of(options: &Options) -> Result<KernelFaults, UsageError> {
        let by_word = || {
            ChoiceKind::of_kernel().filter(|(kind, _)| {
                !matches!(kind, ChoiceKind::ProbeFailure | ChoiceKind::LateCompletion)
            })
        };
        let sites = sites::of(options.get("probe"))?;
        let mut kinds = if sites.is_empty() { 0 } else { bit(ChoiceKind::ProbeFailure) };
        for word in options.text("fail", "none")?.split(',') {
            kinds |= match (word, by_word().find(|(_, known)| *known == word)) {
                (_, Some((kind, _))) => bit(kind),
                ("none", _) => 0,
                ("all", _) => by_word().map(|(kind, _)| bit(kind)).sum(),
                _ => {
                    let known = by_word().map(|(_, known)| known).chain(["none", "all"]);
                    return Err(UsageError::unknown("kind of failure", word, known));
                }
            };
        }
        let most = options.int("most_failures", 1)?;
        let most = u32::try_from(most)
            .map_err(|_| UsageError(format!("most_failures of {most}; use less than 2^32")))?;
        Ok(KernelFaults { kinds, max_per_path: most, sites })
    }

    /// Returns the faults of writes that may complete late, at most `most` on a path.
    pub fn late(most: u32) -> KernelFaults {
        KernelFaults {
            kinds: bit(ChoiceKind::LateCompletion),
            max_per_path: most,
            sites: Vec::new(),
        }
    }

    /// Returns true if nothing may fail.
    pub fn is_none(&self) -> bool {
        self.kinds == 0 || self.max_per_path == 0
    }

    /// Returns the failures that are still possible after these choices.
    pub fn remaining_after(self, choices: &[Choice]) -> KernelFaults {
        let so_far = injected(choices).count() as u32;
        KernelFaults { max_per_path: self.max_per_path.saturating_sub(so_far), ..self }
    }

    /// Returns the failures that either allows.
    #[must_use = "this returns the union of both"]
    pub fn and(mut self, other: KernelFaults) -> KernelFaults {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => {
                let more = other.sites.into_iter().filter(|site| !self.sites.contains(site));
                let more: Vec<FaultSite> = more.collect();
                self.sites.extend(more);
                KernelFaults {
                    kinds: self.kinds | other.kinds,
                    max_per_path: self.max_per_path.max(other.max_per_path),
                    ..self
                }
            }
        }
    }
}

/// Returns the failures among some choices: points at which code of the kernel did
/// not take its normal option.
pub fn failed(choices: &[Choice]) -> impl Iterator<Item = &Choice> {
    injected(choices).filter(|choice| choice.kind != ChoiceKind::LateCompletion)
}

/// Returns the choices by which the kernel does not run normally: failures and late writes.
pub(crate) fn injected(choices: &[Choice]) -> impl Iterator<Item = &Choice> {
    choices.iter().filter(|choice| choice.kind.is_of_kernel() && choice.rank() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_kinds_are_read_by_their_words() {
        let of = |words: &str| KernelFaults::of(&Options::none().with("fail", words));
        let kinds = |words: &str| {
            of(words).map(|failures| (failures.kinds, failures.max_per_path, failures.sites.len()))
        };
        assert_eq!(kinds("none"), Ok((0, 1, 0)));
        assert_eq!(kinds("slab"), Ok((1, 1, 0)));
        assert_eq!(kinds("slab,request"), Ok((33, 1, 0)));
        assert_eq!(kinds("module"), Ok((64, 1, 0)));
        assert_eq!(kinds("all"), Ok((127, 1, 0)));
        let wrong = of("slap").unwrap_err().to_string();
        assert_eq!(wrong, "unknown kind of failure 'slap'; did you mean 'slab'?");
        assert!(of("probe").is_err(), "functions that are named are known by their names");
        assert!(of("late").is_err(), "a write that ends late is no failure");
        assert!(KernelFaults::default().is_none() && !of("page").unwrap().is_none());
        let named =
            KernelFaults::of(&Options::none().with("probe", "ext2_add_link:-ENOSPC")).unwrap();
        assert_eq!((named.kinds, named.is_none()), (128, false));
        let (slab, none) = (of("slab").unwrap(), of("none").unwrap());
        assert_eq!(
            slab.and(KernelFaults::late(3)),
            KernelFaults { kinds: 257, max_per_path: 3, sites: Vec::new() }
        );
        assert_eq!(KernelFaults::late(3).and(none), KernelFaults::late(3));
    }
}
