//! Faults of the medium as choices (EX-112, EX-118): before a mutate one block of one leaf may go
//! bad.
//!
//! Which leaves have faults, of which kind and how many on a path, their options say
//! ([`MEDIA_OPTIONS`]); where there is one, each mutate begins with a choice among none and every
//! block of them that can go bad: one that is not all zeroes, and of which nothing newer is on its
//! way to the disk (what is read of that comes from a cache). From there on the block is bad, under
//! the live stack and on every crash disk, sector by sector until it is written: fault-model.md,
//! section 11.

mod blocks;

use explode_ramdisk::ReadFault;

pub use blocks::{MediaBlock, MediaView};

use crate::base::{OptionDef, Options, UsageError};
use crate::choose::Choice;

/// Where the choices are, for their labels.
pub(crate) const SITE: &str = "media";

/// What may go bad of a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaFaults {
    unreadable: bool,
    garbage: bool,
    pub(crate) most: u32,
}

/// The options of a leaf that say what may go bad.
pub const MEDIA_OPTIONS: [OptionDef; 2] = [
    OptionDef {
        name: "faults",
        about: "how a block of it may go bad before a mutate: none, unreadable, garbage, both",
        default: "none",
    },
    OptionDef { name: "most_faults", about: "how many blocks go bad on a path", default: "1" },
];

impl MediaFaults {
    /// What a leaf's options say.
    ///
    /// # Errors
    /// No such kind, or no number.
    pub fn of(options: &Options) -> Result<MediaFaults, UsageError> {
        let words = [
            ("none", (false, false)),
            ("unreadable", (true, false)),
            ("garbage", (false, true)),
            ("both", (true, true)),
        ];
        let (unreadable, garbage) = options.one_of("faults", &words)?;
        let most = options.int("most_faults", 1)?;
        let most = u32::try_from(most)
            .map_err(|_| UsageError(format!("most_faults of {most}; use less than 2^32")))?;
        Ok(MediaFaults { unreadable, garbage, most })
    }

    /// Does nothing go bad?
    pub fn is_sound(&self) -> bool {
        !self.unreadable && !self.garbage
    }

    /// The faults of a block, with their names.
    pub(crate) fn faults(self, seed: u64) -> impl Iterator<Item = (&'static str, ReadFault)> {
        let unreadable = self.unreadable.then_some(("unreadable", ReadFault::Unreadable));
        let garbage = self.garbage.then_some(("garbage", ReadFault::Garbage { seed }));
        unreadable.into_iter().chain(garbage)
    }
}

/// The names of the faults among some choices.
pub(crate) fn faults(choices: &[Choice]) -> impl Iterator<Item = &str> {
    let chosen = choices.iter().filter(|choice| choice.label.site == SITE && choice.value > 0);
    chosen.filter_map(|choice| choice.name.as_deref())
}
