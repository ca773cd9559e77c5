//! Hosts that talk over sockets.

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod doubles;
mod packets;
