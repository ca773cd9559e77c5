//! Tests of a stack whose first start leaves files. A checker that needs an empty file system is
//! refused, because it would report those files as corruption.

use explode_ramdisk::files::OpenFlags;
use explode_runtime::base::{Exit, Mode, OptionDef, Options, StepError};
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::run::{Confirmation, LocalSink, explore};
use explode_runtime::stack::{Below, Component, ComponentDef, StackSpec};

use crate::{registry, run};

/// A program that makes files in its `init`, as a component of shell commands can do.
fn program() -> ComponentDef {
    ComponentDef::new("program", "makes files on its first start", |options| {
        Ok(Box::new(Program { makes: options.text("makes", "")? }))
    })
    .modes([Mode::Mem])
    .options([OptionDef { name: "makes", about: "paths, with commas", default: "" }])
}

struct Program {
    makes: String,
}

impl Component for Program {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let files = below.files()?;
        for path in self.makes.split(',') {
            match path.strip_suffix('/') {
                Some(directory) => files.mkdir(directory)?,
                None => files.close(files.open(path, OpenFlags::CREATE)?)?,
            }
        }
        Ok(files.sync()?)
    }
}

fn with_program(checker: &str, makes: &str) -> (Registry, Plan) {
    let mut registry = registry();
    registry.components.push(program());
    let stack = StackSpec::default()
        .plug("simfiles", Options::none())
        .plug("rename-in-steps", Options::none().with("promises", true))
        .plug("program", Options::none().with("makes", makes));
    let mut plan = Plan::of_parts(&registry, checker, stack).expect("all of it is there");
    plan.settings.depth = 2;
    (registry, plan)
}

/// Returns the error of a run that is refused.
fn refused(checker: &str, makes: &str) -> (Exit, String) {
    let (registry, plan) = with_program(checker, makes);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    let (mut confirm, mut sink) = (|_: &std::path::Path| Confirmation::Reproduced, |_: &_| {});
    let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    let error = explore(&registry, &plan, &InProcess, &mut audience).expect_err(checker);
    (error.exit(), error.to_string())
}

#[test]
fn checkers_that_start_from_nothing_are_refused() {
    for checker in
        ["fs-sync", "fs-atomic", "fs-reasonable", "fs-moved", "fs-replaced", "fs-failures"]
    {
        let (exit, says) = refused(checker, "/db,/logs/,/logs/1");
        assert_eq!(exit, Exit::Unsupported, "{checker}: {says}");
        let expected = format!(
            "unsupported: the file system is not empty after init and mount (/db, /logs), and \
             checker '{checker}' must start with an \
             empty one; use fs-ways, fs-workloads, or "
        );
        assert!(says.starts_with(&expected), "{says}");
    }
    let (_, says) = refused("fs-sync", "/a,/b,/c,/d,/lost+found/");
    assert!(says.contains("(/a, /b, /c and 1 more)"), "{says}");
}

#[test]
fn a_checker_that_can_start_from_files_continues_from_them() {
    // These files promise that a rename is one change, and make it in steps. Only `fs-workloads`
    // checks that.
    for (checker, found) in [("fs-ways", vec![]), ("fs-workloads", vec!["lost/moved-name"])] {
        let (registry, plan) = with_program(checker, "/db,/logs/");
        let ran = run(&registry, &plan);
        assert_eq!(ran.signatures(), found, "{checker}");
        assert!(ran.summary.states > 2.into(), "{checker}: {:?}", ran.summary);
    }
}

#[test]
fn reserved_names_of_a_file_system_do_not_count() {
    let (registry, plan) = with_program("fs-sync", "/lost+found/,/.nilfs");
    assert_eq!(run(&registry, &plan).signatures(), [""; 0]);
    let (registry, plan) = with_program("fs-atomic", "/lost+found/,/.nilfs");
    let findings = run(&registry, &plan).findings;
    // On this stack a rename is two changes of names.
    assert!(
        !findings.is_empty() && findings.values().all(|message| !message.contains("/lost+found")),
        "{findings:?}"
    );
}
