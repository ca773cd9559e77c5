//! Turns panics of a checked system into errors.
//!
//! To explode a panic is a failure, not a finding, because a checker or a component may have
//! panicked. A call into a checked system written in Rust goes through [`catch_panic`] if nothing
//! else can panic in it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// The number of nested calls of [`catch_panic`] in this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The place of the last panic that is not reported yet.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The message of the last panic that was not asked for yet.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`, and returns a panic as an error with the panic's message and place. Nothing is
/// printed, because thousands of crash disks can make a system panic.
///
/// # Errors
/// Returns an error if `work` panics.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |info| if DEPTH.get() > 0 { note(info) } else { others(info) }));
    });
    DEPTH.set(DEPTH.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    done.map_err(|payload| {
        let place = PLACE.take().map_or_else(String::new, |place| format!(" at {place}"));
        format!("panicked{place}: {}", panic_message(payload.as_ref()))
    })
}

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let words = payload.downcast_ref::<&str>().copied();
    words
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a text")
}

/// Returns the message of the last panic inside of [`catch_panic`] in this thread, once, although
/// the code itself has caught it.
pub fn take_panic_message() -> Option<String> {
    MESSAGE.take()
}

fn note(info: &PanicHookInfo<'_>) {
    PLACE.set(info.location().map(shown));
    MESSAGE.set(Some(panic_message(info.payload()).to_owned()));
}

/// Returns a place that is the same on every machine. A path in cargo's registry is cut to begin
/// with the crate's name.
fn shown(location: &Location<'_>) -> String {
    let file = location.file();
    let crates = file.split_once("/registry/src/").and_then(|(_, file)| file.split_once('/'));
    format!("{}:{}", crates.map_or(file, |(_, file)| file), location.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_words_and_its_place() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let error = catch_panic(|| catch_panic(|| panic!("no {}", "page")).unwrap_err()).unwrap();
        assert!(error.starts_with("panicked at explode-runtime/src/base/panics.rs:"), "{error}");
        assert!(error.ends_with(": no page"), "{error}");
        assert!(catch_unwind(|| panic!("this one is reported")).is_err());
    }
}
