//! redb: an ACID key-value store in Rust, unmodified, on files.
//!
//! Opening a database mounts and recovers it, because redb repairs a database when it opens.
//! Dropping the component without an unmount is a machine that stops: the writes of redb's
//! destructor do not reach the file (`Drop` of the component).

mod database;
mod profile;
mod settings;
mod storage;

use std::cell::Cell;
use std::rc::Rc;

use explode_runtime::base::{Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Surface};
use redb::Database;

use self::database::{Engine, called, failed};
use self::profile::profile;
use self::settings::RedbSettings;
use self::storage::Plug;
pub use self::storage::RedbStorage;
use super::{EngineError, KeyValue, Store};

/// The name in the registry.
pub const NAME: &str = "redb";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "a redb database, unmodified; offers its keys and values", build)
        .modes([Mode::Mem])
        .on("simfiles")
        .options([
            OptionDef {
                name: "durability",
                about: "durability of synced commits: immediate, none",
                default: "immediate",
            },
            OptionDef {
                name: "two_phase_commit",
                about: "sync twice in a commit: true, false",
                default: "false",
            },
            OptionDef {
                name: "quick_repair",
                about: "save the state of the allocator in each commit: true, false",
                default: "false",
            },
            OptionDef {
                name: "cache_bytes",
                about: "size of redb's cache in bytes; small, because a crash disk is read once",
                default: "65536",
            },
        ])
}

/// The version in Cargo.lock; a test compares the two.
const VERSION: &str = "4.5.0";

const PATH: &str = "/redb";

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let settings = RedbSettings {
        durable: options.one_of("durability", &[("immediate", true), ("none", false)])?,
        two_phase_commit: options.bool("two_phase_commit", false)?,
        quick_repair: options.bool("quick_repair", false)?,
        cache_bytes: options.int("cache_bytes", 1 << 16)? as usize,
    };
    Ok(Box::new(Redb { settings, open: None }))
}

struct Redb {
    settings: RedbSettings,
    open: Option<Open>,
}

/// An open database, and the plug that cuts it off from its file.
struct Open {
    engine: Rc<Engine>,
    plug: Plug,
}

impl Redb {
    /// Opens the database, and creates it if it does not exist. Returns true if redb repaired it.
    fn open(&mut self, below: &Below<'_>) -> Result<bool, StepError> {
        let storage = RedbStorage::open(below.files()?, PATH).map_err(EngineError::from)?;
        let plug = storage.plug();
        let repaired = Rc::new(Cell::new(false));
        let noted = Rc::clone(&repaired);
        let database = called(|| {
            let mut builder = Database::builder();
            builder
                .set_cache_size(self.settings.cache_bytes)
                .set_repair_callback(move |_| noted.set(true));
            builder.create_with_backend(storage).map_err(failed)
        })?;
        let engine = Engine::new(self.settings, database);
        self.open = Some(Open { engine: Rc::new(engine), plug });
        Ok(repaired.get())
    }
}

impl Component for Redb {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.open(below).map(drop)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        if self.open.is_none() {
            self.open(below)?;
        }
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.open = None;
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let repaired = self.open(below)?;
        Ok(if repaired { Recovery::Repaired } else { Recovery::Clean })
    }

    fn surface(&self) -> Surface {
        let store = |open: &Open| {
            Surface::Engine(Rc::new(Store(Rc::clone(&open.engine) as Rc<dyn KeyValue>)))
        };
        self.open.as_ref().map_or(Surface::Child, store)
    }

    fn facts(&self) -> Facts {
        Facts::default().version("redb", VERSION).promises(profile(self.settings))
    }
}

/// Cuts redb off from its file. A stack that is dropped without an unmount is a machine that stops.
impl Drop for Redb {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            open.plug.pull();
        }
    }
}
