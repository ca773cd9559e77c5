//! Linearizability: is there an order of all calls that fits the specification, in which each call
//! stands between its beginning and its reply. Part by part of the state.
//!
//! The search is that of Wing and Gong (1993) with Lowe's memory of configurations (2017): a
//! configuration is the set of calls that have taken effect, and the state after them.

use std::collections::{BTreeMap, HashSet};

use super::history::{CallHistory, CallRecord};
use super::spec::SequentialSpec;

/// The largest number of calls on one part of the state. They are bits of a number.
const MOST_CALLS: usize = 128;

/// Returns why the calls on the parts that have changed since the last check are not linearizable.
/// `only` restricts the check to the part that this call is about. `None` if they are linearizable.
///
/// # Panics
/// If there are more than 128 calls on one part.
pub fn not_linearizable<S: SequentialSpec>(
    history: &CallHistory<S::Call, S::Reply>,
    only: Option<&S::Call>,
) -> Option<String> {
    let only = only.map(S::key);
    let mut parts: BTreeMap<S::Key, Vec<_>> = BTreeMap::new();
    for call in history.calls().iter().filter(|call| !call.is_refused) {
        let key = S::key(&call.call);
        if only.as_ref().is_none_or(|only| *only == key) {
            parts.entry(key).or_default().push(call);
        }
    }
    parts.values().find_map(|calls| (!fits::<S>(calls)).then(|| described(calls)))
}

/// Returns true if some order of these calls fits.
fn fits<S: SequentialSpec>(calls: &[&CallRecord<S::Call, S::Reply>]) -> bool {
    assert!(
        calls.len() <= MOST_CALLS,
        "{} calls on one part of the state; linearizability can be checked for {MOST_CALLS}, so \
         let the clients make fewer calls",
        calls.len()
    );
    let answered = calls.iter().enumerate().filter(|(_, call)| call.replied.is_some());
    let must: u128 = answered.map(|(at, _)| 1 << at).sum();
    let mut seen: HashSet<(u128, S)> = HashSet::new();
    let mut open = vec![(0_u128, S::default())];
    while let Some((done, state)) = open.pop() {
        if done & must == must {
            return true;
        }
        // A call can be next if no call that is not done has got its reply before it began.
        let left = || calls.iter().enumerate().filter(|(at, _)| done >> at & 1 == 0);
        let first_reply =
            left().filter_map(|(_, call)| Some(call.replied.as_ref()?.0)).min().unwrap_or(u32::MAX);
        for (at, call) in left().filter(|(_, call)| call.called < first_reply) {
            let mut next = state.clone();
            let reply = next.apply(&call.call);
            if call.replied.as_ref().is_some_and(|(_, known)| *known != reply) {
                continue;
            }
            let configuration = (done | 1 << at, next);
            if seen.insert(configuration.clone()) {
                open.push(configuration);
            }
        }
    }
    false
}

/// Returns the calls in words.
fn described<C: std::fmt::Debug, R: std::fmt::Debug>(calls: &[&CallRecord<C, R>]) -> String {
    let calls = calls.iter().map(|CallRecord { client, node, call, replied, .. }| {
        let reply =
            replied.as_ref().map_or("no reply".to_owned(), |(_, reply)| format!("{reply:?}"));
        format!("client {client} on {node}: {call:?} = {reply}")
    });
    let calls: Vec<String> = calls.collect();
    format!("no order of these calls fits what they returned: {}", calls.join("; "))
}

#[cfg(test)]
mod tests {
    use itertools::Itertools as _;
    use proptest::prelude::*;

    use super::*;
    use crate::client::{
        QueueCall, QueueReply, QueueSpec, RegisterCall, RegisterReply, RegisterSpec,
    };
    use crate::node::{CallId, NodeId};

    type Register = CallHistory<RegisterCall, RegisterReply>;

    fn begin(history: &mut Register, call: RegisterCall) -> CallId {
        history.call(0, NodeId(1), call)
    }

    fn all(
        history: &Register,
        client: usize,
        call: RegisterCall,
        reply: RegisterReply,
    ) -> Register {
        let mut history = history.clone();
        let id = history.call(client, NodeId(1), call);
        history.reply(id, reply);
        history
    }

    #[test]
    fn a_read_that_misses_a_write_before_it_is_found() {
        let written = all(&Register::default(), 0, RegisterCall::Write(1), RegisterReply::Written);
        let read = |value| all(&written, 1, RegisterCall::Read, RegisterReply::Value(value));
        assert_eq!(not_linearizable::<RegisterSpec>(&read(1), None), None);
        let text = not_linearizable::<RegisterSpec>(&read(0), None).expect("it is stale");
        assert!(text.contains("client 1 on n1: Read = Value(0)"), "{text}");
    }

    #[test]
    fn a_call_without_a_reply_may_have_happened_or_not() {
        let mut history = Register::default();
        begin(&mut history, RegisterCall::Write(7));
        for value in [0, 7] {
            let read = all(&history, 1, RegisterCall::Read, RegisterReply::Value(value));
            assert_eq!(not_linearizable::<RegisterSpec>(&read, None), None);
        }
        let seen = all(&history, 1, RegisterCall::Read, RegisterReply::Value(7));
        let gone = all(&seen, 1, RegisterCall::Read, RegisterReply::Value(0));
        assert!(not_linearizable::<RegisterSpec>(&gone, None).is_some());
    }

    /// Tries every order of the calls.
    fn by_force(history: &CallHistory<QueueCall, QueueReply>) -> bool {
        let calls = history.calls();
        let (done, open): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.replied.is_some());
        let fits = |order: &[&CallRecord<QueueCall, QueueReply>]| {
            let in_time = order.iter().array_combinations().all(|[first, second]| {
                second.replied.as_ref().is_none_or(|(replied, _)| *replied > first.called)
            });
            let mut state = QueueSpec::default();
            in_time
                && order.iter().all(|call| {
                    let reply = state.apply(&call.call);
                    call.replied.as_ref().is_none_or(|(_, known)| *known == reply)
                })
        };
        open.iter().copied().powerset().any(|some| {
            let calls = done.iter().copied().chain(some).collect::<Vec<_>>();
            let length = calls.len();
            calls.into_iter().permutations(length).any(|order| fits(&order))
        })
    }

    proptest! {
        #[test]
        fn the_search_finds_what_every_order_finds(
            moves in prop::collection::vec((any::<bool>(), 0_u64..3, 0_usize..3), 1..10),
        ) {
            let mut history: CallHistory<QueueCall, QueueReply> = CallHistory::default();
            let mut open: Vec<CallId> = Vec::new();
            for (begins, value, which) in moves {
                if begins || open.is_empty() {
                    if history.calls().len() == 5 {
                        continue;
                    }
                    let call = if value == 0 { QueueCall::Pop } else { QueueCall::Push(value) };
                    open.push(history.call(0, NodeId(1), call));
                    continue;
                }
                let id = open.remove(which % open.len());
                let reply = match history.calls()[id.0 as usize].call {
                    QueueCall::Push(_) => QueueReply::Pushed,
                    QueueCall::Pop => QueueReply::Popped((value > 0).then_some(value)),
                };
                history.reply(id, reply);
            }
            let found = not_linearizable::<QueueSpec>(&history, None).is_none();
            prop_assert_eq!(found, by_force(&history));
        }
    }
}
