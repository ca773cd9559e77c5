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

use explode_ramdisk::{Damage, DiskFault, ReadFault};

pub use blocks::{MediaSite, MediaView};

use crate::base::{OptionDef, Options, UsageError};
use crate::choose::Choice;

/// The site in the labels of these choices.
pub(crate) const SITE: &str = "media";

/// The faults that are possible in a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaFaults {
    kind: FaultKind,
    pub(crate) max_per_path: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FaultKind {
    #[default]
    None,
    Unreadable,
    Garbage,
    /// Unreadable or garbage.
    Both,
    Disk(DiskFault),
}

/// The options of a leaf for faults of its medium.
pub const MEDIA_OPTIONS: [OptionDef; 2] = [
    OptionDef {
        name: "faults",
        about: "damage before a mutate, to a block: unreadable, garbage, both; to the disk: failed, \
                stale (back after a crash), missing (gone after a crash); none",
        default: "none",
    },
    OptionDef { name: "most_faults", about: "maximum number of faults on a path", default: "1" },
];

impl MediaFaults {
    /// Returns the faults that a leaf's options request.
    ///
    /// # Errors
    /// Returns an error for an unknown kind, and for an invalid number.
    pub fn of(options: &Options) -> Result<MediaFaults, UsageError> {
        let words = [
            ("none", FaultKind::None),
            ("unreadable", FaultKind::Unreadable),
            ("garbage", FaultKind::Garbage),
            ("both", FaultKind::Both),
            ("failed", FaultKind::Disk(DiskFault::Failed)),
            ("stale", FaultKind::Disk(DiskFault::Stale)),
            ("missing", FaultKind::Disk(DiskFault::Missing)),
        ];
        let kind = options.one_of("faults", &words)?;
        let most = options.int("most_faults", 1)?;
        let most = u32::try_from(most)
            .map_err(|_| UsageError(format!("most_faults of {most}; use less than 2^32")))?;
        Ok(MediaFaults { kind, max_per_path: most })
    }

    /// Returns true if nothing can go bad.
    pub fn is_sound(&self) -> bool {
        self.kind == FaultKind::None
    }

    /// Returns true if whole disks can fail.
    pub fn is_of_disk(&self) -> bool {
        matches!(self.kind, FaultKind::Disk(_))
    }

    /// Returns the possible damage to a block or a disk, with its name.
    pub(crate) fn damage(self, site: &MediaSite, seed: u64) -> Vec<(&'static str, Damage)> {
        let of_block = |fault| Damage::Sectors(site.sectors.clone(), fault);
        let unreadable = ("unreadable", of_block(ReadFault::Unreadable));
        let garbage = ("garbage", of_block(ReadFault::Garbage { seed }));
        match self.kind {
            FaultKind::None => vec![],
            FaultKind::Unreadable => vec![unreadable],
            FaultKind::Garbage => vec![garbage],
            FaultKind::Both => vec![unreadable, garbage],
            FaultKind::Disk(fault) => {
                let word = match fault {
                    DiskFault::Failed => "failed",
                    DiskFault::Stale => "stale",
                    DiskFault::Missing => "missing",
                };
                vec![(word, Damage::Disk(fault))]
            }
        }
    }
}

/// Returns the names of the faults among some choices.
pub(crate) fn faults(choices: &[Choice]) -> impl Iterator<Item = &str> {
    let chosen = choices.iter().filter(|choice| choice.label.site == SITE && choice.value > 0);
    chosen.filter_map(|choice| choice.name.as_deref())
}
