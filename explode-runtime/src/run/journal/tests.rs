//! Journals that are torn, damaged, or cannot be written.

use proptest::prelude::*;

use super::*;
use crate::base::{Bounds, Options, UsageError};
use crate::explore::{Arrival, Reached, Unit};
use crate::plan::{Registry, Target};
use crate::run::findings::FindingsChange;
use crate::run::memory::Memory;
use crate::stack::StackSpec;
use crate::worker::UnitEnd;

fn journal(units: u64) -> Vec<u8> {
    let target = Target {
        name: "test".into(),
        about: "".into(),
        stack: StackSpec::default(),
        checker: "test".into(),
        checker_options: Options::none(),
        bounds: Bounds { depth: 1, limit: 1, samples: 2, crash_depth: 0 },
        seeded: false,
        expect: "clean".into(),
    };
    let plan = Plan::of(&Registry::default(), &target).unwrap();
    let header = Header::of(&plan, &Origin::default());
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
fn a_journal_of_another_format_is_refused_by_its_number() {
    let other = [&b"explode journal 3\n"[..], &journal(1)[MAGIC.len()..]].concat();
    let refused = History::parse(other, PathBuf::from("journal")).unwrap_err();
    assert!(matches!(refused, JournalError::Format { format: 3, .. }), "{refused}");
    assert!(refused.to_string().contains("begin the run anew"), "{refused}");
    let (magic, damaged) = (MAGIC.to_vec(), b"explode journal four\n".to_vec());
    for bytes in [magic, damaged] {
        let refused = History::parse(bytes, PathBuf::from("journal")).unwrap_err();
        assert!(matches!(refused, JournalError::Damaged { .. }), "{refused}");
    }
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
        path: folder.join(JOURNAL),
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
