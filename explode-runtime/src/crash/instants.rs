//! The instants of an interval at which a crash may happen.

/// Which instants an interval asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instants {
    /// One instant, the last (`check_crashes_now`; EX-61).
    Now,
    /// The same instant, of a soft crash.
    Soft,
    /// The end of each operation of the interval, each of a soft crash (EX-80).
    Prefixes,
    /// All instants from the first to the last (`check_crashes_start` to `check_crashes_end`;
    /// EX-62).
    Interval,
}
