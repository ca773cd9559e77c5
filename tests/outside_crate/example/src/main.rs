//! explode's command line, with a component, a checker and targets of this crate.

mod checker;
mod component;
mod log;

use explode::runtime::prelude::*;

fn main() -> std::process::ExitCode {
    let on_files = StackSpec::default().plug("simfiles", Options::none());
    let on_ext4 =
        StackSpec::default().plug("ramdisk", Options::none()).plug("ext4", Options::none());
    let target = |name: &'static str, about: &'static str, below: &StackSpec, fsync: bool| Target {
        name: name.into(),
        about: about.into(),
        stack: below.clone().plug("line-log", Options::none().with("fsync", fsync)),
        checker: "log-lines".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 1 },
        seeded: !fsync,
        expect: if fsync { "clean" } else { "lost" }.into(),
    };
    let mut registry = explode::registry();
    registry.components.push(component::def());
    registry.checkers.push(checker::def());
    registry.targets.extend([
        target("log", "the log on simulated files", &on_files, true),
        target("log+no-fsync", "the log is not synced", &on_files, false),
        target("log-ext4", "the log on ext4", &on_ext4, true),
        target("log-ext4+no-fsync", "the log is not synced, on ext4", &on_ext4, false),
    ]);
    explode::main(&registry)
}
