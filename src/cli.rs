//! The arguments of the command line (`docs/reference/cli.md`).

mod app;
mod format;
mod mode;
mod trace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use explode_runtime::events::LogLimits;
use explode_runtime::run::StrategyName;

use crate::stack_file::StackFile;
use crate::times::milliseconds;

pub use app::{AppArgs, ModelArg};
pub use format::Format;
pub use mode::ModeArg;
pub use trace::{ReplayArgs, ShowArgs, ShowForm};

/// Finds the crash and failure bugs of storage systems before their users lose data.
#[derive(Debug, Parser)]
#[command(name = "explode", version, arg_required_else_help = true)]
pub struct Cli {
    /// Log each unit of work to standard error; -vv logs each crash disk. RUST_LOG selects more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore a target and check every crash disk on the way.
    Run(Box<RunArgs>),
    /// Check an unmodified program on simulated files.
    App(AppArgs),
    /// Explore a stack with a layer and without it, and report the difference.
    Compare(Box<CompareArgs>),
    /// Run a job of `explode run --plan`: reads DIR/jobs/ID, writes DIR/results/ID.
    Work(WorkArgs),
    /// Merge the results of jobs and write the next jobs. The run ends when none is left.
    Merge(MergeArgs),
    /// Run a trace again and report whether the finding is still there.
    Replay(ReplayArgs),
    /// Explain a trace: its operations, what the crash kept and lost, and the critical write.
    Show(ShowArgs),
    /// Make a trace smaller. The result fails in the same way.
    #[command(visible_alias = "minimize")]
    Minimise(MinimiseArgs),
    /// Measure crash disks checked per second, beside a plain loop without explode.
    Bench(BenchArgs),
    /// Run many checks on many systems and report which sync methods are safe on each.
    Matrix(MatrixArgs),
    /// List targets, stacks, components, checkers and promises.
    List(ListArgs),
    /// List the disks that a crash can leave, from an event log alone.
    CrashDisks(CrashDisksArgs),
    /// Check this machine's requirements and say how to meet them.
    Doctor(DoctorArgs),
    /// Print completions of commands, options and names for a shell.
    #[command(after_help = "For bash:\n  explode completions bash > \
        ~/.local/share/bash-completion/completions/explode")]
    Completions(CompletionsArgs),
    /// Build and run the guest: its kernel, explode's modules, its image.
    #[command(subcommand)]
    Vm(VmCommand),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompletionArg {
    /// A completed write is durable.
    Durable,
    /// A completed write is durable after a flush, as on a disk with a write cache.
    Volatile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AtomArg {
    /// A crash keeps or loses whole blocks.
    Block,
    /// A crash keeps or loses whole sectors: requests can tear.
    Sector,
    /// A crash keeps or loses whole requests.
    Request,
}

/// The device that a crash interrupts.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// When a completed write is durable.
    #[arg(long, value_enum, default_value = "volatile")]
    pub completion: CompletionArg,
    /// The unit that a crash keeps or loses as a whole.
    #[arg(long, value_enum, default_value = "block")]
    pub atom: AtomArg,
    /// Bytes of a block.
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub block: u32,
    /// Drop older versions of a range when a new one is written, as FiSC did. This misses disks.
    #[arg(long)]
    pub replace_versions: bool,
}

/// The stack of a target or a checker, and the place of the run.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// The component that the checker runs on, with the components below it, or a stack file.
    #[arg(long, value_name = "COMPONENT | FILE.toml")]
    pub stack: Option<String>,
    /// The stack file that one of the two names, read before.
    #[arg(skip)]
    pub file: Option<StackFile>,
    /// The place of the run. Default: in process if the whole stack can, otherwise in a guest.
    #[arg(long = "in", value_enum)]
    pub mode: Option<ModeArg>,
    /// Set an option of a component of the stack, or of the checker.
    #[arg(long, value_name = "COMPONENT.KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A target, a stack file (*.toml), or, with --stack, a checker. `explode list` lists them.
    #[arg(required_unless_present = "resume")]
    pub target: Option<String>,
    #[command(flatten)]
    pub stack: StackArgs,
    /// The order of exploring: exhaust (default), shuffle (default with --budget and without
    /// --depth), dfs, different, prefix:TRACE.json; with --budget, --walks or --states also random,
    /// weighted, pct[:d=3,k=100]. Some targets have another default.
    #[arg(long)]
    pub strategy: Option<StrategyName>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Stop after this time: 60s, 5m, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub budget: Option<u64>,
    /// Stop after N distinct states.
    #[arg(long, value_name = "N")]
    pub states: Option<u64>,
    /// Stop after N random walks. Default: the target's, unless there is another bound.
    #[arg(long, value_name = "N")]
    pub walks: Option<u64>,
    /// The faults of a walk of a cluster: crashes=2,drops=3 and also duplicates, partitions,
    /// io_errors, bad_disks; none for no faults. Default: the target's.
    #[arg(long, value_name = "KIND=N,...")]
    pub faults: Option<String>,
    /// Mutates on a path. Default: the target's; with --budget as many as there is time for, except
    /// in strategies that go deep first.
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Sample an emission that has more than N disks. Default: the target's.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Size of that sample, at least 2. Default: the target's.
    #[arg(long, value_name = "N")]
    pub samples: Option<u64>,
    /// Nested crashes: 1 also crashes recovery, 2 also the recovery after that. Default: the
    /// target's.
    #[arg(long, value_name = "N")]
    pub crash_depth: Option<u32>,
    /// Unmount and mount the stack after every K mutates. Default: never.
    #[arg(long, value_name = "K")]
    pub chop: Option<u32>,
    /// Run every check, even if an equivalent disk has a verdict.
    #[arg(long)]
    pub no_skip: bool,
    /// Soft crashes instead of hard ones: the program ends after any operation and no data is lost.
    #[arg(long)]
    pub soft: bool,
    /// Explore under each model of simulated files (posix, ext4, xfs, btrfs, strict) and report
    /// under which of them each finding shows. --budget is for each model.
    #[arg(long, conflicts_with = "soft")]
    pub each_model: bool,
    /// Report a step that takes longer as a hang: 30s, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, default_value = "30s")]
    pub deadline: u64,
    /// Number of parallel workers (processes or guests). Findings and exact counts do not depend on
    /// it.
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub jobs: u32,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Exit with 6 if the run is not complete within its bounds.
    #[arg(long)]
    pub require_complete: bool,
    /// The run folder, absent or empty. Default: explode-runs/<target>-<n>.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the events of each unit of work to this file as JSON lines. It appears when the run
    /// ends.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Write the results to this file as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a timeline of the run to this file as Chrome trace JSON (https://ui.perfetto.dev).
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Write the first jobs of the run to this folder, absent or empty, and stop. `explode work`
    /// runs them, `explode merge` continues.
    #[arg(
        long, value_name = "DIR",
        conflicts_with_all = [
            "resume", "out", "events", "junit", "timeline", "budget", "require_complete",
            "each_model",
        ]
    )]
    pub plan: Option<PathBuf>,
    /// Continue the run in this folder, with its target and options. Only --jobs, --format,
    /// --require-complete and --trust may be given.
    #[arg(long, value_name = "DIR", conflicts_with_all = DECIDED)]
    pub resume: Option<PathBuf>,
    /// Run the shell commands in this folder although your key has not tagged it. Read them first.
    #[arg(long, requires = "resume", conflicts_with = "target")]
    pub trust: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The layer to leave out. What stood on it then stands on its first child.
    #[arg(long, value_name = "LAYER")]
    pub without: String,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The job, DIR/jobs/ID, or - to read it from standard input and write its result to standard
    /// output.
    #[arg(value_name = "JOB")]
    pub job: PathBuf,
    /// Run the shell commands in the job. Read them first.
    #[arg(long)]
    pub trust: bool,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folder of `explode run --plan`, then other folders with results of its jobs.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Run the shell commands in the folder. Read them first.
    #[arg(long)]
    pub trust: bool,
    /// Exit with 6 if the run is not complete within its bounds.
    #[arg(long)]
    pub require_complete: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Targets, stack files (*.toml), or, with --stack, checkers; `cluster` for all clusters.
    /// `explode list` lists them.
    #[arg(required = true)]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub stack: StackArgs,
    /// Measure each target with this component once per value.
    #[arg(long, value_name = "COMPONENT.KEY=VALUE,...")]
    pub each: Vec<String>,
    /// Crash disks per round: the first request for crash checks with at least N is measured.
    #[arg(
        long, value_name = "N", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(2..=100_000)
    )]
    pub checks: u32,
    /// Mutates until that request. Default: the target's.
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// Rows: systems, components or stack files. Default: all file systems.
    #[arg(value_name = "SYSTEM | FILE.toml", conflicts_with = "resume")]
    pub systems: Vec<String>,
    /// More rows: the ready stacks of a family: raid. `explode list families` lists them.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub family: Vec<String>,
    /// Columns, separated by commas. Default: all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "resume")]
    pub check: Vec<String>,
    /// The place of the run. Default: in process if the whole stack can, otherwise in a guest.
    #[arg(long = "in", value_enum, conflicts_with = "resume")]
    pub mode: Option<ModeArg>,
    /// Time for all cells together. Each cell gets an equal share of what is left.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "resume")]
    pub budget: Option<u64>,
    /// Most time for one run. A cell has a second run if the first finds nothing. Default: 2m, and
    /// all time that is left for a check that goes deeper, if there is a --budget.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "resume")]
    pub cell: Option<u64>,
    /// Report a step that takes longer as a hang: 30s, 500ms. Each hang is replayed with ten times
    /// this deadline.
    #[arg(
        long, value_name = "TIME", value_parser = milliseconds, default_value = "30s",
        conflicts_with = "resume"
    )]
    pub deadline: u64,
    /// Explore N mutates deeper than each check's own bound.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub deeper: u32,
    /// Sample an emission that has more than N disks. Default: the check's.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub limit: Option<u64>,
    /// Size of that sample, at least 2. Default: the check's.
    #[arg(
        long, value_name = "M", value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with = "resume"
    )]
    pub samples: Option<u64>,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub seed: u64,
    /// Number of cells that run in parallel.
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub jobs: u32,
    /// The folder, absent or empty. Default: explode-runs/matrix-<n>.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Continue the matrix in this folder. Cells that have a result are kept.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Run the shell commands in this folder although your key has not tagged it. Read them first.
    #[arg(long, requires = "resume", conflicts_with = "systems")]
    pub trust: bool,
    /// Print which promises of the system this cell tries, after which histories, and which it does
    /// not try. Nothing is run.
    #[arg(
        long, value_name = "SYSTEM/CHECK",
        conflicts_with_all = ["systems", "family", "check", "resume"]
    )]
    pub explain: Option<String>,
    /// Write the page to this file. Default: matrix.html in the folder.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The options that a run decides when it begins.
const DECIDED: [&str; 27] = [
    "faults",
    "target",
    "stack",
    "mode",
    "set",
    "strategy",
    "seed",
    "budget",
    "states",
    "walks",
    "depth",
    "limit",
    "samples",
    "crash_depth",
    "chop",
    "no_skip",
    "soft",
    "each_model",
    "deadline",
    "completion",
    "atom",
    "block",
    "replace_versions",
    "out",
    "events",
    "junit",
    "timeline",
];

#[derive(Debug, Args)]
pub struct MinimiseArgs {
    /// The trace file. It is not changed.
    pub trace: PathBuf,
    /// The smaller trace. Default: <name>.min.json beside the old one.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Stop after this time and keep the best result: 60s, 5m, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, default_value = "5m")]
    pub budget: u64,
    /// Stop after N tests (paths run and disks checked) and keep the best result.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub tests: u64,
    /// Run the shell commands in the trace although your key has not tagged it. Read them first.
    /// The smaller trace is tagged.
    #[arg(long)]
    pub trust: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Subcommand)]
pub enum VmCommand {
    /// Build what a guest needs and the cache does not have.
    Build(VmArgs),
    /// Open a shell in a guest with explode's modules loaded.
    Shell(VmArgs),
}

/// The kernel of the guest.
#[derive(Debug, Args)]
pub struct VmArgs {
    /// Your own kernel tree, configured and built. Default: the tree that EXPLODE_KERNEL names,
    /// which runs and replays use too; otherwise a kernel is built from Debian's source.
    #[arg(long, value_name = "DIR")]
    pub kernel: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ListKind {
    /// Real systems, which `explode run` takes, each with what it shows.
    Targets,
    /// Targets with a seeded bug, each with its twin without the bug.
    SeededBugs,
    /// Stacks of the targets.
    Stacks,
    /// Ready rows of the matrix, by family.
    Families,
    /// Layers of stacks.
    Components,
    /// Drivers and judges of stacks.
    Checkers,
    /// Promises of each system, line by line, with their source.
    Profiles,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only these.
    #[arg(value_enum)]
    pub what: Option<ListKind>,
    /// With `profiles`: only these systems: rows of the matrix, components or stack files.
    #[arg(value_name = "SYSTEM")]
    pub systems: Vec<String>,
    /// List all targets with their bounds, also those on explode's own systems. JSON lines always
    /// have them.
    #[arg(long)]
    pub all: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteAs {
    /// Whole images, <id>.<dev>.img.
    Img,
    /// dm-log-writes logs that turn the base into the image, <id>.<dev>.log.
    Logwrites,
}

#[derive(Debug, Args)]
pub struct CrashDisksArgs {
    /// An event log: JSON lines, or the format of dm-log-writes.
    pub log: PathBuf,
    /// Size of each device.
    #[arg(long, value_name = "BYTES")]
    pub size: u64,
    /// Contents of the devices before the log, in order. Default: zeroes.
    #[arg(long, value_name = "IMG", num_args = 1..)]
    pub base: Vec<PathBuf>,
    /// Crash from this mark on. Default: from the beginning.
    #[arg(long, value_name = "MARK")]
    pub from: Option<String>,
    /// Crash up to this mark. Default: to the end.
    #[arg(long, value_name = "MARK")]
    pub to: Option<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Sample an emission that has more than N disks.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub limit: u64,
    /// Size of that sample, at least 2.
    #[arg(long, value_name = "M", default_value_t = 2_000)]
    pub samples: u64,
    /// Seed of the sample.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Refuse a log with more bytes.
    #[arg(long, value_name = "BYTES", default_value_t = LogLimits::default().bytes)]
    pub log_bytes: u64,
    /// Refuse a log with more events. An entry of dm-log-writes is two events.
    #[arg(long, value_name = "N", default_value_t = LogLimits::default().events)]
    pub log_events: u64,
    /// Write every disk to this folder.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// The form.
    #[arg(long, value_enum, default_value = "img", requires = "write")]
    pub write_as: WriteAs,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}
