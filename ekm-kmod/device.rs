// SPDX-License-Identifier: GPL-2.0
//! The calls of `/dev/ekm`. Only one process at a time can open it. Its settings end when it closes
//! it.
//!
//! Calls run one at a time, under `calls`. mmap takes that lock under the lock of the address
//! space, so code that holds it must not touch user memory.

use core::sync::atomic::{AtomicBool, Ordering};
use kernel::c_str;
use kernel::prelude::*;
use kernel::sync::{new_mutex, Mutex};

use crate::bindings;
use crate::buffers::Devices;
use crate::common::call::{valid, Plain, UserAddress};
use crate::common::control::Control;
use crate::kprobe::Kprobes;
use crate::kretprobe::Kretprobes;
use crate::log::{Event, LOG};
use crate::sites::Sites;
use crate::watch::WATCHES;
use crate::wire::{
    self, Buffers, Clock, Follow, Kinds, LogSize, Mark, OpenFile, Random, Reset, Site, Switch,
    Symbol, Watch,
};
use crate::{choices, clock, commit, failures, follow, random, symbols};

/// The first page of the choices in an mmap offset.
const CHOICES_PAGE: u64 = wire::CHOICES_MMAP / bindings::K_PAGE_SIZE as u64;

/// The control device.
pub(crate) struct Ekm {
    open: AtomicBool,
    /// The probes of functions that may fail. `None` while no user requests them.
    calls: Pin<KBox<Mutex<Option<Probed>>>>,
    /// The probes that follow file systems. `None` until a user requests them. This lock is taken
    /// without the other one, or within it.
    followers: Pin<KBox<Mutex<Option<Kretprobes>>>>,
    devices: Devices,
}

/// The probed functions that may fail.
struct Probed {
    kinds: u32,
    sites: Sites,
    _kinds: Kprobes,
}

impl Ekm {
    /// Makes the device, which no process has open.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            open: AtomicBool::new(false),
            calls: KBox::pin_init(new_mutex!(None, "ekm_calls"), GFP_KERNEL)?,
            followers: KBox::pin_init(new_mutex!(None, "ekm_followers"), GFP_KERNEL)?,
            devices: Devices::new()?,
        })
    }

    /// Runs one call under the lock of calls.
    fn exchange<T: Plain>(
        &self,
        address: UserAddress,
        call: impl FnOnce(&mut T) -> Result,
    ) -> Result {
        address.exchange(|value| {
            let _calls = self.calls.lock();
            call(value)
        })
    }

    /// Starts or stops recording ([`wire::EKM_RECORD`]).
    fn record(switch: &mut Switch) -> Result {
        valid(switch.on <= 1 && switch.reserved == 0)?;
        if switch.on == 1 {
            LOG.require()?;
        }
        switch.on = WATCHES.record(switch.on == 1).into();
        Ok(())
    }

    /// Logs a mark ([`wire::EKM_MARK`]).
    fn mark(mark: &Mark) -> Result {
        LOG.require()?;
        LOG.append(
            &Event { kind: wire::KIND_MARK, sector: mark.value, ..Default::default() },
            0,
            |_| {},
        );
        Ok(())
    }

    /// Probes the functions that may fail ([`wire::EKM_CHOICES`]).
    fn choices(&self, address: UserAddress) -> Result {
        address.exchange(|kinds: &mut Kinds| {
            valid(kinds.kinds & !wire::FAIL_ALL == 0 && kinds.untraced == 0)?;
            let mut probed = self.calls.lock();
            *probed = None;
            if kinds.kinds != 0 {
                choices::CHOICES.make()?;
                let probes = failures::register(kinds)?;
                *probed = Some(Probed { kinds: kinds.kinds, sites: Sites::none(), _kinds: probes });
            }
            Ok(())
        })
    }

    /// Adds a function that the user names ([`wire::EKM_SITE`]).
    fn site(&self, address: UserAddress) -> Result {
        address.exchange(|site: &mut Site| {
            valid(site.unlisted <= 1 && site.listed == 0)?;
            let mut probed = self.calls.lock();
            let probed = probed.as_mut().filter(|probed| probed.kinds & wire::FAIL_PROBE != 0);
            probed.ok_or(EINVAL)?.sites.add(site)
        })
    }

    /// Follows a file system ([`wire::EKM_FOLLOW`]).
    fn follow(&self, follow: &mut Follow) -> Result {
        LOG.require()?;
        follow::exchange(follow, &mut self.followers.lock())
    }

    /// Logs the dirty buffers of a device ([`wire::EKM_BUFFERS`]).
    fn buffers(&self, buffers: &mut Buffers) -> Result {
        let number = WATCHES.device(buffers.device)?;
        LOG.require()?;
        buffers.count = self.devices.log_dirty(buffers.device, number, 0)?;
        Ok(())
    }

    /// Makes the log with a given size ([`wire::EKM_LOG`]).
    fn make_log(size: &mut LogSize) -> Result {
        valid(size.bytes != 0 && size.bytes % wire::LOG_DATA == 0)?;
        if WATCHES.is_recording() {
            return Err(EBUSY);
        }
        size.bytes = LOG.make(size.bytes)?;
        Ok(())
    }
}

impl Control for Ekm {
    const NAME: &'static CStr = c_str!("ekm");
    const HELLO: u32 = wire::EKM_HELLO;

    fn open(&self) -> Result {
        if self.open.swap(true, Ordering::AcqRel) {
            Err(EBUSY)
        } else {
            Ok(())
        }
    }

    fn release(&self) {
        WATCHES.clear();
        follow::clear();
        clock::run();
        random::release();
        choices::CHOICES.disarm();
        // Removing probes takes time, so it is done without the lock.
        let probed = (self.calls.lock().take(), self.followers.lock().take());
        drop(probed);
        LOG.clear();
        self.open.store(false, Ordering::Release);
    }

    fn call(&self, number: u32, address: UserAddress) -> Result {
        match number {
            wire::EKM_WATCH => self.exchange(address, |watch: &mut Watch| {
                WATCHES.set(watch, |device| self.devices.has(device))
            }),
            wire::EKM_RECORD => self.exchange(address, Self::record),
            wire::EKM_MARK => self.exchange(address, |mark: &mut Mark| Self::mark(mark)),
            wire::EKM_BUFFERS => self.exchange(address, |buffers| self.buffers(buffers)),
            wire::EKM_RESET => self.exchange(address, |reset: &mut Reset| LOG.reset(reset)),
            wire::EKM_CLOCK => self.exchange(address, |clock: &mut Clock| clock::set(clock)),
            wire::EKM_RANDOM => {
                self.exchange(address, |random: &mut Random| random::exchange(random))
            }
            wire::EKM_LOG => self.exchange(address, Self::make_log),
            wire::EKM_CHOICES => self.choices(address),
            wire::EKM_SITE => self.site(address),
            wire::EKM_FOLLOW => self.exchange(address, |follow: &mut Follow| self.follow(follow)),
            wire::EKM_SYMBOL => self.exchange(address, |symbol: &mut Symbol| symbols::name(symbol)),
            wire::EKM_START_COMMIT => {
                self.exchange(address, |file: &mut OpenFile| commit::start(file))
            }
            _ => Err(ENOTTY),
        }
    }

    unsafe fn map(&self, vma: *mut bindings::vm_area_struct) -> Result {
        let calls = self.calls.lock();
        // SAFETY: The caller's promise.
        unsafe {
            match (*vma).vm_pgoff as u64 {
                0 => {
                    LOG.require()?;
                    LOG.map(vma)
                }
                CHOICES_PAGE if calls.is_some() => choices::CHOICES.map(vma),
                _ => Err(EINVAL),
            }
        }
    }
}
