//! Cases about the clock and the random numbers. They only need a RAM disk and tmpfs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{Clock, Random};
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};

use crate::Case;
use crate::Outcome::{self, Good, Note};
use crate::device::Ekm;

pub(crate) const CASES: &[Case] =
    &[("clock stands still", clock), ("random numbers repeat", random)];

/// A file that is made now and removed at the end.
struct Fresh(PathBuf);

impl Fresh {
    fn new(name: &str) -> Fresh {
        let path = std::env::temp_dir().join(format!("{name}-{}", process::id()));
        fs::write(&path, "x").unwrap();
        Fresh(path)
    }

    fn times(&self) -> [(i64, i64); 3] {
        let meta = fs::metadata(&self.0).unwrap();
        [
            (meta.mtime(), meta.mtime_nsec()),
            (meta.ctime(), meta.ctime_nsec()),
            (meta.atime(), meta.atime_nsec()),
        ]
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn clock() -> Outcome {
    const THEN: u64 = 1_000_000_000;
    let ekm = Ekm::open();
    let frozen = |frozen, seconds| user::clock(ekm.fd(), Clock { frozen, reserved: 0, seconds });
    let before = now();
    frozen(1, THEN).unwrap();
    assert_eq!(Fresh::new("then").times(), [(THEN as i64, 0); 3]);
    // Callers get the real time, with and without the vDSO.
    assert!((before..before + 60).contains(&now()));
    for id in [ClockId::CLOCK_REALTIME, ClockId::CLOCK_REALTIME_COARSE] {
        let seconds = clock_gettime(id).unwrap().tv_sec() as u64;
        assert!((before..before + 60).contains(&seconds));
    }
    frozen(1, THEN + 5).unwrap();
    assert_eq!(Fresh::new("later").times(), [(THEN as i64 + 5, 0); 3]);
    frozen(0, 0).unwrap();
    assert!(Fresh::new("now").times()[0].0 as u64 >= before);
    assert_eq!(frozen(2, 0), Err(Errno::EINVAL));
    assert_eq!(frozen(1, u64::MAX), Err(Errno::EINVAL));
    frozen(1, THEN).unwrap();
    drop(ekm);
    assert!(
        Fresh::new("closed").times()[0].0 as u64 >= before,
        "it runs when the device is closed"
    );
    Good
}

/// Returns a UUID that the kernel generates (`generate_random_uuid`).
fn uuid() -> String {
    fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap()
}

fn random() -> Outcome {
    let ekm = Ekm::open();
    let exchange = |seeded, seed, drawn| {
        user::random(ekm.fd(), Random { seeded, reserved: 0, seed, drawn }).unwrap()
    };
    let before = exchange(1, 42, 0);
    assert_eq!(before.seeded, 0);
    let first = [uuid(), uuid()];
    let after_first = exchange(1, 42, 0);
    assert_eq!((after_first.seeded, after_first.seed), (1, 42));
    let second = [uuid(), uuid()];
    assert_eq!(first, second);
    assert_ne!(first[0], first[1]);
    // A resumed sequence continues with the same numbers. Another seed gives other numbers.
    let third = uuid();
    exchange(1, 42, after_first.drawn);
    assert_eq!(uuid(), third);
    exchange(1, 43, 0);
    assert_ne!(uuid(), first[0]);
    let after = exchange(0, 0, 0);
    assert_eq!(after.seed, 43);
    assert_ne!(uuid(), uuid());
    assert_eq!(
        user::random(ekm.fd(), Random { seeded: 2, ..Random::default() }),
        Err(Errno::EINVAL)
    );
    exchange(1, 42, 0);
    drop(ekm);
    assert_ne!(uuid(), first[0], "random again when the device is closed");
    Note(format!("{} numbers for two UUIDs", after_first.drawn))
}
