//! The memory of waiting states.

use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Label};
use explode_runtime::explore::{
    Exhaust, FinishedUnit, Frontier, MostDifferent, Novelty, ReachedState, Sketch, State, Strategy,
};

/// The maximal memory of a waiting state, in bytes.
const MOST: usize = 100;
/// The maximal memory of a waiting state without a sketch, in bytes.
const PLAIN: usize = 20;

/// Runs units until `waiting` states wait. Each is new. `make` makes the choices of a mutate: those
/// of the script first, then its own.
fn fill_by(strategy: &mut Exhaust, waiting: usize, make: impl Fn(&[Choice]) -> Vec<Choice>) {
    while strategy.waiting() < waiting {
        let unit = strategy.next().expect("there are that many");
        let mut choices = unit.state.choices.clone();
        choices.extend(make(&unit.script));
        let values: Vec<u8> = choices.iter().map(|choice| choice.value as u8).collect();
        let sketch = Sketch::of(&values);
        let depth = unit.state.depth + 1;
        let arrival = ReachedState { depth, sketch: Some(sketch), ..ReachedState::default() };
        let arrivals = [(arrival, Novelty::New)];
        strategy.observe(&FinishedUnit {
            unit: &unit,
            choices: &choices,
            arrivals: &arrivals,
            reached: Novelty::New,
        });
    }
}

/// Runs units whose mutates choose among `options`, until `waiting` states wait.
fn fill(strategy: &mut Exhaust, options: u32, waiting: usize) {
    let point = ChoicePoint::action(options, Label::named("toy"));
    fill_by(strategy, waiting, |script| {
        vec![Choice::of(&point, script.first().map_or(0, |choice| choice.value))]
    });
}

/// The number of calls that a mutate chooses from, and the maximal number of points of the kernel
/// in a call: ext4 has 18 in fsync, HFS 38.
const CALLS: u32 = 16;
const POINTS: usize = 40;

/// Returns the points of each call. Each has its own place: a function under a stack, and for some
/// of them an object.
fn points_of_the_kernel() -> Vec<Vec<Label>> {
    let label = |call: u32, at: usize| Label {
        site: format!("slab function_{at}_of_the_kernel"),
        stack: Some((u64::from(call) << 32 | at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        object: at.is_multiple_of(3).then(|| format!("disk {}", at % 2)),
    };
    (0..CALLS).map(|call| (0..POINTS).map(|at| label(call, at)).collect()).collect()
}

/// Returns the choices of a mutate that makes a call. Each function of the call may fail, but at
/// most one. After a failure all functions run normally, and are not points.
fn makes_a_call(labels: &[Vec<Label>], script: &[Choice]) -> Vec<Choice> {
    let mut answers = script.iter().map(|choice| choice.value);
    let call = answers.next().unwrap_or(0);
    let mut made = vec![Choice::of(&ChoicePoint::action(CALLS, Label::named("call")), call)];
    let names = [format!("fail: {}", "function < its_caller < ".repeat(10)), String::new()];
    for label in &labels[call as usize] {
        let point = ChoicePoint {
            kind: ChoiceKind::SlabFailure,
            names: &names,
            ..ChoicePoint::action(2, label.clone())
        };
        let value = answers.next().unwrap_or(point.normal());
        made.push(Choice::of(&point, value));
        if value != point.normal() {
            break;
        }
    }
    made
}

/// All states at depth nine wait, with four choices in each mutate. The states before them are
/// explored.
#[test]
fn a_state_that_waits_takes_little_memory() {
    let mut strategy = Exhaust::new(10);
    fill(&mut strategy, 4, 4_usize.pow(9));
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert_eq!(states, 262_144);
    assert!(bytes <= states * PLAIN, "{bytes} bytes for {states} states");
}

/// A waiting state with its sketch, and with the sketches of the states that were explored.
#[test]
fn a_waiting_state_of_different_takes_little_memory() {
    let frontier = Box::<MostDifferent>::default() as Box<dyn Frontier>;
    let mut strategy = Exhaust::from_state(9, frontier, State::default());
    fill(&mut strategy, 100, 10_000);
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert!(bytes <= states * MOST, "{bytes} bytes for {states} states");
}

/// Choices of the kernel: many in a mutate, at many places. The choices themselves are kept once
/// and take half a megabyte, which counts only for a small number of states.
#[test]
fn a_waiting_state_with_kernel_choices_takes_little_memory() {
    let labels = points_of_the_kernel();
    let mut strategy = Exhaust::new(3);
    fill_by(&mut strategy, 100_000, |script| makes_a_call(&labels, script));
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert!(bytes <= states * MOST, "{bytes} bytes for {states} states");
}
