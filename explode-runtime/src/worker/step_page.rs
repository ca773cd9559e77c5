//! A page of memory that supervisor and worker share: what the worker is about to do, and whether
//! it shall stop.
//!
//! An announcement costs some stores, and stays when the worker dies. There is one writer; it
//! writes to the slot that is not the newest, then counts. A reader that finds the same count
//! before and after has read a whole slot.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::verdict::WorkerStep;

const BYTES: usize = 4096;
const WORDS: usize = BYTES / 8;
/// Where things are, in words.
const COUNT: usize = 0;
const STOP: usize = 1;
const SLOTS: [usize; 2] = [8, 24];
/// The words of a slot: how many checks were made, then the step in postcard's form.
const STEP_WORDS: usize = 8;

/// The page.
#[derive(Debug)]
pub struct StepPage {
    at: NonNull<AtomicU64>,
}

impl StepPage {
    /// A new page in an empty file, which is best in memory.
    ///
    /// # Errors
    /// There is no memory.
    pub fn create(file: &File) -> Result<StepPage, Errno> {
        nix::unistd::ftruncate(file, BYTES as i64)?;
        StepPage::map(file)
    }

    /// The page of a file that [`StepPage::create`] has made.
    ///
    /// # Errors
    /// It is no such file.
    pub fn map(file: &File) -> Result<StepPage, Errno> {
        if file.metadata().map_or(0, |metadata| metadata.len()) != BYTES as u64 {
            return Err(Errno::EINVAL);
        }
        let length = NonZeroUsize::new(BYTES).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is there.
        let at = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file, 0)? };
        Ok(StepPage { at: at.cast() })
    }

    /// The worker: what comes next, and how many checks the unit has made.
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

    /// The supervisor: how many announcements there were, the newest one, and how many checks the
    /// unit has made.
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
                // A worker that writes where it must not may leave anything here.
                return (count, step.unwrap_or(WorkerStep::Between), checked);
            }
        }
    }

    /// The supervisor: the unit shall end before its next check, or not.
    pub fn set_stop(&self, stop: bool) {
        self.words()[STOP].store(stop.into(), Ordering::Relaxed);
    }

    /// The worker: shall it?
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
        // SAFETY: this very mapping, and there is no reference into it. An error could only mean
        // that it is not one.
        unsafe { munmap(self.at.cast(), BYTES) }.ok();
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
