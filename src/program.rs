//! Crash tests of unmodified programs, from three shell commands.

use std::collections::BTreeMap;

use explode_components::command::files;
use explode_runtime::base::{OptionValue, Options};
use explode_runtime::crash_test::CrashTest;
use explode_runtime::plan::Plan;
use explode_runtime::stack::{COMMANDS, Layer, StackSpec};

/// The end of a check: 0 is well. A shell that cannot run the command ends with 126 or 127, which
/// is no finding. Every other end is one, a signal included.
const ENDS: &str = "case $? in 0) exit 0;; 126|127) exit 126;; *) exit 1;; esac";

/// The name of the checker.
pub(crate) const CHECKER: &str = "app";
/// The name of the layer that makes the files.
pub(crate) const SETUP: &str = "setup";

/// Returns the command of a work. A work that fails where nothing has crashed is no finding.
pub(crate) fn work_command(work: &str) -> String {
    format!("({work}) || exit 126")
}

/// Returns the command of a check.
pub(crate) fn check_command(check: &str) -> String {
    format!("({check})\n{ENDS}")
}

/// Returns a crash test of an unmodified program on simulated files, as `explode app` makes it.
/// `setup` makes the files once; it may be empty. `work` is done up to [`CrashTest::depth`] times,
/// and `check` looks at what a crash has left: 0 is well. It needs root and /dev/fuse.
///
/// ```no_run
/// explode::crash_test_command("git", "git init -q", "./commit.sh {n}", "git fsck --strict")
///     .depth(2)
///     .run();
/// ```
pub fn crash_test_command(name: &str, setup: &str, work: &str, check: &str) -> CrashTest {
    let mut stack = StackSpec::default().plug(files::NAME, Options::none());
    if !setup.trim().is_empty() {
        stack.0.push(Layer {
            name: SETUP.to_owned(),
            component: COMMANDS.to_owned(),
            children: vec![files::NAME.to_owned()],
            options: Options::none().with("init", setup),
        });
    }
    let number = || OptionValue::List(vec!["{n}".into()]);
    let step = |key: &str, value: OptionValue| table([(key, value)]);
    let steps = vec![
        step("start", number()),
        step("sh", OptionValue::Text(work_command(work))),
        step("end", number()),
    ];
    let alternative = table([("name", "work".into()), ("steps", OptionValue::List(steps))]);
    let options = Options::none()
        .with("mutate", OptionValue::List(vec![alternative]))
        .with("check", OptionValue::Text(check_command(check)));
    let registry = crate::registry();
    let plan = Plan::of_file(&registry, name.to_owned(), CHECKER, options, stack);
    CrashTest::of_plan(registry, plan.expect("the registry has what the commands need"))
}

fn table<const N: usize>(entries: [(&str, OptionValue); N]) -> OptionValue {
    let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
    OptionValue::Table(entries.collect::<BTreeMap<_, _>>())
}
