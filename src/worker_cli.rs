//! The arguments with which explode starts its own workers. Users never see them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The arguments with which explode starts its own workers.
#[derive(Debug, Parser)]
#[command(name = "explode", version)]
pub struct WorkerCli {
    #[command(subcommand)]
    pub command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
pub enum WorkerCommand {
    /// The worker in a guest.
    Agent(AgentArgs),
    /// The worker in a child process.
    Worker(WorkerArgs),
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The character device that leads to the host.
    pub port: PathBuf,
    /// End the guest when a task hangs in its kernel for this long.
    #[arg(long, value_name = "SECONDS")]
    pub hung: Option<u64>,
    /// Share a page with the host.
    #[arg(long)]
    pub page: bool,
    /// Measure instead of checking.
    #[arg(long)]
    pub bench: bool,
}

#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The file of the page that the worker shares with its supervisor.
    pub page: PathBuf,
    /// The root that the commands of simulated files see.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// A package of the root, as NAME=VERSION.
    #[arg(long, value_parser = package)]
    pub package: Vec<(String, String)>,
}

/// Parses the name and the version of a package.
fn package(word: &str) -> Result<(String, String), String> {
    let (name, version) = word.split_once('=').ok_or("write NAME=VERSION")?;
    Ok((name.to_owned(), version.to_owned()))
}
