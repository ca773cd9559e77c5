//! The agent: `explode agent <port>`, the first process of a guest. It does one task after the other until the host is gone.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use explode_ramdisk::Event;
use explode_runtime::devices::Lab;
use explode_runtime::report::Message;
use explode_runtime::run::{
    Audience, Confirmation, Exit, Mode, Registry, RunError, bench, bench_restore, explore,
};
use explode_runtime::trace::{Trace, replay};

use super::wire::{Answer, Call, Done, Failed, Task, receive, send};
use crate::output;

/// Serves the host on a character device.
pub fn serve(registry: &Registry, port: &Path) -> Exit {
    match conversation(registry, port) {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("{}: {error}", port.display())),
    }
}

fn conversation(registry: &Registry, port: &Path) -> io::Result<()> {
    let writer = OpenOptions::new().read(true).write(true).open(port)?;
    let mut host = Host { reader: BufReader::new(writer.try_clone()?), writer, wants_events: false };
    send(&mut host.writer, &Call::Ready(env!("CARGO_PKG_VERSION").to_owned()))?;
    // One for all tasks: EKM serves one user at a time, and disks that are there need not be made again.
    let lab = Lab::open(Mode::Vm);
    while let Some(task) = receive(&mut host.reader)? {
        let done = match &lab {
            Ok(lab) => perform(registry, lab, task, &mut host),
            Err(error) => Err(Failed::Missing(error.to_string())),
        };
        send(&mut host.writer, &Call::Done(done))?;
    }
    Ok(())
}

fn perform(registry: &Registry, lab: &Lab, task: Task, host: &mut Host) -> Result<Done, Failed> {
    match task {
        Task::Run(plan, events) => {
            host.wants_events = events;
            Ok(explore(registry, &plan, lab, host).map(|_| Done::Run)?)
        }
        Task::Replay(trace) => Ok(replay(registry, &trace, lab).map(Done::Replay)?),
        Task::Bench(plan, disks) => {
            let report = bench(registry, &plan, lab, disks)?;
            Ok(Done::Bench(Box::new(report)))
        }
        Task::BenchRestore => Ok(bench_restore(lab).map(Done::BenchRestore)?),
    }
}

/// The host, as the audience of a run.
struct Host {
    reader: BufReader<File>,
    writer: File,
    wants_events: bool,
}

impl Host {
    fn call(&mut self, call: &Call) -> Result<Answer, RunError> {
        let answer = send(&mut self.writer, call).and_then(|()| receive(&mut self.reader));
        let gone = || RunError::Broken("the host is gone".to_owned());
        answer.map_err(|error| RunError::Broken(format!("the host: {error}")))?.ok_or_else(gone)
    }

    fn at(&mut self, call: &Call) -> Result<PathBuf, RunError> {
        match self.call(call)? {
            Answer::At(path) => Ok(path),
            other => Err(RunError::Broken(format!("the host answers {other:?}"))),
        }
    }
}

impl Audience for Host {
    fn open(&mut self, target: &str) -> Result<PathBuf, RunError> {
        self.at(&Call::Open(target.to_owned()))
    }

    fn tell(&mut self, message: &Message) -> Result<(), RunError> {
        self.call(&Call::Tell(Box::new(message.clone()))).map(drop)
    }

    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        self.at(&Call::Keep(id.to_owned(), Box::new(trace.clone())))
    }

    fn confirm(&mut self, trace: &Path) -> Confirmation {
        match self.call(&Call::Confirm(trace.to_owned())) {
            Ok(Answer::Confirmed(confirmation)) => confirmation,
            Ok(other) => Confirmation::Not(format!("the host answers {other:?}")),
            Err(error) => Confirmation::Not(error.to_string()),
        }
    }

    fn wants_events(&self) -> bool {
        self.wants_events
    }

    fn events(&mut self, events: &[Event]) -> Result<(), RunError> {
        self.call(&Call::Events(events.to_vec())).map(drop)
    }
}
