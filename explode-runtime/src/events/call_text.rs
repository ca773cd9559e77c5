//! What was done, as an engineer reads it.

use explode_ramdisk::files::CallText;

use super::what::What;

/// The words for what was done.
pub(super) fn text_of(what: &What) -> CallText {
    let bare = |head: &str| CallText { head: head.to_owned(), span: None, tail: String::new() };
    match what {
        What::Mutate(number) => bare(&format!("(mutate {number})")),
        What::Restart => bare("(unmount and mount)"),
        What::Call(call) => call.text(),
        What::Shell(command) => bare(command),
    }
}
