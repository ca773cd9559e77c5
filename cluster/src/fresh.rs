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
    let (mut work, mut done) = (Some(work), None);
    in_new_thread(begins, &mut || done = work.take().map(|work| work()));
    done.expect("the thread has done its work")
}

/// Runs `begins` and `work` in a new thread. It is compiled once, not for each type of result.
fn in_new_thread(begins: fn(), work: &mut dyn FnMut()) {
    let (work, span) = (Lent(work), Span::current());
    let done = thread::scope(|scope| {
        let run = move || {
            let Lent(work) = { work };
            let _span = span.entered();
            begins();
            work();
        };
        scope.spawn(run).join()
    });
    if let Err(panic) = done {
        resume_unwind(panic);
    }
}
