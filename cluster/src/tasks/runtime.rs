//! The runtime of a host, which is run until all its tasks wait.

use std::cell::Cell;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use explode_posix::isolation::{Isolation, Wait, set_parked};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use super::chosen::ChosenTasks;

/// The number of times that local tasks may be run in turn before they are taken for tasks that
/// never wait.
const MOST_TURNS: u32 = 200_000;
/// Timers that are due later than this are never due: the runtime has none.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// A timer beyond that. With it a runtime always has one, and so waits for a time.
const FAR: Duration = Duration::from_secs(2 * 365 * 24 * 3600);
const MILLI: u128 = 1_000_000;

/// The runtime of a host.
pub(super) struct HostRuntime {
    /// `None` only while it is dropped.
    parts: Option<(LocalSet, Runtime)>,
    /// The tasks whose order is a choice.
    chosen: Rc<ChosenTasks>,
    isolation: Isolation,
    /// The time of the last handler, and of the first one.
    now: Duration,
    start: Duration,
}

/// A function that starts tasks. It is boxed so that the code that runs tasks is compiled once, and
/// not for each kind of node.
pub(super) type Begin<'b> = Box<dyn FnOnce(&LocalSet) + 'b>;

/// The state of a runtime whose tasks all wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// All tasks wait until something arrives.
    Waits,
    /// The next timer is due at this time.
    Until(Duration),
    /// Some task never waits.
    Never,
}

impl HostRuntime {
    /// Starts a runtime at this time. The random numbers of its thread come from a seed.
    ///
    /// # Errors
    /// The runtime cannot be made.
    pub fn start(seed: u64, now: Duration) -> std::io::Result<HostRuntime> {
        let isolation = Isolation::new(seed);
        let mut builder = Builder::new_current_thread();
        builder.enable_time();
        builder.on_thread_park(|| set_parked(true)).on_thread_unpark(|| set_parked(false));
        #[cfg(tokio_unstable)]
        builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
        let parts =
            isolation.enter(now, || builder.build().map(|runtime| (LocalSet::new(), runtime)))?;
        let chosen = Rc::default();
        Ok(HostRuntime { parts: Some(parts), chosen, isolation, now, start: now })
    }

    /// Runs the runtime at this time until all its tasks wait. `begin` starts tasks.
    pub fn run(&mut self, now: Duration, begin: Begin<'_>) -> Idle {
        let (local, runtime) = self.parts.as_ref().expect("it is not dropped");
        let (isolation, turns) = (&self.isolation, Cell::new(0));
        self.now = now;
        let run = || {
            begin(local);
            local.block_on(runtime, async {
                let mut far = pin!(tokio::time::sleep(FAR));
                let far = |cx: &mut Context<'_>| far.as_mut().poll(cx).is_ready();
                until_idle(isolation, &turns, far).await
            })
        };
        let idle = isolation.enter(now, || self.chosen.enter(run));
        match idle {
            Wait::Until(due) if due > now + NEVER => Idle::Waits,
            // The timers of tokio count whole milliseconds since its start.
            Wait::Until(due) => {
                let part = (now - self.start).as_nanos() % MILLI;
                Idle::Until(due - Duration::from_nanos(part as u64))
            }
            Wait::Never => Idle::Never,
        }
    }

    /// Returns the numbers of the tasks that are ready and among which there is a choice. The one
    /// that has waited longest is first.
    pub fn ready(&self) -> Vec<u32> {
        self.chosen.ready()
    }

    /// Runs one of these tasks until it waits, then all that this makes ready and that has no
    /// choice.
    pub fn run_chosen(&mut self, now: Duration, number: u32) -> Idle {
        let chosen = Rc::clone(&self.chosen);
        let begin = move |local: &LocalSet| {
            local.spawn_local(async move { chosen.run(number) });
        };
        self.run(now, Box::new(begin))
    }

    /// Returns what a task has done that tasks must not do, once.
    pub fn take_refused(&self) -> Option<&'static str> {
        self.isolation.take_refused()
    }
}

/// Waits until the thread has nothing to do but wait, and returns that wait. `sets` sets a timer.
async fn until_idle(
    isolation: &Isolation,
    turns: &Cell<u32>,
    mut sets: impl FnMut(&mut Context<'_>) -> bool,
) -> Wait {
    poll_fn(|cx| {
        if let Some(wait) = isolation.wait() {
            return Poll::Ready(wait);
        }
        turns.set(turns.get() + 1);
        if sets(cx) || turns.get() == MOST_TURNS {
            return Poll::Ready(Wait::Never);
        }
        isolation.wakes(cx.waker());
        Poll::Pending
    })
    .await
}

impl Drop for HostRuntime {
    fn drop(&mut self) {
        let Some((local, runtime)) = self.parts.take() else { return };
        self.isolation.enter(self.now, || {
            let entered = runtime.enter();
            self.chosen.clear();
            drop(local);
            drop(entered);
            drop(runtime);
        });
    }
}
