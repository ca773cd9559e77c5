//! What a crash may leave at two moments.

use explode_runtime::crash::Epoch;

/// Two of a kind: what a crash may leave while the last step is taken, and once it has returned.
#[derive(Clone, Debug, Default, Hash)]
pub struct Moments<T> {
    /// While the last step is taken: before it, and with any part of it.
    pub during: T,
    /// Since it has returned.
    pub now: T,
}

impl<T: Clone> Moments<T> {
    /// The same at both.
    pub fn new(now: T) -> Moments<T> {
        Moments { during: now.clone(), now }
    }

    /// A step is being taken whose changes are volatile in `now` already; what it forces is not
    /// stable yet.
    pub fn begin(&mut self) {
        self.during.clone_from(&self.now);
    }

    /// What a crash of this epoch may leave.
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
    fn what_a_step_forces_is_stable_once_it_has_returned() {
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
