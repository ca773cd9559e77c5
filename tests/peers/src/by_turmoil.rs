//! The same nodes as hosts of turmoil, with datagrams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use protobuf::Message as _;
use raft::eraftpb::Message;
use turmoil::net::UdpSocket;

use crate::peer::{EVENTS, HOSTS, PROPOSALS, Peer, PeerEvent};

const PORT: u16 = 9000;

/// Makes walks of raft. Returns the number of events.
pub fn walks(seed: u64, walks: u64) -> u64 {
    (0..walks).map(|walk| one_walk(seed + walk)).sum()
}

fn one_walk(seed: u64) -> u64 {
    let ms = Duration::from_millis;
    let handled = Arc::new(AtomicU64::new(0));
    let mut builder = turmoil::Builder::new();
    builder.rng_seed(seed).simulation_duration(ms(600_000));
    builder.min_message_latency(ms(1)).max_message_latency(ms(20));
    let mut sim = builder.build();
    for id in 1..=HOSTS {
        sim.client(name(id), node(id, handled.clone()));
    }
    sim.run().expect("every node ends");
    handled.load(Relaxed)
}

fn name(id: u64) -> String {
    format!("n{id}")
}

async fn node(id: u64, handled: Arc<AtomicU64>) -> turmoil::Result {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let (mut peer, mut bytes, mut left) = (Peer::new(id), [0; 4096], PROPOSALS);
    while handled.load(Relaxed) < EVENTS {
        let event = tokio::select! {
            received = socket.recv_from(&mut bytes) => {
                PeerEvent::Message(Message::parse_from_bytes(&bytes[..received?.0])?)
            }
            _ = ticks.tick() => PeerEvent::Tick,
        };
        let proposes = matches!(event, PeerEvent::Tick) && left > 0;
        let events = [Some(event), proposes.then_some(PeerEvent::Proposal(left))];
        for event in events.into_iter().flatten() {
            left -= u64::from(matches!(event, PeerEvent::Proposal(_)));
            handled.fetch_add(1, Relaxed);
            for message in peer.handle(event) {
                let to = (name(message.to), PORT);
                // A node that has ended takes no messages.
                let _ = socket.send_to(&message.write_to_bytes()?, to).await;
            }
        }
    }
    Ok(())
}
