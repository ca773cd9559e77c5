//! The story of a system of several hosts, and the events of its hosts.

use serde::{Deserialize, Serialize};

/// The story that a system tells of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldStory {
    /// The lines for a person, the first with headings.
    pub lines: Vec<String>,
    /// The events of the hosts, in the order in which they happened.
    pub events: Vec<HostEvent>,
}

/// A step of one host. Nothing else happens on the host meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEvent {
    /// The name of the host, without spaces.
    pub host: String,
    /// The time in the simulated world, in nanoseconds.
    pub nanos: u64,
    /// The parts of the step in words, in order.
    pub parts: Vec<String>,
    /// The number of the message that the host receives. `None` if it receives none.
    pub received: Option<u64>,
    /// The numbers of the messages that the host sends.
    pub sent: Vec<u64>,
}
