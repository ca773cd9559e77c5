//! What was done, as an engineer reads it.

use explode_ramdisk::files::CallText;

use super::what::What;

/// The words for what was done.
pub(super) fn text_of(what: &What) -> CallText {
    match what {
        What::Mutate(number) => CallText::bare(&format!("(mutate {number})")),
        What::Restart => CallText::bare("(unmount and mount)"),
        What::Call(call) => call.text(),
        What::Shell(command) => CallText::bare(command),
    }
}
