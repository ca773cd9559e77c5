// SPDX-License-Identifier: GPL-2.0
//! EKM: what goes on between file systems and disks, logged; time and chance, controlled; functions
//! of the kernel, made to fail.
//!
//! `/dev/ekm` has one log for all block devices that its user watches: buffers that become dirty or
//! are forgotten, requests and their ends, each with the contents it had at that moment. It says
//! which buffers are dirty now, stops the clock that file systems read, makes the kernel's random
//! numbers the same at each run, and lets functions fail where its user asks for it. `wire.rs`
//! describes the calls and the records. Of a file system that its user names it logs the calls that
//! have changed it, too.
//!
//! Invariants:
//!
//! - It only looks on, but for the clock, the random numbers and the failures, and these only while
//!   its user has armed them. When the device is closed, whatever its user has set has ended.
//! - The log has whole records, in the order in which things happened; nothing in it is written
//!   over. What found no room is counted.
//! - All probes are registered when the module is loaded, and gone before it is; but those of
//!   functions that may fail, of which some are entered all the time, and those of calls, only
//!   while its user wants them.
//!
//! # Rooms, bottom first
//!
//! - `bindings`: the kernel's functions and structures, by bindgen
//! - `wire`: the structures and numbers that the module and its user share
//! - `common`: control devices, mapped memory and bios, for both modules
//! - `lock`: the spin lock that the log needs
//! - `log`: the log
//! - `watch`: the devices that are watched
//! - `kprobe`: functions answered for by a handler
//! - `kretprobe`: handlers at the return of functions
//! - `symbols`: names of addresses, and the places of functions
//! - `stacks`: the callers of a function
//! - `buffer`: one buffer head
//! - `pages`: dirty buffers in a page cache
//! - `buffers`: dirty buffers of a device
//! - `trace`: tracepoints: DIRTY, SUBMIT, COMPLETE
//! - `forget`: kprobes: FORGET
//! - `clock`: the clock of file systems
//! - `random`: the kernel's random numbers
//! - `versions`: the versions of btrfs's inodes, which depend on what memory held before
//! - `unset`: bytes on disk that depend on what memory held before
//! - `flusher`: passes of write-back, which take no time
//! - `asked`: requests of other modules for crash checks
//! - `choices`: the choices and their answers: in whose system calls, and by which script
//! - `choose`: choices of other modules
//! - `failures`: kprobes: functions that may fail
//! - `sites`: kprobes: functions that the user names, which may fail
//! - `contents`: the bytes that a call has written
//! - `systems`: the file systems that are followed
//! - `call_record`: the record of one call
//! - `calls`: kretprobes: CALL
//! - `follow`: the file systems whose calls are logged, and their probes
//! - `commit`: file systems that commit without a wait
//! - `device`: the calls of `/dev/ekm`
//! - `marks`: requests of programs for crash checks

use kernel::prelude::*;

mod asked;
#[path = "bindings_generated.rs"]
mod bindings;
mod buffer;
mod buffers;
mod call_record;
mod calls;
mod choices;
mod choose;
mod clock;
mod commit;
#[allow(dead_code)]
mod common;
mod contents;
mod device;
mod failures;
mod flusher;
mod follow;
mod forget;
mod kprobe;
mod kretprobe;
mod lock;
mod log;
mod marks;
mod pages;
mod random;
mod sites;
mod stacks;
mod symbols;
mod systems;
mod trace;
mod unset;
mod versions;
mod watch;
#[path = "abi/src/wire.rs"]
#[allow(dead_code, unreachable_pub)]
mod wire;

use common::control::Registered;
use device::Ekm;
use kprobe::Kprobes;
use marks::Marks;
use trace::Tracepoints;

module! {
    type: Loaded,
    name: "ekm",
    author: "explode",
    description: "Logs buffer and block events; controls clock, random numbers and failures",
    license: "GPL",
}

/// The loaded module. Dropped in this order.
struct Loaded {
    _marks: KBox<Marks>,
    _device: KBox<Registered<Ekm>>,
    _tracepoints: Tracepoints,
    _kprobes: Kprobes,
    _memory: FreeMemory,
}

/// Frees the log and the choices when no probe uses them any more.
struct FreeMemory;

impl Drop for FreeMemory {
    fn drop(&mut self) {
        log::LOG.free();
        choices::CHOICES.free();
        stacks::STACKS.free();
    }
}

impl kernel::Module for Loaded {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let probes = [
            &clock::PROBES[..],
            &random::PROBES[..],
            &versions::PROBES[..],
            &unset::PROBES[..],
            &flusher::PROBES[..],
            &forget::PROBES[..],
        ];
        let kprobes = Kprobes::register(probes.into_iter().flatten())?;
        let tracepoints = Tracepoints::register()?;
        let device = Registered::new(Ekm::new()?, module)?;
        let marks = Marks::register(module)?;
        Ok(Self {
            _marks: marks,
            _device: device,
            _tracepoints: tracepoints,
            _kprobes: kprobes,
            _memory: FreeMemory,
        })
    }
}
