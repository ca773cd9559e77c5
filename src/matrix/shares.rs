//! The time and the workers of each cell.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The time and the workers of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The budget of the check.
    pub budget: Duration,
    /// The budget of its control run.
    pub control: Duration,
    /// The number of workers of each run.
    pub jobs: u32,
}

/// The limits of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct ShareLimits {
    /// The time for all cells. `None` if there is no limit.
    pub budget: Option<Duration>,
    /// The most time of a run, if the user named it. Without it a run has [`MOST`], and a check
    /// that goes deeper has all that is left if the matrix has a budget.
    pub most: Option<Duration>,
    /// The number of workers of all cells together.
    pub jobs: u32,
}

/// The most time of a run by default.
const MOST: Duration = Duration::from_secs(120);
/// The least time of a run. If the budget is short, some cells are not run and `--resume` runs them
/// later. That is better than runs without time to find anything.
const LEAST: Duration = Duration::from_secs(5);
/// The most runs of a cell.
const RUNS: u32 = 2;
/// The part of a cell's time that the control run of a check that goes deeper may take. It ends at
/// the first loss, which is near.
const CONTROL: u32 = 5;

/// Divides the time and the workers of a matrix among its cells.
pub struct Shares {
    limits: ShareLimits,
    begin: Instant,
    used: Mutex<Used>,
}

/// The workers that cells use now, and the time that cells took beyond the budgets of their runs,
/// to boot guests and to replay findings in other guests.
#[derive(Default)]
struct Used {
    jobs: u32,
    cells: u32,
    beside: Duration,
}

impl Shares {
    /// Returns the shares of a matrix that begins now.
    pub fn new(limits: ShareLimits) -> Shares {
        Shares { limits, begin: Instant::now(), used: Mutex::default() }
    }

    /// Takes the share of the next cell. `left` cells are not started yet, including this one.
    /// `deepens` is true if its check uses all time that it has. `None` if the time is over.
    pub fn take(&self, deepens: bool, left: u32) -> Option<Share> {
        let mut used = self.used.lock().expect("no worker has panicked");
        let beside = used.beside.checked_div(used.cells).unwrap_or_default();
        let time = self.limits.budget.map(|budget| budget.saturating_sub(self.begin.elapsed()));
        let free = self.limits.jobs.saturating_sub(used.jobs).max(1);
        let share = share(self.limits, deepens, left, free, time, beside)?;
        used.jobs += share.jobs;
        Some(share)
    }

    /// Returns the workers of a cell that took `time`.
    pub fn give_back(&self, share: Share, time: Duration) {
        let mut used = self.used.lock().expect("no worker has panicked");
        used.jobs -= share.jobs;
        used.cells += 1;
        used.beside += time.saturating_sub(share.budget + share.control);
    }
}

/// Returns the share of a cell. `left` cells are not started yet, `free` workers are idle, `time`
/// is left for all, and a cell takes the time `beside` in addition to its runs.
fn share(
    limits: ShareLimits,
    deepens: bool,
    left: u32,
    free: u32,
    time: Option<Duration>,
    beside: Duration,
) -> Option<Share> {
    let most = limits.most.unwrap_or(MOST);
    let jobs = free / left.min(free);
    let Some(time) = time else { return Some(Share { budget: most, control: most, jobs }) };
    if time.is_zero() {
        return None;
    }
    let cell = (time * limits.jobs.min(left) / left).saturating_sub(beside);
    let clamp = |time: Duration, most: Duration| time.clamp(LEAST.min(most), most);
    if !deepens {
        let run = clamp(cell / RUNS, most);
        return Some(Share { budget: run, control: run, jobs });
    }
    let control = clamp(cell / CONTROL, most);
    let budget = clamp(cell.saturating_sub(control), limits.most.unwrap_or(Duration::MAX));
    Some(Share { budget, control, jobs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(most: Option<u64>, jobs: u32) -> ShareLimits {
        ShareLimits { budget: None, most: most.map(Duration::from_secs), jobs }
    }

    /// Returns the seconds of the check and of its control run, and the workers.
    fn seconds(share: Option<Share>) -> Option<(u64, u64, u32)> {
        share.map(|share| (share.budget.as_secs(), share.control.as_secs(), share.jobs))
    }

    fn of(
        limits: ShareLimits,
        deepens: bool,
        left: u32,
        free: u32,
        time: Option<u64>,
    ) -> Option<(u64, u64, u32)> {
        let time = time.map(Duration::from_secs);
        seconds(share(limits, deepens, left, free, time, Duration::ZERO))
    }

    #[test]
    fn without_a_budget_each_run_has_its_own_time() {
        assert_eq!(of(limits(None, 1), false, 9, 1, None), Some((120, 120, 1)));
        assert_eq!(of(limits(Some(7), 1), true, 1, 1, None), Some((7, 7, 1)));
    }

    #[test]
    fn cells_have_equal_shares_of_the_budget() {
        assert_eq!(of(limits(None, 1), false, 10, 1, Some(1_000)), Some((50, 50, 1)));
        assert_eq!(of(limits(None, 2), false, 10, 1, Some(1_000)), Some((100, 100, 1)));
        assert_eq!(of(limits(Some(30), 2), false, 10, 1, Some(1_000)), Some((30, 30, 1)));
        assert_eq!(of(limits(None, 1), false, 10, 1, Some(1)), Some((5, 5, 1)));
        assert_eq!(of(limits(None, 1), false, 10, 1, Some(0)), None);
        let beside = Duration::from_secs(40);
        let time = Some(Duration::from_secs(1_000));
        let cell = share(limits(None, 1), false, 10, 1, time, beside);
        assert_eq!(seconds(cell), Some((30, 30, 1)));
    }

    /// The last cell has no more than the time that is left, with all idle workers.
    #[test]
    fn a_check_that_goes_deeper_has_all_that_is_left() {
        assert_eq!(of(limits(None, 1), true, 1, 1, Some(1_000)), Some((880, 120, 1)));
        assert_eq!(of(limits(None, 2), true, 2, 1, Some(300)), Some((240, 60, 1)));
        assert_eq!(of(limits(None, 2), true, 1, 2, Some(300)), Some((240, 60, 2)));
        assert_eq!(of(limits(None, 7), true, 2, 7, Some(300)), Some((240, 60, 3)));
        assert_eq!(of(limits(Some(60), 1), true, 1, 1, Some(1_000)), Some((60, 60, 1)));
    }

    #[test]
    fn workers_are_given_back() {
        let shares = Shares::new(limits(None, 3));
        let jobs = |left| shares.take(false, left).unwrap();
        let first = jobs(2);
        assert_eq!((first.jobs, jobs(1).jobs), (1, 2));
        shares.give_back(first, first.budget);
        assert_eq!(jobs(1).jobs, 1);
    }
}
