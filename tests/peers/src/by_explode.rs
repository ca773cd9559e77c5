//! The same nodes under explode.

use std::time::{Duration, Instant};

use explode_cluster::prelude::*;
use raft::eraftpb::Message;

use crate::peer::{EVENTS, HOSTS, PROPOSALS, Peer, PeerEvent};
use crate::vote::{self, Vote, Voter, agree};

/// A node of raft.
struct PeerNode(Peer);

const TICK: Timer = Timer(0);

impl PeerNode {
    fn handle(&mut self, event: PeerEvent, host: &mut Host<'_, Self>) -> Handled {
        self.0
            .handle(event)
            .into_iter()
            .try_for_each(|message| host.send(NodeId(message.to as u32), message))
            .map_err(Into::into)
    }
}

impl Node for PeerNode {
    type Msg = Message;
    type Call = u64;
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        host.timer(TICK, ms(100));
        Ok(PeerNode(Peer::new(host.id().0.into())))
    }

    fn on_message(&mut self, _: NodeId, message: Message, host: &mut Host<'_, Self>) -> Handled {
        self.handle(PeerEvent::Message(message), host)
    }

    fn on_timer(&mut self, _: Timer, host: &mut Host<'_, Self>) -> Handled {
        host.timer(TICK, ms(100));
        self.handle(PeerEvent::Tick, host)
    }

    fn on_call(&mut self, call: CallId, value: u64, host: &mut Host<'_, Self>) -> Handled {
        host.reply(call, ());
        self.handle(PeerEvent::Proposal(value), host)
    }
}

/// Makes walks of raft. Returns the number of events.
pub fn walks(seed: u64, walks: u64) -> u64 {
    let cluster = cluster::<PeerNode>("peers", HOSTS as usize)
        .clients(1, |next| next.fresh())
        .calls(PROPOSALS as u32)
        .steps(EVENTS as u32, 0)
        .seed(seed);
    let found = cluster.first_finding(walks as u32, |_| true).expect("the nodes are deterministic");
    assert!(found.is_none(), "{found:?}");
    walks * EVENTS
}

/// A node of Paxos.
#[derive(Hash)]
struct VoteNode(Voter);

impl Node for VoteNode {
    type Msg = Vote;
    type Call = ();
    type Reply = ();

    fn open(host: &mut Host<'_, Self>) -> Handled<Self> {
        if let Some(vote) = Voter::first(host.id().index()) {
            to_all(&vote, host)?;
        }
        Ok(VoteNode(Voter::default()))
    }

    fn on_message(&mut self, from: NodeId, vote: Vote, host: &mut Host<'_, Self>) -> Handled {
        let (reply, all) = self.0.handle(host.id().index(), from.index(), vote);
        if let Some(reply) = reply {
            host.send(from, reply)?;
        }
        all.map_or(Ok(()), |vote| to_all(&vote, host))
    }
}

fn to_all(vote: &Vote, host: &mut Host<'_, VoteNode>) -> Handled {
    let all: Vec<NodeId> = host.nodes().collect();
    Ok(all.into_iter().try_for_each(|to| host.send(to, vote.clone()))?)
}

/// Searches all states of Paxos after at most `depth` steps. Returns the number of distinct states, and the time.
pub fn states(depth: u32) -> (u64, Duration) {
    let started = Instant::now();
    let summary = cluster::<VoteNode>("votes", vote::HOSTS)
        .always("one value", |world| agree(world.up().map(|node| node.0.chosen)))
        .hashed()
        .strategy("exhaust")
        .steps(depth, 0)
        .run(exhausted());
    let states = summary.states.to_string().parse().expect("it is a number");
    (states, started.elapsed())
}
