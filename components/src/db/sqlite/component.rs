//! SQLite as a component. Opening a database mounts and recovers it, because SQLite recovers when
//! it opens.

use std::rc::Rc;

use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Surface};

use rusqlite::limits::Limit;

use super::profile::{INTACT, profile};
use super::{Database, Journal, SqliteError, SqliteSettings, Synchronous};

/// The name in the registry.
pub const NAME: &str = "sqlite";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "an SQLite database, unmodified, through explode's VFS; offers its connection",
        build,
    )
    .modes([Mode::Mem])
    .on("simfiles")
    .options([
        OptionDef { name: "journal", about: "delete or wal", default: "delete" },
        OptionDef { name: "synchronous", about: "full, off, normal or extra", default: "full" },
        OptionDef {
            name: "page_bytes",
            about: "page size in bytes: a power of two, 512 to 65536",
            default: "4096",
        },
        OptionDef {
            name: "wal_autocheckpoint",
            about: "number of WAL frames after which a commit runs a checkpoint; 0: never",
            default: "1000",
        },
        OptionDef {
            name: "schema",
            about: "SQL that creates the tables of a new database",
            default: "",
        },
    ])
}

const PATH: &str = "/db";

struct SqliteComponent {
    settings: SqliteSettings,
    schema: String,
    database: Option<Rc<Database>>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let settings = SqliteSettings {
        journal: options
            .one_of("journal", &[("delete", Journal::Delete), ("wal", Journal::Wal)])?,
        synchronous: options.one_of(
            "synchronous",
            &[
                ("full", Synchronous::Full),
                ("off", Synchronous::Off),
                ("normal", Synchronous::Normal),
                ("extra", Synchronous::Extra),
            ],
        )?,
        page_bytes: page_bytes(options)?,
        wal_autocheckpoint: small(options, "wal_autocheckpoint", 1000)?,
        ..SqliteSettings::default()
    };
    Ok(Box::new(SqliteComponent { settings, schema: options.text("schema", "")?, database: None }))
}

/// Parses the page size. SQLite ignores sizes other than these.
fn page_bytes(options: &Options) -> Result<u32, UsageError> {
    match small(options, "page_bytes", 4096)? {
        bytes if bytes.is_power_of_two() && (512..=65_536).contains(&bytes) => Ok(bytes),
        bytes => {
            Err(UsageError(format!("page_bytes of {bytes}; use a power of two, 512 to 65536")))
        }
    }
}

fn small(options: &Options, name: &str, default: u32) -> Result<u32, UsageError> {
    let value = options.int(name, default.into())?;
    u32::try_from(value).map_err(|_| UsageError(format!("option '{name}' is too large: {value}")))
}

impl SqliteComponent {
    fn open(&mut self, below: &Below<'_>) -> Result<Rc<Database>, StepError> {
        if let Some(open) = &self.database {
            return Ok(Rc::clone(open));
        }
        let database =
            Database::open(below.files()?, PATH, &self.settings, below.seed).map_err(fault)?;
        Ok(Rc::clone(self.database.insert(Rc::new(database))))
    }
}

impl Component for SqliteComponent {
    /// Runs the schema with attaching disabled, because the schema may be that of a stranger's
    /// trace, and SQL can attach files of this machine through another VFS.
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let database = self.open(below)?;
        let attached =
            |most| database.with(|conn| conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, most));
        let limited =
            |error| StepError::new(format!("SQLite refused a limit: {error}")).blame(Blame::Tool);
        let most = attached(0).map_err(limited)?;
        let made = database.execute_batch(&self.schema).map_err(fault);
        attached(most).map_err(limited)?;
        made
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.open(below).map(drop)
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.database = None;
        Ok(())
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let files = below.files()?;
        let left = |suffix| files.stat(&format!("{PATH}{suffix}")).is_ok();
        let repairs = left("-journal") || left("-wal");
        let database = self.open(below)?;
        // SQLite examines the files that a crash left when it first reads.
        database.query("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(fault)?;
        Ok(if repairs { Recovery::Repaired } else { Recovery::Clean })
    }

    fn surface(&self) -> Surface {
        self.database.clone().map_or(Surface::Child, |database| Surface::Engine(database))
    }

    fn facts(&self) -> Facts {
        Facts::default().version("sqlite", rusqlite::version()).promises(profile(&self.settings))
    }
}

/// Closes the database without writing. A stack that is dropped without an unmount is a machine
/// that stops.
impl Drop for SqliteComponent {
    fn drop(&mut self) {
        if let Some(database) = self.database.take().and_then(Rc::into_inner) {
            database.crash();
        }
    }
}

/// Converts an error. SQLite's own message is in the source. A database that SQLite cannot read
/// breaks a promise. An error of the system below SQLite is blamed on the tool.
fn fault(error: SqliteError) -> StepError {
    use std::error::Error as _;
    let blame = if error.is_from_below() { Blame::Tool } else { Blame::Promise(INTACT) };
    let words = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    StepError::new(words).blame(blame)
}
