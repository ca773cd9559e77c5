//! Calls that simulated files cannot answer. They are refused by name, and the test that made them
//! is broken: its result would say nothing about the store.

use nix::errno::Errno;

use crate::owner::Home;

/// Refuses a call of a store, and returns the error for the caller. The test ends with a text that
/// names the call.
pub fn refuse(home: &Home, call: &str, errno: Errno) -> Errno {
    refuse_with(home, format!("the store uses {call}, which simulated files do not see"), errno)
}

/// Refuses a call of a store, and returns the error for the caller. The test ends with this text.
pub fn refuse_with(home: &Home, text: String, errno: Errno) -> Errno {
    home.with(|folder| {
        folder.refused.get_or_insert(text);
        Ok(())
    })
    .ok();
    errno
}
