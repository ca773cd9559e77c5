// SPDX-License-Identifier: GPL-2.0
//! Starts and stops to follow file systems, with the probes that this needs.
//!
//! Probes are registered when the first file system is followed and stay until the device is
//! closed, because registering them takes longer than a whole test case. The functions of a file
//! system are those in the operations of its root directory, so any file system can be followed.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use kernel::prelude::*;

use crate::bindings::{self, inode, super_block};
use crate::calls;
use crate::common::call::valid;
use crate::kretprobe::Kretprobes;
use crate::systems::FOLLOWED;
use crate::wire::{self, Follow};

/// Stops to follow all file systems.
pub(crate) fn clear() {
    for followed in &FOLLOWED {
        followed.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Starts or stops to follow a file system, or returns the counters ([`wire::EKM_FOLLOW`]). Calls
/// must not overlap.
pub(crate) fn exchange(follow: &mut Follow, probes: &mut Option<Kretprobes>) -> Result {
    let place = FOLLOWED.get(follow.system as usize).ok_or(EINVAL)?;
    match follow.what {
        wire::FOLLOW_ASK => {}
        wire::FOLLOW_END => place.store(ptr::null_mut(), Ordering::Release),
        wire::FOLLOW_BEGIN => begin(follow.file, place, probes)?,
        _ => valid(false)?,
    }
    follow.missed = probes.as_ref().map_or(0, Kretprobes::missed);
    Ok(())
}

fn begin(file: u32, place: &AtomicPtr<super_block>, probes: &mut Option<Kretprobes>) -> Result {
    // SAFETY: Any number is a valid argument. The reference keeps the file.
    let file = unsafe { bindings::fget(file) };
    if file.is_null() {
        return Err(EBADF);
    }
    // SAFETY: The file is held, so its inode exists, and so does the root of its file system while
    // it is mounted.
    let result = unsafe {
        let system = (*(*file).f_inode).i_sb;
        let root = (*(*system).s_root).d_inode;
        probe(root, probes).and_then(|()| {
            valid(!FOLLOWED.iter().any(|other| other.load(Ordering::Acquire) == system))
                .map_err(|_| EEXIST)?;
            place.store(system, Ordering::Release);
            Ok(())
        })
    };
    // SAFETY: `fget` has returned this reference.
    unsafe { bindings::fput(file) };
    result
}

/// Registers the probes that are not registered yet.
///
/// # Safety
///
/// `root` is the inode of a directory.
unsafe fn probe(root: *const inode, probes: &mut Option<Kretprobes>) -> Result {
    let notes = calls::NOTES;
    if probes.is_none() {
        let mut named = Kretprobes::new();
        calls::NAMED.iter().try_for_each(|probe| named.add(probe, notes))?;
        *probes = Some(named);
    }
    // SAFETY: The caller's promise. Operations are static tables.
    let own = unsafe { calls::own(&*(*root).i_op) };
    let probes = probes.as_mut().ok_or(EINVAL)?;
    own.iter().flatten().try_for_each(|probe| probes.add(probe, notes))
}
