//! ekv, unmodified: a key-value database for raw NOR flash, a log-structured merge tree with
//! transactions.
//!
//! It is compiled for pages of 1024 bytes and values of up to 1024, with checksums. The flash below
//! must have such blocks. Its random seed, which decides where on the flash it begins, is the
//! stack's seed.
//!
//! It is compiled for 128 pages. The header of a page of data has 4 bytes, then 2 for each of
//! `log2(pages) - 2` links, then 2 (`DataHeader` of ekv's file.rs, `repr(C)`). With 64 pages, and
//! with its default of 256, two bytes of padding follow. ekv writes them to the flash without
//! initialising them, so the disks differ from build to build. With 128 pages there is no padding.

use std::rc::Rc;

use ekv::flash::{Flash as EkvFlash, PageID};
use ekv::{CommitError, Config, CursorError, Database, Error, MountError, WriteError};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use explode_runtime::base::{Mode, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;

use super::flash::Flash;
use super::now::now;
use super::store::{StoreComponent, StoreKind};
use super::{Change, Durability, EngineError, INTACT, KeyValue, StoreContents};

/// The name in the registry.
pub const NAME: &str = "ekv";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "an ekv database on raw flash, unmodified", build)
        .modes([Mode::Mem])
        .on("flash")
}

fn build(_options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(StoreComponent::boxed(Ekv))
}

struct Pages(Rc<Flash>);

impl Pages {
    fn at(page: PageID, offset: usize) -> usize {
        page.index() * ekv::config::PAGE_SIZE + offset
    }
}

impl EkvFlash for Pages {
    type Error = Errno;

    fn page_count(&self) -> usize {
        self.0.blocks()
    }

    async fn erase(&mut self, page: PageID) -> Result<(), Errno> {
        self.0.erase(page.index());
        Ok(())
    }

    async fn read(&mut self, page: PageID, offset: usize, data: &mut [u8]) -> Result<(), Errno> {
        self.0.read(Pages::at(page, offset), data)
    }

    async fn write(&mut self, page: PageID, offset: usize, data: &[u8]) -> Result<(), Errno> {
        self.0.program(Pages::at(page, offset), data)
    }
}

struct Ekv;

type Db = Database<Pages, NoopRawMutex>;

fn database(below: &Below<'_>) -> Result<Db, StepError> {
    let flash = Flash::below(below)?;
    let (page, most) = (ekv::config::PAGE_SIZE, ekv::config::MAX_PAGE_COUNT);
    if flash.block_bytes() != page || flash.blocks() > most {
        return Err(StepError::new(format!(
            "ekv is compiled for up to {most} blocks of {page} bytes"
        )));
    }
    let mut config = Config::default();
    config.random_seed = below.seed as u32;
    Ok(Database::new(Pages(flash), config))
}

impl StoreKind for Ekv {
    fn create(&self, below: &Below<'_>) -> Result<(), StepError> {
        now(database(below)?.format()).map_err(|error| StepError::new(format!("{error:?}")))
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError> {
        let database = database(below)?;
        now(database.mount()).map_err(|error| match error {
            MountError::Corrupted => damaged("mounting"),
            MountError::Flash(errno) => errno.into(),
        })?;
        Ok(Rc::new(database))
    }

    fn facts(&self) -> Facts {
        let line = |name, quote, source| Promise { name, kept: true, quote, source };
        const DOCS: &str =
            "https://docs.rs/ekv/1.0.0/ekv/struct.WriteTransaction.html#method.commit";
        let promises = vec![
            line(
                "durable",
                "When it returns, the writes are guaranteed to be fully safely written to flash, \
                 so they can't get lost by a \
                 crash or a power failure anymore.",
                DOCS,
            ),
            line(
                "atomic",
                "Committing is atomic: if commit is interrupted (due to power loss, crash, or \
                 canceling the future), it is \
                 guaranteed that either all or none of the writes in the transaction are \
                 committed.",
                DOCS,
            ),
            line(
                INTACT,
                "Power-fail safe. Powering off in the middle of writes never corrupts the \
                 database.",
                "https://docs.rs/ekv/1.0.0/ekv/",
            ),
        ];
        let profile = Profile { system: "ekv".to_owned(), promises };
        Facts::default().version("ekv", "1.0.0").promises(profile)
    }
}

fn damaged(doing: &str) -> EngineError {
    EngineError::Corrupt(format!("ekv says Corrupted when {doing}"))
}

impl KeyValue for Db {
    /// Commits the changes. Every commit is synced.
    fn commit(&self, changes: &[Change], _durability: Durability) -> Result<(), EngineError> {
        // Within a transaction keys must be written in order.
        let mut changes: Vec<_> = changes.iter().collect();
        changes.sort_by_key(|change| match change {
            Change::Put(key, _) | Change::Delete(key) => key.clone(),
        });
        let mut transaction = now(self.write_transaction());
        for change in changes {
            let written = match change {
                Change::Put(key, value) => now(transaction.write(key.as_bytes(), value)),
                Change::Delete(key) => now(transaction.delete(key.as_bytes())),
            };
            written.map_err(|error| match error {
                WriteError::Flash(errno) => errno.into(),
                WriteError::Corrupted => damaged("writing"),
                WriteError::Full => Errno::ENOSPC.into(),
                WriteError::NotSorted
                | WriteError::KeyTooBig
                | WriteError::ValueTooBig
                | WriteError::TransactionCanceled => Errno::EINVAL.into(),
            })?;
        }
        now(transaction.commit()).map_err(|error| match error {
            CommitError::Flash(errno) => errno.into(),
            CommitError::Corrupted => damaged("committing"),
            CommitError::TransactionCanceled => Errno::EINVAL.into(),
        })
    }

    /// Does nothing, because ekv compacts only when it needs space.
    fn checkpoint(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn contents(&self) -> Result<StoreContents, EngineError> {
        let reading = |error| match error {
            Error::Corrupted => damaged("reading"),
            Error::Flash(errno) => EngineError::Below(errno),
        };
        let transaction = now(self.read_transaction());
        let mut cursor = now(transaction.read_all()).map_err(reading)?;
        let mut key = [0; ekv::config::MAX_KEY_SIZE];
        let mut value = [0; ekv::config::MAX_VALUE_SIZE];
        let mut contents = StoreContents::new();
        while let Some((key_bytes, value_bytes)) =
            now(cursor.next(&mut key, &mut value)).map_err(|error| match error {
                CursorError::Flash(errno) => EngineError::Below(errno),
                CursorError::Corrupted
                | CursorError::KeyBufferTooSmall
                | CursorError::ValueBufferTooSmall => damaged("reading"),
            })?
        {
            let key = String::from_utf8_lossy(&key[..key_bytes]).into_owned();
            contents.insert(key, value[..value_bytes].to_vec());
        }
        Ok(contents)
    }
}
