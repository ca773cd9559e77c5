//! A replicated map on Raft: its calls as entries, and the cluster.

use std::sync::atomic::{AtomicU64, Ordering};

use explode_cluster::prelude::*;
use explode_runtime::choose::{Policies, Policy};
use raft::Config;

/// The number of consecutive seeds, and of walks with each.
pub const SEEDS: u64 = 20;
pub const WALKS: u64 = 200;

/// The walk that runs, and the first one that breaks a promise.
static WALK: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(u64::MAX);

/// Returns an entry's data: the call's number, and the call.
pub fn encoded(call: CallId, what: MapCall) -> Vec<u8> {
    let (kind, key, value) = match what {
        MapCall::Get(key) => (0, key, 0),
        MapCall::Put(key, value) => (1, key, value),
        MapCall::Remove(key) => (2, key, 0),
    };
    [u64::from(call.0), kind, key, value].map(u64::to_le_bytes).concat()
}

/// Returns the call of an entry. `None` for an entry without data.
pub fn decoded(data: &[u8]) -> Option<(CallId, MapCall)> {
    let word = |at: usize| Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let (call, kind, key, value) = (word(0)?, word(8)?, word(16)?, word(24)?);
    let what = match kind {
        0 => MapCall::Get(key),
        1 => MapCall::Put(key, value),
        _ => MapCall::Remove(key),
    };
    Some((CallId(call as u32), what))
}

/// Returns the settings of a node. One election timeout is left to draw, so that Raft's own random
/// numbers decide nothing.
pub fn config(id: NodeId) -> Config {
    Config {
        id: u64::from(id.0),
        election_tick: 4,
        heartbeat_tick: 1,
        min_election_tick: 4,
        max_election_tick: 5,
        max_inflight_msgs: 16,
        ..Config::default()
    }
}

/// A monitor that allows each subject one value, and notes the walk in which there was another.
struct Noted(OneValue);

impl FactMonitor for Noted {
    fn on(&mut self, node: NodeId, fact: &'static str, values: &[u64]) -> Result<(), String> {
        self.0.on(node, fact, values).inspect_err(|_| {
            FOUND.fetch_min(WALK.load(Ordering::SeqCst), Ordering::SeqCst);
        })
    }
}

/// The answers of a walk by weight.
struct ByWeight(Box<dyn WalkAnswers>);

impl WalkAnswers for ByWeight {
    fn answer(&mut self, point: &BarePoint<'_>) -> u32 {
        self.0.answer(point)
    }
}

/// Returns the cluster of three hosts.
pub fn map<N: Node<Call = MapCall, Reply = MapReply>>(version: &str, seed: u64) -> Cluster<N> {
    let faults =
        FaultBudget { crashes: 3, drops: 4, duplicates: 2, partitions: 1, ..FaultBudget::NONE };
    let one = |fact: &'static str| move || Noted(OneValue::of(fact, 1));
    cluster::<N>("raft", 3)
        .version("raft", version)
        .faults(faults)
        .steps(150, 30)
        .seed(seed)
        .clients(2, |next| match next.choose(3) {
            0 => MapCall::Get(u64::from(next.choose(2))),
            1 => MapCall::Remove(u64::from(next.choose(2))),
            _ => MapCall::Put(u64::from(next.choose(2)), next.fresh()),
        })
        .monitor("one leader of a term", one("leader"))
        .monitor("one entry at an index", one("applied"))
        .linearizable::<MapSpec>()
        .policy("by weight", |seed, walk| {
            WALK.store(walk, Ordering::SeqCst);
            let answers = Policies::default().walk_answers(&Policy::Weighted { seed, walk }, 0);
            ByWeight(answers.expect("explode has this policy"))
        })
}

/// Returns the number of walks up to the first one that breaks a promise, since the last question.
pub fn walks_to_finding() -> Option<u64> {
    let found = FOUND.swap(u64::MAX, Ordering::SeqCst);
    (found < u64::MAX).then_some(found + 1)
}
