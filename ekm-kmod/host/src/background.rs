//! What the kernel does on its own, made to happen: write-back by its flusher, and memory reclaim.
//! Neither promises anything.

use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::scheduling;
use explode_runtime::base::{Blame, StepError};

/// A change of it wakes the flusher of each device (`dirty_writeback_centisecs_handler`).
const INTERVAL: &str = "/proc/sys/vm/dirty_writeback_centisecs";
/// Both are 23 days (`vm-images/image/init`).
const INTERVALS: [&str; 2] = ["200000000", "199999999"];
/// Below it a folder for each device that is written back to.
const DEVICES: &str = "/sys/kernel/debug/bdi";
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// `enum wb_state`.
const RUNNING: u64 = 1 << 1;
const HAS_DIRTY: u64 = 1 << 2;
const START_ALL: u64 = 1 << 3;

/// So often the flusher is woken: what it writes can make something else dirty (an inode its
/// block), which it leaves when a tick of the clock lies in between.
const ROUNDS: u32 = 4;
/// How long it may take.
const LONGEST: Duration = Duration::from_secs(20);
/// Between two looks at it.
const LOOK: Duration = Duration::from_micros(200);

/// The flushers of all devices write back what is dirty (`WB_SYNC_NONE`), while the caller waits
/// behind everybody.
pub(crate) fn write_back() -> Result<(), StepError> {
    let began = Instant::now();
    scheduling::threads_take_turns().map_err(|error| tool("sched_setscheduler", &error))?;
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

/// The states of all devices' write-back, one over the other.
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

/// `state:` and a number to the base 16.
fn state(stats: &str) -> Option<u64> {
    let state = stats.lines().find_map(|line| line.strip_prefix("state:"))?;
    u64::from_str_radix(state.trim(), 16).ok()
}

/// Clean pages, then dentries, inodes and what else can be shrunk.
pub(crate) fn reclaim() -> Result<(), StepError> {
    fs::write(DROP_CACHES, "3").map_err(|error| tool(DROP_CACHES, &error))
}

fn tool(what: &str, error: &io::Error) -> StepError {
    StepError::new(format!("{what}: {error}")).blame(Blame::Tool)
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
