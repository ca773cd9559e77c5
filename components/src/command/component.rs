//! A component made of shell commands.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;

use super::placeholders::fill_component;
use super::private::PrivateFolder;
use super::run::{OutputMode, run};
use crate::mounted::MountedFiles;
use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError, programs};
use explode_runtime::stack::{
    Abilities, Below, COMMANDS, Component, ComponentDef, Facts, LayerPaths, Recovery, Surface,
};

/// The option keys whose values are commands.
pub const KEYS: [&str; 5] = ["init", "mount", "unmount", "recover", "threads"];

/// The key of what the layer offers to explode's layers and checkers above it.
pub const PROVIDES: &str = "provides";

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
                name: PROVIDES,
                about: "offers explode's layers and checkers: files, device",
                default: "",
            },
            OptionDef {
                name: "recover_ok",
                about: "exit codes that count as recovered",
                default: "[0]",
            },
        ])
        .also_on(["files", "folder"])
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
    provides: Option<Provides>,
    recover_ok: Option<Vec<u8>>,
}

/// The surface of a layer made of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Provides {
    /// The files below the layer's private folder.
    Files,
    /// The block device whose path `mount` prints as its last line.
    Device,
}

/// The state that no crash disk contains, because its place on the disks below is unknown.
const UNOBSERVED: &str = "what the layers above a layer of commands, and that layer, have not \
                          submitted to the disks";

struct CommandComponent {
    commands: Commands,
    home: Option<PrivateMount>,
    mounted: bool,
    surface: Surface,
    /// The files of the surface, which are closed before `unmount`.
    files: Option<Rc<MountedFiles>>,
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
    let commands: Commands = options.parse("a component made of commands")?;
    if commands.provides.is_some() && commands.mount.is_none() {
        let text = format!("'{PROVIDES}' without 'mount': write the command that makes it ready");
        return Err(UsageError(text));
    }
    Ok(Box::new(CommandComponent {
        commands,
        home: None,
        mounted: false,
        surface: Surface::Child,
        files: None,
        threads: Vec::new(),
    }))
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

/// Returns the block device whose path is the last line of a command's output.
///
/// # Errors
/// There is no such line, or it is no block device.
fn printed_device(out: &[u8]) -> Result<PathBuf, StepError> {
    let out = String::from_utf8_lossy(out);
    let line = out.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let wrong = |text: String| StepError::new(text).blame(Blame::Tool);
    let advice = "with provides = \"device\" the last line that `mount` prints is the path of the \
                  layer's block device";
    let Some(line) = line else {
        return Err(wrong(format!("`mount` printed nothing; {advice}")));
    };
    let is_device = std::fs::metadata(line).is_ok_and(|found| found.file_type().is_block_device());
    if is_device {
        return Ok(line.into());
    }
    Err(wrong(format!("`mount` printed '{line}', which is no block device; {advice}")))
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
        let is_device = self.commands.provides == Some(Provides::Device);
        let out = if is_device { OutputMode::Alone } else { OutputMode::WithStderr };
        let printed = self.must(self.commands.mount.clone(), below, out)?;
        self.mounted = true;
        match self.commands.provides {
            None => {}
            Some(Provides::Device) => self.surface = Surface::Block(printed_device(&printed)?),
            Some(Provides::Files) => {
                let root = self.own(below)?.path.expect("a layer with `mount` has a folder");
                let files = MountedFiles::new(&root).map_err(|errno| {
                    StepError::new(format!("its files cannot be opened: {}", errno.desc()))
                })?;
                self.surface = Surface::Files(Rc::clone(self.files.insert(Rc::new(files))) as _);
            }
        }
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
        self.files.take().into_iter().for_each(|files| files.close_all());
        self.surface = Surface::Child;
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

    fn surface(&self) -> Surface {
        self.surface.clone()
    }

    /// Lists the programs that it runs. The files that the commands read are unknown, so it does
    /// not promise to read only its disks.
    fn facts(&self) -> Facts {
        let Commands { init, mount, unmount, recover, threads, .. } = &self.commands;
        let commands = [init, mount, unmount, recover, threads].into_iter().flatten();
        let programs = commands.flat_map(|command| programs(command));
        Facts::default()
            .programs(programs.filter_map(|program| found(&program.name)))
            .reads_only_its_disks(false)
            .buffers_are_places(self.commands.provides.is_none())
            .unobserved(self.commands.provides.map(|_| UNOBSERVED))
    }

    fn abilities(&self) -> Abilities<'_> {
        let path = self.home.as_ref().filter(|_| self.mounted).map(|home| home.path().to_owned());
        let must_unmount = self.mounted && self.commands.unmount.is_some();
        Abilities::default().path(path).must_unmount(must_unmount)
    }
}
