//! A page of memory that supervisor and worker share. It holds the worker's next step and the
//! supervisor's request to stop.
//!
//! An announcement costs a few stores and survives the death of the worker. There is one writer. It
//! writes to the slot that is not the newest, then increments the count. A reader that finds the
//! same count before and after has read a whole slot.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::verdict::WorkerStep;

const WORDS: usize = StepPage::BYTES as usize / 8;
/// The offsets of the fields, in words.
const COUNT: usize = 0;
const STOP: usize = 1;
const SLOTS: [usize; 2] = [8, 24];
/// The number of words of a step in postcard's form. In a slot they follow the number of checks.
const STEP_WORDS: usize = 8;

/// A mapping of the shared page.
#[derive(Debug)]
pub struct StepPage {
    at: NonNull<AtomicU64>,
}

impl StepPage {
    /// The size of the page's file, in bytes.
    pub const BYTES: u64 = 4096;

    /// Creates the page in an empty file. A file in memory is best.
    ///
    /// # Errors
    /// The file cannot be resized or mapped.
    pub fn create(file: &File) -> Result<StepPage, Errno> {
        nix::unistd::ftruncate(file, StepPage::BYTES as i64)?;
        StepPage::map(file)
    }

    /// Maps the page of a file that [`StepPage::create`] has prepared.
    ///
    /// # Errors
    /// The file does not have the size of a page, or cannot be mapped.
    pub fn map(file: &File) -> Result<StepPage, Errno> {
        if file.metadata().map_or(0, |metadata| metadata.len()) != StepPage::BYTES {
            return Err(Errno::EINVAL);
        }
        let length = NonZeroUsize::new(StepPage::BYTES as usize).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses the address of this new mapping, so it overlaps no memory in
        // use.
        let at = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file, 0)? };
        Ok(StepPage { at: at.cast() })
    }

    /// Announces the next step and the number of checks that the unit has made. For the worker.
    pub fn announce(&self, step: WorkerStep, checked: u64) {
        let words = self.words();
        let count = words[COUNT].load(Ordering::Relaxed).wrapping_add(1);
        let slot = SLOTS[(count & 1) as usize];
        let mut bytes = [0; STEP_WORDS * 8];
        postcard::to_slice(&step, &mut bytes).expect("a step is shorter than a slot");
        words[slot].store(checked, Ordering::Relaxed);
        for (word, bytes) in words[slot + 1..].iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        words[COUNT].store(count, Ordering::Release);
    }

    /// Returns the number of announcements, the newest step, and the number of checks that the unit
    /// has made. For the supervisor.
    pub fn announced(&self) -> (u64, WorkerStep, u64) {
        let words = self.words();
        loop {
            let count = words[COUNT].load(Ordering::Acquire);
            let slot = SLOTS[(count & 1) as usize];
            let checked = words[slot].load(Ordering::Relaxed);
            let mut bytes = [0; STEP_WORDS * 8];
            for (word, bytes) in words[slot + 1..].iter().zip(bytes.as_chunks_mut::<8>().0) {
                *bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
            std::sync::atomic::fence(Ordering::Acquire);
            if words[COUNT].load(Ordering::Relaxed) == count {
                let step = if count == 0 { None } else { postcard::from_bytes(&bytes).ok() };
                // A worker that writes to a wrong address may leave any bytes here.
                return (count, step.unwrap_or(WorkerStep::Between), checked);
            }
        }
    }

    /// Sets whether the unit must end before its next check. For the supervisor.
    pub fn set_stop(&self, stop: bool) {
        self.words()[STOP].store(stop.into(), Ordering::Relaxed);
    }

    /// Returns true if the unit must end before its next check. For the worker.
    pub fn stop(&self) -> bool {
        self.words()[STOP].load(Ordering::Relaxed) != 0
    }

    fn words(&self) -> &[AtomicU64; WORDS] {
        // SAFETY: the mapping is a page long, aligned to one, and lives as long as self; it is only
        // accessed by atomics, here and in the other process, and any bytes are a valid u64.
        unsafe { self.at.cast().as_ref() }
    }
}

impl Drop for StepPage {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of self, and there is no reference into it. munmap fails only
        // if the range is not a mapping.
        unsafe { munmap(self.at.cast(), StepPage::BYTES as usize) }.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::DiskStage;

    #[test]
    fn the_newest_announcement_is_seen_through_another_mapping() {
        let file = tempfile::tempfile().unwrap();
        let page = StepPage::create(&file).unwrap();
        let other = StepPage::map(&file).unwrap();
        assert_eq!(page.announced(), (0, WorkerStep::Between, 0));
        let step = WorkerStep::Disk { key: u128::MAX, crashes: u32::MAX, stage: DiskStage::Check };
        other.announce(WorkerStep::Start, 0);
        other.announce(step, u64::MAX);
        assert_eq!(page.announced(), (2, step, u64::MAX));
        page.set_stop(true);
        assert!(other.stop());
    }
}
