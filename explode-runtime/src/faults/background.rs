//! The background actions of the kernel, as choices between two calls (EX-42, EX-57, EX-58, EX-83;
//! `docs/model/scheduling.md`).
//!
//! Write-back, a journal's commit and memory reclaim happen at any time on a real machine. In a
//! guest they happen only on request. With the options of a component that runs on a kernel
//! ([`BETWEEN_OPTIONS`]) a choice follows each call of the checker that changes or syncs anything:
//! no action, or one of them. The threads of the stack are held back in the meantime.
//! `KernelDisks::between_calls` (`ekm-kmod/host/src/kernel_side.rs`) makes the choice and
//! determines which threads must have run.

use crate::base::{OptionDef, Options, UsageError};
use crate::choose::{Choice, ChoiceKind};

/// A background action of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundAction {
    /// The flusher writes back all dirty data.
    Writeback,
    /// The dirty data of one file is written back.
    File,
    /// The journal's thread commits.
    Commit,
    /// Memory is reclaimed from caches.
    Reclaim,
}

impl BackgroundAction {
    /// Returns the word for the action in options.
    pub fn word(self) -> &'static str {
        match self {
            BackgroundAction::Writeback => "writeback",
            BackgroundAction::File => "file",
            BackgroundAction::Commit => "commit",
            BackgroundAction::Reclaim => "reclaim",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The background actions that may happen between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundWork {
    /// The set of actions, as bits.
    own: u8,
    /// The largest number of actions on a path.
    max_per_path: u32,
}

/// The options of a component for background actions between two calls.
pub const BETWEEN_OPTIONS: [OptionDef; 2] = [
    OptionDef {
        name: "between",
        about: "background actions of the kernel between two calls: none, all, or some of \
                writeback, file, commit (ext4), reclaim, \
                with commas between them",
        default: "none",
    },
    OptionDef {
        name: "most_between",
        about: "maximum number of such actions on a path",
        default: "1",
    },
];

impl BackgroundWork {
    /// Returns the background work that a component's options request, of the actions `can`.
    ///
    /// # Errors
    /// Returns an error for an unknown action, and for an invalid number.
    pub fn of(options: &Options, can: &[BackgroundAction]) -> Result<BackgroundWork, UsageError> {
        let mut own = 0;
        for word in options.text("between", "none")?.split(',') {
            own |= match (word, can.iter().find(|own| own.word() == word)) {
                (_, Some(known)) => known.bit(),
                ("none", _) => 0,
                ("all", _) => can.iter().map(|own| own.bit()).sum(),
                _ => {
                    let known = can.iter().map(|own| own.word()).chain(["none", "all"]);
                    return Err(UsageError::unknown("thing between two calls", word, known));
                }
            };
        }
        let most = options.int("most_between", 1)?;
        let most = u32::try_from(most)
            .map_err(|_| UsageError(format!("most_between of {most}; use less than 2^32")))?;
        Ok(BackgroundWork { own, max_per_path: most })
    }

    /// Returns true if no action may happen.
    pub fn is_none(self) -> bool {
        self.own == 0 || self.max_per_path == 0
    }

    /// Returns true if this action is in the set.
    pub fn has(self, own: BackgroundAction) -> bool {
        self.own & own.bit() != 0
    }

    /// Returns the actions that either allows.
    #[must_use = "this returns the union of both"]
    pub fn and(self, other: BackgroundWork) -> BackgroundWork {
        BackgroundWork {
            own: self.own | other.own,
            max_per_path: self.max_per_path.max(other.max_per_path),
        }
    }

    /// Returns the actions that may still happen after these choices.
    pub fn remaining_after(self, choices: &[Choice]) -> BackgroundWork {
        BackgroundWork {
            max_per_path: self
                .max_per_path
                .saturating_sub(background_actions(choices).count() as u32),
            ..self
        }
    }
}

/// Returns the background actions among some choices: the call that each followed, and its name.
pub(crate) fn background_actions(choices: &[Choice]) -> impl Iterator<Item = (&str, String)> {
    let ran = choices.iter().filter(|choice| choice.kind == ChoiceKind::Thread && choice.value > 0);
    ran.map(|choice| {
        let action = choice.name.clone().unwrap_or_else(|| choice.value.to_string());
        (choice.label.site.as_str(), action)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::Label;

    #[test]
    fn background_work_is_read_by_its_words() {
        let of = |words: &str, can: &[BackgroundAction]| {
            BackgroundWork::of(&Options::none().with("between", words), can)
        };
        let all = [
            BackgroundAction::Writeback,
            BackgroundAction::File,
            BackgroundAction::Commit,
            BackgroundAction::Reclaim,
        ];
        assert!(of("none", &all).unwrap().is_none());
        let some = of("writeback,commit", &all).unwrap();
        assert_eq!([true, false, true, false], all.map(|own| some.has(own)));
        assert!(all.into_iter().all(|own| of("all", &all).unwrap().has(own)));
        assert!(
            !of("all", &all[..2]).unwrap().has(BackgroundAction::Commit),
            "all that the system can do"
        );
        let wrong = of("comit", &all).unwrap_err().to_string();
        assert_eq!(wrong, "unknown thing between two calls 'comit'; did you mean 'commit'?");
        assert!(of("commit", &all[..2]).is_err());
    }

    #[test]
    fn no_background_work_is_allowed_after_the_last() {
        let commit = BackgroundWork::of(
            &Options::none().with("between", "commit"),
            &[BackgroundAction::Commit],
        )
        .unwrap();
        let label = Label { site: "after unlink".to_owned(), ..Label::default() };
        let choice = |value| Choice {
            kind: ChoiceKind::Thread,
            options: 2,
            value,
            name: None,
            label: label.clone(),
        };
        assert!(!commit.remaining_after(&[choice(0), choice(0)]).is_none());
        assert!(commit.remaining_after(&[choice(0), choice(1)]).is_none());
    }
}
