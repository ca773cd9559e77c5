//! A program of its own under explode's command line: a component, a checker, and targets that explode does not know.
//!
//!     cargo run -- run log-lines --stack log-file     on simulated files, in process
//!     cargo run -- run log-ext4                       the same checker and component on ext4, in a guest

use explode::ramdisk::files::OpenFlags;
use explode::runtime::check::{Checker, Cx, Failure, Verdict, Violation};
use explode::runtime::crash::Epoch;
use explode::runtime::recover::{Below, Component, Fault, Stack, StackSpec};
use explode::runtime::run::{Bounds, CheckerDef, ComponentDef, Mode, OptionDef, Options, Target, UsageError};

const LOG: &str = "/log";

const COMPONENT: ComponentDef = ComponentDef {
    name: "log-file",
    about: "files with an empty log among them",
    modes: &[Mode::Mem, Mode::Vm, Mode::Here],
    on: Some("simfiles"),
    options: &[],
    build: |_| Ok(Box::new(LogFile)),
};

struct LogFile;

/// It offers what it stands on: files.
impl Component for LogFile {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let files = below.files()?;
        let log = files.open(LOG, OpenFlags::CREATE)?;
        files.fsync(log)?;
        files.close(log)?;
        Ok(files.sync_dir("/")?)
    }
}

const CHECKER: CheckerDef = CheckerDef {
    name: "log-lines",
    about: "a line that was appended and synced is in the log",
    options: &[OptionDef { name: "fsync", about: "true, or false: a bug", default: "true" }],
    build: checker,
};

struct LogLines {
    fsync: bool,
    /// All that was appended, and how much of it was synced before the last line.
    log: Vec<u8>,
    synced: usize,
}

fn checker(options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(LogLines { fsync: options.bool("fsync", true)?, log: Vec::new(), synced: 0 }))
}

impl Checker for LogLines {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let line = [&b"short\n"[..], &[b'x'; 5000]][cx.choose(2)];
        let files = cx.stack().files()?;
        cx.check_crashes_start(&[]);
        let log = files.open(LOG, OpenFlags::EXISTING)?;
        files.pwrite(log, self.log.len() as u64, line)?;
        if self.fsync {
            files.fsync(log)?;
        }
        files.close(log)?;
        self.log.extend(line);
        cx.check_crashes_end(self, &[])?;
        self.synced = self.log.len();
        Ok(())
    }

    fn check(&self, stack: &Stack, epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        let promised = if epoch == Epoch::End { &self.log[..] } else { &self.log[..self.synced] };
        match stack.files()?.read_file(LOG) {
            Ok(found) if found.starts_with(promised) => Ok(()),
            Ok(found) => {
                let message = format!("{} bytes are promised, {} are there", promised.len(), found.len());
                Err(Violation::new(Verdict::Lost, "synced-line", message).into())
            }
            Err(errno) => Err(Violation::new(Verdict::Lost, "log", format!("{LOG}: {errno}")).into()),
        }
    }
}

fn main() -> std::process::ExitCode {
    let none = Options::none;
    let target = |name, about, stack: StackSpec, fsync: bool| Target {
        name,
        about,
        stack: stack.plug(COMPONENT.name, none()),
        checker: CHECKER.name,
        checker_options: none().with("fsync", fsync),
        bounds: Bounds { depth: 2, limit: 200, samples: 40, crash_depth: 1 },
        seeded: !fsync,
        expect: if fsync { "clean" } else { "lost" },
    };
    let on_files = || StackSpec::default().plug("simfiles", none());
    let on_ext4 = || StackSpec::default().plug("ramdisk", none()).plug("ext4", none());
    let mut registry = explode::registry();
    registry.components.push(COMPONENT);
    registry.checkers.push(CHECKER);
    registry.targets.extend([
        target("log", "the log on simulated files", on_files(), true),
        target("log+no-fsync", "nobody syncs the log", on_files(), false),
        target("log-ext4", "the log on ext4", on_ext4(), true),
        target("log-ext4+no-fsync", "nobody syncs the log on ext4", on_ext4(), false),
    ]);
    explode::main(&registry)
}
