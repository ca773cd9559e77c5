//! The test of the engine's property test, which must find each wrong engine of `mutants/`.
//!
//! A mutant is one modelling error, written as a small change of the engine's text. The engine
//! itself has no part in this. Mutants are made in a copy of the crates. Its `device_model` test
//! must pass without a change, and fail with each mutant by a difference between engine and
//! simulation. The copy and its target directory are below `CARGO_TARGET_TMPDIR`, so that the next
//! run builds only what has changed.
//!
//! A file `mutants/NN-name.mutant` has a line `wrong: ` with the error and a line `file: ` with the
//! path in `src`. Then follow, once or more, `find:` with the lines to find and `replace:` with
//! their replacement. The lines to find must be in the file exactly once. No line of a text can
//! begin with one of these words.
//!
//! A mutant that survives is a gap in the property test. Extend `device_model/generate.rs` until it
//! reaches the mutant.

#![allow(clippy::print_stdout, reason = "who was killed is the result")]

#[path = "mutants/copy.rs"]
mod copy;

use std::fs;
use std::path::Path;

use copy::{EngineCopy, Outcome};

/// A wrong engine.
struct Mutant {
    name: String,
    wrong: String,
    /// The path below `src`.
    file: String,
    /// The texts to find, each with its replacement.
    edits: Vec<(String, String)>,
}

#[test]
fn every_mutant_is_killed() {
    let mutants = read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants"));
    assert!(mutants.len() >= 10, "only {} mutants", mutants.len());
    let copy = EngineCopy::make();
    match copy.outcome() {
        Outcome::Passes => println!("passes as it is"),
        other => panic!("the copy has to pass before it is changed: {other:?}"),
    }
    let mut failures = Vec::new();
    for mutant in &mutants {
        match mutant.outcome(&copy) {
            Ok(Outcome::Differs { tests }) => println!("killed {}, by {tests} tests", mutant.name),
            Ok(Outcome::Passes) => {
                failures.push(format!("survived {}: {}", mutant.name, mutant.wrong))
            }
            Ok(Outcome::FailsOtherwise(said)) => {
                failures.push(format!("{} fails, but not by a difference: {said}", mutant.name));
            }
            Ok(Outcome::NotBuilt(said)) => {
                failures.push(mutant.stale(&format!("it does not build:\n{said}")));
            }
            Err(why) => failures.push(mutant.stale(&why)),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} mutants:\n{}",
        failures.len(),
        mutants.len(),
        failures.join("\n")
    );
}

impl Mutant {
    /// Returns the outcome of the property test on the copy with this mutant. `Err` is the reason
    /// why the mutant cannot be made.
    fn outcome(&self, copy: &EngineCopy) -> Result<Outcome, String> {
        let sound = copy.source(&self.file);
        let mut text = sound.clone();
        for (find, replace) in &self.edits {
            match text.matches(find).count() {
                1 => text = text.replace(find, replace),
                times => return Err(format!("{} has {times} times, not once:\n{find}", self.file)),
            }
        }
        copy.set_source(&self.file, &text);
        let outcome = copy.outcome();
        copy.set_source(&self.file, &sound);
        Ok(outcome)
    }

    fn stale(&self, why: &str) -> String {
        format!(
            "stale {0}: write tests/mutants/{0}.mutant anew, for the engine as it is now: {why}",
            self.name
        )
    }

    fn parse(name: &str, text: &str) -> Mutant {
        let mut mutant = Mutant {
            name: name.into(),
            wrong: String::new(),
            file: String::new(),
            edits: Vec::new(),
        };
        let mut in_replace = false;
        for line in text.lines() {
            if let Some(wrong) = line.strip_prefix("wrong: ") {
                mutant.wrong = wrong.into();
            } else if let Some(file) = line.strip_prefix("file: ") {
                mutant.file = file.into();
            } else if line == "find:" {
                mutant.edits.push(Default::default());
                in_replace = false;
            } else if line == "replace:" {
                in_replace = true;
            } else {
                let (find, replace) =
                    mutant.edits.last_mut().unwrap_or_else(|| panic!("{name}: {line}?"));
                let lines = if in_replace { replace } else { find };
                if !lines.is_empty() {
                    lines.push('\n');
                }
                lines.push_str(line);
            }
        }
        let whole =
            !mutant.edits.is_empty() && mutant.edits.iter().all(|(find, replace)| find != replace);
        assert!(
            whole && !mutant.wrong.is_empty() && !mutant.file.is_empty(),
            "{name} lacks a part"
        );
        mutant
    }
}

/// Reads the mutants of a folder, in order of their names.
fn read_all(folder: &Path) -> Vec<Mutant> {
    let entries = fs::read_dir(folder).expect("tests/mutants");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry of tests/mutants").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mutant"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name in ASCII");
        Mutant::parse(name, &fs::read_to_string(path).expect(name))
    };
    paths.iter().map(read).collect()
}
