//! A component whose facts do not follow from its options alone is named, and nothing on its disks
//! is taken for an error of the checked system.

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, StepError};
use explode_runtime::check::{Checker, CheckerDef, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::Registry;
use explode_runtime::report::Message;
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Stack, Surface};
use explode_runtime::verdict::CheckError;

use crate::common::{self, Said};

/// The call that changes the facts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    AtInit,
    AtRecovery,
    Never,
}

/// A disk whose facts change.
struct Fickle {
    changes: Changes,
    disk: Option<RamDisk>,
    has_changed: bool,
}

impl Component for Fickle {
    fn init(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.has_changed |= self.changes == Changes::AtInit;
        Ok(())
    }
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.disk = Some(RamDisk::new(below.devices.storage()?.clone(), below.first_device, 64));
        Ok(())
    }
    fn recover(&mut self, _below: &Below<'_>) -> Result<Recovery, StepError> {
        self.has_changed |= self.changes == Changes::AtRecovery;
        Ok(Recovery::Clean)
    }
    fn surface(&self) -> Surface {
        self.disk.clone().map_or(Surface::Child, Surface::Disk)
    }
    fn facts(&self) -> Facts {
        let version = if self.has_changed { "2" } else { "1" };
        Facts::default().devices(1).version("fickle", version)
    }
}

/// A checker that writes one sector, reads it after a crash, and accepts what it finds.
struct OneWrite;

impl Checker for OneWrite {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        cx.stack().disk()?.write(0, &[7; 512], Flags::NONE);
        cx.check_crashes_now(self, &[])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        stack.disk()?.read(0, &mut [0; 512]);
        Ok(())
    }
}

fn run(changes: Changes) -> Said {
    let fickle = move || Fickle { changes, disk: None, has_changed: false };
    let disk =
        ComponentDef::new("disk", "a disk whose facts change", move |_| Ok(Box::new(fickle())));
    let checker = CheckerDef::new("test", "a checker for tests", |_| Ok(Box::new(OneWrite)));
    let registry = Registry {
        components: [disk.modes([Mode::Mem])].into(),
        checkers: [checker].into(),
        ..Registry::default()
    };
    common::run(&registry, &common::plan(1))
}

/// The words of the message.
const CHANGED: &str =
    "the facts of the component 'disk' have changed; let facts() use its options alone";

#[test]
fn facts_that_change_after_a_crash_are_named() {
    let said = run(Changes::Never);
    assert_eq!((&said.summary().checked, &said.summary().broken), (&2.into(), &0.into()));
    let said = run(Changes::AtRecovery);
    let broken = said.messages.iter().filter_map(|message| match message {
        Message::Broken { message, .. } => Some(message.as_str()),
        _ => None,
    });
    assert_eq!(broken.collect::<Vec<_>>(), [format!("panicked: {CHANGED}")]);
    assert_eq!((&said.summary().broken, &said.summary().findings), (&2.into(), &0.into()));
}

#[test]
#[should_panic(expected = "the facts of the component 'disk' have changed")]
fn facts_that_change_before_a_crash_end_the_run() {
    run(Changes::AtInit);
}
