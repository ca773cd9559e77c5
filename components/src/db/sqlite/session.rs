//! Turns: the session to which this thread's calls into SQLite belong, and the lock that separates
//! the turns of threads.
//!
//! Invariants: SQLite is called only within a [`SessionTurn`] (opening, use and closing of a
//! `Database`). [`callback`] gives a method of the VFS the session of the innermost turn of its
//! thread, or fails.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::ffi::SQLITE_IOERR;

use super::random::{self, Random};
use super::stack::LockStack;

/// The lock of a turn. SQLite has one random generator for the process.
static TURNS: Mutex<()> = Mutex::new(());

thread_local! {
    static CURRENT: RefCell<Option<Rc<Session>>> = const { RefCell::new(None) };
}

/// One open database: the state that the methods of the VFS need.
pub(super) struct Session {
    /// The stack whose files it uses.
    pub stack: Rc<LockStack>,
    /// The default of new files for overwrites (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`).
    pub powersafe_overwrite: bool,
    /// The source of SQLite's random numbers.
    pub random: Random,
    crashed: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl Session {
    /// Makes a session that has had no turn.
    pub fn new(stack: Rc<LockStack>, powersafe_overwrite: bool, random: Random) -> Rc<Session> {
        let (crashed, panic) = (Cell::new(false), Cell::new(None));
        Rc::new(Session { stack, powersafe_overwrite, random, crashed, panic })
    }

    /// Makes everything except closing fail from now on, so that no call of this session reaches
    /// the files.
    pub fn crash(&self) {
        self.crashed.set(true);
    }

    /// Returns `SQLITE_IOERR` after a crash.
    pub fn alive(&self) -> Result<(), c_int> {
        if self.crashed.get() { Err(SQLITE_IOERR) } else { Ok(()) }
    }

    fn keep_panic(&self, payload: Box<dyn Any + Send>) {
        match self.panic.take() {
            // The first panic is kept, because it shows the cause. Dropping a payload could panic.
            Some(first) => {
                self.panic.set(Some(first));
                std::mem::forget(payload);
            }
            None => self.panic.set(Some(payload)),
        }
    }

    /// Resumes the panic of a method of the VFS, if there was one. Called after the turn has ended.
    pub fn resume_panic(&self) {
        if let Some(payload) = self.panic.take()
            && !std::thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

/// A call into SQLite. The session is current until this is dropped.
pub(super) struct SessionTurn {
    outer: Option<Rc<Session>>,
    /// The lock, held by the outermost turn of the thread. A panic within a turn leaves nothing
    /// broken, so poison is ignored.
    _lock: Option<MutexGuard<'static, ()>>,
}

impl SessionTurn {
    /// Waits for other threads' turns and begins one.
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

/// Runs the body of a method of the VFS with the session of this thread. Never panics. A panic of
/// `body` is kept for the end of the turn. Returns `SQLITE_IOERR` if there is no session or `body`
/// panics.
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
