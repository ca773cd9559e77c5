//! Ctrl-C: the first one ends the run after the current step, the second one ends this process.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(_signal: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Lets SIGINT and SIGTERM end this process, even if it was started with SIGINT ignored, as a
/// shell's background jobs are.
pub fn by_default() {
    set(SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty()));
}

/// Returns a flag that SIGINT and SIGTERM set. The second signal of either kind ends this process,
/// as by default.
pub fn watch() -> &'static AtomicBool {
    set(SigAction::new(SigHandler::Handler(interrupt), SaFlags::SA_RESETHAND, SigSet::empty()));
    &INTERRUPTED
}

/// Returns true after the first SIGINT or SIGTERM since [`watch`].
pub fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

fn set(action: SigAction) {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the only handler stores to an atomic, which is async-signal-safe. If it cannot be
        // set, the signal ends this process at once.
        let _ = unsafe { sigaction(signal, &action) };
    }
}
