//! The states that a crash may leave at two moments.

use explode_runtime::crash::Epoch;

/// A pair of values: one for a crash during the last step, and one for a crash after it has
/// returned.
#[derive(Clone, Debug, Default, Hash)]
pub struct Moments<T> {
    /// The value during the last step: before it, and with any part of it.
    pub during: T,
    /// The value since the step has returned.
    pub now: T,
}

impl<T: Clone> Moments<T> {
    /// Returns a pair with the same value for both moments.
    pub fn new(now: T) -> Moments<T> {
        Moments { during: now.clone(), now }
    }

    /// Begins a step. Its changes are in `now` already and are volatile. The changes that it forces
    /// are not stable yet.
    pub fn begin(&mut self) {
        self.during.clone_from(&self.now);
    }

    /// Returns the value for a crash in this epoch.
    pub fn at(&self, epoch: Epoch) -> &T {
        match epoch {
            Epoch::Begin | Epoch::InBetween => &self.during,
            Epoch::End | Epoch::Now | Epoch::Soft => &self.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_change_is_stable_once_its_step_has_returned() {
        let mut moments = Moments::new(vec!["old"]);
        moments.now.push("new");
        moments.begin();
        moments.now.remove(0);
        for epoch in [Epoch::Begin, Epoch::InBetween] {
            assert_eq!(*moments.at(epoch), ["old", "new"]);
        }
        for epoch in [Epoch::End, Epoch::Now, Epoch::Soft] {
            assert_eq!(*moments.at(epoch), ["new"]);
        }
    }
}
