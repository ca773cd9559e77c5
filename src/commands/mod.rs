//! The commands, one file each.

mod app;
mod bench;
mod compare;
mod completions;
mod crash_disks;
mod device;
mod doctor;
mod folder_script;
mod hosts;
mod jobs;
mod list;
mod matrix;
mod minimise;
mod models;
mod plan;
mod prefix;
mod quiet;
mod replay;
mod run;
mod script;
mod show;
mod trace;
mod vm;

use explode_components::command::ProgramRoot;
use explode_runtime::base::{Exit, UsageError};
use explode_runtime::plan::Registry;

use crate::cli::{Cli, Command, ShowForm};
use crate::worker_cli::{WorkerCli, WorkerCommand};
use crate::{child_worker, diagnostics, guest, output};
use device::rules;

/// Runs the command of a command line.
pub fn dispatch(registry: &Registry, cli: &Cli) -> Exit {
    if let Err(error) = diagnose(cli) {
        return output::fail(Exit::Usage, error);
    }
    match &cli.command {
        Command::Run(args) => match &args.plan {
            Some(folder) => jobs::plan(registry, args, folder),
            None if args.each_model => models::models(registry, args),
            None => run::run(registry, args),
        },
        Command::App(args) => app::app(registry, args),
        Command::Compare(args) => compare::compare(registry, args),
        Command::Work(args) => jobs::work(registry, args),
        Command::Merge(args) => jobs::merge(registry, args),
        Command::Bench(args) => bench::bench(registry, args),
        Command::Replay(args) => replay::replay(registry, args),
        Command::Show(args) if args.form == ShowForm::Text => show::show(registry, args),
        Command::Show(args) if [ShowForm::Shiviz, ShowForm::Chrome].contains(&args.form) => {
            hosts::show(registry, args)
        }
        Command::Show(args) => script::script(registry, args),
        Command::Minimise(args) => minimise::minimise(registry, args),
        Command::Matrix(args) => matrix::matrix(registry, args),
        Command::List(args) => list::list(registry, args),
        Command::CrashDisks(args) => crash_disks::crash_disks(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Completions(args) => completions::completions(registry, args),
        Command::Vm(command) => vm::vm(command),
    }
}

/// Works for a supervisor.
pub fn work_for_supervisor(registry: &Registry, cli: &WorkerCli) -> Exit {
    match &cli.command {
        WorkerCommand::Agent(args) if args.bench => guest::bench::serve(registry, &args.port),
        WorkerCommand::Agent(args) => {
            guest::agent::serve_port(registry, &args.port, args.page, args.hung)
        }
        WorkerCommand::Worker(args) => {
            let packages = || args.package.clone();
            let root = args.root.clone().map(|folder| ProgramRoot { folder, packages: packages() });
            child_worker::serve_page(registry, &args.page, root)
        }
    }
}

/// Starts the diagnostics of this process. A worker starts its own when its supervisor asks for
/// them.
fn diagnose(cli: &Cli) -> Result<(), UsageError> {
    let timeline = match &cli.command {
        Command::Run(args) => args.timeline.is_some(),
        Command::Replay(args) => args.timeline.is_some(),
        _ => false,
    };
    diagnostics::begin(cli.verbose, timeline)
}
