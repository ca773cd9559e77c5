//! Threads of a stack are held back, if what they do is chosen.

use crate::base::Fault;
use crate::stack::Stack;

/// A stack was started: from now on its threads are held back, if what they do is chosen.
///
/// # Errors
/// The kernel refuses; or it is not ours.
pub(crate) fn quiesce(stack: &Stack) -> Result<(), Fault> {
    match stack.devices().kernel() {
        Some(disks) if !stack.between().is_none() => disks.quiesce(&stack.threads()),
        _ => Ok(()),
    }
}
