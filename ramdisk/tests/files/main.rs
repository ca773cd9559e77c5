//! Tests of the simulated files against the table in `docs/model/fault-model.md`, section 7, and
//! against a simple model.

mod attributes;
mod by_nodes;
mod calls;
mod contents;
mod crash_images;
mod errors;
mod events;
mod forgetting;
mod journal;
mod media;
mod model;
mod noted;
mod noting;
mod operations;
mod properties;
mod reads;
mod replay;
mod script;
