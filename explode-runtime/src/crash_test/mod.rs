//! A crash test as a `#[test]`: three functions open a storage engine, do a step of its work, and
//! read its contents. explode does the rest (`docs/start/your-engine.md`).
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
mod each_model;
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
pub use self::replay::{REPLAY, command_of_test};
pub use self::run::CrashTest;
pub use self::step::Step;
use crate::stack::{Below, ComponentDef, simfiles};
use parts::EngineParts;

/// Returns the crash test of a storage engine. It explores all choices of three steps, and crashes
/// during recovery.
///
/// After every crash the store must open and hold the contents after some step: at least all steps
/// that had ended, and possibly the whole step that was running. A step that [is
/// lazy](Step::is_lazy) may be lost.
///
/// - `name` is the name of the test in traces.
/// - `open` opens the store. It makes the store if it does not exist and recovers it after a crash.
///   On a crash disk an error or a panic is a finding. Nothing that the store does when it is
///   dropped after a crash reaches a file.
/// - `step` changes the store, and changes the model in the same way: the contents that the store
///   should have afterwards. Its [choices](Step::choose) lead to all possible continuations. An
///   error fails the test, because without a crash there must be none.
/// - `read` returns the contents of the store. On a crash disk an error or a panic is a finding.
///
/// Each step should leave contents that never existed before. If two steps leave equal contents,
/// the loss of one of them may go unnoticed. The functions must depend on nothing except the files
/// and their arguments.
pub fn crash_test<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    name: &str,
    open: impl Fn(Rc<dyn Files>) -> Result<S> + Send + Sync + 'static,
    step: impl Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync + 'static,
    read: impl Fn(&mut S) -> Result<M> + Send + Sync + 'static,
) -> CrashTest {
    let open_on = move |below: &Below<'_>| open(below.files().map_err(|error| error.to_string())?);
    crash_test_on(name, simfiles::def(), open_on, step, read)
}

/// Returns a crash test of a storage engine on the files that a component offers, of any type.
/// `open` takes them from what is below it. The rest is as for [`crash_test`].
pub fn crash_test_on<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    name: &str,
    files: ComponentDef,
    open: impl Fn(&Below<'_>) -> Result<S> + Send + Sync + 'static,
    step: impl Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync + 'static,
    read: impl Fn(&mut S) -> Result<M> + Send + Sync + 'static,
) -> CrashTest {
    let parts = EngineParts { open: Arc::new(open), step: Arc::new(step), read: Arc::new(read) };
    CrashTest::new(name, files, parts)
}
