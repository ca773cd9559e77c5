//! Cases about functions that fail by choice: slab allocations of calls on a file system in memory.

use std::fs;
use std::mem::offset_of;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{
    CHOICES_MAX, CHOICES_MMAP, ChoiceHeader, ChoiceSlot, FAIL_ALL, FAIL_PROBE, FAIL_SLAB, Kinds,
    LISTED_ERRNO, LISTED_NOT, LOG_DATA, NO_DEVICE,
};
use nix::errno::Errno;
use nix::unistd::gettid;

use crate::Case;
use crate::Outcome::{self, Good, Note};
use crate::device::{Ekm, Map};

pub(crate) const CASES: &[Case] = &[
    ("symbols have names", symbols),
    ("slab allocations fail by choice", choices),
    ("sites that must not fail are refused", sites),
];

fn symbols() -> Outcome {
    let ekm = Ekm::open();
    let all = fs::read_to_string("/proc/kallsyms").unwrap();
    let line = all.lines().find(|line| line.ends_with(" vfs_mkdir")).expect("root may see it");
    let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let name = user::symbol(ekm.fd(), address + 3).unwrap();
    assert!(name.starts_with("vfs_mkdir+0x3/0x"), "{name}");
    assert_eq!(user::symbol(ekm.fd(), 0).unwrap(), "0x0");
    Good
}

/// The shared memory of the choices.
struct Shared(Map);

impl Shared {
    fn of(ekm: &Ekm) -> Shared {
        Shared(Map::new(&ekm.file, CHOICES_MMAP as i64, slot(CHOICES_MAX), true).unwrap())
    }

    fn write(&mut self, at: usize, word: u32) {
        self.0.write(at, &word.to_ne_bytes());
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0.bytes()[at..at + 4].try_into().unwrap())
    }

    /// Arms the choices for this thread. Choice number `fails` fails.
    fn arm(&mut self, fails: Option<usize>) {
        for index in 0..fails.map_or(0, |fails| fails + 1) {
            self.write(slot(index) + offset_of!(ChoiceSlot, kind), FAIL_SLAB);
            self.write(slot(index) + offset_of!(ChoiceSlot, options), 2);
            self.write(
                slot(index) + offset_of!(ChoiceSlot, answer),
                u32::from(Some(index) != fails),
            );
        }
        let scripted = fails.map_or(0, |fails| fails as u32 + 1);
        for (at, word) in [
            (offset_of!(ChoiceHeader, kinds), FAIL_SLAB),
            (offset_of!(ChoiceHeader, task), gettid().as_raw() as u32),
            (offset_of!(ChoiceHeader, scripted), scripted),
            (offset_of!(ChoiceHeader, failures), 1),
            (offset_of!(ChoiceHeader, taken), 0),
            (offset_of!(ChoiceHeader, armed), 1),
        ] {
            self.write(at, word);
        }
    }

    /// Disarms the choices. Returns their number.
    fn disarm(&mut self) -> u32 {
        self.write(offset_of!(ChoiceHeader, armed), 0);
        assert_eq!(self.word(offset_of!(ChoiceHeader, lost)), 0);
        self.word(offset_of!(ChoiceHeader, taken))
    }
}

fn slot(index: usize) -> usize {
    LOG_DATA as usize + index * size_of::<ChoiceSlot>()
}

fn choices() -> Outcome {
    let ekm = Ekm::open();
    assert!(
        matches!(Map::new(&ekm.file, CHOICES_MMAP as i64, 4096, true), Err(Errno::EINVAL)),
        "not probed yet"
    );
    let slab = Kinds { kinds: FAIL_SLAB, untraced: 0 };
    assert_eq!(user::choices(ekm.fd(), FAIL_SLAB | (FAIL_ALL + 1)), Err(Errno::EINVAL));
    assert_eq!(user::choices(ekm.fd(), FAIL_ALL).map(|all| all.kinds), Ok(FAIL_ALL));
    assert_eq!(user::choices(ekm.fd(), FAIL_SLAB), Ok(slab));
    assert!(matches!(
        Map::new(&ekm.file, CHOICES_MMAP as i64 + 4096, 4096, true),
        Err(Errno::EINVAL)
    ));
    let mut shared = Shared::of(&ekm);
    let folder: PathBuf = std::env::temp_dir().join("ekm-choices");
    let make = || fs::create_dir(&folder);
    let remove = || fs::remove_dir(&folder).unwrap();
    shared.arm(None);
    make().unwrap();
    let points = shared.disarm();
    assert!(points > 1, "{points} choices");
    remove();
    let mut failed = 0;
    for index in 0..points as usize {
        shared.arm(Some(index));
        let made = make();
        assert_eq!(shared.disarm(), index as u32 + 1, "nothing is asked after the last failure");
        match made.map_err(|error| error.raw_os_error()) {
            // The kernel has a path without that memory.
            Ok(()) => remove(),
            // ramfs returns ENOSPC if it has no memory for an inode.
            Err(errno) => {
                assert!(
                    [Errno::ENOMEM, Errno::ENOSPC].map(|errno| Some(errno as i32)).contains(&errno)
                );
                failed += 1;
            }
        }
        let at = |offset: usize| shared.word(slot(index) + offset);
        assert_eq!(
            (at(offset_of!(ChoiceSlot, answer)), at(offset_of!(ChoiceSlot, device))),
            (0, NO_DEVICE)
        );
        assert!(at(offset_of!(ChoiceSlot, depth)) > 5);
    }
    assert!(failed > 1, "{failed} of {points} choices");
    // Another thread, and calls that are not on files.
    shared.arm(Some(0));
    thread::scope(|scope| scope.spawn(make).join()).unwrap().unwrap();
    UnixStream::pair().unwrap();
    user::symbol(ekm.fd(), 0).unwrap();
    assert_eq!(shared.disarm(), 0);
    remove();
    // Closing the device disarms the choices.
    shared.arm(Some(0));
    drop((shared, ekm));
    make().unwrap();
    remove();
    Note(format!("{points} choices of a mkdir, without {failed} of which it fails"))
}

/// Checks the kernel's list of functions that may fail.
fn sites() -> Outcome {
    let ekm = Ekm::open();
    let site = |symbol: &str, returns: Errno, unlisted: bool| {
        user::site(ekm.fd(), symbol, -i64::from(returns as i32), unlisted)
    };
    assert_eq!(
        site("should_failslab", Errno::ENOMEM, false).0,
        Err(Errno::EINVAL),
        "nothing is asked for"
    );
    user::choices(ekm.fd(), FAIL_PROBE).unwrap();
    assert_eq!(site("no_such_function", Errno::EIO, false).0, Err(Errno::ENOENT));
    assert_eq!(site(&"x".repeat(128), Errno::EIO, false).0, Err(Errno::ENOENT));
    assert_eq!(site("vfs_mkdir", Errno::EIO, false), (Err(Errno::EPERM), LISTED_NOT));
    assert_eq!(
        user::site(ekm.fd(), "should_failslab", 1, false),
        (Err(Errno::EPERM), LISTED_ERRNO)
    );
    assert_eq!(site("should_failslab", Errno::ENOMEM, false), (Ok(()), LISTED_ERRNO));
    assert_eq!(site("should_failslab", Errno::ENOMEM, false).0, Err(Errno::EEXIST));
    assert_eq!(site("vfs_mkdir", Errno::EIO, true), (Ok(()), LISTED_NOT));
    assert!(site("get_kprobe", Errno::EIO, true).0.is_err(), "probes need it themselves");
    // The sites are removed with the kinds.
    user::choices(ekm.fd(), FAIL_PROBE).unwrap();
    assert_eq!(site("vfs_mkdir", Errno::EIO, true).0, Ok(()));
    Good
}
