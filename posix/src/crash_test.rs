//! A crash test of a store that uses `std::fs`.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_ramdisk::files::FileModel;
use explode_runtime::crash_test::{CrashTest, Result, Step, crash_test_on};
use explode_runtime::stack::{Asks, Below};

use crate::folder::PREFIX;
use crate::mount::{self, Mounted};

/// Returns the crash test of a store that keeps its files with `std::fs`, or with other code that
/// calls the C library.
///
/// `open` gets the path of a folder, which exists. The folder and all below it are simulated files.
/// A crash leaves any state of them that POSIX allows. The rest is as for
/// [`explode_runtime::crash_test::crash_test`]: the other functions, the builder that is returned,
/// findings and their replays.
pub fn crash_test<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    name: &str,
    open: impl Fn(&Path) -> Result<S> + Send + Sync + 'static,
    step: impl Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync + 'static,
    read: impl Fn(&mut S) -> Result<M> + Send + Sync + 'static,
) -> CrashTest {
    crash_test_under(FileModel::Posix, name, open, step, read)
}

/// Returns the same crash test, with the states of files that a crash leaves of another file
/// system.
pub fn crash_test_under<S: 'static, M: Clone + Debug + PartialEq + 'static>(
    model: FileModel,
    name: &str,
    open: impl Fn(&Path) -> Result<S> + Send + Sync + 'static,
    step: impl Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync + 'static,
    read: impl Fn(&mut S) -> Result<M> + Send + Sync + 'static,
) -> CrashTest {
    let folder = folder(name);
    crash_test_on(
        name,
        mount::def(model),
        move |below: &Below<'_>| Open::new(below, &folder, &open),
        move |store: &mut Open<S>, state, cx| store.enter(|store| step(store, state, cx)),
        move |store: &mut Open<S>| store.enter(&read),
    )
}

/// Returns the path of a test's folder.
fn folder(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    Path::new(PREFIX).join(name.chars().map(plain).collect::<String>())
}

/// An open store on its mount.
struct Open<S> {
    /// `None` only while it is dropped.
    store: Option<S>,
    mounted: Rc<Mounted>,
    asks: Asks,
}

impl<S> Open<S> {
    fn new(below: &Below<'_>, folder: &Path, open: &dyn Fn(&Path) -> Result<S>) -> Result<Open<S>> {
        let mounted = below.engine::<Mounted>().map_err(|error| error.to_string())?;
        let asks = below.asks.clone();
        mounted.make_folder(folder)?;
        let store = mounted.enter(&asks, || open(folder))?;
        Ok(Open { store: Some(store), mounted, asks })
    }

    fn enter<T>(&mut self, code: impl FnOnce(&mut S) -> T) -> T {
        let store = self.store.as_mut().expect("the store is open");
        self.mounted.enter(&self.asks, || code(store))
    }
}

impl<S> Drop for Open<S> {
    fn drop(&mut self) {
        let store = self.store.take();
        self.mounted.enter(&self.asks, || drop(store));
    }
}
