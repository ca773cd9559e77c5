//! What goes between explode's kernel modules and its agent.
//!
//! [`wire`] has the structures and numbers, and is compiled into both modules and into the agent. [`user`] has the calls.

pub mod user;
pub mod wire;
