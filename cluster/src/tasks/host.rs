//! A node of tasks, and the host as its tasks use it.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Debug};
use std::future::Future;
use std::marker::PhantomData;
use std::rc::{Rc, Weak};
use std::thread::{self, ThreadId};

use explode_ramdisk::Storage;
use explode_ramdisk::files::Files;
use tokio::sync::oneshot;

use super::wire::{RequestId, Wire};
use crate::disk::HostDisk;
use crate::node::{CallId, Full, Handled, NodeId};

thread_local! {
    /// The hosts of the walk that runs in this thread.
    static HOSTS: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// A host as its handles find it.
struct Known {
    state: Weak<dyn Any>,
    files: Rc<dyn Files>,
}

/// A node whose code is tasks of tokio.
///
/// All tasks of a host run in one thread, and the thread's clock and random numbers are those of
/// the host: those of `std` and of tokio as well. Tasks may use all of tokio but threads, files and
/// sockets; the feature `sockets` has sockets of its own. What is in memory is lost in a crash.
pub trait AsyncNode: Sized + 'static {
    /// A message between nodes.
    type Msg: Clone + Debug + 'static;
    /// A call of a client.
    type Call: Clone + Debug + 'static;
    /// The reply to a call.
    type Reply: Clone + Debug + 'static;

    /// Starts the node on its host: for the first time, and after every crash. Messages and calls
    /// wait until it is done.
    ///
    /// # Errors
    /// The node cannot start. That is a finding, unless a call on a file was made to fail.
    fn open(host: AsyncHost<Self>) -> impl Future<Output = Handled<Self>> + 'static;

    /// Receives a message of [`AsyncHost::send`], in a task of its own.
    ///
    /// # Errors
    /// Any error is a finding, unless a call on a file was made to fail. Then the node crashes.
    fn on_message(
        self: Rc<Self>,
        _from: NodeId,
        _msg: Self::Msg,
    ) -> impl Future<Output = Handled> + 'static {
        async { Ok(()) }
    }

    /// Answers a message of [`AsyncHost::request`], in a task of its own.
    ///
    /// # Errors
    /// Those of [`on_message`](AsyncNode::on_message).
    fn on_request(
        self: Rc<Self>,
        _from: NodeId,
        msg: Self::Msg,
    ) -> impl Future<Output = Handled<Self::Msg>> + 'static {
        async move { Err(format!("on_request is missing, and {msg:?} wants an answer").into()) }
    }

    /// Receives the call of a client, in a task of its own. The node answers with
    /// [`AsyncHost::reply`], here or later.
    ///
    /// # Errors
    /// Those of [`on_message`](AsyncNode::on_message).
    fn on_call(
        self: Rc<Self>,
        _call: CallId,
        _what: Self::Call,
    ) -> impl Future<Output = Handled> + 'static {
        async { Ok(()) }
    }
}

/// The host of tasks. All its handles are alike, and may be kept and sent to other tasks. After a
/// crash of the host nothing that is done with them happens.
pub struct AsyncHost<A> {
    place: usize,
    thread: ThreadId,
    id: NodeId,
    hosts: u32,
    node: PhantomData<fn() -> A>,
}

/// The answer to a request will not arrive: the link to the host has broken, or it was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkBroken;

impl fmt::Display for LinkBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the link is broken")
    }
}

impl Error for LinkBroken {}

/// A request without an answer so far: the host that was asked, and the task that waits.
type Asked<M> = (NodeId, oneshot::Sender<M>);

/// The effect of a task.
pub(super) enum Done<A: AsyncNode> {
    Sent(NodeId, Wire<A::Msg>),
    Replied(CallId, A::Reply),
    Refused(CallId),
    Fact(&'static str, Vec<u64>),
}

/// The work of a task of its own.
pub(super) enum Work<A: AsyncNode> {
    Message(NodeId, A::Msg),
    Request(NodeId, RequestId, A::Msg),
    Call(CallId, A::Call),
}

/// The state of a host that its tasks share with the world.
pub(super) struct HostState<A: AsyncNode> {
    /// Counts the events on the disk.
    storage: Storage,
    /// The number of the start among all in this thread. The time does not do: a host can crash and
    /// start twice at one time.
    start: u32,
    /// The effects of the running handler, each with the number of events on the disk before it.
    done: RefCell<Vec<(u64, Done<A>)>>,
    /// The free places of the queue to each host. Empty if queues have no bound.
    room: RefCell<Vec<u32>>,
    asked: RefCell<BTreeMap<u32, Asked<A::Msg>>>,
    next: Cell<u32>,
    /// The first error of a task.
    pub failed: RefCell<Option<Box<dyn Error>>>,
    /// The node, when it is open.
    pub node: OnceCell<Rc<A>>,
    /// The work that waits until the node is open.
    pub early: RefCell<Vec<Work<A>>>,
}

impl<A> Clone for AsyncHost<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for AsyncHost<A> {}

impl<A> fmt::Debug for AsyncHost<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncHost({})", self.id)
    }
}

impl<A: AsyncNode> AsyncHost<A> {
    /// Returns the handle of a host that starts now, and its state.
    pub(super) fn start(
        (id, hosts): (NodeId, usize),
        disk: &HostDisk,
    ) -> (AsyncHost<A>, Rc<HostState<A>>) {
        HOSTS.with_borrow_mut(|known| {
            let place = known.len();
            let state = Rc::new(HostState {
                storage: disk.storage(),
                start: place as u32,
                done: RefCell::default(),
                room: RefCell::default(),
                asked: RefCell::default(),
                next: Cell::new(1),
                failed: RefCell::default(),
                node: OnceCell::new(),
                early: RefCell::default(),
            });
            let weak = Rc::downgrade(&state);
            known.push(Known { state: weak, files: disk.as_files() });
            let (thread, hosts) = (thread::current().id(), hosts as u32);
            (AsyncHost { place, thread, id, hosts, node: PhantomData }, state)
        })
    }

    /// Returns the identity of the node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Returns all nodes, in order, this one included.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<A> {
        (1..=self.hosts).map(NodeId)
    }

    /// Returns all other nodes, in order.
    pub fn peers(&self) -> impl Iterator<Item = NodeId> + use<A> {
        let id = self.id;
        self.nodes().filter(move |node| *node != id)
    }

    /// Sends a message, which [`AsyncNode::on_message`] receives. It may be lost.
    ///
    /// # Errors
    /// The queue to that host is full, which only a cluster with bounded queues can report.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn send(&self, to: NodeId, msg: A::Msg) -> Result<(), Full> {
        self.sends(to, Wire::Told(msg))
    }

    /// Sends a message to every other node.
    ///
    /// # Errors
    /// Those of [`send`](AsyncHost::send).
    pub fn broadcast(&self, msg: &A::Msg) -> Result<(), Full> {
        self.peers().try_for_each(|to| self.send(to, msg.clone()))
    }

    /// Sends a request, which [`AsyncNode::on_request`] receives, and returns its answer. Either of
    /// them may be lost, and then the answer never arrives: give it a `tokio::time::timeout`.
    ///
    /// # Errors
    /// The link to the node has broken, or its queue is full.
    ///
    /// # Panics
    /// If there is no such node.
    pub async fn request(self, to: NodeId, msg: A::Msg) -> Result<A::Msg, LinkBroken> {
        let (sender, answer) = oneshot::channel();
        let id = self.with(|state| state.asks(to, sender)).ok_or(LinkBroken)?;
        self.sends(to, Wire::Asked(id, msg)).map_err(|Full| LinkBroken)?;
        answer.await.map_err(|_| LinkBroken)
    }

    /// Answers a call of a client. Only the first answer to a call counts.
    pub fn reply(&self, call: CallId, reply: A::Reply) {
        self.happens(Done::Replied(call, reply));
    }

    /// Refuses a call of a client: it has no effect, now or later, and the client goes on.
    pub fn refuse(&self, call: CallId) {
        self.happens(Done::Refused(call));
    }

    /// States that a fact holds, for monitors: its name and its values.
    pub fn fact(&self, name: &'static str, values: &[u64]) {
        self.happens(Done::Fact(name, values.to_vec()));
    }

    /// Returns the files on the host's disk. Open files are numbers, which a task can keep; get the
    /// files anew for each use, because they cannot be sent to other tasks.
    ///
    /// # Panics
    /// In a thread that is not that of the host.
    pub fn files(&self) -> Rc<dyn Files> {
        self.check_thread();
        HOSTS.with_borrow(|hosts| Rc::clone(&hosts[self.place].files))
    }

    /// Sends anything.
    pub(super) fn sends(&self, to: NodeId, msg: Wire<A::Msg>) -> Result<(), Full> {
        assert!(to.0 > 0 && to.0 <= self.hosts, "there is no node {to}");
        self.with(|state| state.sends(to, msg)).unwrap_or(Ok(()))
    }

    fn happens(&self, done: Done<A>) {
        self.with(|state| state.happens(done));
    }

    /// Calls `work` with the state of the host. `None` after its crash.
    fn with<T>(&self, work: impl FnOnce(&HostState<A>) -> T) -> Option<T> {
        self.check_thread();
        let state = HOSTS.with_borrow(|hosts| hosts.get(self.place)?.state.upgrade())?;
        state.downcast::<HostState<A>>().ok().map(|state| work(&state))
    }

    fn check_thread(&self) {
        let ours = thread::current().id() == self.thread;
        assert!(ours, "{} is used in a thread that is not that of the host", self.id);
    }
}

impl<A: AsyncNode> HostState<A> {
    /// Begins a handler.
    pub fn begin(&self, room: &[u32]) {
        let mut known = self.room.borrow_mut();
        known.clear();
        known.extend_from_slice(room);
    }

    /// Returns the effects of the handler, each with the number of events on the disk before it.
    pub fn take_done(&self) -> Vec<(u64, Done<A>)> {
        self.done.take()
    }

    /// Receives the answer to a request.
    pub fn answered(&self, id: RequestId, msg: A::Msg) {
        let asked = self.asked.borrow_mut().remove(&id.number).filter(|_| id.start == self.start);
        if let Some((_, sender)) = asked {
            // The task may wait no longer.
            sender.send(msg).ok();
        }
    }

    /// Ends the requests to a node whose link has broken.
    pub fn broken(&self, peer: NodeId) {
        self.asked.borrow_mut().retain(|_, (to, _)| *to != peer);
    }

    /// Notes an error of a task. The first one counts.
    pub fn fails(&self, error: Box<dyn Error>) {
        self.failed.borrow_mut().get_or_insert(error);
    }

    /// Makes the number of a request.
    fn asks(&self, to: NodeId, sender: oneshot::Sender<A::Msg>) -> RequestId {
        let number = self.next.get();
        self.next.set(number + 1);
        let mut asked = self.asked.borrow_mut();
        asked.retain(|_, (_, sender)| !sender.is_closed());
        asked.insert(number, (to, sender));
        RequestId { start: self.start, number }
    }

    /// Sends anything.
    pub fn sends(&self, to: NodeId, msg: Wire<A::Msg>) -> Result<(), Full> {
        if let Some(room) = self.room.borrow_mut().get_mut(to.index()) {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        self.happens(Done::Sent(to, msg));
        Ok(())
    }

    fn happens(&self, done: Done<A>) {
        self.done.borrow_mut().push((self.storage.logged(), done));
    }
}
