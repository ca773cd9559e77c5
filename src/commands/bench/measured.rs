//! A measurement, which is reported at once.

use super::plans::Variant;
use crate::bench::{BenchReport, EkmCost, RestoreCost};

/// A measurement, reported as soon as it is known.
pub enum BenchMeasured<'a> {
    /// Checks of a target; with how long they took by the host's clock, if they were measured by
    /// that of a guest.
    Checks(&'a Variant, &'a BenchReport, Option<f64>),
    /// Restoring disks of a kernel.
    Restore(&'a RestoreCost),
    /// What EKM costs.
    Tracing(&'a EkmCost),
}
