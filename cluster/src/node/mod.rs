//! Nodes: the state machines that a user writes or wraps, and what a node may do on its host.

use std::error::Error;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use explode_ramdisk::files::Files;
#[cfg(feature = "async")]
use explode_runtime::choose::BarePoint;
use explode_runtime::choose::ChoiceKind;

use crate::ask::{Ask, Question};
use crate::clock::{HostClock, Time, Timing};
use crate::disk::HostDisk;

/// The result of a node's handler. Any error type is accepted.
pub type Handled<T = ()> = Result<T, Box<dyn Error>>;

/// The identity of a node and its host, from 1: `n1`, `n2` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the place of the node in a list of all nodes.
    pub fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// Returns the node at a place in a list of all nodes.
    pub fn at(index: usize) -> NodeId {
        NodeId(index as u32 + 1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// A timer of a node. A node has one timer of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer(pub u32);

/// The number of a call of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A node: a state machine that reacts to messages, timers and calls of clients.
///
/// A handler runs to its end without waiting. Everything that it does on its host it does through
/// [`Host`]. It must depend on nothing else: no clock, no random numbers, no threads, no order of a
/// `HashMap`. What is in the node's fields is lost in a crash. What it has written to
/// [`Host::files`] is on the disk as far as it was synced; of the rest a crash keeps any part that
/// POSIX allows.
pub trait Node: Sized + 'static {
    /// A message between nodes.
    type Msg: Clone + fmt::Debug + 'static;
    /// A call of a client.
    type Call: Clone + fmt::Debug + 'static;
    /// The reply to a call.
    type Reply: Clone + fmt::Debug + 'static;

    /// The function with which the thread of a walk begins, if each walk needs a thread of its own.
    const BEGINS_THREAD: Option<fn()> = None;

    /// Starts the node on its host: for the first time, and after every crash.
    ///
    /// # Errors
    /// The node cannot start. That is a finding, unless a call on a file was made to fail.
    fn open(host: &mut Host<'_, Self>) -> Handled<Self>;

    /// Receives a message.
    ///
    /// # Errors
    /// Any error is a finding, unless a call on a file was made to fail. Then the node crashes.
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, host: &mut Host<'_, Self>) -> Handled;

    /// Reacts to a timer that fires. A timer fires once.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_timer(&mut self, _timer: Timer, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    /// Receives the call of a client. The node answers with [`Host::reply`], now or later.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_call(&mut self, _call: CallId, _what: Self::Call, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }

    /// Learns that the ordered link to a peer has broken. Messages in both directions are lost.
    ///
    /// # Errors
    /// Those of [`on_message`](Node::on_message).
    fn on_broken_link(&mut self, _peer: NodeId, _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }
}

/// An effect of a handler besides those on its disk, with the number of events on the disk before
/// it.
#[derive(Clone, Debug)]
pub enum Effect<N: Node> {
    /// A message was sent.
    Sent(NodeId, N::Msg),
    /// A call was answered.
    Replied(CallId, N::Reply),
    /// A call was refused.
    Refused(CallId),
    /// A fact holds.
    Fact(&'static str, Vec<u64>),
}

/// The queue of the link is full, and the message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the queue of the link is full")
    }
}

impl std::error::Error for Full {}

/// The parts of the world that a handler sees.
pub struct HostParts<'a> {
    /// The node's identity.
    pub id: NodeId,
    /// The number of hosts.
    pub hosts: usize,
    /// The disk.
    pub disk: &'a HostDisk,
    /// The time.
    pub now: Time,
    /// The host's clock.
    pub clock: HostClock,
    /// The rule of time.
    pub rule: &'a Timing,
    /// Answers choices.
    pub ask: &'a mut dyn Ask,
    /// The free places of the queue to each host. Empty if queues have no bound.
    pub room: Vec<u32>,
}

/// The host of a node, for the time of one handler.
pub struct Host<'a, N: Node> {
    parts: HostParts<'a>,
    /// The number of events on the disk when the handler began.
    begin: u64,
    pub(crate) effects: Vec<(usize, Effect<N>)>,
    /// Timers that were set, with their time in the world, or cancelled.
    pub(crate) timers: Vec<(Timer, Option<Time>)>,
}

impl<'a, N: Node> Host<'a, N> {
    /// Returns the host for a handler. `effects` and `timers` are empty.
    pub(crate) fn new(
        parts: HostParts<'a>,
        effects: Vec<(usize, Effect<N>)>,
        timers: Vec<(Timer, Option<Time>)>,
    ) -> Host<'a, N> {
        let begin = parts.disk.logged();
        Host { parts, begin, effects, timers }
    }

    /// Returns the identity of the node.
    pub fn id(&self) -> NodeId {
        self.parts.id
    }

    /// Returns all nodes, in order, this one included.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<N> {
        (0..self.parts.hosts).map(NodeId::at)
    }

    /// Returns all other nodes, in order.
    pub fn peers(&self) -> impl Iterator<Item = NodeId> + use<N> {
        let id = self.id();
        self.nodes().filter(move |node| *node != id)
    }

    /// Sends a message. It may be lost, and on a network of datagrams it may be late.
    ///
    /// # Errors
    /// The queue to that host is full, which only a cluster with bounded queues can report.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn send(&mut self, to: NodeId, msg: N::Msg) -> Result<(), Full> {
        assert!(to.0 > 0 && to.index() < self.parts.hosts, "there is no node {to}");
        if let Some(room) = self.parts.room.get_mut(to.index()) {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        self.happens(Effect::Sent(to, msg));
        Ok(())
    }

    /// Sends a message to every other node.
    ///
    /// # Errors
    /// Those of [`send`](Host::send).
    pub fn broadcast(&mut self, msg: &N::Msg) -> Result<(), Full> {
        self.peers().try_for_each(|to| self.send(to, msg.clone()))
    }

    /// Answers a call of a client. Only the first answer to a call counts.
    pub fn reply(&mut self, call: CallId, reply: N::Reply) {
        self.happens(Effect::Replied(call, reply));
    }

    /// Refuses a call of a client: it has no effect, now or later, and the client goes on.
    pub fn refuse(&mut self, call: CallId) {
        self.happens(Effect::Refused(call));
    }

    /// States that a fact holds, for monitors: its name and its values.
    pub fn fact(&mut self, name: &'static str, values: &[u64]) {
        self.happens(Effect::Fact(name, values.to_vec()));
    }

    /// Returns the files on the host's disk.
    pub fn files(&self) -> Rc<dyn Files> {
        self.parts.disk.as_files()
    }

    /// Returns the folder of the host, `/explode/n1` for example. Calls of `std::fs` on it, and of
    /// other code that calls the C library, are made on the host's disk while a handler runs. The
    /// folder is the root of [`files`](Host::files).
    #[cfg(feature = "std-fs")]
    pub fn dir(&self) -> &'a std::path::Path {
        self.parts.disk.folder()
    }

    /// Sets a timer to fire once after this time on the host's clock. A timer of this number that
    /// is already set is replaced.
    pub fn timer(&mut self, timer: Timer, after: Duration) {
        let due = self.parts.now + self.parts.clock.in_world(after);
        self.timers.push((timer, Some(due)));
    }

    /// Cancels a timer.
    pub fn cancel(&mut self, timer: Timer) {
        self.timers.push((timer, None));
    }

    /// Returns the time that the host's clock shows.
    pub fn now(&self) -> Time {
        self.parts.clock.shows(self.parts.now)
    }

    /// Returns true if the host's clock shows this time or a later one. Where any timer may fire at
    /// any moment, either answer is possible.
    pub fn has_passed(&mut self, time: Time) -> bool {
        if self.parts.rule.is_ordered() {
            return time <= self.now();
        }
        let id = self.id();
        let question = Question::data(ChoiceKind::TimeCompare, 2, "has passed");
        self.parts.ask.ask(&Question { node: Some(&id), ..question }) == 1
    }

    /// Returns a random number below `below`.
    ///
    /// # Panics
    /// If `below` is 0.
    pub fn random(&mut self, below: u32) -> u32 {
        let id = self.id();
        let question = Question::data(ChoiceKind::Input, below, "random");
        self.parts.ask.ask(&Question { node: Some(&id), ..question })
    }

    /// Chooses which of several tasks of the host runs next. Returns its place.
    #[cfg(feature = "async")]
    pub(crate) fn choose_task(&mut self, numbers: &[u32]) -> usize {
        let id = self.id();
        let ids: Vec<u64> =
            numbers.iter().map(|number| u64::from(id.0) << 32 | u64::from(*number)).collect();
        let name = |option: u32| format!("task {} of {id}", numbers[option as usize]);
        let task = Question::data(ChoiceKind::Schedule, numbers.len() as u32, "task");
        let point = BarePoint { ids: &ids, ..task.point };
        let question = Question { point, node: Some(&id), name: Some(&name), ..task };
        self.parts.ask.ask(&question) as usize
    }

    /// Returns the free places of the queue to each host. Empty if queues have no bound.
    #[cfg(feature = "async")]
    pub(crate) fn room(&self) -> &[u32] {
        &self.parts.room
    }

    /// Returns the disk.
    #[cfg(feature = "async")]
    pub(crate) fn disk(&self) -> &HostDisk {
        self.parts.disk
    }

    fn happens(&mut self, effect: Effect<N>) {
        self.happened(self.parts.disk.logged(), effect);
    }

    /// Adds an effect that happened when the disk had this many events.
    pub(crate) fn happened(&mut self, logged: u64, effect: Effect<N>) {
        self.effects.push(((logged - self.begin) as usize, effect));
    }
}
