//! A step that promises durability and sometimes commits without it. The bug is found in the middle
//! of a walk, minimised, and replayed by the command that the test prints.

use std::env;
use std::process::Command;

use explode_components::engine::redb::RedbStorage;
use explode_runtime::crash_test::{Files, REPLAY, Result, Step, crash_test};
use explode_runtime::run::StrategyName;
use explode_runtime::trace::Trace;
use redb::{Database, Durability, ReadableTableMetadata as _, TableDefinition};

const KEYS: TableDefinition<'_, u64, ()> = TableDefinition::new("keys");

fn open(files: std::rc::Rc<dyn Files>) -> Result<Database> {
    Ok(Database::builder().create_with_backend(RedbStorage::open(files, "/redb")?)?)
}

/// One of four kinds of commit has the bug.
fn step(database: &mut Database, keys: &mut u64, step: &mut Step<'_, '_>) -> Result<()> {
    let mut commit = database.begin_write()?;
    if step.choose(4) == 2 {
        commit.set_durability(Durability::None)?;
    }
    commit.open_table(KEYS)?.insert(*keys, ())?;
    *keys += 1;
    Ok(commit.commit()?)
}

fn read(database: &mut Database) -> Result<u64> {
    Ok(database.begin_write()?.open_table(KEYS)?.len()?)
}

/// Reads the trace at a path.
fn trace(path: &str) -> Trace {
    Trace::from_json(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_bug_is_found_made_smaller_and_replayed_by_the_command_that_is_printed() {
    let test = crash_test("redb, now and then without a sync", open, step, read).depth(5).with(
        |settings| {
            settings.strategy = StrategyName::Random;
            settings.states = Some(100);
        },
    );
    let said = test.outcome().unwrap_err();
    if env::var_os(REPLAY).is_some() {
        // This process was started by the printed command.
        panic!("{said}");
    }
    let behind = |word: &str| {
        let found = said.lines().find_map(|line| line.trim_start().strip_prefix(word));
        found.unwrap_or_else(|| panic!("no {word} in {said}")).trim()
    };
    assert!(behind("FAIL").starts_with("lost: 1 steps were durable, 0 are there"), "{said}");
    let smallest = trace(behind("Trace"));
    let values: Vec<u32> = smallest.choices.iter().map(|choice| choice.value).collect();
    assert_eq!((smallest.mutates, values), (1, vec![2]));
    let found = trace(&behind("Trace").replace(".min.json", ".json"));
    assert!(found.mutates > 1, "{}", found.to_json());

    let replayed = Command::new("sh").args(["-c", behind("Replay")]).output().unwrap();
    let words = String::from_utf8([replayed.stdout, replayed.stderr].concat()).unwrap();
    assert!(!replayed.status.success(), "{words}");
    assert!(words.contains("reproduced crash-test/lost/durable\n"), "{words}");
}
