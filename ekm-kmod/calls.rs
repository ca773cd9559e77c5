// SPDX-License-Identifier: GPL-2.0
//! The probes of calls that change a file system. Each call that succeeds is logged at the moment
//! of its effect.
//!
//! | functions | calls |
//! |---|---|
//! | the directory's `create`, `tmpfile`, `mkdir`, `mknod`, `symlink`, `link`, `unlink`, `rmdir`, `rename` | those, open(2) |
//! | `generic_perform_write`, `iomap_file_buffered_write` | write(2) and all that write into the page cache |
//! | `iomap_dio_rw`, `generic_file_direct_write` | write(2) with `O_DIRECT` |
//! | `notify_change` | truncate(2), chmod(2), chown(2), utimes(2) |
//! | `vfs_fallocate`, `__vfs_setxattr_noperm`, `__vfs_removexattr_locked` | fallocate(2), setxattr(2), removexattr(2) |
//! | `do_mmap` | mmap(2): stores through the mapping are not visible |
//! | `generic_remap_file_range_prep`, `vfs_fileattr_set`, `vfs_set_acl`, `vfs_remove_acl` | calls that are not repeated yet |
//!
//! All functions except `vfs_fallocate` and the direct writes return while their caller holds the
//! lock of the changed directory or file. The records of calls that depend on each other are
//! therefore in the order in which the calls took effect. Names are also resolved at that moment.
//! They give the place of the change, whatever path, working directory or descriptor the caller
//! used.

use core::mem::size_of;
use core::ptr;
use kernel::{c_str, ffi, prelude::*};

use crate::bindings::{
    self, dentry, file, inode, inode_operations, kiocb, kretprobe_instance, pt_regs,
};
use crate::call_record::{attributes, Attributes, Call, Text};
use crate::contents::Source;
use crate::kretprobe::{self, Function, Handler, Probe};
use crate::systems;
use crate::wire;

/// The size in bytes of the notes that the two handlers of a probe share.
pub(crate) const NOTES: usize = size_of::<Notes>();

/// The state of a call at its entry.
#[repr(C)]
struct Notes {
    /// The number of the file system in the log.
    system: u32,
    /// The arguments of the function: `di`, `si`, `dx`, `cx`, `r8`, `r9`.
    args: [u64; 6],
    /// The byte offset of a write.
    position: u64,
    /// The source of the bytes of a direct write.
    iter: bindings::iov_iter,
    /// The attributes of the inode before the call.
    before: Attributes,
}

const fn named(name: &'static CStr, entry: Handler, exit: Handler, required: bool) -> Probe {
    Probe { function: Function::Named(name), entry, exit, required }
}

/// Functions that all file systems share.
pub(crate) const NAMED: [Probe; 13] = [
    named(c_str!("generic_perform_write"), enter_write, wrote, true),
    named(c_str!("iomap_file_buffered_write"), enter_write, wrote, false),
    named(c_str!("iomap_dio_rw"), enter_direct, wrote_directly, false),
    named(c_str!("generic_file_direct_write"), enter_direct, wrote_directly, false),
    named(c_str!("notify_change"), enter_change, changed, true),
    named(c_str!("vfs_fallocate"), enter_file, allocated, true),
    named(c_str!("__vfs_setxattr_noperm"), enter_dentry, set_attribute, true),
    named(c_str!("__vfs_removexattr_locked"), enter_dentry, removed_attribute, true),
    named(c_str!("do_mmap"), enter_map, mapped, true),
    named(c_str!("generic_remap_file_range_prep"), enter_third_file, shared, false),
    named(c_str!("vfs_fileattr_set"), enter_dentry, changed_flags, true),
    named(c_str!("vfs_set_acl"), enter_dentry, changed_acl, false),
    named(c_str!("vfs_remove_acl"), enter_dentry, changed_acl, false),
];

/// Returns the probes of a file system's own functions, from the operations of one of its
/// directories.
///
/// # Safety
///
/// `operations` are those of a directory.
pub(crate) unsafe fn own(operations: &inode_operations) -> [Option<Probe>; 9] {
    macro_rules! probe {
        ($function:ident, $entry:ident, $exit:ident) => {
            operations.$function.map(|function| Probe {
                function: Function::At(function as usize),
                entry: $entry,
                exit: $exit,
                required: true,
            })
        };
    }
    let unlink = operations.unlink.map(|function| function as usize);
    [
        probe!(create, enter_second_inode, created),
        probe!(tmpfile, enter_second_inode, made_nameless),
        probe!(mkdir, enter_second_inode, made_directory),
        probe!(mknod, enter_second_inode, made_special),
        probe!(symlink, enter_second_inode, made_symlink),
        probe!(link, enter_second_inode, linked),
        if unlink == operations.rmdir.map(|function| function as usize) {
            probe!(unlink, enter_inode, unlinked_or_removed)
        } else {
            probe!(unlink, enter_inode, unlinked)
        },
        probe!(rmdir, enter_inode, removed_directory),
        probe!(rename, enter_second_inode, renamed),
    ]
}

// --- Entry of a function: the filter for followed file systems
/// Notes the arguments if the inode is in a followed file system. Returns the handler's result: 1
/// if the call is not followed.
///
/// # Safety
///
/// `ri` and `regs` are the handler's arguments. The inode is valid or null.
unsafe fn enter(ri: *mut kretprobe_instance, regs: *mut pt_regs, of: *const inode) -> ffi::c_int {
    // SAFETY: The caller's promise.
    unsafe {
        let Some(system) = systems::system_of(of) else { return 1 };
        let notes = kretprobe::notes::<Notes>(ri);
        (*notes).system = system;
        let regs = &*regs;
        (*notes).args =
            [regs.di as _, regs.si as _, regs.dx as _, regs.cx as _, regs.r8 as _, regs.r9 as _];
        0
    }
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $regs:ident => $inode:expr) => {
        $(#[$doc])*
        unsafe extern "C" fn $name(ri: *mut kretprobe_instance, $regs: *mut pt_regs) -> ffi::c_int {
            // SAFETY: The handler's arguments, and those of the probed function, which are valid.
            unsafe { enter(ri, $regs, $inode) }
        }
    };
}

entry!(/** `(struct inode *, ...)`. */ enter_inode, regs => (*regs).di as *const inode);
entry!(/** `(..., struct inode *, ...)`. */ enter_second_inode, regs => (*regs).si as *const inode);
entry!(/** `(..., struct dentry *, ...)`. */ enter_dentry,
    regs => (*((*regs).si as *const dentry)).d_inode);
entry!(/** `(struct file *, ...)`. */ enter_file, regs => (*((*regs).di as *const file)).f_inode);
entry!(/** `(.., .., struct file *, ...)`. */ enter_third_file,
    regs => (*((*regs).dx as *const file)).f_inode);

/// Probes `ssize_t (struct kiocb *, struct iov_iter *, ...)`.
unsafe extern "C" fn enter_write(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: The handler's arguments, and those of the probed function, which are valid.
    unsafe {
        let io = (*regs).di as *const kiocb;
        (*kretprobe::notes::<Notes>(ri)).position = (*io).ki_pos as u64;
        enter(ri, regs, (*(*io).ki_filp).f_inode)
    }
}

/// Probes `ssize_t (struct kiocb *, struct iov_iter *, ...)`. Ignores reads, which use the same
/// functions.
unsafe extern "C" fn enter_direct(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As above.
    unsafe {
        let iter = (*regs).si as *const bindings::iov_iter;
        if u32::from((*iter).data_source) != bindings::K_ITER_SOURCE {
            return 1;
        }
        ptr::copy_nonoverlapping(iter, &raw mut (*kretprobe::notes::<Notes>(ri)).iter, 1);
        enter_write(ri, regs)
    }
}

/// Probes `int (struct mnt_idmap *, struct dentry *, struct iattr *, struct inode **)`.
unsafe extern "C" fn enter_change(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As above.
    unsafe {
        let inode = (*((*regs).si as *const dentry)).d_inode;
        (*kretprobe::notes::<Notes>(ri)).before = attributes(inode);
        enter(ri, regs, inode)
    }
}

/// Probes `unsigned long (struct file *, unsigned long, unsigned long, unsigned long,
/// unsigned long flags, ...)`.
unsafe extern "C" fn enter_map(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    const MAP_TYPE: u64 = 0xf;
    const MAP_SHARED: u64 = 1;
    const MAP_SHARED_VALIDATE: u64 = 3;
    // SAFETY: As above. A mapping without a file has a null pointer.
    unsafe {
        let file = (*regs).di as *const file;
        let is_shared = matches!((*regs).r8 as u64 & MAP_TYPE, MAP_SHARED | MAP_SHARED_VALIDATE);
        if file.is_null() || !is_shared || (*file).f_mode & bindings::K_FMODE_WRITE == 0 {
            return 1;
        }
        enter(ri, regs, (*file).f_inode)
    }
}

// --- Return of a function: a record

/// Makes a handler of a function that returns 0 on success.
macro_rules! exit {
    ($name:ident, $notes:ident => $call:expr) => {
        unsafe extern "C" fn $name(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
            // SAFETY: The handler's arguments. The arguments of the probed function still exist,
            // because its caller holds them.
            unsafe {
                if (*regs).ax as i32 == 0 {
                    let $notes = &*kretprobe::notes::<Notes>(ri);
                    let call: Call = $call;
                    call.log($notes.system);
                }
            }
            0
        }
    };
}

/// Probes `int (struct mnt_idmap *, struct inode *, struct dentry *, umode_t, dev_t)`. Some file
/// systems also call it to make files and directories. mknod(2) does not make those through it.
unsafe extern "C" fn made_special(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`.
    unsafe {
        let notes = &*kretprobe::notes::<Notes>(ri);
        if (*regs).ax as i32 == 0 {
            let mut call = made(wire::CALL_MKNOD, notes);
            if !matches!(kind(call.inode), S_IFREG | S_IFDIR) {
                call.detail.device = (*call.inode).i_rdev as u32;
                call.log(notes.system);
            }
        }
    }
    0
}

/// Probes `int (struct inode *, struct dentry *)`. Some file systems also call it in their `rmdir`,
/// to remove directories. unlink(2) never removes directories.
unsafe extern "C" fn unlinked(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`.
    unsafe {
        let notes = &*kretprobe::notes::<Notes>(ri);
        if (*regs).ax as i32 == 0 && kind((*name(notes, 1)).d_inode) != S_IFDIR {
            gone(wire::CALL_UNLINK, notes).log(notes.system);
        }
    }
    0
}

/// Returns the type of an inode.
///
/// # Safety
///
/// `inode` is valid.
unsafe fn kind(inode: *const inode) -> u32 {
    // SAFETY: The caller's promise.
    unsafe { u32::from((*inode).i_mode) & S_IFMT }
}

const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;
const S_IFDIR: u32 = 0o040_000;

/// Returns the name that is an argument.
fn name(notes: &Notes, argument: usize) -> *const dentry {
    notes.args[argument] as *const dentry
}

/// Returns a call that has made something under the name in the third argument.
///
/// # Safety
///
/// The third argument is a valid name.
unsafe fn made(what: u64, notes: &Notes) -> Call {
    let path = name(notes, 2);
    // SAFETY: The caller's promise.
    unsafe { Call::of_name(what, (*path).d_inode, path) }
}

exit!(created, notes => made(wire::CALL_CREATE, notes));
exit!(made_directory, notes => made(wire::CALL_MKDIR, notes));
exit!(made_symlink, notes => {
    let other = Text::String(notes.args[3] as *const ffi::c_char);
    Call { other, ..made(wire::CALL_SYMLINK, notes) }
});
exit!(made_nameless, notes => {
    let file = notes.args[2] as *const file;
    Call::of_name(wire::CALL_TMPFILE, (*file).f_inode, (*(*file).f_path.dentry).d_parent)
});
exit!(linked, notes => {
    let old = name(notes, 0);
    let other = Text::Path(name(notes, 2));
    Call { other, ..Call::of_inode(wire::CALL_LINK, (*old).d_inode, old) }
});
// For file systems that use one function as `unlink` and `rmdir`.
exit!(unlinked_or_removed, notes => {
    let is_directory = kind((*name(notes, 1)).d_inode) == S_IFDIR;
    gone(if is_directory { wire::CALL_RMDIR } else { wire::CALL_UNLINK }, notes)
});
exit!(removed_directory, notes => gone(wire::CALL_RMDIR, notes));

/// Returns a call that has removed the name in the second argument. The dentry still exists.
///
/// # Safety
///
/// The second argument is a valid name.
unsafe fn gone(what: u64, notes: &Notes) -> Call {
    let path = name(notes, 1);
    // SAFETY: The caller's promise.
    unsafe { Call::of_name(what, (*path).d_inode, path) }
}

/// Probes `int (struct mnt_idmap *, struct inode *, struct dentry *, struct inode *, struct dentry
/// *, unsigned int flags)`. The dentries still have their names from before the call.
unsafe extern "C" fn renamed(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`.
    unsafe {
        if (*regs).ax as i32 == 0 {
            let notes = &*kretprobe::notes::<Notes>(ri);
            let (old, new) = (name(notes, 2), name(notes, 4));
            let mut call = Call::of_name(wire::CALL_RENAME, (*old).d_inode, old);
            call.other = Text::Path(new);
            call.detail.flags = notes.args[5] as u32;
            if !(*new).d_inode.is_null() {
                call.detail.length = (*(*new).d_inode).i_ino as u64;
            }
            call.log(notes.system);
        }
    }
    0
}

exit!(allocated, notes => {
    let file = notes.args[0] as *const file;
    let mut call = Call::of_inode(wire::CALL_ALLOCATE, (*file).f_inode, (*file).f_path.dentry);
    call.detail.flags = notes.args[1] as u32;
    (call.detail.position, call.detail.length) = (notes.args[2], notes.args[3]);
    call
});
exit!(set_attribute, notes => {
    let len = notes.args[4] as usize;
    let bytes = notes.args[3] as *const u8;
    let source = if len == 0 { Source::Nothing } else { Source::Memory(bytes) };
    let other = Text::String(notes.args[2] as *const ffi::c_char);
    Call { other, source, len, ..about(wire::CALL_SET_ATTRIBUTE, notes) }
});
exit!(removed_attribute, notes => {
    let other = Text::String(notes.args[2] as *const ffi::c_char);
    Call { other, ..about(wire::CALL_REMOVE_ATTRIBUTE, notes) }
});
exit!(changed_flags, notes => about(wire::CALL_FLAGS, notes));
exit!(changed_acl, notes => about(wire::CALL_ACL, notes));
exit!(shared, notes => {
    let file = notes.args[2] as *const file;
    Call::of_inode(wire::CALL_SHARE, (*file).f_inode, (*file).f_path.dentry)
});

/// Returns a call on the inode that the name in the second argument leads to.
///
/// # Safety
///
/// The second argument is a valid name.
unsafe fn about(what: u64, notes: &Notes) -> Call {
    let path = name(notes, 1);
    // SAFETY: The caller's promise.
    unsafe { Call::of_inode(what, (*path).d_inode, path) }
}

/// Probes a function that returns an address or an error.
unsafe extern "C" fn mapped(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`.
    unsafe {
        let result = (*regs).ax as i64;
        if !(-4095..0).contains(&result) {
            let notes = &*kretprobe::notes::<Notes>(ri);
            let file = notes.args[0] as *const file;
            Call::of_inode(wire::CALL_MAP, (*file).f_inode, (*file).f_path.dentry)
                .log(notes.system);
        }
    }
    0
}

/// Logs the attributes that have changed, if any.
unsafe extern "C" fn changed(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`.
    unsafe {
        let notes = &*kretprobe::notes::<Notes>(ri);
        let path = name(notes, 1);
        let (before, after) = (notes.before, attributes((*path).d_inode));
        if (*regs).ax as i32 != 0 || before == after {
            return 0;
        }
        let mut call = about(wire::CALL_CHANGE, notes);
        let has = |changed: bool, bit: u32| if changed { bit } else { 0 };
        call.detail.flags = has(before.size != after.size, wire::CHANGED_SIZE)
            | has(before.mode != after.mode, wire::CHANGED_MODE)
            | has(before.owner != after.owner, wire::CHANGED_OWNER)
            | has(before.times != after.times, wire::CHANGED_TIMES);
        call.detail.position = after.size;
        call.log(notes.system);
    }
    0
}

/// Probes a function that returns the number of bytes written.
unsafe extern "C" fn wrote(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    // SAFETY: As in `exit`. The written bytes are in the page cache.
    unsafe {
        let written = (*regs).ax as i64;
        if written > 0 {
            let notes = &*kretprobe::notes::<Notes>(ri);
            let file = (*(notes.args[0] as *const kiocb)).ki_filp;
            write(notes, written as usize, Source::Cache((*file).f_mapping, notes.position));
        }
    }
    0
}

/// Logs a direct write that has returned, or that has only started.
unsafe extern "C" fn wrote_directly(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> ffi::c_int {
    const EIOCBQUEUED: i64 = 529;
    // SAFETY: As in `exit`. The written bytes are still in the caller's memory.
    unsafe {
        let notes = &*kretprobe::notes::<Notes>(ri);
        match (*regs).ax as i64 {
            written if written > 0 => write(notes, written as usize, Source::User(&notes.iter)),
            // The result is not known yet. The record is marked incomplete.
            result if result == -EIOCBQUEUED => write(notes, 1, Source::Nothing),
            _ => {}
        }
    }
    0
}

/// # Safety
///
/// The first argument is that of a write that has not returned yet.
unsafe fn write(notes: &Notes, len: usize, source: Source) {
    // SAFETY: The caller's promise.
    unsafe {
        let file = (*(notes.args[0] as *const kiocb)).ki_filp;
        let mut call = Call::of_inode(wire::CALL_WRITE, (*file).f_inode, (*file).f_path.dentry);
        (call.source, call.len, call.detail.position) = (source, len, notes.position);
        call.log(notes.system);
    }
}
