//! The kinds of faults that the options of a leaf select.

use std::ops::Range;

use explode_ramdisk::{Damage, DiskFault, ReadFault};

use crate::base::{OptionDef, Options, UsageError};

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
        about: "damage before a mutate, to a block: unreadable, garbage, both; to the disk: \
                failed, stale (back after a crash), missing (gone after a crash); none",
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
    pub(crate) fn damage(self, sectors: &Range<u64>, seed: u64) -> Vec<(&'static str, Damage)> {
        let of_block = |fault| Damage::Sectors(sectors.clone(), fault);
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
