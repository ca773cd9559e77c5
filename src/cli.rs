//! The arguments of the command line (`docs/reference/cli.md`).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use explode_runtime::events::LogLimits;
use explode_runtime::run::StrategyName;

use crate::stack_file::StackFile;

/// Finds the crash and failure bugs of storage systems before their users lose data.
#[derive(Debug, Parser)]
#[command(name = "explode", version, arg_required_else_help = true)]
pub struct Cli {
    /// Log each unit of work to standard error; with -vv each crash disk, too. RUST_LOG asks for
    /// more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore a target and check every crash disk on the way.
    Run(Box<RunArgs>),
    /// Run a job of `explode run --plan`: DIR/jobs/ID, whose result goes to DIR/results/ID.
    Work(WorkArgs),
    /// Merge the results of jobs, and write the next jobs; when none is left the run is over.
    Merge(MergeArgs),
    /// Run a trace again: does the finding show itself once more?
    Replay(ReplayArgs),
    /// Tell what a trace shows: what was done, what the crash kept and lost, which write was
    /// critical.
    Show(ShowArgs),
    /// Make a trace smaller that fails in the same way.
    #[command(visible_alias = "minimize")]
    Minimise(MinimiseArgs),
    /// How many crash disks a second are checked, and how many a plain loop without explode would.
    Bench(BenchArgs),
    /// Many systems by many checks: what each of them keeps, and what is safe where.
    Matrix(MatrixArgs),
    /// What can be named.
    List(ListArgs),
    /// The disks that a crash can leave, from an event log alone.
    CrashDisks(CrashDisksArgs),
    /// What this machine has of what explode needs, and what to do about the rest.
    Doctor(DoctorArgs),
    /// Print completions of commands, options and names for a shell.
    #[command(after_help = "For bash:\n  explode completions bash > \
        ~/.local/share/bash-completion/completions/explode")]
    Completions(CompletionsArgs),
    /// The guest: its kernel, our modules, its image.
    #[command(subcommand)]
    Vm(VmCommand),
    /// What runs in a guest.
    #[command(hide = true)]
    Agent(AgentArgs),
    /// What runs in a child process.
    #[command(hide = true)]
    Worker(WorkerArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    Human,
    /// One JSON object a line.
    Jsonl,
}

/// Where a run takes place.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Mode {
    /// In process, on simulated disks and files.
    Mem,
    /// In a guest of ours, on its kernel.
    Vm,
    /// On this machine's kernel, as root, with the modules loaded; only on RAM disks.
    Here,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Completion {
    /// A completed write is durable.
    Durable,
    /// A completed write is durable after a flush: a disk with a write cache.
    Volatile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Atom {
    /// A crash keeps or loses whole blocks.
    Block,
    /// Sectors: requests can tear.
    Sector,
    /// Whole requests.
    Request,
}

/// The device that a crash interrupts.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// When a completed write is durable.
    #[arg(long, value_enum, default_value = "volatile")]
    pub completion: Completion,
    /// What a crash keeps or loses whole.
    #[arg(long, value_enum, default_value = "block")]
    pub atom: Atom,
    /// Bytes of a block.
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub block: u32,
    /// A new version replaces the older ones of its range, as in FiSC: misses disks.
    #[arg(long)]
    pub replace_versions: bool,
}

/// On what a target or a checker stands, and where.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// A component for the checker to stand on, what that needs is put below it; of run, or a stack
    /// file.
    #[arg(long, value_name = "COMPONENT | FILE.toml")]
    pub stack: Option<String>,
    /// The stack file that one of the two names, read before.
    #[arg(skip)]
    pub file: Option<StackFile>,
    /// Where to run it; by default in process if all of the stack can, else in a guest.
    #[arg(long = "in", value_enum)]
    pub mode: Option<Mode>,
    /// An option of a component of the stack.
    #[arg(long, value_name = "COMPONENT.KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A target, a stack file (*.toml), or with --stack a checker; `explode list` names them.
    #[arg(required_unless_present = "resume")]
    pub target: Option<String>,
    #[command(flatten)]
    pub stack: StackArgs,
    /// What to try next: exhaust, dfs, different, prefix:TRACE.json, or with --budget or --states
    /// random, weighted, pct[:d=3,k=100].
    #[arg(long, default_value = "exhaust")]
    pub strategy: StrategyName,
    /// Seeds whatever is drawn at random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Stop after this time: 60s, 5m, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub budget: Option<u64>,
    /// Stop at so many distinct states.
    #[arg(long, value_name = "N")]
    pub states: Option<u64>,
    /// Mutates on a path; by default the target's.
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Above so many disks an emission is sampled; by default the target's.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// The size of that sample, at least 2; by default the target's.
    #[arg(long, value_name = "N")]
    pub samples: Option<u64>,
    /// Crashes during recovery, and during the recovery from those, so many deep; by default the
    /// target's.
    #[arg(long, value_name = "N")]
    pub crash_depth: Option<u32>,
    /// After so many mutates the stack is unmounted and mounted again; by default never.
    #[arg(long, value_name = "K")]
    pub chop: Option<u32>,
    /// Make every check, also where its verdict is known from another disk.
    #[arg(long)]
    pub no_skip: bool,
    /// Soft crashes in place of hard ones: the program ends after any of its operations, and
    /// nothing is lost.
    #[arg(long)]
    pub soft: bool,
    /// A step that takes longer hangs: 30s, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, default_value = "30s")]
    pub deadline: u64,
    /// So many workers at once, each a process or a guest of its own; what a run finds and counts
    /// is the same with any number.
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub jobs: u32,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Exit with 6 if the space was not covered.
    #[arg(long)]
    pub require_complete: bool,
    /// The run folder, absent or empty; by default explode-runs/<target>-<n>.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the events of each unit of work to this file, as JSON lines; it has its name when the
    /// run has ended.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Write what came of the run to this file, as JUnit's XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write to this file where the time goes, as the JSON of Chrome's tracing, which Perfetto
    /// (https://ui.perfetto.dev) opens.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Write the first jobs of the run to this folder, absent or empty, and stop: `explode work`
    /// runs them, `explode merge` goes on.
    #[arg(
        long, value_name = "DIR",
        conflicts_with_all = [
            "resume", "out", "events", "junit", "timeline", "budget", "require_complete",
        ]
    )]
    pub plan: Option<PathBuf>,
    /// Go on with the run in this folder, with its target and its options; only --jobs, --format,
    /// --require-complete and --trust may be given.
    #[arg(long, value_name = "DIR", conflicts_with_all = DECIDED)]
    pub resume: Option<PathBuf>,
    /// Run the shell commands that the folder carries, although it has no tag of your key: read
    /// them first.
    #[arg(long, requires = "resume", conflicts_with = "target")]
    pub trust: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The job, DIR/jobs/ID; or - for one on standard input, whose result goes to standard output.
    #[arg(value_name = "JOB")]
    pub job: PathBuf,
    /// Run the shell commands that the job carries: read them first.
    #[arg(long)]
    pub trust: bool,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folder of `explode run --plan`; then other folders with results of its jobs.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Run the shell commands that the folder carries: read them first.
    #[arg(long)]
    pub trust: bool,
    /// Exit with 6 if the space was not covered.
    #[arg(long)]
    pub require_complete: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Targets, or with --stack checkers; `explode list` names them.
    #[arg(required = true)]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub stack: StackArgs,
    /// Measure each target that has this component once for each of these values.
    #[arg(long, value_name = "COMPONENT.KEY=VALUE,...")]
    pub each: Vec<String>,
    /// Crash disks of a round: a request for crash checks that has so many is looked for.
    #[arg(
        long, value_name = "N", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(2..=100_000)
    )]
    pub checks: u32,
    /// Mutates on the way to it; by default the target's.
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// Rows: systems, components or stack files; by default all file systems.
    #[arg(value_name = "SYSTEM | FILE.toml", conflicts_with = "resume")]
    pub systems: Vec<String>,
    /// Columns, with commas between; by default all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "resume")]
    pub check: Vec<String>,
    /// Where to run; by default in process where all of a stack can, else in a guest.
    #[arg(long = "in", value_enum, conflicts_with = "resume")]
    pub mode: Option<Mode>,
    /// For all cells together: each has an equal share of what is left.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, conflicts_with = "resume")]
    pub budget: Option<u64>,
    /// For a run at most; a cell has two where the first finds nothing.
    #[arg(
        long, value_name = "TIME", value_parser = milliseconds, default_value = "2m",
        conflicts_with = "resume"
    )]
    pub cell: u64,
    /// A step that takes longer hangs: 30s, 500ms. What hangs is tried again with ten times as
    /// long.
    #[arg(
        long, value_name = "TIME", value_parser = milliseconds, default_value = "30s",
        conflicts_with = "resume"
    )]
    pub deadline: u64,
    /// So many steps deeper than each check goes by itself.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub deeper: u32,
    /// Above so many disks an emission is sampled; by default as each check says.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub limit: Option<u64>,
    /// The size of that sample, at least 2; by default as each check says.
    #[arg(
        long, value_name = "M", value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with = "resume"
    )]
    pub samples: Option<u64>,
    /// Seeds whatever is drawn at random.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub seed: u64,
    /// So many cells at once.
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub jobs: u32,
    /// The folder, absent or empty; by default explode-runs/matrix-<n>.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Go on with the matrix in this folder: cells that have come to something are taken as they
    /// are.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Run the shell commands that the folder carries, although it has no tag of your key: read
    /// them first.
    #[arg(long, requires = "resume", conflicts_with = "systems")]
    pub trust: bool,
    /// Write the page to this file; by default matrix.html in the folder.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// What is decided when a run begins.
const DECIDED: [&str; 24] = [
    "target",
    "stack",
    "mode",
    "set",
    "strategy",
    "seed",
    "budget",
    "states",
    "depth",
    "limit",
    "samples",
    "crash_depth",
    "chop",
    "no_skip",
    "soft",
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
pub struct ReplayArgs {
    /// The trace file.
    pub trace: PathBuf,
    /// A step that takes longer hangs: 30s, 500ms; by default as in the run.
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub deadline: Option<u64>,
    /// Print all that a kernel wrote when it ended, not only the line with the place.
    #[arg(long)]
    pub all: bool,
    /// Write to this file where the time goes, as the JSON of Chrome's tracing, which Perfetto
    /// (https://ui.perfetto.dev) opens.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Run the shell commands that the trace carries, although it has no tag of your key: read them
    /// first.
    #[arg(long)]
    pub trust: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The form in which a trace is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum As {
    /// As a story.
    Text,
    /// As a script of the shell that needs nothing of explode's.
    Sh,
    /// As a test of the suite xfstests.
    Xfstests,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The trace file.
    pub trace: PathBuf,
    /// In which form.
    #[arg(long = "as", value_enum, default_value = "text")]
    pub form: As,
    /// Write the script, or the test with its golden output, into this folder, in place of printing
    /// it.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Run a trace that carries shell commands, to tell the whole story; by default what its file
    /// has is shown.
    #[arg(long)]
    pub run: bool,
    /// Run the shell commands that the trace carries, although it has no tag of your key: read them
    /// first. Implies --run.
    #[arg(long)]
    pub trust: bool,
    /// The search for the critical write runs so many ways and looks at so many disks, at most; by
    /// default 2000, 200 on a kernel.
    #[arg(long, value_name = "N")]
    pub tests: Option<u64>,
    /// Print all that a kernel wrote when it ended, not only the line with the place.
    #[arg(long)]
    pub all: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct MinimiseArgs {
    /// The trace file; it stays as it is.
    pub trace: PathBuf,
    /// Where the smaller trace goes; by default next to the old one, as <name>.min.json.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Be content with what was found after this time: 60s, 5m, 500ms.
    #[arg(long, value_name = "TIME", value_parser = milliseconds, default_value = "5m")]
    pub budget: u64,
    /// Be content with what was found after so many tests: ways that were run, and disks that were
    /// looked at.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub tests: u64,
    /// Run the shell commands that the trace carries, although it has no tag of your key: read them
    /// first. The smaller trace is then yours.
    #[arg(long)]
    pub trust: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How to say it.
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
    /// Build what a guest needs, as far as it is not there yet.
    Build(VmArgs),
    /// A shell in a guest, with our modules loaded.
    Shell(VmArgs),
}

/// Which kernel.
#[derive(Debug, Args)]
pub struct VmArgs {
    /// A kernel tree of yours, configured and built; by default the one that EXPLODE_KERNEL names,
    /// which runs and replays use too, else one is built from Debian's source.
    #[arg(long, value_name = "DIR")]
    pub kernel: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The character device that leads to the host.
    pub port: PathBuf,
    /// The guest ends when a task hangs for so many seconds in its kernel.
    #[arg(long, value_name = "SECONDS")]
    pub hung: Option<u64>,
    /// Measure, and do not check.
    #[arg(long)]
    pub bench: bool,
}

#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The file of the page that it shares with its supervisor.
    pub page: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// What `explode run` takes: the real systems, each with what it shows.
    Targets,
    /// Targets with a bug put in on purpose, each with the system without it.
    SeededBugs,
    /// What targets run on.
    Stacks,
    /// What stacks are made of.
    Components,
    /// What drives a stack and judges it.
    Checkers,
    /// What each system promises, line by line, with the source.
    Profiles,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only these.
    #[arg(value_enum)]
    pub what: Option<What>,
    /// With profiles: only those of these systems: a row of the matrix, a component, or a stack
    /// file.
    #[arg(value_name = "SYSTEM")]
    pub systems: Vec<String>,
    /// All targets, also those on explode's own systems, with their bounds; JSON lines always have
    /// them.
    #[arg(long)]
    pub all: bool,
    /// How to say it.
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
    /// What the devices hold before the log, in their order; zeroes where there is none.
    #[arg(long, value_name = "IMG", num_args = 1..)]
    pub base: Vec<PathBuf>,
    /// Crashes from this mark on; by default from the beginning.
    #[arg(long, value_name = "MARK")]
    pub from: Option<String>,
    /// Crashes up to this mark; by default to the end.
    #[arg(long, value_name = "MARK")]
    pub to: Option<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Above so many disks an emission is sampled.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub limit: u64,
    /// The size of that sample, at least 2.
    #[arg(long, value_name = "M", default_value_t = 2_000)]
    pub samples: u64,
    /// Seeds the sample.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The largest log that is read, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = LogLimits::default().bytes)]
    pub log_bytes: u64,
    /// The most events that are read; an entry of dm-log-writes is two.
    #[arg(long, value_name = "N", default_value_t = LogLimits::default().events)]
    pub log_events: u64,
    /// Write every disk to this folder.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// In which form.
    #[arg(long, value_enum, default_value = "img", requires = "write")]
    pub write_as: WriteAs,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The longest time, in milliseconds: a year.
const LONGEST: f64 = 365.0 * 24.0 * 3_600_000.0;

/// A time: a number with a unit.
fn milliseconds(text: &str) -> Result<u64, String> {
    let units = [("ms", 1.0), ("s", 1000.0), ("m", 60_000.0), ("h", 3_600_000.0)];
    let parsed = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    match parsed {
        Some(time) if time > LONGEST => Err("a time is a year at most: 8760h".to_owned()),
        Some(time) => Ok(time as u64),
        None => Err("a time is a number with a unit: 500ms, 60s, 5m, 8h".to_owned()),
    }
}
