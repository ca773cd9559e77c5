//! The same nodes of Paxos as actors of stateright.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use stateright::actor::{Actor, ActorModel, Id, Network, Out};
use stateright::{Checker as _, Expectation, Model as _};

use crate::vote::{HOSTS, Vote, Voter, agree};

struct VoteActor;

impl Actor for VoteActor {
    type Msg = Vote;
    type State = Voter;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, id: Id, _: &Option<()>, out: &mut Out<Self>) -> Voter {
        if let Some(vote) = Voter::first(id.into()) {
            to_all(&vote, out);
        }
        Voter::default()
    }

    fn on_msg(
        &self,
        id: Id,
        state: &mut Cow<'_, Voter>,
        from: Id,
        vote: Vote,
        out: &mut Out<Self>,
    ) {
        let (reply, all) = state.to_mut().handle(id.into(), from.into(), vote);
        if let Some(reply) = reply {
            out.send(from, reply);
        }
        if let Some(vote) = all {
            to_all(&vote, out);
        }
    }
}

fn to_all(vote: &Vote, out: &mut Out<VoteActor>) {
    (0..HOSTS).for_each(|to| out.send(Id::from(to), vote.clone()));
}

/// Searches all states of Paxos after at most `depth` steps, breadth first, with one thread. Returns
/// the number of distinct states, and the time.
pub fn states(depth: u32) -> (u64, Duration) {
    let started = Instant::now();
    let checker = ActorModel::<VoteActor, (), ()>::new((), ())
        .actors((0..HOSTS).map(|_| VoteActor))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "one value", |_, state| {
            agree(state.actor_states.iter().map(|voter| voter.chosen))
        })
        .checker()
        .threads(1)
        // The first state counts.
        .target_max_depth(depth as usize + 1)
        .spawn_bfs()
        .join();
    checker.assert_properties();
    (checker.unique_state_count() as u64, started.elapsed())
}
