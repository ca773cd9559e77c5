//! The same nodes as threads under shuttle: each waits for its events on a channel. One more thread
//! lets time pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use shuttle::rand::Rng as _;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::thread;

use crate::peer::{EVENTS, HOSTS, PROPOSALS, Peer, PeerEvent};

/// Makes walks of raft by random schedules. Returns the number of events.
pub fn walks(walks: u64) -> u64 {
    let all = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&all);
    shuttle::check_random(move || walk(&counted), walks as usize);
    all.load(Relaxed)
}

fn walk(all: &Arc<AtomicU64>) {
    // These counters are no objects of shuttle, so they cause no scheduling.
    let (handled, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..HOSTS).map(|_| channel()).unzip();
    let mut threads = Vec::new();
    for (id, events) in (1..).zip(receivers) {
        let (senders, handled, ended) = (senders.clone(), handled.clone(), ended.clone());
        threads.push(thread::spawn(move || {
            node(id, &events, &senders, &handled);
            ended.fetch_add(1, Relaxed);
        }));
    }
    let of_clock = ended.clone();
    threads.push(thread::spawn(move || clock(&senders, &of_clock)));
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    all.fetch_add(handled.load(Relaxed), Relaxed);
}

fn node(id: u64, events: &Receiver<PeerEvent>, senders: &[Sender<PeerEvent>], handled: &AtomicU64) {
    let mut peer = Peer::new(id);
    while handled.load(Relaxed) < EVENTS {
        let Ok(event) = events.recv() else { return };
        handled.fetch_add(1, Relaxed);
        for message in peer.handle(event) {
            // A node that has ended takes no messages.
            let _ = senders[message.to as usize - 1].send(PeerEvent::Message(message));
        }
    }
}

fn clock(senders: &[Sender<PeerEvent>], ended: &AtomicU64) {
    let mut left = PROPOSALS;
    while ended.load(Relaxed) < HOSTS {
        let drawn = shuttle::rand::thread_rng().gen_range(0..2 * HOSTS);
        let event = if drawn >= HOSTS && left > 0 {
            left -= 1;
            PeerEvent::Proposal(left)
        } else {
            PeerEvent::Tick
        };
        let _ = senders[(drawn % HOSTS) as usize].send(event);
        thread::yield_now();
    }
}
