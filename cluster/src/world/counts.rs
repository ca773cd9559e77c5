//! The counts of a walk.

use explode_runtime::base::{ExactCount, TallyGroup};
use num_bigint::BigUint;

/// The counts of links that crashes have broken, with messages on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// The links.
    pub cut: u64,
    /// The lengths that their delivered parts could have.
    pub lengths: u64,
    /// The links of which a part arrives: neither nothing nor everything that could.
    pub partial: u64,
    /// The messages that do not arrive.
    pub lost: u64,
}

impl LinkCounts {
    /// Adds a link with `all` messages, of which `left` have left their host and `arrive` arrive.
    pub(super) fn cut(&mut self, arrive: u32, left: u32, all: u32) {
        self.cut += 1;
        self.lengths += u64::from(left) + 1;
        self.partial += u64::from(arrive > 0 && arrive < left);
        self.lost += u64::from(all - arrive);
    }

    fn since(&self, before: &LinkCounts) -> LinkCounts {
        LinkCounts {
            cut: self.cut - before.cut,
            lengths: self.lengths - before.lengths,
            partial: self.partial - before.partial,
            lost: self.lost - before.lost,
        }
    }
}

/// The counts of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkCounts {
    /// The crashes of nodes.
    pub crashes: u64,
    /// The crashes of nodes while they opened.
    pub in_recovery: u64,
    /// The pairs of a cut and a disk that these crashes could leave.
    pub disks: BigUint,
    /// The pairs that no sample contains.
    pub left_out: BigUint,
    /// The messages that arrived.
    pub delivered: u64,
    /// The messages that were lost by a fault.
    pub dropped: u64,
    /// The messages that arrived twice.
    pub duplicated: u64,
    /// The links that were cut.
    pub links: LinkCounts,
    /// The partitions.
    pub partitions: u64,
    /// The calls on files that failed.
    pub io_errors: u64,
    /// The disks that failed for good.
    pub bad_disks: u64,
    /// The calls of clients.
    pub calls: u64,
    /// The replies to them.
    pub replies: u64,
}

impl WalkCounts {
    /// Returns what was counted since `before`.
    #[must_use = "this returns the difference"]
    pub fn since(&self, before: &WalkCounts) -> WalkCounts {
        WalkCounts {
            crashes: self.crashes - before.crashes,
            in_recovery: self.in_recovery - before.in_recovery,
            disks: &self.disks - &before.disks,
            left_out: &self.left_out - &before.left_out,
            delivered: self.delivered - before.delivered,
            dropped: self.dropped - before.dropped,
            duplicated: self.duplicated - before.duplicated,
            links: self.links.since(&before.links),
            partitions: self.partitions - before.partitions,
            io_errors: self.io_errors - before.io_errors,
            bad_disks: self.bad_disks - before.bad_disks,
            calls: self.calls - before.calls,
            replies: self.replies - before.replies,
        }
    }

    /// Adds the counts to those of a run.
    pub fn tallies(&self, into: &mut Vec<TallyGroup>) {
        let WalkCounts { crashes, in_recovery, delivered, dropped, duplicated, .. } = *self;
        let WalkCounts { partitions, io_errors, bad_disks, calls, replies, links, .. } = *self;
        let all = [
            ("crashes", "crashes", crashes),
            ("crashes", "during recovery", in_recovery),
            ("messages", "delivered", delivered),
            ("messages", "lost", dropped),
            ("messages", "duplicated", duplicated),
            ("messages", "lost with their sender", links.lost),
            ("links", "cut by crashes", links.cut),
            ("links", "possible lengths", links.lengths),
            ("links", "delivered in part", links.partial),
            ("faults", "partitions", partitions),
            ("faults", "I/O errors", io_errors),
            ("faults", "bad disks", bad_disks),
            ("clients", "calls", calls),
            ("clients", "replies", replies),
        ];
        for (group, name, count) in all {
            if count > 0 {
                TallyGroup::add(into, group, name, &ExactCount::from(count));
            }
        }
    }
}
