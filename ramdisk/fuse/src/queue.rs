//! A queue to one thread, whose sender lets go of the queue before it wakes the receiver.
//!
//! The channels of std wake the receiver while they hold a lock. On one processor the receiver then
//! runs at once, waits for that lock, and the processor goes back and forth for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

struct Queue<T> {
    state: Mutex<State<T>>,
    receiver: Thread,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// True until the receiver has gone.
    is_open: bool,
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // A panic between two calls of the queue leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that sends.
pub(crate) struct Sender<T>(Arc<Queue<T>>);

/// The end of the thread that made the queue.
pub(crate) struct Receiver<T>(Arc<Queue<T>>);

/// Returns the ends of a queue to this thread.
pub(crate) fn to_this_thread<T>() -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State { waiting: VecDeque::new(), is_open: true });
    let queue = Arc::new(Queue { state, receiver: thread::current() });
    (Sender(Arc::clone(&queue)), Receiver(queue))
}

impl<T> Sender<T> {
    /// Sends an item.
    ///
    /// # Errors
    /// Returns the item if the receiver has gone.
    pub fn send(&self, item: T) -> Result<(), T> {
        let mut state = self.0.state();
        if !state.is_open {
            return Err(item);
        }
        state.waiting.push_back(item);
        drop(state);
        self.0.receiver.unpark();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Receiver<T> {
    /// Waits for the next item.
    pub fn receive(&self) -> T {
        loop {
            if let Some(item) = self.0.state().waiting.pop_front() {
                return item;
            }
            thread::park();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_open = false;
        let unanswered = std::mem::take(&mut state.waiting);
        drop(state);
        drop(unanswered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_arrive_in_order_and_come_back_when_the_receiver_has_gone() {
        let (sender, receiver) = to_this_thread();
        let of_other = sender.clone();
        let other = thread::spawn(move || (0..10_000).for_each(|n| of_other.send(n).unwrap()));
        assert!((0..10_000).all(|n| receiver.receive() == n));
        other.join().unwrap();
        // What waits when the receiver goes is dropped then, and not with the last sender.
        let held = Arc::new(());
        let (of_held, waits) = to_this_thread();
        of_held.send(Arc::clone(&held)).unwrap();
        drop(waits);
        assert_eq!(Arc::strong_count(&held), 1);
        drop(receiver);
        assert_eq!(sender.send(1), Err(1));
    }
}
