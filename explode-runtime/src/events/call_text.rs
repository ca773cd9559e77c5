//! What was done, as an engineer reads it.

use explode_ramdisk::files::CallText;

use super::logged_call::LoggedAction;

/// The words for what was done.
pub(super) fn text_of(what: &LoggedAction) -> CallText {
    match what {
        LoggedAction::Mutate(number) => CallText::bare(&format!("(mutate {number})")),
        LoggedAction::Restart => CallText::bare("(unmount and mount)"),
        LoggedAction::Call(call) => call.text(),
        LoggedAction::Shell(command) => CallText::bare(command),
    }
}
