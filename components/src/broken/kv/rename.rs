//! A key-value store that is one file: each commit writes a new one, syncs it, renames it over the
//! old one, and syncs the folder.

use std::cell::RefCell;
use std::rc::Rc;

use explode_ramdisk::files::{Files, OpenFlags};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef};
use nix::errno::Errno;

use super::{StoreComponent, StoreKind};
use crate::broken::record::{Frame, as_changes, decode, encode, frame};
use crate::engine::{Change, Durability, EngineError, KeyValue, StoreContents};

/// The name in the registry.
pub const NAME: &str = "rename-kv";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "a small key-value store in one file that each commit replaces; with a bug, if one is \
         named",
        build,
    )
    .modes([Mode::Mem])
    .on("simfiles")
    .options([OptionDef {
        name: "bug",
        about: "none, no-file-sync, no-dir-sync, in-place",
        default: "none",
    }])
}

/// The bug of a rename store.
#[derive(Clone, Copy, PartialEq)]
enum RenameStoreBug {
    None,
    /// The new file is renamed before it is synced.
    NoFileSync,
    /// The folder is not synced after the rename.
    NoDirSync,
    /// The old file is written over and synced. There is no new file.
    InPlace,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let bug = options.one_of(
        "bug",
        &[
            ("none", RenameStoreBug::None),
            ("no-file-sync", RenameStoreBug::NoFileSync),
            ("no-dir-sync", RenameStoreBug::NoDirSync),
            ("in-place", RenameStoreBug::InPlace),
        ],
    )?;
    Ok(StoreComponent::boxed(bug))
}

const FILE: &str = "/store";
const NEW_FILE: &str = "/store.new";

struct RenameStore {
    files: Rc<dyn Files>,
    bug: RenameStoreBug,
    contents: RefCell<StoreContents>,
}

impl StoreKind for RenameStoreBug {
    fn create(&self, below: &Below<'_>) -> Result<(), StepError> {
        let store = RenameStore { files: below.files()?, bug: *self, contents: RefCell::default() };
        let nothing = Change::Put(String::new(), Vec::new());
        Ok(store.commit(&[nothing], Durability::Synced)?)
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError> {
        let files = below.files()?;
        let contents = RefCell::new(read(files.as_ref())?);
        Ok(Rc::new(RenameStore { files, bug: *self, contents }))
    }
}

fn read(files: &dyn Files) -> Result<StoreContents, EngineError> {
    let bytes = files.read_file(FILE).map_err(|errno| match errno {
        Errno::ENOENT => EngineError::Corrupt("the file is gone".to_owned()),
        errno => EngineError::Below(errno),
    })?;
    let changes =
        Frame::read(&bytes).filter(|frame| frame.sound).and_then(|frame| decode(frame.body));
    let changes = changes.ok_or_else(|| EngineError::Corrupt("the file is damaged".to_owned()))?;
    let mut contents = StoreContents::new();
    changes.iter().for_each(|change| change.apply(&mut contents));
    Ok(contents)
}

impl KeyValue for RenameStore {
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError> {
        let mut contents = self.contents.borrow_mut();
        changes.iter().for_each(|change| change.apply(&mut contents));
        let path = if self.bug == RenameStoreBug::InPlace { FILE } else { NEW_FILE };
        // After a crash two names can lead to one file. Truncating the file at this path would
        // change the other name's contents, so the name is unlinked first.
        if path == NEW_FILE && self.files.stat(path).is_ok() {
            self.files.unlink(path)?;
        }
        let fd = self.files.open(path, OpenFlags { truncate: true, ..OpenFlags::CREATE })?;
        self.files.pwrite(fd, 0, &frame(0, &encode(&as_changes(&contents))))?;
        // A lazy commit also syncs the file. Otherwise the name could lead to a part of it.
        if self.bug != RenameStoreBug::NoFileSync {
            self.files.fsync(fd)?;
        }
        self.files.close(fd)?;
        if self.bug != RenameStoreBug::InPlace {
            self.files.rename(NEW_FILE, FILE)?;
        }
        if durability == Durability::Synced && self.bug != RenameStoreBug::NoDirSync {
            self.files.sync_dir("/")?;
        }
        Ok(())
    }

    fn checkpoint(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn contents(&self) -> Result<StoreContents, EngineError> {
        Ok(self.contents.borrow().clone())
    }
}
