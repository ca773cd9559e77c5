//! The world: hosts, their disks, network, clock and clients. One step is one event: what may
//! happen next, a choice among it, the handler of a node, and perhaps a fault.
//!
//! | file | contents |
//! | --- | --- |
//! | `world.rs` | the state of the world, and a step |
//! | `event.rs` | events |
//! | `enabled.rs` | what may happen next |
//! | `handler.rs` | a handler of a node, and its effects |
//! | `handler_run.rs` | the effects of a handler that has run |
//! | `crash.rs` | a crash: the cut of the handler, and one legal disk |
//! | `partition.rs` | partitions |
//! | `properties.rs` | what must hold after a step and at the end |
//! | `identity.rs` | the identity of a state |
//! | `counts.rs` | what a walk counts |
//! | `story.rs` | what happened, as a table of hosts by steps |

mod counts;
mod crash;
mod enabled;
mod event;
mod handler;
mod handler_run;
mod identity;
mod partition;
mod properties;
mod story;
#[expect(clippy::module_inception, reason = "the file has the struct of that name")]
mod world;

pub use counts::{LinkCounts, WalkCounts};
pub use world::{DiskLimits, Stepped, World};
