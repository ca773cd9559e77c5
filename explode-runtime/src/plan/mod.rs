//! Plans of runs: the registry of everything that has a name, plans with their settings, the rows
//! and columns of the matrix, and the origin of a run.

mod by_name;
mod crash_model;
mod extensions;
mod matrix;
mod origin;
#[expect(clippy::module_inception, reason = "the room has the name of its main item")]
mod plan;
mod registry;
mod targets;

pub use crash_model::CrashModel;
pub use extensions::Extensions;
pub use matrix::{CheckedHistories, MatrixColumn, MatrixRow};
pub use origin::RunOrigin;
pub use plan::{
    GuestPackages, MOST_CRASH_DEPTH, NO_DEPTH, Plan, RootfsArchive, RunSettings, check_budget,
    check_deadline, check_samples,
};
pub use registry::Registry;
pub use targets::{Family, Target, TargetList, Targets};
