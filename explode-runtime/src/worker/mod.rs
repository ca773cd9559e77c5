//! Workers: who runs the system, as whoever supervises them sees it (`docs/architecture.md`).
//!
//! A worker has the stack, the write set, the disks and the checks. It runs one [`Order`] after the other, asks its
//! [`Listener`] what only the supervisor knows, and says what it is [about to do](Listener::about_to) before each step that may
//! hang or kill it. All that a unit came to is in its [`UnitEnd`]: until then nothing of it counts, so that a unit that is
//! repeated counts once.
//!
//! A [`Crew`] is where workers come from: this very thread ([`InThread`]), or processes and guests on the other side of a
//! wire ([`Remote`]).

mod account;
mod answers;
mod book;
mod evidence;
mod examine;
mod frame;
mod in_thread;
mod own_thread;
mod page;
mod pen;
pub mod probe;
mod remote;
mod replay;
mod scouted;
mod serve;
mod unit_end;
mod wire;

use serde::{Deserialize, Serialize};

pub use evidence::{Block, Disks, Evidence};
pub(crate) use examine::OTHER_PATH;
pub use frame::{FrameReader, encode};
pub use in_thread::InThread;
pub use own_thread::spawn_thread;
pub use page::Page;
pub use remote::{Body, Remote, Spawn, WorkerEnded};
pub use replay::replay;
pub use scouted::Scouted;
pub use serve::serve;
pub use unit_end::{Snapshot, UnitEnd};
pub use wire::{Failed, Said, ToWorker};

use crate::base::{RunError, as_json};
use crate::choose::{Choice, Point};
use crate::dedup::Known;
use crate::explore::{Arrival, State, Unit, Wants};
use crate::plan::Origin;
use crate::verdict::{Death, Step, StepName, Verdict, Violation};

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The choices that lead to the state, and how many calls of mutate they belong to.
    #[serde(with = "as_json")]
    state: (Vec<Choice>, u32),
    #[serde(with = "as_json")]
    script: Vec<Choice>,
    mutates: u32,
    /// Checks that have ended earlier workers, and what is said of them: they are not made again.
    pub past: Vec<Past>,
    /// Steps that have ended a worker once: before each, all that is known so far is said.
    pub wary: Vec<Step>,
    /// Shall the listener answer points past the end of the script? If not, the answer is the first option.
    pub ask: bool,
    /// Shall it get a sketch of each state?
    pub sketches: bool,
    /// A unit that is run ahead: it does not follow the one that was run ahead before.
    pub apart: bool,
}

impl Order {
    /// To run a unit.
    pub fn new(unit: &Unit, wants: Wants) -> Order {
        let state = (unit.state.choices.clone(), unit.state.depth);
        let (script, mutates) = (unit.script.clone(), unit.mutates);
        let Wants { points: ask, sketches } = wants;
        Order { state, script, mutates, past: Vec::new(), wary: Vec::new(), ask, sketches, apart: false }
    }

    /// To run one ahead of its turn; `apart` if it does not follow the one that was run ahead before.
    pub fn ahead(unit: &Unit, apart: bool) -> Order {
        Order { apart, ..Order::new(unit, Wants::default()) }
    }

    /// The unit.
    pub fn unit(&self) -> Unit {
        let (choices, depth) = self.state.clone();
        Unit { state: State { choices, depth }, script: self.script.clone(), mutates: self.mutates }
    }
}

/// A check that is not made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The key of the check.
    pub key: u128,
    /// How many crashes during recovery led to its disk.
    pub crashes: u32,
    /// What is said of it.
    pub outcome: Outcome,
}

/// What is said of a step that has ended workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It does so each time: an error of the checked system, in this step.
    Error(Violation, StepName),
    /// It does so now and then.
    Broken(String),
}

/// What a worker says of what it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// What the run begins with.
    pub origin: Origin,
    /// What the components keep where no event shows it.
    pub hides: Vec<String>,
    /// What the stack does not have, and the checker does without.
    pub leaves_out: Vec<String>,
    /// Why every check is made; none if those are skipped whose verdict is known.
    pub not_skipping: Option<String>,
}

/// Hears of a unit while it runs, and answers.
pub trait Listener {
    /// The answer to a point past the end of the script.
    fn fallback(&mut self, point: &Point<'_>) -> u32;

    /// A state was reached. Shall the unit go on? Asked only if `more`: there are mutates left.
    fn reached(&mut self, arrival: &Arrival, more: bool) -> bool;

    /// The next step; the unit has made so many checks. Heard more often than that, so that time can be told.
    fn about_to(&mut self, step: Step, checked: u64);

    /// All that is known before a step that the worker is wary of.
    fn wary(&mut self, step: Step, snapshot: Snapshot);

    /// Shall the unit end before its next check?
    fn stop(&mut self) -> bool;
}

/// Where workers come from. There is one at a time.
pub trait Crew {
    /// Starts a worker, in place of the one before. It knows of no checks.
    ///
    /// # Errors
    /// [`StartError`].
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError>;

    /// Tells the worker of checks that were made.
    ///
    /// # Errors
    /// The worker is gone.
    fn know(&mut self, known: &Known) -> Result<(), Death>;

    /// Has the worker run a unit.
    ///
    /// # Errors
    /// The worker is gone.
    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death>;

    /// Has the worker run a unit ahead of its turn: it keeps nothing of it.
    ///
    /// # Errors
    /// The worker is gone.
    fn run_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<Scouted, Death>;

    /// Has the worker make up what a unit that was run ahead comes to now: just that which [`run`](Crew::run) would have come to,
    /// but for the way to those errors that need not be `exact`. None if the unit has to be run.
    ///
    /// # Errors
    /// The worker is gone.
    fn account(&mut self, scouted: Scouted, exact: Vec<bool>) -> Result<Option<UnitEnd>, Death>;

    /// Another worker is to replay something. Where there can be one only, the worker of this crew ends, and is to be started
    /// again: that is the answer.
    fn rest(&mut self) -> bool {
        false
    }

    /// Is there no way to lose a worker? Then nobody else has to remember what it knows.
    fn lasts(&self) -> bool {
        false
    }
}

/// Why a worker could not be started.
#[derive(Debug)]
pub enum StartError {
    /// It has said why.
    Said(RunError),
    /// It is gone.
    Died(Death),
}

impl From<String> for StartError {
    fn from(why: String) -> StartError {
        StartError::Said(RunError::Broken(why))
    }
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> RunError {
        match error {
            StartError::Said(error) => error,
            StartError::Died(Death { step: Step::FirstStart, message, verdict, .. }) => {
                let next = if verdict == Some(Verdict::Hang) { "; --deadline gives it longer" } else { "" };
                RunError::Broken(format!(
                    "the first start of the stack (init, mount, unmount) has ended each worker that tried: {message}{next}"
                ))
            }
            StartError::Died(death) => {
                RunError::Broken(format!("a worker could not be started: {}", death.message))
            }
        }
    }
}
