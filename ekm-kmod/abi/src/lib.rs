//! The interface between explode's kernel modules and its agent.
//!
//! [`wire`] has the structures and numbers, and is compiled into both modules and into the agent.
//! [`user`] has the calls.
//!
//! # Rooms, bottom first
//!
//! - [`source`]: the sources of `wire`
//! - [`wire`]: the structures and numbers that both sides share
//! - [`user`]: the calls of the agent

pub mod source;
pub mod user;
pub mod wire;
