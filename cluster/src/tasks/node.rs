//! Tasks as a node of the world.

use std::collections::hash_map::RandomState;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use explode_posix::isolation::Isolation;
use explode_posix::isolation_arrives;
use explode_runtime::base::take_panic_message;
use tokio::task::{LocalSet, spawn_local};

use super::host::{AsyncHost, AsyncNode, Done, HostState, Work};
use super::runtime::{Begin, HostRuntime, Idle};
use super::wire::Wire;
use crate::clock::{Timing, ms};
use crate::cluster::{Cluster, cluster};
#[cfg(feature = "sockets")]
use crate::net::HostStack;
use crate::node::{CallId, Effect, Handled, Host, Node, NodeId, Timer};

/// The timer of a host: the next deadline of its runtime.
const NEXT: Timer = Timer(0);
/// The number of streams of random numbers among which a host that starts has one.
const STREAMS: u32 = 1 << 16;
/// The number of times that tasks whose order is a choice may run in one handler before they are
/// taken for tasks that never wait.
const MOST_CHOSEN: u32 = 20_000;
/// The latencies of messages in milliseconds, if none are given.
const LATENCIES: [u64; 6] = [1, 2, 5, 10, 20, 50];

/// A node whose code is tasks.
pub struct Tasks<A: AsyncNode> {
    /// The sockets. They end before the tasks, so that nothing is sent in a crash.
    #[cfg(feature = "sockets")]
    sockets: Rc<HostStack>,
    state: Rc<HostState<A>>,
    host: AsyncHost<A>,
    runtime: HostRuntime,
    /// The time by which the clock of the host is ahead, because timers have fired early.
    ahead: Duration,
    /// The next deadline of the runtime.
    due: Option<Duration>,
}

/// Returns a cluster of hosts whose nodes are tasks. Time orders events, and a message takes
/// between 1 and 50 ms: [`Cluster::timing`] sets other latencies.
///
/// # Panics
/// - If there are no hosts, or more than 32.
/// - If the calls of this program for the time and for random numbers do not arrive at explode.
pub fn async_cluster<A: AsyncNode>(name: &str, hosts: usize) -> Cluster<Tasks<A>> {
    isolation_arrives().unwrap_or_else(|why| panic!("cluster '{name}': {why}"));
    let latencies = LATENCIES.map(ms).to_vec();
    cluster(name, hosts).timing(Timing::Ordered { latencies })
}

impl<A: AsyncNode> Tasks<A> {
    /// Returns the node. `None` until it is open.
    pub fn node(&self) -> Option<&A> {
        self.state.node.get().map(|node| &**node)
    }

    /// Returns the time of the host's clock.
    fn now(&self, host: &Host<'_, Self>) -> Duration {
        Duration::from_nanos(host.now().0) + self.ahead
    }

    /// Gives work to a task of its own, now or when the node is open.
    fn work(&mut self, work: Work<A>, host: &mut Host<'_, Self>) -> Handled {
        let (state, handle) = (Rc::clone(&self.state), self.host);
        match self.state.node.get().cloned() {
            Some(node) => {
                let begin = |local: &LocalSet| {
                    local.spawn_local(do_work(state, handle, node, work));
                };
                self.run(host, Box::new(begin))
            }
            None => {
                self.state.early.borrow_mut().push(work);
                Ok(())
            }
        }
    }

    /// Runs the tasks until all of them wait.
    fn run(&mut self, host: &mut Host<'_, Self>, begin: Begin<'_>) -> Handled {
        let now = self.now(host);
        self.state.begin(host.room());
        take_panic_message();
        let idle = self.run_in_turn(now, host, begin);
        for (logged, done) in self.state.take_done() {
            host.happened(logged, effect(done));
        }
        let panicked = take_panic_message();
        if let Some(refused) = self.runtime.take_refused() {
            return Err(refused.into());
        }
        if let Some(message) = panicked {
            resume_unwind(Box::new(message));
        }
        match idle {
            Idle::Until(due) => host.timer(NEXT, due.saturating_sub(now)),
            _ => host.cancel(NEXT),
        }
        self.due = match idle {
            Idle::Until(due) => Some(due),
            Idle::Waits => None,
            Idle::Never => return Err("some task never waits for anything".into()),
        };
        self.state.failed.take().map_or(Ok(()), Err)
    }
}

impl<A: AsyncNode> Tasks<A> {
    /// Runs the tasks until all of them wait. While several are ready whose order is a choice, one
    /// of them is chosen.
    fn run_in_turn(&mut self, now: Duration, host: &mut Host<'_, Self>, begin: Begin<'_>) -> Idle {
        let mut idle = self.run_tasks(now, Next::Begin(begin));
        for _ in 0..MOST_CHOSEN {
            let ready = self.runtime.ready();
            let number = match ready[..] {
                _ if idle == Idle::Never => return idle,
                [] => return idle,
                [only] => only,
                _ => ready[host.choose_task(&ready)],
            };
            idle = self.run_tasks(now, Next::Chosen(number));
        }
        Idle::Never
    }
}

/// The beginning of a turn in which a runtime runs until all its tasks wait.
enum Next<'b> {
    Begin(Begin<'b>),
    /// The task of this number, among which there is a choice.
    Chosen(u32),
}

impl Next<'_> {
    fn run(self, runtime: &mut HostRuntime, now: Duration) -> Idle {
        match self {
            Next::Begin(begin) => runtime.run(now, begin),
            Next::Chosen(number) => runtime.run_chosen(now, number),
        }
    }
}

#[cfg(not(feature = "sockets"))]
impl<A: AsyncNode> Tasks<A> {
    fn run_tasks(&mut self, now: Duration, next: Next<'_>) -> Idle {
        next.run(&mut self.runtime, now)
    }
}

#[cfg(feature = "sockets")]
impl<A: AsyncNode> Tasks<A> {
    /// Runs the tasks and the sockets in turn until both wait.
    fn run_tasks(&mut self, now: Duration, next: Next<'_>) -> Idle {
        let Tasks { sockets, runtime, .. } = self;
        run_with_sockets(sockets, runtime, now, next)
    }
}

/// Runs the tasks and the sockets in turn until both wait. It is compiled once, not for each kind
/// of node.
#[cfg(feature = "sockets")]
fn run_with_sockets(
    sockets: &HostStack,
    runtime: &mut HostRuntime,
    now: Duration,
    next: Next<'_>,
) -> Idle {
    sockets.enter(now, || {
        let mut idle = next.run(runtime, now);
        while idle != Idle::Never && sockets.pump() {
            idle = runtime.run(now, Box::new(|_| {}));
        }
        match (idle, sockets.due()) {
            (Idle::Until(due), Some(other)) => Idle::Until(due.min(other)),
            (Idle::Waits, Some(due)) => Idle::Until(due),
            (idle, _) => idle,
        }
    })
}

/// Starts the sockets of a host.
#[cfg(feature = "sockets")]
fn start_sockets<A: AsyncNode>(
    host: &Host<'_, Tasks<A>>,
    seed: u64,
    state: &Rc<HostState<A>>,
) -> Rc<HostStack> {
    let state = Rc::downgrade(state);
    let sends = move |to, packet| {
        if let Some(state) = state.upgrade() {
            // A packet for which there is no room is lost.
            state.sends(to, Wire::Packet(packet)).ok();
        }
    };
    let hosts = host.nodes().count();
    HostStack::start((host.id(), hosts), seed, Duration::from_nanos(host.now().0), Box::new(sends))
}

impl<A: AsyncNode> Node for Tasks<A> {
    type Msg = Wire<A::Msg>;
    type Call = A::Call;
    type Reply = A::Reply;

    const BEGINS_THREAD: Option<fn()> = Some(draw_keys);

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        let seed = host.random(STREAMS).into();
        let (handle, state) = AsyncHost::start((host.id(), host.nodes().count()), host.disk());
        let runtime = HostRuntime::start(seed, Duration::from_nanos(host.now().0))?;
        let mut tasks = Tasks {
            #[cfg(feature = "sockets")]
            sockets: start_sockets(host, seed, &state),
            state,
            host: handle,
            runtime,
            ahead: Duration::ZERO,
            due: None,
        };
        let state = Rc::clone(&tasks.state);
        let begin = move |local: &LocalSet| {
            local.spawn_local(open(state, handle));
        };
        tasks.run(host, Box::new(begin))?;
        Ok(tasks)
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, host: &mut Host<'_, Self>) -> Handled {
        match msg {
            Wire::Told(msg) => self.work(Work::Message(from, msg), host),
            Wire::Asked(id, msg) => self.work(Work::Request(from, id, msg), host),
            Wire::Answered(id, msg) => {
                let state = Rc::clone(&self.state);
                self.run(host, Box::new(|_| state.answered(id, msg)))
            }
            #[cfg(feature = "sockets")]
            Wire::Packet(packet) => {
                let sockets = Rc::clone(&self.sockets);
                self.run(host, Box::new(move |_| sockets.receive(packet)))
            }
        }
    }

    fn on_timer(&mut self, _: Timer, host: &mut Host<'_, Self>) -> Handled {
        let now = self.now(host);
        if let Some(due) = self.due.take().filter(|due| *due > now) {
            self.ahead += due - now;
        }
        self.run(host, Box::new(|_| {}))
    }

    fn on_call(&mut self, call: CallId, what: A::Call, host: &mut Host<'_, Self>) -> Handled {
        self.work(Work::Call(call, what), host)
    }

    fn on_broken_link(&mut self, peer: NodeId, host: &mut Host<'_, Self>) -> Handled {
        let state = Rc::clone(&self.state);
        self.run(host, Box::new(move |_| state.broken(peer)))
    }
}

/// Returns the effect on the world.
fn effect<A: AsyncNode>(done: Done<A>) -> Effect<Tasks<A>> {
    match done {
        Done::Sent(to, msg) => Effect::Sent(to, msg),
        Done::Replied(call, reply) => Effect::Replied(call, reply),
        Done::Refused(call) => Effect::Refused(call),
        Done::Fact(name, values) => Effect::Fact(name, values),
    }
}

/// Draws the keys with which each `HashMap` of this thread begins.
fn draw_keys() {
    Isolation::new(0).enter(Duration::ZERO, RandomState::new);
}

/// Opens the node, and gives it the work that has waited.
async fn open<A: AsyncNode>(state: Rc<HostState<A>>, host: AsyncHost<A>) {
    match A::open(host).await {
        Ok(node) => {
            let node = Rc::clone(state.node.get_or_init(|| Rc::new(node)));
            for work in state.early.take() {
                spawn_local(do_work(Rc::clone(&state), host, Rc::clone(&node), work));
            }
        }
        Err(error) => state.fails(error),
    }
}

/// Does a piece of work.
async fn do_work<A: AsyncNode>(
    state: Rc<HostState<A>>,
    host: AsyncHost<A>,
    node: Rc<A>,
    work: Work<A>,
) {
    let done = match work {
        Work::Message(from, msg) => node.on_message(from, msg).await,
        // An answer for which there is no room is lost.
        Work::Request(from, id, msg) => node.on_request(from, msg).await.map(|answer| {
            host.sends(from, Wire::Answered(id, answer)).ok();
        }),
        Work::Call(call, what) => node.on_call(call, what).await,
    };
    if let Err(error) = done {
        state.fails(error);
    }
}
