//! Tests of the steps on a mounted directory: every call that the model expects to succeed does,
//! and has the expected effect. Nothing crashes. A crash disk is the directory as it is.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{FileKind, Files};
use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::stack::{Below, Component, ComponentDef, Recovery, StackSpec, Surface};

use crate::{plan, registry, run};

fn directory() -> ComponentDef {
    ComponentDef::new("directory", "a directory of the machine", |options| {
        Ok(Box::new(Directory {
            path: options.text("path", "")?.into(),
            files: None,
            crashed: false,
        }))
    })
    .modes([Mode::Mem])
    .options([OptionDef { name: "path", about: "where it is", default: "" }])
}

struct Directory {
    path: PathBuf,
    files: Option<Rc<MountedFiles>>,
    crashed: bool,
}

impl Component for Directory {
    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, StepError> {
        self.crashed = true;
        Ok(Recovery::Clean)
    }
    fn mount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        let files = MountedFiles::new(&self.path)?;
        if !self.crashed {
            clear(&files, "")?;
        }
        self.files = Some(Rc::new(files));
        Ok(())
    }
    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.files.take().inspect(|files| files.close_all());
        Ok(())
    }
    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, |files| Surface::Files(files))
    }
}

fn clear(files: &MountedFiles, path: &str) -> Result<(), StepError> {
    for (name, kind) in files.readdir(if path.is_empty() { "/" } else { path })? {
        let path = format!("{path}/{name}");
        if kind == FileKind::File {
            files.unlink(&path)?;
        } else {
            clear(files, &path)?;
            files.rmdir(&path)?;
        }
    }
    Ok(())
}

/// Runs a target on a directory of the machine, in memory if possible, without findings. Returns
/// the number of mutates.
fn explored(target: &str, options: Options) -> u64 {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a temporary folder");
    let mut registry = registry();
    registry.components.push(directory());
    let mut plan = plan(&registry, target, 3);
    let path = folder.path().to_str().expect("a plain path");
    plan.stack = StackSpec::default().plug("directory", Options::none().with("path", path));
    if !options.is_empty() {
        plan.checker_options = options.with("start", "empty");
    }
    let ran = run(&registry, &plan);
    assert_eq!(ran.signatures(), [""; 0]);
    u64::try_from(&ran.summary.operations.0).expect("few enough")
}

#[test]
fn the_model_knows_a_mounted_file_system() {
    assert_eq!(explored("fs-sync", Options::none()), 1_164);
}

/// The method `sync` is left out, because sync(2) affects the whole machine.
#[test]
fn every_way_works_on_a_mounted_file_system() {
    let ways = ["syncfs", "fsync", "fdatasync", "o-sync", "o-dsync", "msync", "fsync-dir"];
    let explored = |way: &str| {
        explored("fs-ways-sync", Options::none().with("way", way).with("far", 8192_u64))
    };
    assert_eq!(ways.map(explored), [111, 111, 143, 143, 143, 143, 64]);
}
