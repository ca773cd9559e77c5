//! A specification of the user's own, as `docs/start/your-cluster.md` shows it.

use explode_cluster::prelude::*;

/// A counter: each call adds one, and returns the new value.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Counter(u64);

impl SequentialSpec for Counter {
    type Call = ();
    type Reply = u64;
    /// All calls are about the same part.
    type Key = ();

    fn key(_call: &()) {}

    fn apply(&mut self, _call: &()) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// Counts in memory, on the host that is called.
struct Counting {
    count: u64,
}

impl Node for Counting {
    type Msg = ();
    type Call = ();
    type Reply = u64;

    fn open(_host: &mut Host<'_, Self>) -> Handled<Self> {
        Ok(Counting { count: 0 })
    }

    fn on_call(&mut self, call: CallId, _what: (), host: &mut Host<'_, Self>) -> Handled {
        self.count += 1;
        host.reply(call, self.count);
        Ok(())
    }

    fn on_message(&mut self, _from: NodeId, _msg: (), _host: &mut Host<'_, Self>) -> Handled {
        Ok(())
    }
}

fn counting(faults: FaultBudget) -> Cluster<Counting> {
    cluster::<Counting>("counting", 1)
        .clients(1, |_| ())
        .faults(faults)
        .steps(40, 10)
        .linearizable::<Counter>()
}

#[test]
fn a_count_that_no_crash_takes_is_linearizable() {
    counting(FaultBudget::NONE).run(walks(200));
}

#[test]
fn a_count_that_is_only_in_memory_is_found() {
    let faults = FaultBudget { crashes: 1, ..FaultBudget::NONE };
    let text = counting(faults).outcome(walks(200)).expect_err("a crash forgets the count");
    assert!(text.contains("FAIL"), "{text}");
}

#[test]
fn the_page_shows_this_specification() {
    let page = include_str!("../../docs/start/your-cluster.md");
    let file = include_str!("own_spec.rs");
    let (_, shown) = file.split_once("prelude::*;\n\n").expect("there is a head");
    let shown = shown.split("/// Counts in memory").next().expect("there is a beginning");
    assert!(page.contains(shown.trim_end()), "docs/start/your-cluster.md has another one");
}
