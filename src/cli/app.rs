//! The arguments of `explode app`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The rules by which a crash keeps or loses changes of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelArg {
    /// The promises of POSIX, and no more: only syncs order changes.
    Posix,
    /// The order of ext4 (data=ordered).
    Ext4,
    /// The order of XFS.
    Xfs,
    /// The order of btrfs, with its log trees.
    Btrfs,
    /// Everything in order: a crash loses the last changes only. What is lost here is lost on every
    /// file system.
    Strict,
    /// Each of these in turn. A finding says under which of them it shows.
    Each,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Options of `explode run` come last:\n  explode app --work './add.sh' --check \
    'test -e db' --jobs 2 --budget 1m"
)]
pub struct AppArgs {
    /// The shell command that makes the files, once. What it has written is durable.
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// The shell command that repairs the files after a crash, before the check. Crashes during it
    /// are also checked.
    #[arg(long, value_name = "COMMAND")]
    pub recover: Option<String>,
    /// The shell command whose crashes are checked. It starts in the simulated files. Several are
    /// alternatives.
    #[arg(long, value_name = "COMMAND", required = true)]
    pub work: Vec<String>,
    /// The shell command that looks at what a crash has left: 0 is well, any other end is a
    /// finding. $EXPLODE_DONE is a file with a line for each work that has ended.
    #[arg(long, value_name = "COMMAND")]
    pub check: String,
    /// The check is started once. For each state it reads a line (folder, epoch, arguments and what
    /// is done, separated by tabs) and prints a line: ok, or fail MESSAGE.
    #[arg(long)]
    pub resident: bool,
    /// The number of times that the work is done, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: u32,
    /// The rules by which a crash keeps or loses changes of files.
    #[arg(long, value_enum, default_value = "posix")]
    pub model: ModelArg,
    /// Packages of Debian 12, with commas between them. The commands see them with the base of
    /// Debian, in place of the programs of this machine.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "rootfs")]
    pub packages: Vec<String>,
    /// An archive (tar) with the root file system that the commands see, such as that of `docker
    /// export`.
    #[arg(long, value_name = "FILE")]
    pub rootfs: Option<PathBuf>,
    /// A variable of the environment of all commands, as NAME=VALUE.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A folder of this machine that the commands may write. They see all others read-only.
    #[arg(long, value_name = "DIR")]
    pub allow_write: Vec<PathBuf>,
    /// The commands use the networks of this machine. Otherwise they have one of their own.
    #[arg(long)]
    pub allow_network: bool,
    /// Print the stack file and run nothing.
    #[arg(long)]
    pub print: bool,
    /// Options of `explode run`.
    #[arg(value_name = "RUN OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub run: Vec<String>,
}
