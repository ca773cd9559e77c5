//! Sound skipping on the kernel's disks: caches are cold after each restore, and the results with
//! and without skipping are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use explode_kernel::{DiskModel, KernelDisks};
use explode_ramdisk::{Disk, Image, ReadRange, Recording};
use explode_runtime::devices::{Backend, Devices, HostId, Side};
use explode_runtime::plan::Plan;
use explode_runtime::report::{Finding, Summary};
use explode_runtime::stack::Stack;

use crate::cases::Cx;
use crate::report::Report;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case("a restored disk is in no cache, whether it has changed or not", |_| {
        cold(cx.backend)
    });
    for target in ["fs-sync-ext4", "fs-sync-ext2", "fs-sync-vfat"] {
        report.case(&format!("{target}: two recoveries of a disk read the same"), |_| {
            recoveries_read_the_same(cx, &cx.shallow(target));
        });
    }
    for (target, equivalent) in [("fs-sync-ext4", 344), ("fs-sync-ext2", 0), ("fs-sync-vfat", 0)] {
        report.case(&format!("{target}: says the same with skipping and without"), |_| {
            compare(cx, &cx.shallow(target), equivalent);
        });
    }
}

const BLOCK: usize = 4096;

/// Attaches the crash side's disk 0 with these contents, and notes reads.
fn attach(backend: &dyn Backend, image: &Image) -> (Devices, File) {
    let devices = backend.disks(HostId::default(), Side::Crash, image.clone(), Recording::Off, 0);
    devices.note_reads();
    let disks = devices.of_type::<KernelDisks>().expect("they are the kernel's");
    let node = disks.attach(0, 8 * 1024, DiskModel::default()).expect("there is room");
    let file = File::open(node).expect("nobody else has it");
    (devices, file)
}

/// Reads a block as a program does. Returns true if the driver has seen the read.
fn is_seen(devices: &Devices, file: &File, block: u64, byte: u8) -> bool {
    let mut bytes = [0; BLOCK];
    file.read_exact_at(&mut bytes, block * BLOCK as u64).expect("it is there");
    assert_eq!(bytes, [byte; BLOCK], "block {block}");
    let reads = devices.take_reads().expect("the driver says").expect("it was noted");
    reads.contains(&ReadRange::Sectors { dev: 0, block, sectors: u8::MAX })
}

fn cold(backend: &dyn Backend) {
    let mut disk = Disk::new();
    disk.write(0, &[1; 2 * BLOCK]);
    let image = Image::from_iter([(0, disk.clone())]);
    disk.write(0, &[2; BLOCK]);
    let other = Image::from_iter([(0, disk)]);
    for round in 0..3 {
        for (image, block, byte) in [(&image, 0, 1), (&other, 0, 2), (&other, 1, 1), (&image, 1, 1)]
        {
            let (devices, file) = attach(backend, image);
            assert!(is_seen(&devices, &file, block, byte), "round {round}, block {block}");
        }
    }
    // A disk that stays open keeps its cache. The test above would fail like this with a warm
    // cache.
    let (devices, file) = attach(backend, &image);
    assert!(is_seen(&devices, &file, 0, 1));
    drop(devices);
    let (devices, again) = attach(backend, &image);
    assert!(!is_seen(&devices, &again, 0, 1), "a block in the cache is read without the driver");
    drop((file, again, devices));
    let (devices, file) = attach(backend, &image);
    assert!(is_seen(&devices, &file, 0, 1), "it ends with the last user");
}

fn recoveries_read_the_same(cx: Cx<'_>, plan: &Plan) {
    let stack = |side, image| {
        let devices =
            cx.backend.disks(HostId::default(), side, image, Recording::Off, plan.settings.seed);
        if side == Side::Crash {
            devices.note_reads();
        }
        let stack = Stack::build(
            &plan.stack,
            &cx.registry.components,
            devices,
            plan.settings.rules,
            plan.settings.seed,
        );
        stack.expect("its components are there")
    };
    let mut live = stack(Side::Live, Image::new());
    live.start_first().expect("it starts");
    live.stop().expect("it ends");
    let image = live.devices().image().expect("the driver says");
    drop(live);
    let reads = || {
        let mut crashed = stack(Side::Crash, image.clone());
        crashed.recover(&mut |_| Ok(())).expect("it recovers");
        let files = crashed.files().expect("a file system");
        assert!(files.readdir("/").is_ok());
        let reads =
            crashed.devices().take_reads().expect("the driver says").expect("they were noted");
        let blocks = reads.iter().map(|read| match read {
            ReadRange::Sectors { dev: 0, block, sectors: u8::MAX } => *block,
            other => panic!("{other:?}"),
        });
        blocks.collect::<BTreeSet<u64>>()
    };
    let first = reads();
    assert!(first.len() > 1, "{first:?}");
    for _ in 0..3 {
        assert_eq!(reads(), first);
    }
}

/// Returns the results that must be equal.
fn said(summary: &Summary, findings: &[Finding]) -> (Vec<String>, BTreeMap<String, String>) {
    let Summary {
        states,
        operations,
        choices,
        crash_disks,
        distinct,
        left_out,
        by_design,
        broken,
        ..
    } = summary;
    let counts = [states, operations, choices, crash_disks, distinct, left_out, by_design, broken];
    // The last message of a finding has its last count.
    let findings =
        findings.iter().map(|finding| (finding.signature.clone(), finding.count.to_string()));
    (counts.map(ToString::to_string).into(), findings.collect())
}

/// Compares the counts with and without skipping. Some targets find something only two steps deep.
pub fn compare(cx: Cx<'_>, plan: &Plan, equivalent: u64) {
    let (some, some_found) = cx.explore(plan);
    let mut every = plan.clone();
    every.settings.skip = false;
    let (all, all_found) = cx.explore(&every);
    assert_eq!(said(&some, &some_found), said(&all, &all_found));
    assert_eq!(some.equivalent, equivalent.into(), "{some:?}");
    assert_eq!((&all.equivalent, &all.checked), (&0.into(), &all.distinct));
    assert_eq!(&some.checked.0 + &some.equivalent.0, some.distinct.0);
    assert!(some.crash_crash_disks <= all.crash_crash_disks, "{some:?}");
}
