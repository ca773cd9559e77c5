//! Soft crashes on a kernel: the disks come from calls that are repeated.

use explode_ramdisk::{Image, Recording};

use super::{Judge, Pipeline};
use crate::base::Fault;
use crate::calls::{Call, Repeat, Trouble, What};
use crate::devices::{Devices, Side};
use crate::stack::Stack;

impl Pipeline<'_> {
    /// Takes the calls behind the operations of the log. The marks do not say what they have written; the hash does.
    pub(super) fn take_calls(&mut self, devices: &Devices) {
        let calls = devices.take_calls();
        for call in &calls {
            match &call.what {
                What::Write(_, data) | What::Store(_, data) | What::SetAttribute(_, data) => {
                    self.log_hash.update(data)
                }
                _ => {}
            }
        }
        self.disks.extend(calls);
    }

    /// Puts what each operation has changed before its mark, and what was there before into the write set.
    ///
    /// # Errors
    /// A call that cannot be repeated.
    pub(super) fn repeat_calls(&mut self, live: &Devices) -> Result<(), Fault> {
        let systems = live.kernel().map_or(0, super::KernelDisks::followed);
        let judge = self.judge;
        let repeat = |image: &Image, calls: &[Call]| judge.repeat(image, calls, systems);
        let (begin, log) = self.disks.follow(&self.log, &repeat)?;
        self.write_set = self.write_set.settled(begin);
        self.log = log;
        Ok(())
    }
}

impl Judge<'_> {
    /// Repeats calls on the file systems of a disk, on the crash side, unmounts them, and returns what they leave.
    ///
    /// # Errors
    /// The call that cannot be repeated, or what else could not be done.
    fn repeat(self, image: &Image, calls: &[Call], systems: u32) -> Result<Image, (Trouble, String)> {
        let tool = |what: &str| {
            let what = what.to_owned();
            move |why: String| (Trouble::Failed(why), what)
        };
        let settings = &self.plan.settings;
        let devices = self.lab.devices(Side::Crash, image.clone(), Recording::Off, settings.seed);
        let stack =
            Stack::build(&self.plan.stack, &self.registry.components, devices, settings.rules, settings.seed);
        let mut stack = stack.map_err(|error| tool("the stack")(error.to_string()))?;
        let roots = stack.start_file_systems(systems).map_err(|fault| tool("mount")(fault.to_string()))?;
        let mut repeat =
            Repeat::new(&roots, calls).map_err(|trouble| (trouble, "its file system".to_owned()))?;
        for call in calls {
            repeat.call(call).map_err(|trouble| (trouble, call.to_string()))?;
        }
        drop(repeat);
        stack.stop().map_err(|fault| tool("unmount")(fault.to_string()))?;
        stack.devices().image().map_err(|fault| tool("the disks")(fault.to_string()))
    }
}
