//! The speed of choices without texts. `explode bench raft` measures whole walks.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explode_cluster::ask::{Ask as _, BareWalk, MadeChoice, Question};
use explode_runtime::choose::{BarePoint, ChoiceKind, Policies, Policy};

const CHOICES: u64 = 1000;

/// Measures a choice among four events by each policy.
fn choice(c: &mut Criterion) {
    let (ids, weights) = ([1, 2, 3, 3], [4, 4, 2, 8]);
    let mut group = c.benchmark_group("choice");
    group.throughput(Throughput::Elements(CHOICES));
    let (seed, walk) = (0, 0);
    for (name, policy) in [
        ("uniform", Policy::Uniform { seed, walk }),
        ("weighted", Policy::Weighted { seed, walk }),
        ("pct", Policy::Pct { seed, walk, d: 3, k: 1000 }),
    ] {
        let mut answers = Policies::default().walk_answers(&policy, 0).expect("it is known");
        let mut made: Vec<MadeChoice> = Vec::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                made.clear();
                let mut before = |_| true;
                let mut walk = BareWalk::new(&mut *answers, std::mem::take(&mut made), &mut before);
                for _ in 0..CHOICES {
                    let step = Question::data(ChoiceKind::Schedule, 4, "step");
                    let point = BarePoint { ids: &ids, weights: &weights, ..step.point };
                    black_box(walk.ask(&Question { point, ..step }));
                }
                made = walk.made;
            });
        });
    }
    group.finish();
}

criterion_group!(benches, choice);
criterion_main!(benches);
