//! Ctrl-C: the first one asks the run to end after the current step, the second ends this process.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(_signal: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the flag is set by SIGINT and by SIGTERM; the second of each ends this process, as it does by default.
pub fn watch() -> &'static AtomicBool {
    let action = SigAction::new(SigHandler::Handler(interrupt), SaFlags::SA_RESETHAND, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe. Without it the signal ends this process at once.
        let _ = unsafe { sigaction(signal, &action) };
    }
    &INTERRUPTED
}
