//! The floor: a plain loop that restores and checks the same disks without explode. It has its own
//! disk and knows beforehand which blocks to write.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use explode_ramdisk::{BLOCK_BYTES, Disk, Image, SECTOR_BYTES};

use explode_kernel::UnrecordedDisk;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::stack::{BaselineCheck, Stack};

/// The plain loop over crash disks.
pub(super) struct BaselineLoop {
    disk: UnrecordedDisk,
    check: BaselineCheck,
    steps: Vec<BaselineStep>,
    changed: Vec<u32>,
}

/// The changes that turn the disk, as the check of the disk before leaves it, into the next disk.
struct BaselineStep {
    wanted: Disk,
    /// The changed blocks, in order of their numbers, each once.
    blocks: Vec<(u32, Box<[u8; BLOCK_BYTES]>)>,
}

impl BaselineLoop {
    /// Returns the loop over these images. `None` if the stack defines no check without explode.
    pub fn of(stack: &Stack, images: &[Image]) -> Result<Option<BaselineLoop>, StepError> {
        let Some((node, check)) = stack.baseline() else { return Ok(None) };
        let bytes =
            File::open(&node).and_then(|mut node| node.seek(SeekFrom::End(0))).map_err(broken)?;
        let disk = UnrecordedDisk::create(bytes / SECTOR_BYTES as u64).map_err(broken)?;
        let wanted: Vec<Disk> =
            images.iter().map(|image| image.disk(0).cloned().unwrap_or_default()).collect();
        let last = wanted.last().cloned().unwrap_or_default();
        for block in last.blocks() {
            disk.write(block as u32, last.block(block));
        }
        let befores = std::iter::once(&last).chain(&wanted);
        let steps = wanted.iter().zip(befores).map(|(wanted, before)| {
            let blocks = before.changed_blocks(wanted).into_iter().map(|block| block as u32);
            let blocks =
                blocks.map(|block| (block, Box::new(*wanted.block(block.into())))).collect();
            BaselineStep { wanted: wanted.clone(), blocks }
        });
        let mut floor = BaselineLoop { disk, check, steps: steps.collect(), changed: Vec::new() };
        // A check writes the same blocks each time, so two rounds find all of them.
        floor.round()?;
        floor.round()?;
        Ok(Some(floor))
    }

    /// Runs one round and returns its time.
    pub fn round(&mut self) -> Result<Duration, StepError> {
        // The check needs its own thread.
        std::thread::scope(|scope| {
            let round = scope.spawn(|| {
                let started = Instant::now();
                self.steps().map(|()| started.elapsed())
            });
            round.join().expect("it does not panic").map_err(broken)
        })
    }

    /// Returns the average number of blocks that are restored for a disk.
    pub fn blocks(&self) -> f64 {
        let blocks: usize = self.steps.iter().map(|step| step.blocks.len()).sum();
        blocks as f64 / self.steps.len() as f64
    }

    fn steps(&mut self) -> io::Result<()> {
        let BaselineLoop { disk, check, steps, changed } = self;
        for step in steps {
            disk.take_changed(changed)?;
            for block in changed.iter() {
                step.add(*block);
            }
            for (block, bytes) in &step.blocks {
                disk.write(*block, bytes);
            }
            check(disk.path())?;
        }
        Ok(())
    }
}

impl BaselineStep {
    /// Adds a block to those that the step restores.
    fn add(&mut self, block: u32) {
        if let Err(at) = self.blocks.binary_search_by_key(&block, |(block, _)| *block) {
            self.blocks.insert(at, (block, Box::new(*self.wanted.block(block.into()))));
        }
    }
}

fn broken(error: io::Error) -> StepError {
    StepError::new(format!("the plain loop failed: {error}")).blame(Blame::Tool)
}
