//! A small journaling file system on a block device: inodes, directories, indirect blocks, a journal, and an fsck.
//!
//! | blocks of 4096 bytes | what |
//! | --- | --- |
//! | 0 - 13 | the [journal](super::page_journal) |
//! | 14 | the inodes, 64 bytes each; inode 0 is the root directory |
//! | 15 - | contents of files, directories, indirect blocks |
//!
//! All metadata is journaled: an operation changes pages of one running transaction, and a sync of any kind commits it. Contents
//! of files are written in place, and waited for before the transaction that makes them reachable commits (*ordered*). Which
//! blocks are free is nowhere on disk: whoever mounts it counts. A block that was given back rests until a checkpoint: before, a
//! crash may bring back whoever had it, or the journal write over whoever has it now.
//!
//! `docs/seeded-bugs.md` says what each bug is.

mod directory;
mod files;
mod fsck;
mod inode;
mod path;
mod volume;

use std::rc::Rc;

use explode_runtime::recover::{Below, Component, Fault, Recovery, Surface};
use explode_runtime::run::{ComponentDef, Mode, OptionDef, Options, UsageError};

use files::ToyFs;
use volume::Volume;

use super::page_journal;

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "toyfs",
    about: "a small journaling file system; with a bug, if one is named",
    modes: &[Mode::Mem],
    on: Some("ramdisk"),
    options: &[OptionDef {
        name: "bug",
        about: "none, early-reuse, no-revoke, data-after-commit, fsync-in-place, no-preflush",
        default: "none",
    }],
    build,
};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    None,
    /// A block that was given back is used again at once.
    EarlyReuse,
    /// A block that was given back is used again as soon as that is committed, though the journal still holds what it was.
    NoRevoke,
    /// Contents are written after the commit of the transaction that makes them reachable.
    DataAfterCommit,
    /// fsync writes a file's inode in place, past the journal, which holds an older one.
    FsyncInPlace,
    /// The journal's commit block does not flush what was written before it.
    NoPreflush,
}

impl Bug {
    fn of_journal(self) -> page_journal::Bug {
        if self == Bug::NoPreflush { page_journal::Bug::NoPreflush } else { page_journal::Bug::None }
    }
}

struct ToyFsComponent {
    bug: Bug,
    mounted: Option<Rc<ToyFs>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", Bug::None),
            ("early-reuse", Bug::EarlyReuse),
            ("no-revoke", Bug::NoRevoke),
            ("data-after-commit", Bug::DataAfterCommit),
            ("fsync-in-place", Bug::FsyncInPlace),
            ("no-preflush", Bug::NoPreflush),
        ],
    )?;
    Ok(Box::new(ToyFsComponent { bug, mounted: None }))
}

impl Component for ToyFsComponent {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        Ok(Volume::format(below.disk(0)?, self.bug)?)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.mounted = Some(Rc::new(ToyFs::new(Volume::open(below.disk(0)?, self.bug)?)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount();
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, Fault> {
        fsck::repair(&mut Volume::open(below.disk(0)?, self.bug)?)
    }

    fn surface(&self) -> Surface {
        self.mounted.clone().map_or(Surface::Child, |mounted| Surface::Files(mounted))
    }
}
