//! Journals that are torn, damaged, or cannot be written.

use proptest::prelude::*;

use super::*;
use crate::base::{Options, TargetBounds, UsageError};
use crate::choose::{Choice, ChoicePoint, Label};
use crate::explore::{Novelty, ReachedState, Unit};
use crate::plan::{Registry, Target};
use crate::run::findings::FindingsChange;
use crate::run::totals::Merged;
use crate::stack::StackSpec;

fn choice(value: u32) -> Choice {
    Choice::of(&ChoicePoint::action(8, Label::named("site")), value)
}

fn journal(units: u64) -> Vec<u8> {
    let target = Target {
        name: "test".into(),
        about: "".into(),
        stack: StackSpec::default(),
        checker: "test".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 1, limit: 1, samples: 2, crash_depth: 0 },
        seeded: false,
        expect: "clean".into(),
    };
    let plan = Plan::of(&Registry::default(), &target).unwrap();
    let header = JournalHeader::of(&plan, &RunOrigin::default());
    let mut book = ChoiceBook::default();
    let mut bytes = [MAGIC, &frame(&header)].concat();
    for unit in 0..units {
        let arrival =
            ReachedState { signature: u128::from(unit), depth: 1, ..ReachedState::default() };
        let mut merged = Merged::default();
        merged.arrivals.push((arrival, Novelty::New));
        let change = FindingsChange::default();
        merged.choices = [unit % 2, 7].map(|value| choice(value as u32)).to_vec();
        let record = UnitRecord::new(&Unit::default(), merged, change, unit);
        bytes.extend(frame(&WrittenUnit::of(&record, &mut book)));
    }
    bytes
}

/// Returns the units of a journal, and the length of its sound part; `None` if it is not a journal.
fn read(bytes: &[u8]) -> Option<(Vec<u64>, usize)> {
    let history = ResumedJournal::parse(bytes.to_vec(), PathBuf::from("journal")).ok()?;
    let mut units = Vec::new();
    let sound = history.each(|record| {
        let unit = record.merged.arrivals[0].0.signature as u64;
        assert_eq!(record.merged.choices, [unit % 2, 7].map(|value| choice(value as u32)));
        units.push(unit);
        Ok::<(), UsageError>(())
    });
    Some((units, sound.ok()?.0))
}

#[test]
fn written_records_are_read_back() {
    let bytes = journal(3);
    assert_eq!(read(&bytes), Some((vec![0, 1, 2], bytes.len())));
}

/// A unit whose choices are known takes few bytes.
#[test]
fn a_choice_is_written_once() {
    let lengths: Vec<usize> = (0..6).map(|units| journal(units).len()).collect();
    let grown: Vec<usize> = lengths.windows(2).map(|both| both[1] - both[0]).collect();
    assert!(grown[0] > grown[1] && grown[1] > grown[2], "{grown:?}");
    assert_eq!(grown[2..], [grown[2]; 3]);
    assert!(grown[2] <= 70, "{grown:?}");
}

#[test]
fn a_record_after_a_gap_ends_the_journal() {
    let (header, one, two) = (journal(0).len(), journal(1).len(), journal(2));
    let second = [&two[..header], &two[one..]].concat();
    assert_eq!(read(&second), Some((vec![], header)));
}

#[test]
fn a_journal_of_another_format_is_refused_by_its_number() {
    let other = [&b"explode journal 4\n"[..], &journal(1)[MAGIC.len()..]].concat();
    let refused = ResumedJournal::parse(other, PathBuf::from("journal")).unwrap_err();
    assert!(matches!(refused, JournalError::Format { format: 4, .. }), "{refused}");
    assert!(refused.to_string().contains("start the run again"), "{refused}");
    let (magic, damaged) = (MAGIC.to_vec(), b"explode journal five\n".to_vec());
    for bytes in [magic, damaged] {
        let refused = ResumedJournal::parse(bytes, PathBuf::from("journal")).unwrap_err();
        assert!(matches!(refused, JournalError::Damaged { .. }), "{refused}");
    }
}

#[test]
fn a_torn_record_ends_the_journal() {
    let (two, three) = (journal(2), journal(3));
    for length in two.len()..three.len() {
        assert_eq!(read(&three[..length]), Some((vec![0, 1], two.len())));
    }
}

/// A file that takes no more bytes keeps what it has.
#[test]
fn a_failed_write_leaves_the_journal_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL);
    let (beginning, synced) = (journal(0), Instant::now());
    let book = ChoiceBook::default();
    let mut written = Journal { path: path.clone(), beginning, file: None, book, sound: 0, synced };
    let record =
        || UnitRecord::new(&Unit::default(), Merged::default(), FindingsChange::default(), 0);
    (0..3).for_each(|_| written.append(&record(), false).unwrap());
    let before = fs::read(&path).unwrap();
    written.file = Some(File::open(&path).unwrap());
    assert!(written.append(&record(), false).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
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
    fn damage_ends_the_journal(at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
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
