//! All combinations of the choices within one mutate, as an odometer whose last choice turns fastest.

use crate::choose::Choice;

/// The script that leads to the combination after `made`, or none after the last: the last choice that has an option left is
/// turned on, what came after it is dropped (it may be other choices next time).
pub(super) fn after(made: &[Choice]) -> Option<Vec<Choice>> {
    let turning = made.iter().rposition(|choice| choice.rank() + 1 < choice.options)?;
    let mut script = made[..=turning].to_vec();
    script[turning] = script[turning].with_rank(script[turning].rank() + 1);
    Some(script)
}
