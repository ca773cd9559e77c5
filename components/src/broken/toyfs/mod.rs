//! A small journaling file system on a block device: inodes, directories, indirect blocks, a
//! journal, and an fsck.
//!
//! | blocks of 4096 bytes | what |
//! | --- | --- |
//! | 0 - 13 | the [journal](super::page_journal) |
//! | 14 | the inodes, 64 bytes each; inode 0 is the root directory |
//! | 15 - | contents of files, directories, indirect blocks |
//!
//! All metadata is journaled. An operation changes pages of one running transaction, and a sync of
//! any kind commits it. Contents of files are written in place. They are waited for before the
//! transaction that makes them reachable commits (*ordered*). The disk does not record which blocks
//! are free. A mount counts them. A freed block is not reused before the next checkpoint, because
//! until then a crash may restore its former owner, or replay may overwrite its new owner.
//!
//! This is the first of three designs:
//!
//! | `metadata` | |
//! | --- | --- |
//! | `journal` | as above |
//! | `versions` | fsync of a file writes its inode in place, past the journal. Each change of an inode gives it a higher version, and replaying the journal keeps the newer one |
//! fsync writes the metadata of one file or directory, and the fsck repairs the rest. Each inode
//! has a sector of its own |
//! | `in-place` | as in ext2: no journal, metadata is in the cache and may be written at any time, fsync writes the metadata of one file or directory, and the fsck repairs the rest. Each inode has a sector of its own |
//!
//! `docs/results/seeded-bugs.md` describes each bug.

mod contents;
mod describe;
mod design;
mod directory;
mod files;
mod fsck;
mod in_place;
mod inode;
mod layout;
mod path;
mod volume;

use std::rc::Rc;

use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{
    Abilities, Below, Component, ComponentDef, Inspect, Recovery, Surface,
};

use design::{Design, Metadata, ToyFsBug};
use files::ToyFs;
use layout::LEAST_SECTORS;
use volume::Volume;

use super::page_journal;

/// The name in the registry.
pub const NAME: &str = "toyfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a small journaling file system; with a bug, if one is named",
        build,
    )
    .modes([Mode::Mem])
    .on("ramdisk")
    .options([
        OptionDef {
            name: "metadata",
            about: "how it reaches the disk: journal, versions (an fsync goes past it), in-place \
                    (there is none)",
            default: "journal",
        },
        OptionDef {
            name: "bug",
            about: "none, early-reuse, no-revoke, data-after-commit, fsync-in-place, no-preflush, \
                    rename-loop; with versions inode-reuse; \
                    in-place block-reuse",
            default: "none",
        },
    ])
}

struct ToyFsComponent {
    design: Design,
    mounted: Option<Rc<ToyFs>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", ToyFsBug::None),
            ("early-reuse", ToyFsBug::EarlyReuse),
            ("no-revoke", ToyFsBug::NoRevoke),
            ("data-after-commit", ToyFsBug::DataAfterCommit),
            ("fsync-in-place", ToyFsBug::FsyncInPlace),
            ("no-preflush", ToyFsBug::NoPreflush),
            ("rename-loop", ToyFsBug::RenameLoop),
            ("inode-reuse", ToyFsBug::InodeReuse),
            ("block-reuse", ToyFsBug::BlockReuse),
        ],
    )?;
    let designs = [
        ("journal", Metadata::Journal),
        ("versions", Metadata::Versions),
        ("in-place", Metadata::InPlace),
    ];
    let metadata = options.one_of("metadata", &designs)?;
    if !bug.fits(metadata) {
        return Err(UsageError(
            "this bug is one of another design; see its option 'metadata'".to_owned(),
        ));
    }
    Ok(Box::new(ToyFsComponent { design: Design { metadata, bug }, mounted: None }))
}

impl Component for ToyFsComponent {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let disk = below.disk(0)?;
        page_journal::has_room(&disk, LEAST_SECTORS)?;
        Ok(Volume::format(disk, self.design)?)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.mounted = Some(Rc::new(ToyFs::new(Volume::open(below.disk(0)?, self.design)?)));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount()?;
        }
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        fsck::repair(&mut Volume::open(below.disk(0)?, self.design)?)
    }

    fn surface(&self) -> Surface {
        self.mounted.clone().map_or(Surface::Child, |mounted| Surface::Files(mounted))
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().inspect(self)
    }
}

impl Inspect for ToyFsComponent {
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        self.mounted.as_ref().filter(|_| device == 0).map(|mounted| mounted.describe_sector(sector))
    }
}
