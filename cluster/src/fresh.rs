//! Threads of their own for walks whose nodes depend on the state of their thread, such as the keys
//! of a `HashMap`.

use std::panic::resume_unwind;
use std::thread;

use tracing::Span;

/// A value that is lent to another thread.
struct Lent<T>(T);

// SAFETY: The thread that lends the value does nothing until the other thread has ended. So they
// never use the value at the same time.
unsafe impl<T> Send for Lent<T> {}

/// Runs `work` in a new thread, which begins with `begins`, and waits for its end. Without `begins`
/// the work is done in this thread. Spans of the work are inside the present one.
pub fn apart<T>(begins: Option<fn()>, work: impl FnOnce() -> T) -> T {
    let Some(begins) = begins else { return work() };
    let (work, span) = (Lent(work), Span::current());
    let done = thread::scope(|scope| {
        let run = move || {
            let Lent(work) = { work };
            let _span = span.entered();
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
