//! Storage engines in process, and the interface of a key-value engine, so that one checker serves
//! all of them.
//!
//! Third-party engines are behind the feature `engines`. `docs/results/engines.md` lists their
//! promises and the findings.

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

/// The engine can read the data that it has written.
pub const INTACT: &str = "intact";
/// Commits are there in order, each as a whole and none without those before it.
pub const ATOMIC: &str = "atomic";
/// A synced commit is there, and so is every commit before it.
pub const DURABLE: &str = "durable";
/// Uncommitted changes are not there.
pub const ISOLATED: &str = "isolated";

/// The component names of the engines that are only in a build with the feature `engines`, because
/// they take long to compile. The names of their targets begin with them.
pub const HEAVY: &[&str] = &["ekv", "fatfs", "littlefs", "redb", "sequential-storage"];

/// Everything in a store, by key.
pub type StoreContents = BTreeMap<String, Vec<u8>>;

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The key has this value from now on.
    Put(String, Vec<u8>),
    /// The key is removed.
    Delete(String),
}

impl Change {
    /// Applies the change.
    pub fn apply(&self, contents: &mut StoreContents) {
        match self {
            Change::Put(key, value) => contents.insert(key.clone(), value.clone()),
            Change::Delete(key) => contents.remove(key),
        };
    }
}

/// The time at which a commit is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The commit is durable when it returns.
    Synced,
    /// The commit is durable some time later, after all commits before it.
    Lazy,
}

/// The reason why an engine failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// The engine does not find the data that it has written.
    Corrupt(String),
    /// The system below the engine has failed.
    Below(Errno),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Corrupt(text) => f.write_str(text),
            EngineError::Below(errno) => write!(f, "the layer below the engine failed: {errno}"),
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
    /// Commits all of the changes, or none.
    ///
    /// # Errors
    /// [`EngineError`].
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), EngineError>;

    /// Moves accumulated data to its final place, in a checkpoint or a compaction. Makes every
    /// commit durable if there is anything to move.
    ///
    /// # Errors
    /// [`EngineError`].
    fn checkpoint(&self) -> Result<(), EngineError>;

    /// Returns all keys and values, as a reader sees them.
    ///
    /// # Errors
    /// [`EngineError`].
    fn contents(&self) -> Result<StoreContents, EngineError>;
}

/// An engine as a surface that a component offers to the layer above.
#[derive(Clone)]
pub struct Store(pub Rc<dyn KeyValue>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key-value store")
    }
}
