//! Probe sessions: a worker that stops a unit at a request for crash checks, and tries disks there.

mod moment;
mod protocol;
mod runner;

pub(crate) use protocol::kept_names;
pub use protocol::{
    Answers, End, Looks, Moment, Next, Pending, Probe, ProbeSaid, Probed, PromiseLine, Spot,
    Standing, Tried, Until,
};
pub(crate) use runner::{Talk, probe as run_probe};
