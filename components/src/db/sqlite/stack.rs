//! One stack as SQLite sees it: its files, and the locks and shared memory of the open database
//! files.
//!
//! Databases opened on one `Rc<dyn Files>` find the same [`LockStack`], through a table of this
//! thread that does not keep it alive. The table is keyed by the address of the files, which cannot
//! be reused while the stack holds them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use explode_ramdisk::Files;
use nix::errno::Errno;

use super::locks::FileLocks;
use super::shared_memory::SharedMemory;

thread_local! {
    static STACKS: RefCell<BTreeMap<*const (), Weak<LockStack>>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// The next stack's number. Numbers distinguish the stacks of one process and never reach the
/// storage.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The files of a stack, and the state that the connections to them share.
pub(super) struct LockStack {
    /// The number by which open files refer to their stack.
    pub id: u64,
    /// The files of the stack.
    pub files: Rc<dyn Files>,
    nodes: RefCell<BTreeMap<u32, LockNode>>,
    databases: Cell<u64>,
    last_errno: Cell<i32>,
}

/// An open database file (`unixInodeInfo`), shared by the connections that have it open.
#[derive(Default)]
pub(super) struct LockNode {
    users: u32,
    /// The locks of the file.
    pub locks: FileLocks,
    /// The WAL index, while a connection uses one.
    pub memory: Option<SharedMemory>,
}

impl LockStack {
    /// Returns the stack of these files. Makes a new one if no database is open on them in this
    /// thread.
    pub fn of(files: Rc<dyn Files>) -> Rc<LockStack> {
        STACKS.with_borrow_mut(|stacks| {
            let known = stacks.entry(Rc::as_ptr(&files).cast()).or_default();
            known.upgrade().unwrap_or_else(|| {
                let stack = Rc::new(LockStack {
                    id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
                    files,
                    nodes: RefCell::default(),
                    databases: Cell::new(0),
                    last_errno: Cell::new(0),
                });
                *known = Rc::downgrade(&stack);
                stack
            })
        })
    }

    /// Counts a database. Returns the number of databases that were opened before.
    pub fn count_database(&self) -> u64 {
        self.databases.replace(self.databases.get() + 1)
    }

    /// Adds a user of a database file.
    pub fn open_node(&self, inode: u32) {
        self.nodes.borrow_mut().entry(inode).or_default().users += 1;
    }

    /// Removes a user of a database file.
    pub fn close_node(&self, inode: u32) {
        let mut nodes = self.nodes.borrow_mut();
        let Some(node) = nodes.get_mut(&inode) else { return };
        node.users -= 1;
        if node.users == 0 {
            nodes.remove(&inode);
        }
    }

    /// Works on an open database file. Returns `SQLITE_IOERR` if it is not one.
    pub fn with_node<T>(
        &self,
        inode: u32,
        work: impl FnOnce(&mut LockNode) -> T,
    ) -> Result<T, c_int> {
        self.nodes.borrow_mut().get_mut(&inode).map(work).ok_or(rusqlite::ffi::SQLITE_IOERR)
    }

    /// Records the errno of a failed file call and returns SQLite's code for it.
    pub fn failed(&self, errno: Errno, code: c_int) -> c_int {
        self.last_errno.set(errno as i32);
        code
    }

    /// Returns the errno of the last failed call. 0 if none has failed.
    pub fn last_errno(&self) -> i32 {
        self.last_errno.get()
    }
}

impl Drop for LockStack {
    fn drop(&mut self) {
        let address = Rc::as_ptr(&self.files).cast();
        // When the thread is ending, the table may be gone already.
        let _ = STACKS.try_with(|stacks| stacks.borrow_mut().remove(&address));
    }
}
