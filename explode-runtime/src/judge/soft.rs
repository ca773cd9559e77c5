//! Soft crashes on a kernel: their disks come from repeated calls.

use std::path::PathBuf;

use explode_ramdisk::{Image, Recording};

use super::pipeline::CrashPipeline;
use super::stacks::CrashStacks;
use crate::base::{Blame, StepError};
use crate::devices::{DiskSet, Side};
use crate::stack::Stack;

impl CrashPipeline<'_> {
    /// Takes the calls that made the operations of the log. The marks in the log do not contain the
    /// data of the calls, so the hash is extended with it.
    pub(super) fn take_calls(&mut self, devices: &dyn DiskSet) {
        if let Some(calls) = &mut self.soft {
            calls.take(devices, &mut |data| self.log_hash.update(data));
        }
    }

    /// Repeats the calls. Puts the changes of each operation into the log before its mark, and the
    /// image before all of them into the write set.
    ///
    /// # Errors
    /// A call cannot be repeated.
    pub(super) fn repeat_calls(&mut self, live: &dyn DiskSet) -> Result<(), StepError> {
        let Some(calls) = &mut self.soft else { return Ok(()) };
        let systems = live.kernel().map_or(0, |kernel| kernel.followed());
        let judge = self.judge;
        let on_stack =
            |image: &Image, work: &mut dyn FnMut(&[PathBuf]) -> Result<(), StepError>| {
                judge.on_file_systems(image, systems, work)
            };
        let (begin, log) = calls.follow(&self.log, &on_stack)?;
        self.write_set = self.write_set.settled(begin);
        self.log = log;
        // The events are those of a repetition.
        self.recorded = None;
        Ok(())
    }
}

impl CrashStacks<'_> {
    /// Mounts the file systems of a disk on the crash side, runs `work` on them, unmounts them, and
    /// returns the resulting image.
    ///
    /// # Errors
    /// A file system cannot be mounted or unmounted, or `work` fails.
    fn on_file_systems(
        self,
        image: &Image,
        systems: u32,
        work: &mut dyn FnMut(&[PathBuf]) -> Result<(), StepError>,
    ) -> Result<Image, StepError> {
        let settings = &self.plan.settings;
        let (rules, seed) = (settings.rules, settings.seed);
        let devices =
            self.backend.disks(self.host, Side::Crash, image.clone(), Recording::Off, seed);
        let stack = Stack::build_again(self.blueprint, devices, rules, seed);
        let mut stack = stack.map_err(|error| StepError::new(error).blame(Blame::Tool))?;
        let roots = stack.start_file_systems(systems).map_err(|fault| fault.of("mount"))?;
        work(&roots)?;
        stack.stop().map_err(|fault| fault.of("unmount"))?;
        stack.devices().image().map_err(|fault| fault.of("the disks"))
    }
}
