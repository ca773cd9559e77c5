//! A component made of shell commands.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::placeholders::fill_component;
use super::private::PrivateFolder;
use super::run::{OutputMode, run};
use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError, programs};
use explode_runtime::stack::{
    Abilities, Below, COMMANDS, Component, ComponentDef, Facts, LayerPaths, Recovery,
};

/// The option keys whose values are commands.
pub const KEYS: [&str; 5] = ["init", "mount", "unmount", "recover", "threads"];

/// The name in the registry.
pub const NAME: &str = COMMANDS;

/// Returns the definition of the layers that stack files make of commands.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "a component made of shell commands, in a stack file", build)
        .modes([Mode::Vm, Mode::Here])
        .options([
            OptionDef { name: "init", about: "creates the system", default: "" },
            OptionDef { name: "mount", about: "mounts it", default: "" },
            OptionDef { name: "unmount", about: "unmounts it", default: "" },
            OptionDef { name: "recover", about: "repairs it after a crash", default: "" },
            OptionDef {
                name: "threads",
                about: "prints the process IDs of its threads, one per line",
                default: "",
            },
            OptionDef {
                name: "recover_ok",
                about: "exit codes that count as recovered",
                default: "[0]",
            },
        ])
        .also_on(["folder"])
        .command_keys(KEYS)
        .unlisted()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Commands {
    init: Option<String>,
    mount: Option<String>,
    unmount: Option<String>,
    recover: Option<String>,
    threads: Option<String>,
    recover_ok: Option<Vec<u8>>,
}

struct CommandComponent {
    commands: Commands,
    home: Option<PrivateMount>,
    mounted: bool,
    threads: Vec<u32>,
}

/// The private folder of a component with a mount command.
enum PrivateMount {
    /// A new folder, which is removed with the component. Used in process.
    Temporary(PrivateFolder),
    /// A folder at a fixed path. Used on a kernel.
    Place(PathBuf),
}

impl PrivateMount {
    fn path(&self) -> &Path {
        match self {
            PrivateMount::Temporary(folder) => folder.path(),
            PrivateMount::Place(path) => path,
        }
    }
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let commands = options.parse("a component made of commands")?;
    Ok(Box::new(CommandComponent { commands, home: None, mounted: false, threads: Vec::new() }))
}

impl CommandComponent {
    /// Returns the paths by which the component's own commands find it.
    fn own(&mut self, below: &Below<'_>) -> Result<LayerPaths, StepError> {
        let mut own = below.paths.first().cloned().unwrap_or_default();
        if self.commands.mount.is_some() {
            let home = match self.home.take() {
                Some(home) => home,
                None => new_home(below).map_err(|error| at(below.place, &error))?,
            };
            own.path = Some(self.home.insert(home).path().to_owned());
        }
        Ok(own)
    }

    /// Runs a command, if there is one. It must end with 0.
    fn must(
        &mut self,
        command: Option<String>,
        below: &Below<'_>,
        out: OutputMode,
    ) -> Result<Vec<u8>, StepError> {
        let Some(command) = command else { return Ok(Vec::new()) };
        let command = fill_component(&command, below.paths, &self.own(below)?)?;
        let ended = run(&command, below.devices, out, &[])?;
        if ended.code() == Some(0) { Ok(ended.out) } else { Err(ended.fault(&command)) }
    }
}

/// Returns the path of a program that the shell would find.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// Makes an empty private folder.
fn new_home(below: &Below<'_>) -> std::io::Result<PrivateMount> {
    if below.devices.kernel().is_none() {
        return PrivateFolder::new().map(PrivateMount::Temporary);
    }
    if below.place.exists() {
        remove(below.place)?;
    }
    std::fs::create_dir_all(below.place)?;
    Ok(PrivateMount::Place(below.place.to_owned()))
}

/// Removes a folder with its contents, unless something is mounted there.
fn remove(place: &Path) -> std::io::Result<()> {
    let above = place.parent().unwrap_or(place);
    if place.metadata()?.dev() != above.metadata()?.dev() {
        return Err(std::io::Error::other("something is still mounted there"));
    }
    std::fs::remove_dir_all(place)
}

fn at(place: &Path, error: &std::io::Error) -> StepError {
    StepError::new(format!("{}: {error}", place.display())).blame(Blame::Tool)
}

impl Component for CommandComponent {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.must(self.commands.init.clone(), below, OutputMode::WithStderr).map(drop)
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.must(self.commands.mount.clone(), below, OutputMode::WithStderr)?;
        self.mounted = true;
        let printed = self.must(self.commands.threads.clone(), below, OutputMode::Alone)?;
        let printed = String::from_utf8_lossy(&printed);
        let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
        let pid = |line: &str| {
            line.parse()
                .map_err(|_| StepError::new(format!("`threads` printed '{line}', which is no PID")))
        };
        self.threads =
            lines.map(pid).collect::<Result<_, _>>().map_err(|fault| fault.blame(Blame::Tool))?;
        Ok(())
    }

    fn unmount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.must(self.commands.unmount.clone(), below, OutputMode::WithStderr)?;
        self.mounted = false;
        self.threads.clear();
        match self.home.take() {
            Some(PrivateMount::Place(place)) => remove(&place).map_err(|error| at(&place, &error)),
            Some(PrivateMount::Temporary(_)) | None => Ok(()),
        }
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let Some(command) = self.commands.recover.clone() else { return Ok(Recovery::Clean) };
        let command = fill_component(&command, below.paths, &self.own(below)?)?;
        let ended = run(&command, below.devices, OutputMode::WithStderr, &[])?;
        let ok = self.commands.recover_ok.as_deref().unwrap_or(&[0]);
        match ended.code() {
            Some(code) if ok.iter().any(|ok| i32::from(*ok) == code) => {
                Ok(if code == 0 { Recovery::Clean } else { Recovery::Repaired })
            }
            _ => Err(ended.fault(&command)),
        }
    }

    fn threads(&self) -> Vec<u32> {
        self.threads.clone()
    }

    /// Lists the programs that it runs. The files that the commands read are unknown, so it does
    /// not promise to read only its disks.
    fn facts(&self) -> Facts {
        let Commands { init, mount, unmount, recover, threads, recover_ok: _ } = &self.commands;
        let commands = [init, mount, unmount, recover, threads].into_iter().flatten();
        let programs = commands.flat_map(|command| programs(command));
        Facts::default()
            .programs(programs.filter_map(|program| found(&program.name)))
            .reads_only_its_disks(false)
    }

    fn abilities(&self) -> Abilities<'_> {
        let path = self.home.as_ref().filter(|_| self.mounted).map(|home| home.path().to_owned());
        let must_unmount = self.mounted && self.commands.unmount.is_some();
        Abilities::default().path(path).must_unmount(must_unmount)
    }
}
