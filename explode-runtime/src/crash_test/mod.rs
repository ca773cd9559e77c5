//! A crash test as a `#[test]`: three functions say how a storage engine is opened, what a step of
//! its work is, and what it holds; explode does the rest (`docs/start/your-engine.md`).
//!
//! ```
//! use std::rc::Rc;
//!
//! use explode_runtime::crash_test::{Files, OpenFlags, Result, Step, crash_test};
//!
//! /// A file with a number.
//! type Counter = Rc<dyn Files>;
//!
//! fn open(files: Counter) -> Result<Counter> {
//!     let file = files.open("/counter", OpenFlags::CREATE)?;
//!     files.close(file)?;
//!     files.sync_dir("/")?;
//!     Ok(files)
//! }
//!
//! fn read(files: &mut Counter) -> Result<u8> {
//!     Ok(files.read_file("/counter")?.first().copied().unwrap_or(0))
//! }
//!
//! fn count_on(files: &mut Counter, count: &mut u8, _: &mut Step<'_, '_>) -> Result<()> {
//!     *count += 1;
//!     let file = files.open("/counter", OpenFlags::EXISTING)?;
//!     files.pwrite(file, 0, &[*count])?;
//!     files.fsync(file)?;
//!     Ok(files.close(file)?)
//! }
//!
//! let summary = crash_test("counter", open, count_on, read).depth(5).run();
//! assert_eq!((summary.states, summary.complete), (6.into(), true));
//! ```

mod complete;
mod diverged;
mod engine;
mod model;
mod parts;
mod replay;
mod run;
mod step;

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

pub use explode_ramdisk::files::{Fd, Files, OpenFlags};

pub use self::parts::Result;
pub use self::replay::REPLAY;
pub use self::run::CrashTest;
pub use self::step::Step;
use parts::EngineParts;

/// The crash test of a storage engine: all that three steps can lead to, and crashes during
/// recovery.
///
/// After every crash the store must open, and hold what it held after some step: at least all steps
/// that had ended, and possibly the one that was running, whole. A step that [is
/// lazy](Step::is_lazy) may be lost.
///
/// - `name` names the test in traces.
/// - `open` opens the store, made if it is not there yet, recovered if there was a crash. On a
///   crash disk an error or a panic is a finding. What the store does when it is dropped after a
///   crash reaches no file.
/// - `step` does something to the store, and the same to the state: what the store should hold
///   then. [Choices](Step::choose) that it makes lead to all that may follow. An error fails the
///   test, for without a crash there should be none.
/// - `read` says what the store holds. On a crash disk an error or a panic is a finding.
///
/// A step is best one that leaves what never was before: where two steps leave equal states, the
/// loss of one of them may not be seen. What the functions do must depend on nothing but the files
/// and their arguments.
pub fn crash_test<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    name: &str,
    open: impl Fn(Rc<dyn Files>) -> Result<S> + Send + Sync + 'static,
    step: impl Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync + 'static,
    read: impl Fn(&mut S) -> Result<M> + Send + Sync + 'static,
) -> CrashTest {
    CrashTest::new(
        name,
        EngineParts { open: Arc::new(open), step: Arc::new(step), read: Arc::new(read) },
    )
}
