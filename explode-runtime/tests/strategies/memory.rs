//! What states take that wait.

use explode_runtime::choose::{Choice, ChoiceKind, ChoicePoint, Label};
use explode_runtime::explore::{
    Exhaust, FinishedUnit, Frontier, MostDifferent, Novelty, ReachedState, Sketch, State, Strategy,
};

/// The most that a waiting state may take, in bytes.
const MOST: usize = 100;
/// The most without a sketch.
const PLAIN: usize = 20;

/// Runs units until so many states wait. Each is new: `make` makes the choices of a mutate, by the
/// script and then as it likes.
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

/// The same, where each mutate chooses among `options`.
fn fill(strategy: &mut Exhaust, options: u32, waiting: usize) {
    let point = ChoicePoint::action(options, Label::named("toy"));
    fill_by(strategy, waiting, |script| {
        vec![Choice::of(&point, script.first().map_or(0, |choice| choice.value))]
    });
}

/// The calls among which a mutate chooses, and the most points of the kernel in one of them: ext4
/// has 18 in fsync, HFS 38.
const CALLS: u32 = 16;
const POINTS: usize = 40;

/// The points of each call. Each is at its own place: a function under a stack, and some of them on
/// an object. What fails has a name.
fn points_of_the_kernel() -> Vec<Vec<Label>> {
    let label = |call: u32, at: usize| Label {
        site: format!("slab function_{at}_of_the_kernel"),
        stack: Some((u64::from(call) << 32 | at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        object: at.is_multiple_of(3).then(|| format!("disk {}", at % 2)),
    };
    (0..CALLS).map(|call| (0..POINTS).map(|at| label(call, at)).collect()).collect()
}

/// The choices of a mutate that makes a call. Each of its functions may fail, one at most: from
/// there on all run normally, and are no points.
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

/// All states that are nine mutates deep, where each has four choices; those before them are
/// explored.
#[test]
fn a_state_that_waits_takes_little_memory() {
    let mut strategy = Exhaust::new(10);
    fill(&mut strategy, 4, 4_usize.pow(9));
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert_eq!(states, 262_144);
    assert!(bytes <= states * PLAIN, "{bytes} bytes for {states} states");
}

/// With its sketch, and those of the states that were explored.
#[test]
fn so_does_one_that_waits_until_it_is_the_most_different() {
    let frontier = Box::<MostDifferent>::default() as Box<dyn Frontier>;
    let mut strategy = Exhaust::from_state(9, frontier, State::default());
    fill(&mut strategy, 100, 10_000);
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert!(bytes <= states * MOST, "{bytes} bytes for {states} states");
}

/// With choices of the kernel: many in a mutate, at many places. The choices themselves, which are
/// kept once, take half a megabyte: it is few states for which they count.
#[test]
fn so_does_one_with_choices_of_the_kernel() {
    let labels = points_of_the_kernel();
    let mut strategy = Exhaust::new(3);
    fill_by(&mut strategy, 100_000, |script| makes_a_call(&labels, script));
    let (states, bytes) = (strategy.waiting(), strategy.bytes());
    assert!(bytes <= states * MOST, "{bytes} bytes for {states} states");
}
