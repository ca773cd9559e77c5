//! Restoring by itself: a disk of the stack's kind on which blocks were written is given its contents back.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explode_ramdisk::{BLOCK_BYTES, Disk, Image, Recording};

use super::{Restore, median_us};
use crate::check::Failure;
use crate::devices::{Lab, Side};
use crate::recover::{Stack, StackSpec, Surface};
use crate::run::{Plan, Registry, RunError};

/// How often.
const TIMES: usize = 51;
/// Blocks that are written before each time, all over the disk.
const BLOCKS: u64 = 20;

/// Measures the first device of the stack, brought up as a crash disk; nothing if it is none of the kernel's.
pub(super) fn measure(registry: &Registry, plan: &Plan, lab: &Lab) -> Result<Option<Restore>, RunError> {
    let device = StackSpec(plan.stack.0.iter().take(1).cloned().collect());
    let settings = &plan.settings;
    let bring_up = |image: Image| {
        let devices = lab.devices(Side::Crash, image, Recording::Off, settings.seed);
        let mut stack = Stack::build(&device, registry, devices, settings.rules, settings.seed)?;
        stack.recover().map_err(broken)?;
        Ok::<Stack, RunError>(stack)
    };
    let Some(node) = node(&bring_up(Image::new())?) else { return Ok(None) };
    let bytes = size(&node).map_err(failed)?;
    let at: Vec<u64> =
        (0..BLOCKS).map(|index| bytes / BLOCKS / BLOCK_BYTES as u64 * index * BLOCK_BYTES as u64).collect();
    let mut disk = Disk::new();
    for byte in &at {
        disk.write(byte / 512, &[1; BLOCK_BYTES]);
    }
    let image = Image::from_iter([(0, disk)]);
    let mut times: Vec<Duration> = Vec::new();
    drop(bring_up(image.clone())?);
    for _ in 0..TIMES {
        write(&node, &at).map_err(failed)?;
        let started = Instant::now();
        let stack = bring_up(image.clone())?;
        times.push(started.elapsed());
        drop(stack);
    }
    let us = median_us(&mut times).expect("there are some");
    Ok(Some(Restore { blocks: at.len(), mib: bytes as f64 / f64::from(1 << 20), us }))
}

fn node(stack: &Stack) -> Option<PathBuf> {
    match stack.top() {
        Surface::Block(node) => Some(node),
        _ => None,
    }
}

fn size(node: &Path) -> io::Result<u64> {
    File::open(node)?.seek(SeekFrom::End(0))
}

/// Writes blocks by requests; when the node is closed nobody has the disk open.
fn write(node: &Path, at: &[u64]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(node)?;
    at.iter().try_for_each(|byte| file.write_all_at(&[2; BLOCK_BYTES], *byte))?;
    file.sync_all()
}

fn broken(failure: Failure) -> RunError {
    RunError::Broken(format!("a disk cannot be restored: {failure:?}"))
}

fn failed(error: io::Error) -> RunError {
    RunError::Broken(format!("a disk cannot be written: {error}"))
}
