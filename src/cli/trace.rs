//! The arguments of the commands on a trace: `explode replay` and `explode show`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::format::Format;
use super::mode::ModeArg;
use crate::times::milliseconds;

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The trace file.
    pub trace: PathBuf,
    /// The place in which the trace of a cluster runs. Default: the one in which it was found.
    #[arg(long = "in", value_enum)]
    pub mode: Option<ModeArg>,
    /// Build the crash disk from the trace alone, and only check it. The system does not run.
    #[arg(long, conflicts_with = "record")]
    pub recorded: bool,
    /// Add the crash to the trace for --recorded, if it is one of a program's simulated files.
    #[arg(long, hide = true)]
    pub record: bool,
    /// Report a step that takes longer as a hang: 30s, 500ms. Default: the run's deadline.
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub deadline: Option<u64>,
    /// Print the kernel's whole report of its end, not only the line that names the place.
    #[arg(long)]
    pub all: bool,
    /// Write a timeline of the run to this file as Chrome trace JSON (https://ui.perfetto.dev).
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Run the shell commands in the trace although your key has not tagged it. Read them first.
    #[arg(long)]
    pub trust: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The form in which a trace is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowForm {
    /// The story of the finding.
    Text,
    /// A shell script that does not need explode.
    Sh,
    /// A test of the suite xfstests.
    Xfstests,
    /// The events of a cluster's hosts, for ShiViz.
    Shiviz,
    /// The events of a cluster's hosts as Chrome trace JSON (https://ui.perfetto.dev).
    Chrome,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The trace file.
    pub trace: PathBuf,
    /// The form.
    #[arg(long = "as", value_enum, default_value = "text")]
    pub form: ShowForm,
    /// Write the script, or the test with its expected output, to this folder instead of printing
    /// it.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Run a trace that contains shell commands, to show the whole story. Default: show what the
    /// file has.
    #[arg(long)]
    pub run: bool,
    /// Run the shell commands in the trace although your key has not tagged it. Read them first.
    /// Implies --run.
    #[arg(long)]
    pub trust: bool,
    /// Most paths and disks that the search for the critical write tries. Default: 2000, on a
    /// kernel 200.
    #[arg(long, value_name = "N")]
    pub tests: Option<u64>,
    /// Print every call, every event and the kernel's whole report. Default: at most 40 lines.
    #[arg(long)]
    pub all: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}
