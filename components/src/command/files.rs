//! Simulated files that shell commands and the programs that they start use, mounted through FUSE:
//! the leaf of stacks of unmodified programs that need no guest kernel.
//!
//! The files are those of the component `simfiles`. Each write, and each call that makes something
//! durable, is an event. So crashes are hard crashes, and every crash disk that the model allows is
//! checked. The live files and those of a crash disk have the same path.

use std::path::PathBuf;

use explode_fuse::{Allowed, Mount};
use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{FileModel, Files as _};
use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::simfiles::{DEVICES, MODEL, mount_by_nodes, profile};
use explode_runtime::stack::{Abilities, Below, Component, ComponentDef, Facts, Inspect};
use serde::Deserialize;

use super::program_root::program_root;

/// The name in the registry.
pub const NAME: &str = "files";

/// Returns the definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "simulated files for stacks of shell commands, mounted by FUSE", build)
        .modes([Mode::Mem])
        .options([
            MODEL,
            OptionDef {
                name: "allow_write",
                about: "folders of this machine that the commands may write, with : between them",
                default: "",
            },
            OptionDef {
                name: "allow_network",
                about: "the commands use the networks of this machine: true, false",
                default: "false",
            },
        ])
        .hosts_commands()
}

/// Checks that this process can mount simulated files.
///
/// # Errors
/// The text says what is missing.
pub fn requirements() -> Result<(), String> {
    if !nix::unistd::geteuid().is_root() {
        let text = "mounting simulated files needs root; run it as root, or as a user with \
                    'unshare -Urpf --mount-proc explode ...'";
        return Err(text.to_owned());
    }
    let device = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    let advice = "load the kernel module fuse, or give this machine the device";
    device.map(drop).map_err(|error| format!("/dev/fuse: {error}; {advice}"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FilesOptions {
    model: FileModel,
    allow_write: String,
    allow_network: bool,
}

struct MountedSimFiles {
    model: FileModel,
    allowed: Allowed,
    first_device: u32,
    mounted: Option<(SimFiles, Mount)>,
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let FilesOptions { model, allow_write, allow_network } =
        options.parse("the component 'files'")?;
    let allow_write: Vec<PathBuf> =
        allow_write.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    if let Some(path) = allow_write.iter().find(|path| !path.is_dir() || !path.is_absolute()) {
        let path = path.display();
        let text = format!("allow_write: {path} is no folder; write the whole path of a folder");
        return Err(UsageError(text));
    }
    let private =
        |path: &PathBuf| explode_fuse::private_in(path).map(|private| (path.clone(), private));
    if let Some((path, private)) = allow_write.iter().find_map(private) {
        let path = path.display();
        let text = format!(
            "allow_write: {path} holds {private}, which is private; name a folder below it"
        );
        return Err(UsageError(text));
    }
    let root = program_root().map(|root| root.folder.clone());
    let allowed = Allowed { write: allow_write, network: allow_network, root };
    Ok(Box::new(MountedSimFiles { model, allowed, first_device: 0, mounted: None }))
}

/// Returns the name of the mount of a component, the same in the live stack and in those of crash
/// disks.
fn name(first_device: u32) -> String {
    match first_device / DEVICES {
        0 => "files".to_owned(),
        number => format!("files-{number}"),
    }
}

impl Component for MountedSimFiles {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let files = mount_by_nodes(self.model, below)?;
        let mount = Mount::new(files.clone(), &name(below.first_device), &self.allowed);
        let mount = mount.map_err(|error| {
            let text = format!("the simulated files cannot be mounted through FUSE: {error}");
            StepError::new(text).blame(Blame::Tool)
        })?;
        self.first_device = below.first_device;
        self.mounted = Some((files, mount));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        if let Some((files, mount)) = self.mounted.take() {
            drop(mount);
            // A clean unmount syncs everything, as umount(2) does.
            files.sync()?;
        }
        Ok(())
    }

    fn facts(&self) -> Facts {
        let packages = program_root().map(|root| root.packages.clone()).unwrap_or_default();
        Facts::default()
            .devices(DEVICES)
            .promises(profile(self.model, false))
            .packages(packages)
            .confines_commands()
    }

    fn abilities(&self) -> Abilities<'_> {
        let path = self.mounted.as_ref().map(|(_, mount)| mount.path().to_owned());
        Abilities::default().inspect(self).path(path).must_unmount(self.mounted.is_some())
    }
}

impl Inspect for MountedSimFiles {
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        self.mounted.as_ref()?.0.describe_sector(self.first_device + device, sector)
    }
}
