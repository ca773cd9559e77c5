//! Functions that are called while a program runs, on the thread that waits for it.

use std::cell::RefCell;
use std::thread::LocalKey;

/// The function that is called, if there is one.
pub(crate) type Hook<H> = RefCell<Option<H>>;

/// Sets a hook while `run` runs.
pub(crate) fn with_hook<H: 'static, T>(
    place: &'static LocalKey<Hook<H>>,
    hook: Option<H>,
    run: impl FnOnce() -> T,
) -> T {
    place.set(hook);
    let result = run();
    place.set(None);
    result
}
