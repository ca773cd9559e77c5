// SPDX-License-Identifier: GPL-2.0
//! EKM: what goes on between file systems and disks, logged; time and chance, controlled; functions of the kernel, made to fail.
//!
//! `/dev/ekm` has one log for all block devices that its user watches: buffers that become dirty or are forgotten, requests and
//! their ends, each with the contents it had at that moment. It says which buffers are dirty now, stops the clock that file
//! systems read, makes the kernel's random numbers the same at each run, and lets functions fail where its user says so. `wire.rs`
//! describes the calls and the records. Of a file system that its user names it logs the calls that have changed it, too.
//!
//! Invariants:
//!
//! - It only looks on, but for the clock, the random numbers and the failures, and these only while its user has armed them. When
//!   the device is closed, whatever its user has set has ended.
//! - The log has whole records, in the order in which things happened; nothing in it is written over. What found no room is
//!   counted.
//! - All probes are registered when the module is loaded, and gone before it is; but those of functions that may fail, of which some
//!   are entered all the time, and those of calls, only while its user wants them.
//!
//! | file | what |
//! |---|---|
//! | `device` | the calls |
//! | `log`, `lock` | the log, and the lock that it needs |
//! | `watch` | which devices are watched |
//! | `trace` | tracepoints: DIRTY, SUBMIT, COMPLETE |
//! | `forget` | kprobes: FORGET |
//! | `buffers`, `pages`, `buffer` | dirty buffers: of a device, in a page cache, one |
//! | `clock`, `random` | time and chance |
//! | `versions`, `unset` | what memory held before |
//! | `flusher` | passes of write-back, which take no time |
//! | `failures` | kprobes: functions that may fail |
//! | `sites` | kprobes: likewise, those that the user names |
//! | `choose` | what other modules ask |
//! | `choices` | whether they do: in whose system calls, and by whose answers |
//! | `stacks` | who has called |
//! | `commit` | file systems asked to commit, without waiting |
//! | `symbols` | names of addresses, and where functions lie |
//! | `follow` | which file systems' calls are logged |
//! | `calls`, `contents` | kretprobes: CALL, and what a call has written |
//! | `kprobe`, `kretprobe` | functions answered for by a handler; handlers at their return |

use kernel::prelude::*;

#[path = "bindings_generated.rs"]
mod bindings;
mod buffer;
mod buffers;
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
mod pages;
mod random;
mod sites;
mod stacks;
mod symbols;
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
use trace::Tracepoints;

module! {
    type: Loaded,
    name: "ekm",
    author: "explode",
    description: "Events between file systems and disks, and the clock and random numbers of file systems",
    license: "GPL",
}

/// The loaded module. Dropped in this order.
struct Loaded {
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
        Ok(Self { _device: device, _tracepoints: tracepoints, _kprobes: kprobes, _memory: FreeMemory })
    }
}
