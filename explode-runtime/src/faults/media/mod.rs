//! Faults of the medium as choices (EX-112, EX-118): before a mutate one block of one leaf may go
//! bad.
//!
//! The options of a leaf ([`MEDIA_OPTIONS`]) decide whether it has faults, of which kind, and how
//! many on a path. If a leaf has faults, each mutate begins with a choice between no fault and
//! every block that can go bad. Such a block is not all zeroes, and no newer data is on its way to
//! the disk, because reads of such data are served by a cache. From then on the block is bad under
//! the live stack and on every crash disk, sector by sector until it is written (fault-model.md,
//! section 11).

mod blocks;

use explode_ramdisk::ReadFault;

pub use blocks::{MediaBlock, MediaView};

use crate::base::{OptionDef, Options, UsageError};
use crate::choose::Choice;

/// The site in the labels of these choices.
pub(crate) const SITE: &str = "media";

/// The faults that are possible in a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaFaults {
    unreadable: bool,
    garbage: bool,
    pub(crate) max_per_path: u32,
}

/// The options of a leaf for faults of its medium.
pub const MEDIA_OPTIONS: [OptionDef; 2] = [
    OptionDef {
        name: "faults",
        about: "damage to a block before a mutate: none, unreadable, garbage, both",
        default: "none",
    },
    OptionDef {
        name: "most_faults",
        about: "maximum number of damaged blocks on a path",
        default: "1",
    },
];

impl MediaFaults {
    /// Returns the faults that a leaf's options request.
    ///
    /// # Errors
    /// Returns an error for an unknown kind, and for an invalid number.
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
        Ok(MediaFaults { unreadable, garbage, max_per_path: most })
    }

    /// Returns true if no block can go bad.
    pub fn is_sound(&self) -> bool {
        !self.unreadable && !self.garbage
    }

    /// Returns the possible faults of a block, with their names.
    pub(crate) fn faults(self, seed: u64) -> impl Iterator<Item = (&'static str, ReadFault)> {
        let unreadable = self.unreadable.then_some(("unreadable", ReadFault::Unreadable));
        let garbage = self.garbage.then_some(("garbage", ReadFault::Garbage { seed }));
        unreadable.into_iter().chain(garbage)
    }
}

/// Returns the names of the faults among some choices.
pub(crate) fn faults(choices: &[Choice]) -> impl Iterator<Item = &str> {
    let chosen = choices.iter().filter(|choice| choice.label.site == SITE && choice.value > 0);
    chosen.filter_map(|choice| choice.name.as_deref())
}
