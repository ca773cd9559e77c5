//! Storage engines in process: what a key-value engine can do, so that one checker does for all of
//! them.
//!
//! Those of others are here too, behind the feature `engines`; `docs/results/engines.md` says what
//! they promise and what was seen.

#[cfg(feature = "engines")]
pub mod ekv;
#[cfg(feature = "engines")]
pub mod fatfs;
pub mod flash;
#[cfg(feature = "engines")]
pub mod littlefs;
#[cfg(feature = "engines")]
mod now;
#[cfg(feature = "engines")]
pub mod redb;
#[cfg(feature = "engines")]
pub mod sequential_storage;
pub mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use explode_runtime::base::{Blame, StepError};
use nix::errno::Errno;

/// The engine can read what it has written.
pub const INTACT: &str = "intact";
/// Commits are there in order, none without those before it, each whole.
pub const ATOMIC: &str = "atomic";
/// A synced commit is there, and so is every commit before it.
pub const DURABLE: &str = "durable";
/// What was not committed is not there.
pub const ISOLATED: &str = "isolated";

/// Engines that are in a build only with the feature `engines`, for they take long to compile: the
/// names of their components. Names of targets begin with them.
pub const HEAVY: &[&str] = &["ekv", "fatfs", "littlefs", "redb", "sequential-storage"];

/// Everything in a store, by key.
pub type StoreContents = BTreeMap<String, Vec<u8>>;

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A key has this value from now on.
    Put(String, Vec<u8>),
    /// A key is gone.
    Delete(String),
}

impl Change {
    /// Makes it.
    pub fn apply(&self, contents: &mut StoreContents) {
        match self {
            Change::Put(key, value) => contents.insert(key.clone(), value.clone()),
            Change::Delete(key) => contents.remove(key),
        };
    }
}

/// When a commit is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// When it returns.
    Synced,
    /// Some time later, with all commits before it and never without them.
    Lazy,
}

/// Why an engine could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// What it finds is not what it has written.
    Corrupt(String),
    /// What it stands on has failed.
    Below(Errno),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Corrupt(what) => f.write_str(what),
            EngineError::Below(errno) => write!(f, "what is below the engine has failed: {errno}"),
        }
    }
}

impl From<Errno> for EngineError {
    fn from(errno: Errno) -> EngineError {
        EngineError::Below(errno)
    }
}

impl From<EngineError> for StepError {
    fn from(error: EngineError) -> StepError {
        let blame = match error {
            EngineError::Corrupt(_) => Blame::Promise(INTACT),
            EngineError::Below(_) => Blame::Tool,
        };
        StepError::new(error).blame(blame)
    }
}

/// An open key-value engine. Opening it has recovered it.
pub trait KeyValue {
    /// Makes all of the changes, or none.
    ///
    /// # Errors
    /// [`EngineError`].
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError>;

    /// Moves what has piled up to where it belongs: a checkpoint, a compaction. It makes every
    /// commit durable, if there is anything to move.
    ///
    /// # Errors
    /// [`EngineError`].
    fn checkpoint(&self) -> Result<(), EngineError>;

    /// Everything in it, as a reader sees it.
    ///
    /// # Errors
    /// [`EngineError`].
    fn contents(&self) -> Result<StoreContents, EngineError>;
}

/// An engine as the layer above meets it: the surface that a component offers.
#[derive(Clone)]
pub struct Store(pub Rc<dyn KeyValue>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key-value store")
    }
}
