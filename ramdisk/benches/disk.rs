//! Measures the cost of copying, restoring and changing a disk. The three sizes show that the cost
//! does not depend on the size.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use explode_ramdisk::{BLOCK_BYTES, Disk, SECTOR_BYTES};

const MIB: u64 = 1 << 20;
/// The name, the size in bytes, and N: one block in N is filled. At most 256 MiB are in memory.
const DISKS: [(&str, u64, u64); 3] =
    [("16MiB", 16 * MIB, 1), ("256MiB", 256 * MIB, 4), ("4GiB", 4096 * MIB, 16)];
const SECTORS_PER_BLOCK: u64 = (BLOCK_BYTES / SECTOR_BYTES) as u64;

fn filled(bytes: u64, one_of: u64) -> Disk {
    let mut disk = Disk::new();
    for block in (0..bytes / BLOCK_BYTES as u64).step_by(one_of as usize) {
        disk.write(block * SECTORS_PER_BLOCK, &contents(block));
    }
    disk
}

/// Returns a block in which every sector differs from those of other numbers.
fn contents(number: u64) -> [u8; BLOCK_BYTES] {
    let mut block = [1; BLOCK_BYTES];
    for sector in block.chunks_exact_mut(SECTOR_BYTES) {
        sector[..8].copy_from_slice(&number.to_le_bytes());
    }
    block
}

/// Returns writes of 64 different blocks, spread over the disk.
fn writes(bytes: u64) -> Vec<(u64, [u8; BLOCK_BYTES])> {
    let blocks = bytes / BLOCK_BYTES as u64;
    (0..64).map(|number| (number * blocks / 64 * SECTORS_PER_BLOCK, contents(!number))).collect()
}

fn disk(criterion: &mut Criterion) {
    for (name, bytes, one_of) in DISKS {
        let disk = filled(bytes, one_of);
        let writes = writes(bytes);
        let changed = || {
            let mut changed = disk.clone();
            for (sector, data) in &writes {
                changed.write(*sector, data);
            }
            changed
        };

        criterion.bench_function(&format!("snapshot/{name}"), |bencher| {
            bencher.iter(|| black_box(&disk).clone());
        });
        // The measurement includes the drop of the changed disk, which frees the blocks that the
        // writes copied.
        criterion.bench_function(&format!("restore after 64 writes/{name}"), |bencher| {
            bencher.iter_batched(
                changed,
                |mut changed| {
                    changed.clone_from(black_box(&disk));
                    changed
                },
                BatchSize::SmallInput,
            );
        });
        criterion.bench_function(&format!("write and identity/{name}"), |bencher| {
            let mut disk = disk.clone();
            let mut number = 0;
            bencher.iter(|| {
                number += 1;
                let (sector, _) = writes[number as usize % writes.len()];
                disk.write(sector, &contents(number));
                disk.identity()
            });
        });
        criterion.bench_function(
            &format!("snapshot, 64 writes, what has changed/{name}"),
            |bencher| {
                bencher.iter(|| changed().changed_blocks(black_box(&disk)));
            },
        );
    }
}

criterion_group!(benches, disk);
criterion_main!(benches);
