//! The component that offers simulated files to code that uses `std::fs`.

use std::path::Path;
use std::rc::Rc;

use explode_ramdisk::SimFiles;
use explode_ramdisk::files::{
    Access, CallRecorder, FileKind, FileModel, Files as _, FsCall, NewNode, ProgramFiles, Result,
};
use explode_runtime::base::{Blame, Mode, StepError};
use explode_runtime::events::CallLog;
use explode_runtime::stack::simfiles::{DEVICES, mount_by_nodes, profile};
use explode_runtime::stack::{
    Abilities, Asks, Below, Component, ComponentDef, Facts, Inspect, Surface,
};

use crate::canary;
use crate::folder::{PREFIX, StoreFiles};
use crate::owner::{Home, Sharing};
use crate::walk::ROOT;

/// Returns the definition of the component, whose name tells the model.
pub fn def(model: FileModel) -> ComponentDef {
    let name = format!("{model}-files");
    ComponentDef::new(name, "simulated files for code that uses std::fs", move |_| {
        Ok(Box::new(PosixFiles { model, first_device: 0, mounted: None }))
    })
    .modes([Mode::Mem])
}

struct PosixFiles {
    model: FileModel,
    first_device: u32,
    mounted: Option<Rc<Mounted>>,
}

/// Simulated files that code of the store can use.
pub struct Mounted {
    pub home: Home,
    files: SimFiles,
}

impl Mounted {
    /// Runs code of the store. A call that was refused makes the test broken.
    pub fn enter<T>(&self, asks: &Asks, code: impl FnOnce() -> T) -> T {
        let result = self.home.enter(code);
        let refused = self.home.own(|folder| folder.refused.take()).flatten();
        refused.into_iter().for_each(|why| asks.refuse(why));
        result
    }

    /// Makes the folder of a test, if it does not exist, as a durable one.
    pub fn make_folder(&self, folder: &Path) -> Result<()> {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if self.files.find(ROOT, name).is_err() {
            let born = Access::of_new(FileKind::Directory);
            self.files.make(ROOT, name, NewNode::Directory, born)?;
            self.files.sync_node(ROOT, false)?;
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.home.end();
    }
}

/// Records the calls of the store.
struct Record(Option<CallLog>);

impl CallRecorder for Record {
    fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn record(&self, call: FsCall, make: &mut dyn FnMut() -> Result<()>) {
        match &self.0 {
            Some(log) => log.record(call, make),
            // The caller has the result.
            None => _ = make(),
        }
    }
}

impl Component for PosixFiles {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        canary::arrive().map_err(|why| StepError::new(why).blame(Blame::Tool))?;
        let files = mount_by_nodes(self.model, below)?;
        let recorded = ProgramFiles::new(files.clone(), Box::new(Record(below.calls.clone())));
        let home = Home::new(StoreFiles::new(recorded, PREFIX), Sharing::Threads);
        self.first_device = below.first_device;
        self.mounted = Some(Rc::new(Mounted { home, files }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), StepError> {
        if let Some(mounted) = self.mounted.take() {
            mounted.home.end();
            // A clean unmount syncs everything, as umount(2) does.
            mounted.files.sync()?;
        }
        Ok(())
    }

    fn surface(&self) -> Surface {
        match &self.mounted {
            Some(mounted) => Surface::Engine(Rc::clone(mounted) as _),
            None => Surface::Child,
        }
    }

    fn facts(&self) -> Facts {
        Facts::default().devices(DEVICES).promises(profile(self.model, false))
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().inspect(self)
    }
}

impl Inspect for PosixFiles {
    fn describe_sector(&self, device: u32, sector: u64) -> Option<String> {
        self.mounted.as_ref()?.files.describe_sector(self.first_device + device, sector)
    }
}
