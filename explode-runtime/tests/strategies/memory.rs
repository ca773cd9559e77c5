//! What states take that wait.

use explode_runtime::choose::{Choice, Label, Point};
use explode_runtime::explore::{
    Arrival, Exhaust, Finished, Frontier, MostDifferent, Reached, Sketch, State, Strategy,
};

/// The most that a waiting state may take, in bytes.
const MOST: usize = 100;
/// The most without a sketch.
const PLAIN: usize = 20;

/// Runs units until so many states wait: each mutate chooses among `options`, and each state is new.
fn fill(strategy: &mut Exhaust, options: u32, waiting: usize) {
    let point = Point::action(options, Label::named("toy"));
    while strategy.waiting() < waiting {
        let unit = strategy.next().expect("there are that many");
        let value = unit.script.first().map_or(0, |choice| choice.value);
        let mut choices = unit.state.choices.clone();
        choices.push(Choice::of(&point, value));
        let values: Vec<u8> = choices.iter().map(|choice| choice.value as u8).collect();
        let sketch = Sketch::of(&values);
        let depth = unit.state.depth + 1;
        let arrival = Arrival { depth, sketch: Some(sketch), ..Arrival::default() };
        let arrivals = [(arrival, Reached::New)];
        strategy.observe(&Finished {
            unit: &unit,
            choices: &choices,
            arrivals: &arrivals,
            reached: Reached::New,
        });
    }
}

/// All states that are nine mutates deep, where each has four choices; those before them are explored.
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
