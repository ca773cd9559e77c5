//! Faults of the medium as choices (EX-112, EX-118): before a mutate one block of one leaf may go
//! bad, or a whole disk may fail.
//!
//! The options of a leaf ([`MEDIA_OPTIONS`]) decide whether it has faults, of which kind, and how
//! many on a path. If a leaf has faults, each mutate begins with a choice between no fault and
//! every block that can go bad. Such a block is not all zeroes, and no newer data is on its way to
//! the disk, because reads of such data are served by a cache. From then on the block is bad under
//! the live stack and on every crash disk, sector by sector until it is written. A disk that fails
//! stays so, or is back after the crash with its old contents (fault-model.md, section 11).

mod blocks;
mod kinds;

pub use blocks::{MediaSite, MediaView};
pub use kinds::{MEDIA_OPTIONS, MediaFaults};

use crate::choose::Choice;

/// The site in the labels of these choices.
pub(crate) const SITE: &str = "media";

/// Returns the names of the faults among some choices.
pub(crate) fn faults(choices: &[Choice]) -> impl Iterator<Item = &str> {
    let chosen = choices.iter().filter(|choice| choice.label.site == SITE && choice.value > 0);
    chosen.filter_map(|choice| choice.name.as_deref())
}
