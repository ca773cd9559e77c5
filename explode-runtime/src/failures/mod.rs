//! Functions of the kernel that fail, as choices (EX-11 to EX-16, `docs/kernel-choices.md`).
//!
//! Which kinds may fail, and how many on a path, the options of a component say that stands on a kernel ([`FAILURE_OPTIONS`]).
//! While mutate runs, EKM asks at each such function that is entered in a system call of the checked system: fail, or run
//! normally? The kernel cannot wait for a strategy, so the answers are laid out before: what a script says, then "run normally".
//! The sequence of a path is one (EX-11): it is handed over to the kernel when the checked system goes on, and taken back, with all
//! that was asked meanwhile, before anything is chosen or checked here.

mod frames;
mod turn;

pub(crate) use frames::{label, path};
pub(crate) use turn::HandOver;
pub use turn::Turn;

use explode_ekm_abi::wire;

use crate::choose::{Choice, Kind};
use crate::run::{OptionDef, Options, UsageError};

/// What may fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// The numbers of the kinds, as EKM has them.
    kinds: u32,
    /// How many on a path, late writes included.
    most: u32,
}

/// The options by which a component is told so.
pub const FAILURE_OPTIONS: [OptionDef; 2] = [
    OptionDef {
        name: "fail",
        about: "which functions of the kernel may fail in a mutate: none, all, or some of slab, page, copy, buffer, cache, request, \
                with commas between them",
        default: "none",
    },
    OptionDef { name: "most_failures", about: "how many of them fail on a path", default: "1" },
];

impl Failures {
    /// What a component's options say.
    ///
    /// # Errors
    /// No such kind, or no number.
    pub fn of(options: &Options) -> Result<Failures, UsageError> {
        let known = || Kind::of_kernel().filter(|(kind, _, _)| *kind != Kind::LateCompletion);
        let mut kinds = 0;
        for word in options.text("fail", "none")?.split(',') {
            kinds |= match (word, known().find(|(_, _, known)| *known == word)) {
                (_, Some((_, number, _))) => number,
                ("none", _) => 0,
                ("all", _) => known().map(|(_, number, _)| number).sum(),
                _ => {
                    let known = known().map(|(_, _, known)| known).chain(["none", "all"]);
                    return Err(UsageError::unknown("kind of failure", word, known));
                }
            };
        }
        let most = options.int("most_failures", 1)?;
        let most = u32::try_from(most)
            .map_err(|_| UsageError(format!("most_failures of {most}; use less than 2^32")))?;
        Ok(Failures { kinds, most })
    }

    /// Writes that may end late, so many of them.
    pub fn late(most: u32) -> Failures {
        Failures { kinds: wire::LATE, most }
    }

    /// Does nothing fail?
    pub fn is_none(&self) -> bool {
        self.kinds == 0 || self.most == 0
    }

    /// What may fail if both may.
    #[must_use = "this returns what both let fail"]
    pub fn and(self, other: Failures) -> Failures {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => Failures { kinds: self.kinds | other.kinds, most: self.most.max(other.most) },
        }
    }
}

/// The failures among some choices.
pub fn failed(choices: &[Choice]) -> impl Iterator<Item = &Choice> {
    diverted(choices).filter(|choice| choice.kind != Kind::LateCompletion)
}

/// Those by which the kernel does not go on normally: failures, and writes that end late.
pub(crate) fn diverted(choices: &[Choice]) -> impl Iterator<Item = &Choice> {
    choices.iter().filter(|choice| choice.kind.is_of_kernel() && choice.value == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_their_words() {
        let of = |words: &str| Failures::of(&Options::none().with("fail", words));
        assert_eq!(of("none"), Ok(Failures { kinds: 0, most: 1 }));
        assert_eq!(of("slab"), Ok(Failures { kinds: 1, most: 1 }));
        assert_eq!(of("slab,request"), Ok(Failures { kinds: 33, most: 1 }));
        assert_eq!(of("all"), Ok(Failures { kinds: 63, most: 1 }));
        let wrong = of("slap").unwrap_err().to_string();
        assert_eq!(wrong, "unknown kind of failure 'slap'; did you mean 'slab'?");
        assert_eq!(
            of("late").unwrap_err().to_string(),
            "unknown kind of failure 'late'; did you mean 'slab'?"
        );
        assert!(Failures::default().is_none() && !of("page").unwrap().is_none());
        let (slab, none) = (of("slab").unwrap(), of("none").unwrap());
        assert_eq!(slab.and(Failures::late(3)), Failures { kinds: 65, most: 3 });
        assert_eq!(Failures::late(3).and(none), Failures::late(3));
    }
}
