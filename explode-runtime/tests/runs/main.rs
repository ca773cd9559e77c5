//! Runs of small checkers on test components, in process. They are one program, so that what they
//! share is built once.

#[path = "../common/mod.rs"]
mod common;
#[path = "../toy/mod.rs"]
mod toy;

mod asked_checks;
mod call_order;
mod changed_facts;
mod chops;
mod component_choices;
mod crash_checks;
mod crash_depth;
mod defaults;
mod exploring;
mod log_inspection;
mod skipping;
mod soft_crashes;
mod stops;
mod world;
