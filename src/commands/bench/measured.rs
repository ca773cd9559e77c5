//! The measurements that a bench reports.

use explode_cluster::rates::WalkRates;

use super::plans::Variant;
use crate::bench::{BenchReport, EkmCost, RestoreCost};

/// A measurement, reported as soon as it is known.
pub enum BenchMeasured<'a> {
    /// Checks of a target. For a guest also their duration in seconds by the host's clock.
    Checks(&'a Variant, &'a BenchReport, Option<f64>),
    /// Walks of a cluster.
    Walks(&'a Variant, &'a WalkRates),
    /// The restore of a kernel's disks.
    Restore(&'a RestoreCost),
    /// The cost of EKM.
    Tracing(&'a EkmCost),
}
