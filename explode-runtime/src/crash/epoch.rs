//! Epochs: the parts of an interval in which a crash can leave a disk.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use serde::{Deserialize, Serialize};

/// An epoch of EX-62. A check receives the epoch for which it judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Epoch {
    /// The moment of `check_crashes_now`.
    Now,
    /// The moment of `check_crashes_start`.
    Begin,
    /// After the first event of the interval and before the last.
    InBetween,
    /// The moment of `check_crashes_end`.
    End,
    /// The moment of a soft crash: the current state, with nothing lost.
    Soft,
}

impl Epoch {
    const ALL: [Epoch; 5] = [Epoch::Now, Epoch::Begin, Epoch::InBetween, Epoch::End, Epoch::Soft];

    /// Returns the word for the epoch in reports and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Epoch::Now => "now",
            Epoch::Begin => "begin",
            Epoch::InBetween => "in-between",
            Epoch::End => "end",
            Epoch::Soft => "soft",
        }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of epochs. One image can be possible in several (EX-64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epochs(u8);

impl Epochs {
    /// The number of the bit that marks a soft crash before the last operation of its interval.
    const EARLY: u8 = 7;

    /// The empty set.
    pub const NONE: Epochs = Epochs(0);

    /// Returns the set of this epoch if `condition` is true, and the empty set otherwise.
    pub fn only_if(epoch: Epoch, condition: bool) -> Epochs {
        Epochs(u8::from(condition) << epoch as u8)
    }

    /// Returns the set of a soft crash after an operation of an interval. `last` is true for the
    /// last operation.
    pub(super) fn soft(last: bool) -> Epochs {
        Epochs(Epochs::only_if(Epoch::Soft, true).0 | u8::from(!last) << Epochs::EARLY)
    }

    /// Returns the epoch that a check receives for an epoch in the set. A soft crash before the
    /// last operation of an interval is judged as a crash in between.
    pub fn judged_as(self, epoch: Epoch) -> Epoch {
        let early = self.0 & 1 << Epochs::EARLY != 0;
        if epoch == Epoch::Soft && early { Epoch::InBetween } else { epoch }
    }

    /// Returns true if the epoch is in the set.
    pub fn contains(self, epoch: Epoch) -> bool {
        self.0 & 1 << epoch as u8 != 0
    }

    /// Returns the epochs in the order of [`Epoch`].
    pub fn iter(self) -> impl Iterator<Item = Epoch> {
        Epoch::ALL.into_iter().filter(move |epoch| self.contains(*epoch))
    }
}

impl BitOr for Epochs {
    type Output = Epochs;
    fn bitor(self, other: Epochs) -> Epochs {
        Epochs(self.0 | other.0)
    }
}

impl BitOrAssign for Epochs {
    fn bitor_assign(&mut self, other: Epochs) {
        self.0 |= other.0;
    }
}
