//! The journal of a run: what each unit came to, in the run folder, so that another process can go on.
//!
//! `RUN/journal` is a line that says what it is, then records: length (4 bytes) and xxh3 hash (8 bytes) of what follows, both
//! little-endian, and that in postcard's form. The first record says which run it is, each other one is a unit that has ended.
//! A record that is torn or damaged ends the journal: it and what follows are cut off, and their units are run again.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::error::RunError;
use super::findings::FindingsChange;
use super::options::UsageError;
use super::plan::Plan;
use super::worker::{Known, UnitEnd, as_json};
use crate::choose::choices_hash;
use crate::explore::{Arrival, Reached, Unit};
use crate::trace::Origin;

const NAME: &str = "journal";
const MAGIC: &[u8] = b"explode journal 2\n";
/// Length and hash.
const HEAD_BYTES: usize = 12;
/// What was written waits for the disk no longer than this.
const SYNC: Duration = Duration::from_secs(1);

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    explode: String,
    #[serde(with = "as_json")]
    plan: Plan,
    origin: Origin,
}

/// A unit that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Which unit it is.
    pub unit: u128,
    /// What it came to, with the choices after those of its state, without what is told elsewhere.
    pub end: UnitEnd,
    pub reached: Reached,
    /// The states on its way.
    pub arrivals: Vec<(Arrival, Reached)>,
    pub findings: FindingsChange,
    /// Since the run began.
    pub elapsed_ms: u64,
}

impl Record {
    pub fn new(
        unit: &Unit,
        mut end: UnitEnd,
        reached: Reached,
        arrivals: Vec<(Arrival, Reached)>,
        findings: FindingsChange,
        elapsed_ms: u64,
    ) -> Record {
        end.choices.drain(..unit.state.choices.len().min(end.choices.len()));
        end.errors.clear();
        end.broken.clear();
        end.events.clear();
        Record { unit: identity(unit), end, reached, arrivals, findings, elapsed_ms }
    }
}

/// A hash of a unit: a strategy that goes another way when it is repeated is found out by it.
pub(super) fn identity(unit: &Unit) -> u128 {
    let Unit { state, script, mutates } = unit;
    let parts =
        [choices_hash(&state.choices), choices_hash(script), u128::from(state.depth), u128::from(*mutates)];
    xxh3_128(&parts.map(u128::to_le_bytes).concat())
}

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// What it begins with, until it is there.
    beginning: Vec<u8>,
    file: Option<File>,
    /// How long its sound part is.
    sound: u64,
    synced: Instant,
}

impl Journal {
    /// One in a run folder; it is made when there is something to write.
    pub fn of(folder: &Path, plan: &Plan, origin: &Origin) -> Journal {
        let explode = env!("CARGO_PKG_VERSION").to_owned();
        let header = Header { explode, plan: plan.clone(), origin: origin.clone() };
        let beginning = [MAGIC, &frame(&header)].concat();
        Journal { path: folder.join(NAME), beginning, file: None, sound: 0, synced: Instant::now() }
    }

    /// Adds a record; durably if that matters, else soon. What fails leaves the journal as it was, or none at all.
    pub fn append(&mut self, record: &Record, now: bool) -> Result<(), RunError> {
        let frame = frame(record);
        let now = now || self.synced.elapsed() >= SYNC;
        self.write(&frame, now).map_err(|error| {
            // The room is wanted for findings. That even this fails changes nothing: a torn record is known when it is read.
            let _ = match self.file.take().filter(|_| self.sound > self.beginning.len() as u64) {
                Some(file) => file.set_len(self.sound),
                None => fs::remove_file(&self.path),
            };
            RunError::folder(&self.path, error)
        })
    }

    /// What was added is durable from now on.
    pub fn sync(&mut self) -> Result<(), RunError> {
        self.write(&[], true).map_err(|error| RunError::folder(&self.path, error))
    }

    /// Reads what has been added: the checks of each unit.
    pub fn each<E: From<String>>(&self, visit: &mut dyn FnMut(Known) -> Result<(), E>) -> Result<(), E> {
        if self.sound <= self.beginning.len() as u64 {
            return Ok(());
        }
        let unreadable = |what: &dyn std::fmt::Display| E::from(format!("{}: {what}", self.path.display()));
        let file = File::open(&self.path).map_err(|error| unreadable(&error))?;
        let mut file = BufReader::new(file.take(self.sound));
        let mut magic = [0; MAGIC.len()];
        file.read_exact(&mut magic).map_err(|error| unreadable(&error))?;
        let mut is_first = true;
        let mut bytes = Vec::new();
        while !file.fill_buf().map_err(|error| unreadable(&error))?.is_empty() {
            read_frame(&mut file, &mut bytes).map_err(|error| unreadable(&error))?;
            if !std::mem::replace(&mut is_first, false) {
                let record = unframe::<Record>(&bytes).ok_or_else(|| unreadable(&"a record is damaged"))?;
                visit(record.0.end.known)?;
            }
        }
        if file.get_ref().limit() > 0 { Err(unreadable(&"records are gone")) } else { Ok(()) }
    }

    fn write(&mut self, bytes: &[u8], now: bool) -> io::Result<()> {
        if self.file.is_none() {
            super::durable_write(&self.path, &self.beginning)?;
            self.sound = self.beginning.len() as u64;
            self.file = Some(File::options().append(true).open(&self.path)?);
        }
        let file = self.file.as_mut().expect("it was just opened");
        file.write_all(bytes)?;
        if now {
            file.sync_data()?;
            self.synced = Instant::now();
        }
        self.sound += bytes.len() as u64;
        Ok(())
    }
}

/// The journal of a run that an earlier process has begun.
#[derive(Clone, Debug)]
pub struct History {
    header: Header,
    bytes: Vec<u8>,
}

/// A journal that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file itself.
    #[error("{path}: {error}; name the folder of a run, with its journal")]
    Io {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Not even its beginning is sound.
    #[error("{path}: not the journal of a run, or damaged at its beginning; begin the run anew")]
    Damaged {
        /// The journal.
        path: PathBuf,
    },
    /// Another version of explode wrote it.
    #[error("{path}: written by explode {version}; go on with that version, or begin the run anew")]
    Version {
        /// The journal.
        path: PathBuf,
        /// Which.
        version: String,
    },
}

impl History {
    /// Reads the journal of a run folder.
    ///
    /// # Errors
    /// There is none, or it is not of this version.
    pub fn read(folder: &Path) -> Result<History, JournalError> {
        let path = folder.join(NAME);
        match fs::read(&path) {
            Ok(bytes) => History::parse(bytes, path),
            Err(error) => Err(JournalError::Io { path, error }),
        }
    }

    /// Reads what a journal at `path` has in it.
    ///
    /// # Errors
    /// As [`History::read`].
    pub fn parse(bytes: Vec<u8>, path: PathBuf) -> Result<History, JournalError> {
        let header = bytes.strip_prefix(MAGIC).and_then(|rest| unframe::<Header>(rest));
        let Some((header, _)) = header else { return Err(JournalError::Damaged { path }) };
        if header.explode != env!("CARGO_PKG_VERSION") {
            return Err(JournalError::Version { path, version: header.explode });
        }
        Ok(History { header, bytes })
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.header.plan
    }

    /// Does the run begin with the same as then?
    pub(super) fn fits(&self, origin: &Origin) -> Result<(), UsageError> {
        let then = &self.header.origin;
        if then == origin {
            return Ok(());
        }
        Err(UsageError(format!(
            "the run cannot be resumed: it began with {then:?}, and now that is {origin:?}; begin it anew"
        )))
    }

    /// Gives each record to `visit`, cuts off what is torn, and goes on writing.
    pub(super) fn go_on(
        &self,
        folder: &Path,
        visit: impl FnMut(Record) -> Result<(), UsageError>,
    ) -> Result<Journal, RunError> {
        let sound = self.each(visit)?;
        let path = folder.join(NAME);
        let failed = |error| RunError::folder(&path, error);
        let file = File::options().append(true).open(&path).map_err(failed)?;
        file.set_len(sound as u64).map_err(failed)?;
        let (sound, synced) = (sound as u64, Instant::now());
        Ok(Journal { path, beginning: Vec::new(), file: Some(file), sound, synced })
    }

    /// Returns how many bytes are sound.
    fn each<E>(&self, mut visit: impl FnMut(Record) -> Result<(), E>) -> Result<usize, E> {
        let mut rest = &self.bytes[MAGIC.len()..];
        if let Some((_, more)) = unframe::<Header>(rest) {
            rest = more;
        }
        while let Some((record, more)) = unframe(rest) {
            visit(record)?;
            rest = more;
        }
        Ok(self.bytes.len() - rest.len())
    }
}

fn frame(record: &impl Serialize) -> Vec<u8> {
    let mut frame = postcard::to_extend(record, vec![0; HEAD_BYTES]).expect("a record is plain data");
    let (head, body) = frame.split_at_mut(HEAD_BYTES);
    head[..4].copy_from_slice(&u32::try_from(body.len()).expect("a unit is less than 4 GiB").to_le_bytes());
    head[4..].copy_from_slice(&xxh3_64(body).to_le_bytes());
    frame
}

/// Reads a frame as it stands in a file.
fn read_frame(file: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(HEAD_BYTES, 0);
    file.read_exact(bytes)?;
    let (length, _) = bytes.split_first_chunk::<4>().expect("a head begins with a length");
    let length = u64::from(u32::from_le_bytes(*length));
    // Memory grows with what is there, not with what a damaged length says.
    if file.take(length).read_to_end(bytes)? as u64 == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// The first record, and what follows it; none if it is not whole and sound.
fn unframe<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (hash, rest) = rest.split_first_chunk::<8>()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    if xxh3_64(body) != u64::from_le_bytes(*hash) {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recover::StackSpec;
    use crate::run::memory::Memory;
    use crate::run::{Bounds, Options, Registry, Target};

    fn journal(units: u64) -> Vec<u8> {
        let target = Target {
            name: "test",
            about: "",
            stack: StackSpec::default(),
            checker: "test",
            checker_options: Options::none(),
            bounds: Bounds { depth: 1, limit: 1, samples: 2, crash_depth: 0 },
            seeded: false,
            expect: "clean",
        };
        let plan = Plan::of(&Registry::default(), &target).unwrap();
        let header =
            Header { explode: env!("CARGO_PKG_VERSION").to_owned(), plan, origin: Origin::default() };
        let mut bytes = [MAGIC, &frame(&header)].concat();
        for unit in 0..units {
            let end = UnitEnd { checked: unit, ..UnitEnd::default() };
            let arrival = Arrival { signature: u128::from(unit), depth: 1, ..Arrival::default() };
            let arrivals = vec![(arrival, Reached::New)];
            let change = FindingsChange::default();
            bytes.extend(frame(&Record::new(&Unit::default(), end, Reached::New, arrivals, change, unit)));
        }
        bytes
    }

    /// The units of a journal, and how long its sound part is; none if it is no journal.
    fn read(bytes: &[u8]) -> Option<(Vec<u64>, usize)> {
        let history = History::parse(bytes.to_vec(), PathBuf::from("journal")).ok()?;
        let mut units = Vec::new();
        let sound = history.each(|record| {
            units.push(record.end.checked);
            Ok::<(), UsageError>(())
        });
        Some((units, sound.ok()?))
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = journal(3);
        assert_eq!(read(&bytes), Some((vec![0, 1, 2], bytes.len())));
    }

    #[test]
    fn a_torn_record_ends_it() {
        let (two, three) = (journal(2), journal(3));
        for length in two.len()..three.len() {
            assert_eq!(read(&three[..length]), Some((vec![0, 1], two.len())));
        }
    }

    /// The checks of three units, each with a key; the file then takes no more.
    fn unwritable(folder: &Path) -> Journal {
        let bytes = journal(0);
        let mut journal = Journal {
            path: folder.join(NAME),
            beginning: bytes,
            file: None,
            sound: 0,
            synced: Instant::now(),
        };
        assert_eq!(keys(&journal), Ok(vec![]), "nothing was added");
        (1..4).for_each(|key| journal.append(&unit(key), false).unwrap());
        assert_eq!(keys(&journal), Ok(vec![1, 2, 3]));
        journal.file = Some(File::open(&journal.path).unwrap());
        journal
    }

    fn unit(key: u128) -> Record {
        let mut end = UnitEnd::default();
        end.known.seen.0.push(key);
        Record::new(&Unit::default(), end, Reached::New, Vec::new(), FindingsChange::default(), 0)
    }

    fn keys(journal: &Journal) -> Result<Vec<u128>, String> {
        let mut keys = Vec::new();
        journal.each(&mut |known| {
            keys.extend(known.seen.0);
            Ok::<(), String>(())
        })?;
        Ok(keys)
    }

    #[test]
    fn without_room_the_checks_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::Journal(unwritable(folder.path()));
        assert!(memory.add(&unit(4), false).is_err(), "said once");
        assert!(memory.add(&unit(5), false).is_ok());
        let Memory::Here(known) = memory else { panic!("{memory:?}") };
        assert_eq!(known.seen.0, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_journal_that_was_damaged_meanwhile_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let journal = unwritable(folder.path());
        let mut bytes = fs::read(&journal.path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&journal.path, &bytes).unwrap();
        assert!(keys(&journal).unwrap_err().contains("damaged"));
        fs::write(&journal.path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(keys(&journal).is_err(), "too short");
        fs::write(&journal.path, &journal.beginning).unwrap();
        assert!(keys(&journal).unwrap_err().contains("gone"));
    }

    proptest! {
        #[test]
        fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(read(&bytes).is_none());
            read(&[MAGIC, &bytes].concat());
            let whole = journal(2);
            prop_assert_eq!(read(&[&whole[..], &bytes].concat()).unwrap().0, vec![0, 1]);
        }

        #[test]
        fn damage_ends_it(at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
            let (header, whole) = (journal(0).len(), journal(3));
            let mut damaged = whole.clone();
            let at = at.index(whole.len());
            damaged[at] ^= flip;
            match read(&damaged) {
                None => prop_assert!(at < header),
                Some((units, sound)) => {
                    prop_assert!(sound <= at && units.iter().copied().eq(0..units.len() as u64));
                }
            }
        }
    }
}
