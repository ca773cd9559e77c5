//! Walks of raft in a plain loop.

use raft::eraftpb::Message;

use crate::peer::{EVENTS, HOSTS, PROPOSALS, Peer, PeerEvent};

/// Makes walks. Returns the number of events, and of entries that were applied.
pub fn walks(seed: u64, walks: u64) -> (u64, u64) {
    let mut draws = explode_runtime::choose::Draws::new(seed, 0);
    let mut applied = 0;
    for _ in 0..walks {
        let mut peers: Vec<Peer> = (1..=HOSTS).map(Peer::new).collect();
        let (mut messages, mut left): (Vec<Message>, u64) = (Vec::new(), PROPOSALS);
        for _ in 0..EVENTS {
            let under_way = messages.len() as u64;
            let drawn = draws.below(under_way + HOSTS + u64::from(left > 0));
            let (to, event) = if drawn < under_way {
                let message = messages.swap_remove(drawn as usize);
                (message.to - 1, PeerEvent::Message(message))
            } else if drawn < under_way + HOSTS {
                (drawn - under_way, PeerEvent::Tick)
            } else {
                left -= 1;
                (draws.below(HOSTS), PeerEvent::Proposal(left))
            };
            messages.extend(peers[to as usize].handle(event));
        }
        applied += peers.iter().map(|peer| peer.applied).sum::<u64>();
    }
    (walks * EVENTS, applied)
}
