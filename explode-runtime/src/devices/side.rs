//! The two sets of devices that exist at any time.

/// One of the two sets of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The devices under the live stack.
    Live,
    /// The devices under the stack that is started on a crash disk.
    Crash,
}
