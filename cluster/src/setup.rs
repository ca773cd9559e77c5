//! Everything that makes a cluster, besides the choices: its hosts, network, clock, faults, clients
//! and properties.

use xxhash_rust::xxh3::Xxh3;

use crate::client::{CallHistory, NextCall};
use crate::clock::Timing;
use crate::fault::FaultBudget;
use crate::network::Network;
use crate::node::{Node, NodeId};
use crate::view::View;

/// A predicate over a view.
pub type Holds<N> = Box<dyn Fn(&View<'_, N>) -> bool + Send + Sync>;
/// A check of the history of calls, made after each reply to a call. It returns what is wrong.
pub type HistoryCheck<N> = Box<
    dyn Fn(
            &CallHistory<<N as Node>::Call, <N as Node>::Reply>,
            Option<&<N as Node>::Call>,
        ) -> Option<String>
        + Send
        + Sync,
>;
/// Makes the next call of a client.
pub type MakeCall<N> = Box<dyn Fn(&mut NextCall<'_>) -> <N as Node>::Call + Send + Sync>;

/// Makes a monitor of facts, for each walk.
pub type MakeMonitor = Box<dyn Fn() -> Box<dyn FactMonitor> + Send + Sync>;

/// A monitor of facts that nodes state.
pub trait FactMonitor {
    /// Receives a fact.
    ///
    /// # Errors
    /// The fact contradicts an earlier one, in these words.
    fn on(&mut self, node: NodeId, fact: &'static str, values: &[u64]) -> Result<(), String>;
}

/// Everything that makes a cluster.
pub struct Setup<N: Node> {
    /// The number of hosts.
    pub hosts: usize,
    /// The way in which messages travel.
    pub network: Network,
    /// The largest number of messages on a link.
    pub capacity: Option<u32>,
    /// The rule of time.
    pub clock: Timing,
    /// The faults of a walk.
    pub faults: FaultBudget,
    /// The number of steps at the end of a walk without faults, with fair choices.
    pub tail: u32,
    /// The number of clients.
    pub clients: usize,
    /// The number of calls of each client.
    pub calls: u32,
    /// Makes the calls.
    pub next_call: Option<MakeCall<N>>,
    /// Properties that must hold after every step, by name.
    pub always: Vec<(String, Holds<N>)>,
    /// Properties that some walk must reach, by name.
    pub sometimes: Vec<(String, Holds<N>)>,
    /// Properties that must hold in the end, by name.
    pub eventually: Vec<(String, Holds<N>)>,
    /// Checks of the history, by name.
    pub histories: Vec<(String, HistoryCheck<N>)>,
    /// Makes the monitors of facts, each with its name.
    pub monitors: Vec<(String, MakeMonitor)>,
    /// Feeds a node to a hash, for the identity of a state. `None` if states are never equal.
    pub hash: Option<fn(&N, &mut Xxh3)>,
}

impl<N: Node> Setup<N> {
    /// Returns a cluster of `hosts` hosts without faults, clients and properties.
    pub fn new(hosts: usize) -> Setup<N> {
        Setup {
            hosts,
            network: Network::default(),
            capacity: None,
            clock: Timing::default(),
            faults: FaultBudget::NONE,
            tail: 0,
            clients: 0,
            calls: 8,
            next_call: None,
            always: Vec::new(),
            sometimes: Vec::new(),
            eventually: Vec::new(),
            histories: Vec::new(),
            monitors: Vec::new(),
            hash: None,
        }
    }
}
