//! The simulated files against the table of `docs/model/fault-model.md`, section 7, and against a
//! model too simple to be wrong.

mod attributes;
mod calls;
mod contents;
mod crash_images;
mod errors;
mod events;
mod forgetting;
mod media;
mod model;
mod noted;
mod noting;
mod operations;
mod properties;
mod reads;
mod replay;
mod script;
