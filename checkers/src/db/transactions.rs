//! Transactions (EX-108): committed ones are there, whole and in order; others are not.
//!
//! Every mutate is one transaction over two tables, committed or rolled back, or a checkpoint. Each
//! committed transaction leaves contents that never existed before, so the contents of a recovered
//! database determine which prefix of the history it holds.

use explode_components::db::sqlite::profile::{
    ATOMIC, CHECKPOINTED, DURABLE, INTACT, ISOLATED, LAST_COMMIT,
};
use explode_components::db::sqlite::rusqlite::Row;
use explode_components::db::sqlite::{Database, SqliteError};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx, Unsupported, digest};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use super::contents::Contents;

/// The name in the registry.
pub const NAME: &str = "sqlite-transactions";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "committed transactions are there whole and in order, others are not, the database is \
         consistent",
        build,
    )
    .options([OptionDef {
        name: "rollback",
        about: "rollback in one of the steps: savepoint, transaction",
        default: "savepoint",
    }])
}

/// The numbers of commits before and after the checked interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Allowed {
    before: usize,
    after: usize,
    /// The number of commits that a checkpoint has copied into the database.
    copied_before: usize,
    copied_after: usize,
}

#[derive(Clone, Default)]
struct Transactions {
    /// The contents after 0, 1, 2, ... commits.
    history: Vec<Contents>,
    /// The contents that each rolled-back transaction would have made.
    rolled_back: Vec<Contents>,
    allowed: Allowed,
    choice: Vec<TransactionStep>,
    /// The length of a value that does not fit into a page.
    large_chars: usize,
    /// The number of mutates so far. Values contain it, so that all are distinct.
    steps: i64,
}

fn build(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    let rollback = options.one_of(
        "rollback",
        &[("savepoint", TransactionStep::Savepoint), ("whole", TransactionStep::RollBack)],
    )?;
    let choice = vec![
        TransactionStep::Insert,
        TransactionStep::InsertLarge,
        TransactionStep::Update,
        TransactionStep::Move,
        rollback,
    ];
    Ok(Box::new(Transactions { choice, ..Transactions::default() }))
}

/// The steps that a mutate chooses from.
#[derive(Clone, Copy)]
enum TransactionStep {
    /// Inserts two small rows into one table and one into the other.
    Insert,
    /// Inserts a row that needs an overflow page.
    InsertLarge,
    /// Updates all rows of one table and one row of the other.
    Update,
    /// Moves a row from one table to the other.
    Move,
    /// Deletes all rows except the newest.
    Delete,
    /// Inserts rows, after an update that is rolled back to a savepoint.
    Savepoint,
    /// Inserts rows and rolls back the transaction.
    RollBack,
    /// Copies the log into the database.
    Checkpoint,
}

impl Checker for Transactions {
    fn init(&mut self, stack: &Stack) -> Result<(), StepError> {
        // The history continues after a chop.
        if !self.history.is_empty() {
            return Ok(());
        }
        let database = stack.engine::<Database>()?;
        let page = database
            .query("PRAGMA page_size", [], |row| row.get::<_, u32>(0))
            .map_err(StepError::new)?;
        self.large_chars = page.iter().map(|bytes| (bytes + bytes / 8) as usize).sum();
        let mode = database
            .query("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))
            .map_err(StepError::new)?;
        self.choice.push(if mode == ["wal"] {
            TransactionStep::Checkpoint
        } else {
            TransactionStep::Delete
        });
        self.history = vec![Contents::read(&database).map_err(StepError::new)?];
        Ok(())
    }

    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let database = cx.stack().engine::<Database>()?;
        let step = self.choice[cx.choose_named(NAME, self.choice.len())];
        self.steps += 1;
        let args = [format!("step{}", self.steps)];
        let now = self.history.last().expect("init has put the first contents there").clone();
        let before = self.history.len() - 1;
        let run = |sql: &str| database.execute_batch(sql).map_err(CheckError::broken);
        let copied = self.allowed.copied_after;
        self.allowed =
            Allowed { before, after: before, copied_before: copied, copied_after: copied };
        cx.check_crashes_start(&args);
        match step {
            TransactionStep::Checkpoint => {
                checkpoint(&database)?;
                self.allowed.copied_after = before;
            }
            TransactionStep::RollBack => {
                let wanted = self.wanted(TransactionStep::Insert, &now);
                run(&format!("BEGIN; {} ROLLBACK;", now.sql_to(&wanted)))?;
                self.rolled_back.push(wanted);
            }
            _ => {
                let wanted = self.wanted(step, &now);
                let taken_back = match step {
                    TransactionStep::Savepoint => {
                        now.sql_to(&self.wanted(TransactionStep::Update, &now))
                    }
                    _ => String::new(),
                };
                let work = now.sql_to(&wanted);
                run(&format!("BEGIN; SAVEPOINT s; {taken_back} ROLLBACK TO s; {work} COMMIT;"))?;
                self.history.push(wanted);
                self.allowed.after = before + 1;
            }
        }
        cx.check_crashes_end(self, &args)
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let database = stack.engine::<Database>()?;
        let unreadable = |error: SqliteError| {
            if error.is_from_below() {
                return CheckError::broken(chain(&error));
            }
            let message = format!("the database cannot be read: {}", chain(&error));
            Violation::new(Verdict::Corrupt, INTACT, message).into()
        };
        if let Some(line) = database.integrity().map_err(unreadable)?.first() {
            let message = format!("integrity_check: {line}");
            return Err(Violation::new(Verdict::Corrupt, INTACT, message).into());
        }
        let found = Contents::read(&database).map_err(unreadable)?;
        self.judge(&found, epoch).map_err(CheckError::from)
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(digest((&self.history, &self.rolled_back, self.allowed)))
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.engine::<Database>()?;
        Ok(CheckerFacts::default())
    }
}

impl Transactions {
    /// Returns the contents after a step. Every value is new.
    fn wanted(&self, step: TransactionStep, now: &Contents) -> Contents {
        let n = self.steps;
        let mut wanted = now.clone();
        match step {
            TransactionStep::Insert | TransactionStep::Savepoint => {
                wanted.a.extend([(n * 10, format!("a{n}")), (n * 10 + 1, format!("a{n}+"))]);
                wanted.b.insert(n * 10, format!("b{n}"));
            }
            TransactionStep::InsertLarge => {
                let number = n.to_string();
                // The width of a format is at most u16::MAX.
                let blank = " ".repeat(self.large_chars.saturating_sub(number.len()));
                wanted.a.insert(n * 10, number + &blank);
                wanted.b.insert(n * 10, format!("b{n}"));
            }
            TransactionStep::Update => {
                wanted.a.iter_mut().for_each(|(id, v)| *v = format!("u{n}.{id}"));
                let first = wanted.b.first_key_value().map_or(n * 10, |(id, _)| *id);
                wanted.b.insert(first, format!("u{n}"));
            }
            TransactionStep::Move => {
                let (id, _) = wanted.a.pop_first().unwrap_or((n * 10, String::new()));
                wanted.b.insert(id, format!("m{n}"));
            }
            TransactionStep::Delete => {
                wanted.a = wanted.a.pop_last().into_iter().collect();
                wanted.b = [(n * 10, format!("d{n}"))].into();
            }
            TransactionStep::RollBack | TransactionStep::Checkpoint => {}
        }
        wanted
    }

    /// Checks that the contents are a prefix of the history that the epoch allows.
    fn judge(&self, found: &Contents, epoch: Epoch) -> Result<(), Violation> {
        let Allowed { before, after, copied_before, copied_after } = self.allowed;
        let (least, most, copied) = match epoch {
            Epoch::Begin => (before, before, copied_before),
            Epoch::InBetween => (before, after, copied_before),
            Epoch::End | Epoch::Now | Epoch::Soft => (after, after, copied_after),
        };
        match self.history.iter().rposition(|contents| contents == found) {
            Some(commits) if commits < copied => {
                let message =
                    format!("a checkpoint has copied {copied} transactions, {commits} are there");
                Err(Violation::new(Verdict::Lost, CHECKPOINTED, message))
            }
            Some(commits) if commits < least => {
                let promise = if commits + 1 == least { LAST_COMMIT } else { DURABLE };
                let message = format!("{least} transactions were committed, {commits} are there");
                Err(Violation::new(Verdict::Lost, promise, message))
            }
            Some(commits) if commits > most => {
                let message = format!("{most} transactions were committed, {commits} are there");
                Err(Violation::new(Verdict::Resurrected, ISOLATED, message))
            }
            Some(_) => Ok(()),
            None if self.rolled_back.contains(found) => {
                let message = "a transaction that was rolled back is there";
                Err(Violation::new(Verdict::Resurrected, ISOLATED, message))
            }
            None => {
                let (a, b) = (found.a.len(), found.b.len());
                let message =
                    format!("{a} and {b} rows that no prefix of the {after} commits leaves");
                Err(Violation::new(Verdict::Corrupt, ATOMIC, message))
            }
        }
    }
}

/// Copies the whole WAL into the database. A checkpoint that cannot finish is an error of the
/// check, because no other connection uses the database.
fn checkpoint(database: &Database) -> Result<(), CheckError> {
    let row =
        |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let rows = database.query("PRAGMA wal_checkpoint(RESTART)", [], row);
    match rows.map_err(|error| CheckError::broken(chain(&error)))?[..] {
        [(0, frames, copied)] if frames == copied => Ok(()),
        ref other => Err(CheckError::broken(format!("a checkpoint ended with {other:?}"))),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
