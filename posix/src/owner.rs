//! The threads that may touch simulated files, and when.
//!
//! Simulated files are not made for threads: they belong to the thread that mounted them, the
//! *owner*. While the owner runs code of the store ([`Home::enter`]), that code may have threads.
//! Then each call on the files, also one of the owner, holds the owner's lock. At all other times
//! only the owner touches the files: calls of other threads wait until code of their store runs
//! again. So the files of an owner are used by one thread at a time, and a lock lies between any
//! two.
//!
//! An owner can have several mounts: the live files and those of crash disks. The code of at most
//! one of them runs at a time. A thread belongs to the mount whose code has started it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use explode_ramdisk::files::Result;
use nix::errno::Errno;

use crate::folder::StoreFiles;
use crate::settle::Threads;

/// A thread that owns mounts.
struct Owner {
    thread: ThreadId,
    state: Mutex<OwnerState>,
    /// Signalled when the code of another mount runs, a mount ends, or a lock of a file is given
    /// back.
    changed: Condvar,
}

#[derive(Default)]
struct OwnerState {
    /// The mount whose code runs. `None` while the files belong to the owner alone.
    running: Option<u64>,
    /// The number of times that code of a mount has begun to run.
    entered: u64,
    mounts: Mounts,
    next: u64,
}

#[derive(Default)]
struct Mounts(BTreeMap<u64, StoreFiles>);

// SAFETY: A folder is reached through the lock only, by `Home::with` while its code runs and by
// `Home::end`, which only its owner calls. What a folder shares with other objects of its owner,
// the owner uses only while no code of a mount runs, that is, after it has taken the lock to set
// `running`, or the mount is for the owner alone. So no two threads use it at a time, and the lock
// orders their accesses.
unsafe impl Send for Mounts {}

/// The mount that a thread belongs to.
#[derive(Clone)]
pub struct Home {
    owner: Arc<Owner>,
    mount: u64,
    /// The threads that code of the mount has started.
    pub threads: Arc<Threads>,
    /// The path at which the files stand.
    pub prefix: Arc<str>,
    sharing: Sharing,
}

/// The threads that may use the files of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All threads that code of the mount has started, and the owner.
    Threads,
    /// The owner alone.
    OwnerAlone,
}

thread_local! {
    static OWNER: Arc<Owner> = Arc::new(Owner {
        thread: thread::current().id(),
        state: Mutex::default(),
        changed: Condvar::new(),
    });

    /// The mount that this thread belongs to.
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

impl Owner {
    fn lock(&self) -> MutexGuard<'_, OwnerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change. If the same code runs for ten seconds, it may wait for this thread,
    /// which a message says.
    fn wait<'s>(&self, state: MutexGuard<'s, OwnerState>) -> MutexGuard<'s, OwnerState> {
        let entered = state.entered;
        let is_waiting = state.running.is_some();
        let (state, waited) =
            self.changed.wait_timeout(state, LONG).unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && is_waiting && state.entered == entered {
            let name = thread::current().name().unwrap_or("without a name").to_owned();
            message(&format!("the thread {name} waits for its store; {SHARED}"));
        }
        state
    }

    fn set_running(&self, mount: Option<u64>) -> Option<u64> {
        let mut state = self.lock();
        state.entered += u64::from(mount.is_some());
        let before = std::mem::replace(&mut state.running, mount);
        self.changed.notify_all();
        before
    }
}

/// The longest time that code of a store usually runs.
const LONG: Duration = Duration::from_secs(10);

/// The requirement for threads of a store.
const SHARED: &str = "if the store shares threads with other stores of this process, explode-posix \
                      cannot tell whose calls theirs are: give each store threads of its own";

/// The text for a thread that uses files which are not for it.
const FOREIGN: &str = "a thread of the node uses its files, which explode cannot order; a handler \
                       does its work before it returns";

/// Prints a message that has no other way out.
#[expect(clippy::print_stderr, reason = "the thread that could return an error waits")]
fn message(text: &str) {
    eprintln!("explode-posix: {text}");
}

impl Home {
    /// Lets this thread own a mount of simulated files.
    pub fn new(folder: StoreFiles, sharing: Sharing) -> Home {
        let prefix = folder.prefix().into();
        let owner = OWNER.with(Arc::clone);
        let mut state = owner.lock();
        state.next += 1;
        let mount = state.next;
        state.mounts.0.insert(mount, folder);
        drop(state);
        Home { owner, mount, threads: Arc::default(), prefix, sharing }
    }

    /// Returns the mount that this thread belongs to.
    pub fn current() -> Option<Home> {
        HOME.try_with(|home| home.try_borrow().ok()?.clone()).ok().flatten()
    }

    /// Makes this the mount of the present thread, and returns the one before.
    pub fn replace(home: Option<Home>) -> Option<Home> {
        HOME.try_with(|here| here.replace(home)).ok().flatten()
    }

    /// Runs code of the store in this thread, which owns the mount. Before it returns, it waits
    /// until the threads of the store sleep.
    pub fn enter<T>(&self, code: impl FnOnce() -> T) -> T {
        let _entered = Entered::new(self);
        code()
    }

    /// Makes a call on the files. It waits until code of the mount runs.
    ///
    /// # Errors
    /// `EIO` if the mount has ended, and the error of the call.
    pub fn with<T>(&self, call: impl FnOnce(&mut StoreFiles) -> Result<T>) -> Result<T> {
        let mut call = Some(call);
        self.with_until(|folder| call.take().map(|call| call(folder)))
    }

    /// Makes a call on the files again and again until it has a result. After each failed attempt
    /// it waits for a change by another thread.
    ///
    /// # Errors
    /// `EIO` if the mount has ended, and the error of the call.
    pub fn with_until<T>(
        &self,
        mut call: impl FnMut(&mut StoreFiles) -> Option<Result<T>>,
    ) -> Result<T> {
        let mut state = self.owner.lock();
        if self.refuses_threads() && thread::current().id() != self.owner.thread {
            let folder = state.mounts.0.get_mut(&self.mount).ok_or(Errno::EIO)?;
            folder.refused.get_or_insert_with(|| FOREIGN.to_owned());
            return Err(Errno::EIO);
        }
        loop {
            let is_running = state.running == Some(self.mount);
            let folder = state.mounts.0.get_mut(&self.mount).ok_or(Errno::EIO)?;
            if is_running {
                if thread::current().id() != self.owner.thread {
                    self.threads.called();
                }
                self.threads.count_call();
                if let Some(result) = call(folder) {
                    return result;
                }
            } else if thread::current().id() == self.owner.thread {
                // The owner would wait for itself.
                return Err(Errno::EIO);
            }
            state = self.owner.wait(state);
        }
    }

    /// Wakes threads that wait for a change ([`with_until`](Home::with_until)).
    pub fn wake(&self) {
        self.owner.changed.notify_all();
    }

    /// Does work on the files in the thread that owns them, while no code of the store runs.
    pub fn own<T>(&self, work: impl FnOnce(&mut StoreFiles) -> T) -> Option<T> {
        assert_eq!(thread::current().id(), self.owner.thread, "the owner does it");
        self.owner.lock().mounts.0.get_mut(&self.mount).map(work)
    }

    /// Returns true if the owner alone may use the files.
    pub fn refuses_threads(&self) -> bool {
        self.sharing == Sharing::OwnerAlone
    }

    /// Returns true if both are the same mount.
    pub fn is(&self, other: &Home) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner) && self.mount == other.mount
    }

    /// Refuses a call by path of a thread whose mount has ended, while code of another mount of its
    /// owner runs: the call may be one of that code.
    pub fn refuse_if_ended(&self) {
        let mut state = self.owner.lock();
        let running = state.running;
        let OwnerState { mounts: Mounts(mounts), .. } = &mut *state;
        if mounts.contains_key(&self.mount) {
            return;
        }
        if let Some(running) = running.and_then(|running| mounts.get_mut(&running)) {
            let text = format!("a thread of a store that was closed opens files; {SHARED}");
            running.refused.get_or_insert(text);
        }
    }

    /// Ends the mount. Later calls on it fail.
    pub fn end(&self) {
        let folder = self.owner.lock().mounts.0.remove(&self.mount);
        self.owner.changed.notify_all();
        drop(folder);
    }
}

/// Code of a mount that runs in the owner's thread.
struct Entered<'h> {
    home: &'h Home,
    /// The mount whose code ran before.
    running: Option<u64>,
    /// The mount of this thread before.
    before: Option<Home>,
}

impl Entered<'_> {
    fn new(home: &Home) -> Entered<'_> {
        let before = Home::replace(Some(home.clone()));
        Entered { home, running: home.owner.set_running(Some(home.mount)), before }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        Home::replace(self.before.take());
        self.home.threads.settle();
        self.home.owner.set_running(self.running);
    }
}
