//! The text of an action for an engineer.

use explode_ramdisk::files::CallText;

use super::logged_call::LoggedAction;

/// Returns the text of an action.
pub(super) fn text_of(action: &LoggedAction) -> CallText {
    match action {
        LoggedAction::Mutate(number) => CallText::bare(&format!("(mutate {number})")),
        LoggedAction::Restart => CallText::bare("(unmount and mount)"),
        LoggedAction::Call(call) => call.text(),
        LoggedAction::Shell(command) => CallText::bare(command),
    }
}
