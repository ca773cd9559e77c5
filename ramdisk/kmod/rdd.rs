// SPDX-License-Identifier: GPL-2.0
//! RDD: RAM disks under control.
//!
//! `/dev/rdd-control` makes and removes disks `/dev/rdd<N>`, gives their contents by mmap, lists
//! the blocks that requests changed or read, makes media fail, and holds completions back.
//! `wire.rs` describes the calls. A disk is a bio-based block device of 512-byte sectors with a
//! volatile write cache, so file systems send it flushes and FUA; being memory, it has nothing to
//! do for them.
//!
//! Invariants:
//!
//! - A request is served whole, by the thread that submits it, under the disk's lock: of two
//!   requests one comes before the other.
//! - It is completed by that thread too, unless the disk's writes end late (`late`).
//! - A request that fails has changed nothing.
//! - RDD itself logs nothing. EKM sees each bio by the block layer's tracepoints, before it comes
//!   here.
//! - A disk that is open, or mapped, stays; so does the module while any disk or control file is
//!   open.
//!
//! # Rooms, bottom first
//!
//! - `bindings`: the kernel's functions and structures, by bindgen
//! - `wire`: the structures and numbers that the module and its user share
//! - `common`: control devices, mapped memory and bios, for both modules
//! - `major`: the disks' major number
//! - `touched`: lists of blocks
//! - `fault`: faults of the medium
//! - `held`: the bios that are held back
//! - `disk`: one disk: its memory and its gendisk, from creation to removal
//! - `late`: writes that are completed as late as possible
//! - `request`: bios, served
//! - `control`: the calls, and the table of disks

use kernel::prelude::*;

#[path = "bindings_generated.rs"]
mod bindings;
#[path = "../../ekm-kmod/common/mod.rs"]
#[allow(dead_code)]
mod common;
mod control;
mod disk;
mod fault;
mod held;
mod late;
mod major;
mod request;
mod touched;
#[path = "../../ekm-kmod/abi/src/wire.rs"]
#[allow(dead_code, unreachable_pub, unused_imports)]
mod wire;

use common::control::Registered;
use control::Disks;

module! {
    type: Rdd,
    name: "rdd",
    author: "explode",
    description: "RAM disks under control",
    license: "GPL",
}

/// The loaded module.
struct Rdd {
    _device: KBox<Registered<Disks>>,
}

impl kernel::Module for Rdd {
    fn init(module: &'static ThisModule) -> Result<Self> {
        Ok(Self { _device: Registered::new(Disks::new()?, module)? })
    }
}
