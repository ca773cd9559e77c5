//! sequential-storage, unmodified: its map on raw NOR flash. Each commit is one change. A
//! checkpoint does nothing.
//!
//! Keys are stored as 8 bytes, filled up with zeroes. No cache is used, so every operation searches
//! the flash again and repairs what it finds broken. The flash below must have blocks of 1024
//! bytes. Words have 4 bytes.

use std::cell::RefCell;
use std::rc::Rc;

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

use super::flash::Flash;
use super::now::now;
use super::store::{StoreComponent, StoreKind};
use super::{Change, Durability, EngineError, INTACT, KeyValue, StoreContents};

/// The name in the registry.
pub const NAME: &str = "sequential-storage";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "a map of sequential-storage on raw flash, unmodified", build)
        .modes([Mode::Mem])
        .on("flash")
        .options([OptionDef {
            name: "fetch_first",
            about: "fetch an item, which repairs, before the items are listed: true, false",
            default: "false",
        }])
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(StoreComponent::boxed(Sequential { fetch_first: options.bool("fetch_first", false)? }))
}

const PAGE: usize = 1024;
const WORD: usize = 4;

struct Pages(Rc<Flash>);

/// An error of the flash.
#[derive(Debug)]
struct Failed(Errno);

impl NorFlashError for Failed {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Pages {
    type Error = Failed;
}

impl ReadNorFlash for Pages {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Failed> {
        self.0.read(offset as usize, bytes).map_err(Failed)
    }

    fn capacity(&self) -> usize {
        self.0.blocks() * PAGE
    }
}

impl NorFlash for Pages {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        (from as usize / PAGE..to as usize / PAGE).for_each(|page| self.0.erase(page));
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Failed> {
        self.0.program(offset as usize, bytes).map_err(Failed)
    }
}

/// The bits of a word can be cleared in several steps.
impl MultiwriteNorFlash for Pages {}

type Key = [u8; 8];
type Storage = MapStorage<Key, Pages, Cache<Uncached, Uncached, Uncached, Key>>;

struct Map(RefCell<Storage>);

struct Sequential {
    fetch_first: bool,
}

impl StoreKind for Sequential {
    /// Checks the flash. Erased flash is an empty map.
    fn create(&self, below: &Below<'_>) -> Result<(), StepError> {
        self.open(below).map(drop)
    }

    fn open(&self, below: &Below<'_>) -> Result<Rc<dyn KeyValue>, StepError> {
        let flash = Flash::below(below)?;
        let bytes = (flash.block_bytes() * flash.blocks()) as u32;
        let config =
            (flash.block_bytes() == PAGE).then(|| MapConfig::try_new(0..bytes).ok()).flatten();
        let config = config.ok_or_else(|| {
            StepError::new(format!("needs flash with two blocks of {PAGE} bytes or more"))
        })?;
        let mut storage = MapStorage::new(Pages(flash), config, Cache::new_uncached());
        if self.fetch_first {
            now(storage.fetch_item::<&[u8]>(&mut [0; PAGE], &Key::default())).map_err(failed)?;
        }
        let map = Map(RefCell::new(storage));
        // A read repairs.
        map.contents()?;
        Ok(Rc::new(map))
    }

    fn facts(&self) -> Facts {
        const README: &str = "https://docs.rs/sequential-storage/8.0.2/sequential_storage/";
        const QUOTE: &str = "Power-fail safe: The system is always fine or fully recoverable";
        let line = |name| Promise { name, kept: true, quote: QUOTE, source: README };
        let promises = ["durable", "atomic", INTACT].map(line).to_vec();
        let profile = Profile { system: "sequential-storage".to_owned(), promises };
        Facts::default().version("sequential-storage", "8.0.2").promises(profile)
    }
}

/// A buffer for one item. No item is larger than a page.
type Buffer = [u8; PAGE];

fn failed(error: Error<Failed>) -> EngineError {
    match error {
        Error::Storage { value: Failed(errno) } => EngineError::Below(errno),
        Error::FullStorage => EngineError::Below(Errno::ENOSPC),
        Error::ItemTooBig | Error::BufferTooBig | Error::BufferTooSmall(_) => {
            EngineError::Below(Errno::EINVAL)
        }
        other => EngineError::Corrupt(format!("sequential-storage says {other:?}")),
    }
}

fn stored(key: &str) -> Result<Key, EngineError> {
    let mut bytes = Key::default();
    let place = bytes.get_mut(..key.len()).ok_or(Errno::EINVAL)?;
    place.copy_from_slice(key.as_bytes());
    Ok(bytes)
}

impl KeyValue for Map {
    /// Commits one change. Several changes would not be atomic.
    fn commit(&self, changes: &[Change], _durability: Durability) -> Result<(), EngineError> {
        let [change] = changes else { return Err(Errno::EINVAL.into()) };
        let mut buffer: Buffer = [0; PAGE];
        let mut map = self.0.borrow_mut();
        match change {
            Change::Put(key, value) => {
                now(map.store_item(&mut buffer, &stored(key)?, &value.as_slice()))
            }
            Change::Delete(key) => now(map.remove_item(&mut buffer, &stored(key)?)),
        }
        .map_err(failed)
    }

    fn checkpoint(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Returns the keys that the iterator finds, each with the value that a read returns.
    fn contents(&self) -> Result<StoreContents, EngineError> {
        let mut map = self.0.borrow_mut();
        let mut buffer: Buffer = [0; PAGE];
        let mut keys = Vec::new();
        let mut items = now(map.fetch_all_items(&mut buffer)).map_err(failed)?;
        while let Some((key, _)) = now(items.next::<&[u8]>(&mut buffer)).map_err(failed)? {
            keys.push(key);
        }
        let mut contents = StoreContents::new();
        for key in keys {
            if let Some(value) = now(map.fetch_item::<&[u8]>(&mut buffer, &key)).map_err(failed)? {
                let name = String::from_utf8_lossy(&key).trim_end_matches('\0').to_owned();
                contents.insert(name, value.to_vec());
            }
        }
        Ok(contents)
    }
}
