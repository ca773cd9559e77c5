//! One call of mutate: what it asks for is answered, and what goes wrong in it is told apart.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::base::panic_words;
use crate::check::Turn;
use crate::check::{Ask, Checker, Cx};
use crate::choose::{Chooser, Point};
use crate::faults::kernel::failed;
use crate::faults::media;
use crate::pipeline::Pipeline;
use crate::stack::Stack;
use crate::verdict::Failure;

/// Calls it.
pub(super) fn mutate(
    checker: &mut dyn Checker,
    stack: &Stack,
    chooser: &mut Chooser,
    fallback: &mut dyn FnMut(&Point<'_>) -> u32,
    pipeline: &RefCell<Pipeline<'_>>,
    ask: &mut dyn FnMut(&Stack, &Ask<'_>) -> Result<(), Failure>,
    turn: &mut dyn FnMut(Turn, &mut Chooser),
) -> Result<(), Failure> {
    // The first contradiction of the log: from there on the write set is wrong, and no disk of it is looked at.
    let contradiction = RefCell::new(None);
    let mut begin = |stack: &Stack| {
        if let Err(error) = pipeline.borrow_mut().begin(stack.devices()) {
            contradiction.borrow_mut().get_or_insert(error);
        }
    };
    // What the crash checks themselves could not do is never excused.
    let unchecked = RefCell::new(None);
    let mut ask = |stack: &Stack, request: &Ask<'_>| match *contradiction.borrow() {
        Some(_) => Err(Failure::Stop),
        None => ask(stack, request).inspect_err(|failure| {
            if let Failure::Broken(why) = failure {
                unchecked.borrow_mut().get_or_insert_with(|| why.clone());
            }
        }),
    };
    let mut cx = Cx::new(stack, chooser, fallback, &mut begin, &mut ask, turn);
    cx.hand_over();
    let result = catch_unwind(AssertUnwindSafe(|| checker.mutate(&mut cx)));
    cx.take_back();
    drop(cx);
    let made = chooser.made();
    let has_gone_bad = media::faults(made).next().is_some() || failed(made).next().is_some();
    if let Some(why) = unchecked.into_inner() {
        return Err(Failure::Broken(why));
    }
    match contradiction.into_inner() {
        Some(fault) => Err(fault.into()),
        // What cannot be done after a block has gone bad, or a function has failed, says nothing; there is no way on from here.
        None if has_gone_bad && matches!(result, Ok(Err(Failure::Broken(_)))) => Err(Failure::Stop),
        None => result.unwrap_or_else(|panic| {
            Err(Failure::Broken(format!("mutate panicked: {}", panic_words(panic.as_ref()))))
        }),
    }
}
