//! PCT: its guarantee, by counting walks of fixed seeds on schedules whose bugs have known depths.

use explode_runtime::choose::{Answers, ChoiceKind, ChoicePoint, Label, Policies, Policy};

const THREADS: usize = 4;
const STEPS: usize = 6;
const WALKS: u32 = 20_000;

fn answers(policy: &Policy) -> Box<dyn Answers> {
    Policies::default().answers(policy).unwrap()
}

/// Returns the policy of each walk by priorities, for a seed.
fn pct(seed: u64, d: u32, k: u32) -> impl Fn(u64) -> Policy {
    move |walk| Policy::Pct { seed, walk, d, k }
}

/// Runs four threads of six steps each to their end, as a policy decides. Returns the order in
/// which they ran. A thread that has ended is not an option.
fn schedule(policy: &Policy) -> Vec<usize> {
    let mut answers = answers(policy);
    let mut left = [STEPS; THREADS];
    let mut order = Vec::new();
    loop {
        let able: Vec<usize> = (0..THREADS).filter(|thread| left[*thread] > 0).collect();
        if able.is_empty() {
            return order;
        }
        let names: Vec<String> = able.iter().map(|thread| format!("thread {thread}")).collect();
        let label = Label { site: "scheduler".to_owned(), ..Label::default() };
        let point = ChoicePoint {
            kind: ChoiceKind::Schedule,
            options: able.len() as u32,
            names: &names,
            weights: &[],
            label,
        };
        let runs = able[answers.answer(&point) as usize];
        left[runs] -= 1;
        order.push(runs);
    }
}

/// Returns the position of step `step` of thread `thread` in the order, all from 0.
fn at(order: &[usize], thread: usize, step: usize) -> usize {
    let steps = order.iter().enumerate().filter(|(_, ran)| **ran == thread);
    steps.map(|(at, _)| at).nth(step).unwrap()
}

/// Depth 1: thread 2 ends before thread 1 begins.
fn one_order(order: &[usize]) -> bool {
    at(order, 2, STEPS - 1) < at(order, 1, 0)
}

/// Depth 2: all of thread 1 falls between two steps of thread 0.
fn two_orders(order: &[usize]) -> bool {
    at(order, 0, 2) < at(order, 1, 0) && at(order, 1, STEPS - 1) < at(order, 0, 3)
}

/// Depth 3: in addition, thread 2 interrupts thread 1 there.
fn three_orders(order: &[usize]) -> bool {
    two_orders(order)
        && at(order, 1, 1) < at(order, 2, 0)
        && at(order, 2, STEPS - 1) < at(order, 1, 2)
}

/// A test whether the bug shows in this order.
type Bug = fn(&[usize]) -> bool;

fn found(policy: impl Fn(u64) -> Policy, bug: Bug) -> u32 {
    (1..=WALKS).map(|walk| u32::from(bug(&schedule(&policy(walk.into()))))).sum()
}

/// At least 1 / (n k^(d-1)) of the walks find each bug. The counts are exact, because the seed
/// decides.
#[test]
fn each_walk_finds_a_bug_with_the_guaranteed_probability() {
    let (n, k) = (THREADS as u32, (THREADS * STEPS) as u32);
    let bugs: [(u32, Bug); 3] = [(1, one_order), (2, two_orders), (3, three_orders)];
    let counts = bugs.map(|(d, bug)| {
        let by_priority = found(pct(5, d, k), bug);
        let least = f64::from(WALKS) / (f64::from(n) * f64::from(k).powi(d as i32 - 1));
        assert!(
            f64::from(by_priority) >= least,
            "depth {d}: {by_priority} of {WALKS} walks, {least} guaranteed"
        );
        (by_priority, found(|walk| Policy::Uniform { seed: 5, walk }, bug))
    });
    assert_eq!(counts, [(9964, 271), (406, 42), (11, 0)]);
}

/// Walks with fewer changes than a bug needs cannot find it, at any number of walks.
#[test]
fn a_bug_that_is_too_deep_is_not_found() {
    let k = (THREADS * STEPS) as u32;
    assert_eq!(found(pct(5, 1, k), two_orders), 0);
    assert_eq!(found(pct(5, 2, k), three_orders), 0);
}

/// Without changes a walk is an order of the threads, and all 24 orders are equally likely (within
/// four standard deviations).
#[test]
fn priorities_are_a_random_order() {
    let mut times = std::collections::BTreeMap::new();
    let policy = pct(1, 1, 1);
    for walk in 1..=WALKS {
        let mut order = schedule(&policy(walk.into()));
        order.dedup();
        assert_eq!(order.len(), THREADS, "nobody is interrupted");
        *times.entry(order).or_insert(0) += 1;
    }
    assert_eq!(times.len(), 24);
    let expected = f64::from(WALKS) / 24.0;
    assert!(
        times.values().all(|times| (f64::from(*times) - expected).abs() < 4.0 * expected.sqrt()),
        "{times:?}"
    );
}

/// A point without identities is data, and is drawn uniformly.
#[test]
fn points_without_identities_are_drawn() {
    let mut answers = answers(&pct(1, 3, 10)(1));
    let mut times = [0_u32; 3];
    (0..3000).for_each(|_| {
        times[answers.answer(&ChoicePoint::action(3, Label::default())) as usize] += 1
    });
    assert!(times.iter().all(|times| (900..1100).contains(times)), "{times:?}");
}
