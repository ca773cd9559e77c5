//! The floor: what checking the same disks costs without explode. Its own disk, its own loop; what
//! to write is known beforehand.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use explode_ramdisk::{BLOCK_BYTES, Disk, Image, SECTOR_BYTES};

use explode_kernel::UnrecordedDisk;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::stack::{BaselineCheck, Stack};

/// A plain loop over crash disks.
pub(super) struct BaselineLoop {
    disk: UnrecordedDisk,
    check: BaselineCheck,
    steps: Vec<BaselineStep>,
    changed: Vec<u32>,
}

/// How one disk is made of the one before it, and of what its check has written.
struct BaselineStep {
    wanted: Disk,
    /// By number; each number stands once.
    blocks: Vec<(u32, Box<[u8; BLOCK_BYTES]>)>,
}

impl BaselineLoop {
    /// The loop over these images, if the stack can say what a check is without us.
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
        // What a check writes is the same each time: after two rounds it is known.
        floor.round()?;
        floor.round()?;
        Ok(Some(floor))
    }

    /// One round; how long it took.
    pub fn round(&mut self) -> Result<Duration, StepError> {
        // On a thread of its own, as the check wants it.
        std::thread::scope(|scope| {
            let round = scope.spawn(|| {
                let started = Instant::now();
                self.steps().map(|()| started.elapsed())
            });
            round.join().expect("it does not panic").map_err(broken)
        })
    }

    /// How many blocks are restored for a disk, on average.
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
    /// This block is restored too.
    fn add(&mut self, block: u32) {
        if let Err(at) = self.blocks.binary_search_by_key(&block, |(block, _)| *block) {
            self.blocks.insert(at, (block, Box::new(*self.wanted.block(block.into()))));
        }
    }
}

fn broken(error: io::Error) -> StepError {
    StepError::new(format!("the plain loop failed: {error}")).blame(Blame::Tool)
}
