//! Turns: which session this thread's calls into SQLite belong to, and the lock that keeps turns of
//! threads apart.
//!
//! Invariants: SQLite is called only within a [`SessionTurn`] (opening, use and closing of a
//! `Database`); [`callback`] gives a method of the VFS the session of the innermost turn of its
//! thread, or refuses.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::ffi::SQLITE_IOERR;

use super::random::{self, Random};
use super::stack::LockStack;

/// Held for the length of a turn, because SQLite's random generator is one for the process.
static TURNS: Mutex<()> = Mutex::new(());

thread_local! {
    static CURRENT: RefCell<Option<Rc<Session>>> = const { RefCell::new(None) };
}

/// One open database: what the methods of the VFS need to know of who calls.
pub(super) struct Session {
    /// Whose files it uses.
    pub stack: Rc<LockStack>,
    /// What new files say about overwrites (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`).
    pub powersafe_overwrite: bool,
    /// Where SQLite's randomness comes from.
    pub random: Random,
    crashed: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl Session {
    /// A session that has had no turn.
    pub fn new(stack: Rc<LockStack>, powersafe_overwrite: bool, random: Random) -> Rc<Session> {
        let (crashed, panic) = (Cell::new(false), Cell::new(None));
        Rc::new(Session { stack, powersafe_overwrite, random, crashed, panic })
    }

    /// From now on everything but closing fails: no call of this session reaches the files.
    pub fn crash(&self) {
        self.crashed.set(true);
    }

    /// `SQLITE_IOERR` after a crash.
    pub fn alive(&self) -> Result<(), c_int> {
        if self.crashed.get() { Err(SQLITE_IOERR) } else { Ok(()) }
    }

    fn keep_panic(&self, payload: Box<dyn Any + Send>) {
        match self.panic.take() {
            // The first one says what went wrong. Dropping a payload could panic.
            Some(first) => {
                self.panic.set(Some(first));
                std::mem::forget(payload);
            }
            None => self.panic.set(Some(payload)),
        }
    }

    /// Goes on with a panic of a method of the VFS, if there was one; for use when the turn has
    /// ended.
    pub fn resume_panic(&self) {
        if let Some(payload) = self.panic.take()
            && !std::thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

/// A call into SQLite: from here until the drop the session is current.
pub(super) struct SessionTurn {
    outer: Option<Rc<Session>>,
    /// Held by the outermost turn of the thread. A panic within a turn leaves nothing broken, so
    /// poison means nothing.
    _lock: Option<MutexGuard<'static, ()>>,
}

impl SessionTurn {
    /// Waits for other threads' turns, and begins one.
    pub fn begin(session: &Rc<Session>) -> SessionTurn {
        let nested = CURRENT.with_borrow(Option::is_some);
        let lock = (!nested).then(|| TURNS.lock().unwrap_or_else(PoisonError::into_inner));
        session.random.next_turn();
        random::forget_state();
        SessionTurn { outer: CURRENT.replace(Some(session.clone())), _lock: lock }
    }
}

impl Drop for SessionTurn {
    fn drop(&mut self) {
        if self.outer.is_some() {
            random::forget_state();
        }
        CURRENT.replace(self.outer.take());
    }
}

/// The body of a method of the VFS, with the session of this thread. Never panics; a panic of
/// `body` is kept for the end of the turn. Without a session, or when `body` panics, the answer is
/// `SQLITE_IOERR`.
pub(super) fn callback(body: impl FnOnce(&Session) -> Result<(), c_int>) -> c_int {
    let outcome = CURRENT.try_with(|current| {
        let current = current.try_borrow().map_err(|_| SQLITE_IOERR)?;
        let session = current.as_deref().ok_or(SQLITE_IOERR)?;
        catch_unwind(AssertUnwindSafe(|| body(session))).unwrap_or_else(|payload| {
            session.keep_panic(payload);
            Err(SQLITE_IOERR)
        })
    });
    match outcome {
        Ok(Ok(())) => rusqlite::ffi::SQLITE_OK,
        Ok(Err(code)) => code,
        Err(_) => SQLITE_IOERR,
    }
}
