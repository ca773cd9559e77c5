//! Running in a guest: the host's side and the agent's.
//!
//! The agent is this very program, started in the guest as `explode agent`: it has the same
//! components, checkers and targets, whatever crate has registered them. It is the worker of a run
//! or a replay; the supervisor is on the host.

pub mod agent;
pub mod bench;
mod console;
pub mod host;
