//! Running in a guest: the host's side and the agent's.
//!
//! The agent is this same program, started in the guest as `explode agent`. It has the same
//! components, checkers and targets, even those that another crate has registered. It is the worker
//! of a run or a replay. The supervisor is on the host.

pub mod agent;
pub mod bench;
mod console;
pub mod host;
