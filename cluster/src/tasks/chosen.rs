//! Tasks whose order is a choice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::oneshot;

thread_local! {
    /// The tasks of the host whose handler runs.
    static CURRENT: RefCell<Weak<ChosenTasks>> = const { RefCell::new(Weak::new()) };
}

/// Starts a task of the host whose task calls this. When several of these tasks are ready, the
/// engine chooses which of them runs until it waits again; each order is possible. Tasks of
/// `tokio::spawn` run before them, first come, first served.
///
/// # Panics
/// Outside of a task of a host.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let (sender, result) = oneshot::channel();
    let tasks = CURRENT.with_borrow(Weak::upgrade);
    let tasks = tasks.expect("explode_cluster::tasks::spawn belongs in a task of a host");
    tasks.add(Box::pin(async move {
        // The task that started this one may not wait for its result.
        sender.send(future.await).ok();
    }));
    JoinHandle { result }
}

/// Waits for the result of a task of [`spawn`]. The task goes on if this is dropped.
#[derive(Debug)]
pub struct JoinHandle<T> {
    result: oneshot::Receiver<T>,
}

/// A task has panicked. That is a finding, and the walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPanicked;

impl fmt::Display for TaskPanicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task has panicked")
    }
}

impl Error for TaskPanicked {}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, TaskPanicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(cx).map_err(|_| TaskPanicked)
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The numbers of the tasks that are ready, in the order in which they were woken.
type ReadyTasks = Arc<Mutex<Vec<u32>>>;

/// The tasks of a host whose order is a choice.
#[derive(Default)]
pub(super) struct ChosenTasks {
    tasks: RefCell<BTreeMap<u32, Task>>,
    ready: ReadyTasks,
    next: Cell<u32>,
}

/// Makes a task ready.
struct TaskWaker {
    number: u32,
    ready: ReadyTasks,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = locked(&self.ready);
        if !ready.contains(&self.number) {
            ready.push(self.number);
        }
    }
}

impl ChosenTasks {
    /// Runs code of the host.
    pub fn enter<T>(self: &Rc<Self>, code: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Rc::downgrade(self));
        let result = code();
        CURRENT.set(before);
        result
    }

    /// Returns the numbers of the tasks that are ready. The one that has waited longest is first.
    pub fn ready(&self) -> Vec<u32> {
        let tasks = self.tasks.borrow();
        let mut ready = self.locked();
        // A task that has ended may still be woken.
        ready.retain(|number| tasks.contains_key(number));
        ready.clone()
    }

    /// Runs a task that is ready until it waits or ends.
    pub fn run(&self, number: u32) {
        self.locked().retain(|known| *known != number);
        let task = self.tasks.borrow_mut().remove(&number);
        let mut task = task.expect("it is ready, and so has not ended");
        let waker = Waker::from(Arc::new(TaskWaker { number, ready: Arc::clone(&self.ready) }));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.tasks.borrow_mut().insert(number, task);
        }
    }

    /// Ends all tasks.
    pub fn clear(&self) {
        // A task that is dropped may wake others.
        let tasks = self.tasks.take();
        drop(tasks);
    }

    fn add(&self, task: Task) {
        let number = self.next.get() + 1;
        self.next.set(number);
        self.tasks.borrow_mut().insert(number, task);
        self.locked().push(number);
    }

    fn locked(&self) -> MutexGuard<'_, Vec<u32>> {
        locked(&self.ready)
    }
}

fn locked(ready: &Mutex<Vec<u32>>) -> MutexGuard<'_, Vec<u32>> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}
