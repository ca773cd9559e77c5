//! The two sets of devices that exist at any time.

/// Which of the two sets of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Under the system that is being driven.
    Live,
    /// Under what is brought up on a crash disk.
    Crash,
}
