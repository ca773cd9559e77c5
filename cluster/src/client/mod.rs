//! Clients: their calls, the history of calls and replies, and its linearizability.

mod history;
mod linearizable;
mod spec;

use explode_runtime::choose::ChoiceKind;

use crate::ask::{Ask, Question};

pub use history::{CallHistory, CallRecord};
pub use linearizable::not_linearizable;
pub use spec::{
    MapCall, MapReply, MapSpec, QueueCall, QueueReply, QueueSpec, RegisterCall, RegisterReply,
    RegisterSpec, SequentialSpec,
};

/// Makes the next call of a client.
pub struct NextCall<'a> {
    ask: &'a mut dyn Ask,
    fresh: &'a mut u64,
    client: usize,
}

impl<'a> NextCall<'a> {
    /// Returns the maker of a call. `fresh` is the last number that was given.
    pub(crate) fn new(ask: &'a mut dyn Ask, fresh: &'a mut u64, client: usize) -> NextCall<'a> {
        NextCall { ask, fresh, client }
    }

    /// Chooses a number below `options`.
    ///
    /// # Panics
    /// If `options` is 0.
    pub fn choose(&mut self, options: u32) -> u32 {
        self.ask.ask(&Question::data(ChoiceKind::Input, options, "input"))
    }

    /// Returns a number that no call before had, from 1.
    pub fn fresh(&mut self) -> u64 {
        *self.fresh += 1;
        *self.fresh
    }

    /// Returns the number of the client, from 0.
    pub fn client(&self) -> usize {
        self.client
    }
}
