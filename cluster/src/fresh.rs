//! Threads of their own for walks whose nodes depend on the state of their thread, such as the keys
//! of a `HashMap`.

use std::panic::resume_unwind;
use std::thread;

/// A value that is lent to another thread.
struct Lent<T>(T);

// SAFETY: The thread that lends the value does nothing until the other thread has ended. So they
// never use the value at the same time.
unsafe impl<T> Send for Lent<T> {}

/// Runs `work` in a new thread, which begins with `begins`, and waits for its end. Without `begins`
/// the work is done in this thread.
pub fn apart<T>(begins: Option<fn()>, work: impl FnOnce() -> T) -> T {
    let Some(begins) = begins else { return work() };
    let work = Lent(work);
    let done = thread::scope(|scope| {
        let run = move || {
            let Lent(work) = { work };
            begins();
            Lent(work())
        };
        scope.spawn(run).join()
    });
    match done {
        Ok(Lent(done)) => done,
        Err(panic) => resume_unwind(panic),
    }
}
