//! Running in a guest: the host's side and the agent's, and what goes between them.
//!
//! The agent is this very program, started in the guest as `explode agent`: it has the same components, checkers and targets,
//! whoever registered them. It explores and replays there; what it has to say, and what is worth keeping, goes to the host.

pub mod agent;
pub mod host;
mod wire;
