//! Time: what the clocks of hosts show, and which timers and messages may be due.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A time of the world, in nanoseconds since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// Returns the time in whole milliseconds.
    pub fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, other: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_millis())
    }
}

/// Returns a number of milliseconds as a duration.
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The rule by which timers fire and messages arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Any armed timer may fire at any moment, and any message may arrive at any moment. Each step
    /// takes a millisecond. A comparison of times ([`Host::has_passed`](crate::node::Host)) is a
    /// choice.
    #[default]
    Any,
    /// The next event is the one that is due first. A message takes one of these latencies, which
    /// is a choice. Timers fire when they are due. Hosts' clocks agree.
    Ordered {
        /// The latencies of messages, at least one.
        latencies: Vec<Duration>,
    },
    /// Like `Ordered`, but the clock of each host is slow, right or fast, which is a choice at the
    /// beginning.
    Skewed {
        /// The latencies of messages, at least one.
        latencies: Vec<Duration>,
        /// The error of a slow or a fast clock, in thousandths, below 1000.
        per_mille: u32,
    },
}

impl Timing {
    /// Returns true if the next event is the one that is due first.
    pub fn is_ordered(&self) -> bool {
        *self != Timing::Any
    }

    /// Returns the latencies of messages. Empty if a message may arrive at any moment.
    pub fn latencies(&self) -> &[Duration] {
        match self {
            Timing::Any => &[],
            Timing::Ordered { latencies } | Timing::Skewed { latencies, .. } => latencies,
        }
    }

    /// Returns the error of a slow or a fast clock, in thousandths.
    pub fn skew(&self) -> u32 {
        match self {
            Timing::Skewed { per_mille, .. } => *per_mille,
            Timing::Any | Timing::Ordered { .. } => 0,
        }
    }
}

/// The clock of one host: it runs at `per_mille` thousandths of the world's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostClock {
    /// The pace: 1000 if the clock is right.
    pub per_mille: u32,
}

impl HostClock {
    /// Returns the time that the host's clock shows.
    pub fn shows(self, now: Time) -> Time {
        Time((u128::from(now.0) * u128::from(self.per_mille) / 1000) as u64)
    }

    /// Returns the duration in the world of a duration on the host's clock.
    pub fn in_world(self, duration: Duration) -> Duration {
        if self.per_mille == 1000 { duration } else { duration * 1000 / self.per_mille }
    }
}
