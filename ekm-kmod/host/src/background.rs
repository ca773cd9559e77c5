//! Background work of the kernel, made to happen on request: write-back by the flusher, and memory
//! reclaim. Neither gives any guarantee.

use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::scheduling::{self, TurnTakers};
use explode_runtime::base::{Blame, StepError};

/// A file of which each change wakes the flusher of every device
/// (`dirty_writeback_centisecs_handler`).
const INTERVAL: &str = "/proc/sys/vm/dirty_writeback_centisecs";
/// Two intervals of 23 days (`vm-images/image/init`).
const INTERVALS: [&str; 2] = ["200000000", "199999999"];
/// A folder with one folder for each device that has write-back.
const DEVICES: &str = "/sys/kernel/debug/bdi";
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The bits of `enum wb_state`.
const RUNNING: u64 = 1 << 1;
const HAS_DIRTY: u64 = 1 << 2;
const START_ALL: u64 = 1 << 3;

/// The number of times that the flusher is woken. A write may make something else dirty (the block
/// of an inode), which the flusher leaves for later if a clock tick lies in between.
const ROUNDS: u32 = 4;
/// The longest time for the write-back.
const LONGEST: Duration = Duration::from_secs(20);
/// The time between two reads of the state.
const LOOK: Duration = Duration::from_micros(200);

/// Makes the flushers of all devices write back dirty data (`WB_SYNC_NONE`). The caller waits
/// with a lower priority than the tasks that take turns.
pub(crate) fn write_back(takers: &TurnTakers) -> Result<(), StepError> {
    let began = Instant::now();
    takers.update().map_err(|error| tool("threads cannot take turns", &error))?;
    for _ in 0..ROUNDS {
        if states()? & HAS_DIRTY == 0 {
            break;
        }
        wake().map_err(|error| tool(INTERVAL, &error))?;
        let done = scheduling::behind_all(|| {
            while states()? & (RUNNING | START_ALL) != 0 {
                if began.elapsed() > LONGEST {
                    let why = format!(
                        "not replayable: the flusher was woken, and has not ended in {LONGEST:?} \
                         (EX-58)"
                    );
                    return Err(StepError::new(why).blame(Blame::Tool));
                }
                thread::sleep(LOOK);
            }
            Ok(())
        });
        done.map_err(|error| tool("sched_setscheduler", &error))??;
    }
    Ok(())
}

fn wake() -> io::Result<()> {
    let now = fs::read_to_string(INTERVAL)?;
    let other = INTERVALS.into_iter().find(|interval| *interval != now.trim_end());
    fs::write(INTERVAL, other.unwrap_or(INTERVALS[0]))
}

/// Returns the bitwise or of the write-back states of all devices.
fn states() -> Result<u64, StepError> {
    let mut states = 0;
    for device in fs::read_dir(DEVICES).map_err(|error| tool(DEVICES, &error))? {
        let path = device.map_err(|error| tool(DEVICES, &error))?.path().join("stats");
        let stats =
            fs::read_to_string(&path).map_err(|error| tool(&path.to_string_lossy(), &error))?;
        states |= state(&stats).ok_or_else(|| {
            StepError::new(format!("{} says no state", path.display())).blame(Blame::Tool)
        })?;
    }
    Ok(states)
}

/// Returns the hexadecimal number after `state:`.
fn state(stats: &str) -> Option<u64> {
    let state = stats.lines().find_map(|line| line.strip_prefix("state:"))?;
    u64::from_str_radix(state.trim(), 16).ok()
}

/// Drops clean pages, then dentries, inodes and other shrinkable caches.
pub(crate) fn reclaim() -> Result<(), StepError> {
    fs::write(DROP_CACHES, "3").map_err(|error| tool(DROP_CACHES, &error))
}

fn tool(action: &str, error: &io::Error) -> StepError {
    StepError::new(format!("{action}: {error}")).blame(Blame::Tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read() {
        let stats = "bdi_list:                    1\nstate:                       d\n";
        assert_eq!(state(stats), Some(START_ALL | HAS_DIRTY | 1));
        assert_eq!(state("bdi_list: 1\n"), None);
    }
}
