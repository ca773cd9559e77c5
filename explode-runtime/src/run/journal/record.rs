//! The records of a journal: the run, and the units that have ended.

use serde::{Deserialize, Serialize};

use crate::base::as_json;
use crate::choose::{Choice, ChoiceBook};
use crate::explore::{Unit, UnitId};
use crate::plan::{Plan, RunOrigin};
use crate::run::findings::FindingsChange;
use crate::run::totals::Merged;

/// The run that the journal belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalHeader {
    pub explode: String,
    #[serde(with = "as_json")]
    pub plan: Plan,
    pub origin: RunOrigin,
}

impl JournalHeader {
    /// Returns the header for a run of this version.
    pub fn of(plan: &Plan, origin: &RunOrigin) -> JournalHeader {
        let explode = env!("CARGO_PKG_VERSION").to_owned();
        JournalHeader { explode, plan: plan.clone(), origin: origin.clone() }
    }
}

/// A unit that has ended. [`WrittenUnit`] has its choices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::run) struct UnitRecord {
    /// The identity of the unit. It reveals a strategy that takes another path when it is repeated.
    pub unit: UnitId,
    /// The changes that the unit made to the totals.
    pub merged: Merged,
    pub findings: FindingsChange,
    /// The time since the run began.
    pub elapsed_ms: u64,
}

impl UnitRecord {
    pub fn new(
        unit: &Unit,
        merged: Merged,
        findings: FindingsChange,
        elapsed_ms: u64,
    ) -> UnitRecord {
        UnitRecord { unit: unit.id(), merged, findings, elapsed_ms }
    }
}

/// A record in its written form. A choice is written once, and then by number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WrittenUnit<R> {
    /// Choices that no record before it has. They get the next numbers.
    new: Vec<NewChoice>,
    /// The numbers of the record's choices.
    choices: Vec<u32>,
    record: R,
}

#[derive(Debug, Serialize, Deserialize)]
struct NewChoice(#[serde(with = "as_json")] Choice);

impl<'a> WrittenUnit<&'a UnitRecord> {
    /// Returns the written form of a record. The book has the choices of all earlier records. The
    /// choices of this record are added to it.
    pub fn of(record: &'a UnitRecord, book: &mut ChoiceBook) -> WrittenUnit<&'a UnitRecord> {
        let known = book.len();
        let choices = record.merged.choices.iter().map(|choice| book.number(choice)).collect();
        let new = book.since(known).iter().cloned().map(NewChoice).collect();
        WrittenUnit { new, choices, record }
    }
}

impl WrittenUnit<UnitRecord> {
    /// Returns the record with its choices; `None` if it depends on other records than these.
    pub fn read(self, book: &mut ChoiceBook) -> Option<UnitRecord> {
        let WrittenUnit { new, choices, mut record } = self;
        let all = book.len() + new.len();
        if choices.iter().any(|number| *number as usize >= all) {
            return None;
        }
        new.iter().for_each(|NewChoice(choice)| _ = book.number(choice));
        let choices = choices.into_iter().map(|number| book.get(number).cloned());
        record.merged.choices = choices.collect::<Option<_>>()?;
        Some(record)
    }
}
