//! Random calls have the same results on both kinds of files.

use explode_components::mounted::MountedFiles;
use explode_ramdisk::files::{Fd, FileKind, Files, OpenFlags, Result, Stat};
use nix::errno::Errno;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{EXCLUSIVE, directory, simulated};

#[test]
fn random_calls_have_the_same_results() {
    const PATHS: [&str; 7] = ["/a", "/b", "/d", "/d/a", "/d/e", "/d/e/a", "/"];
    let directory = directory();
    let arms: [Box<dyn Files>; 2] =
        [Box::new(simulated()), Box::new(MountedFiles::new(directory.path()).unwrap())];
    for seed in 0..2000 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut pick = |n: u32| (rng.next_u32() % n) as usize;
        let (call, path, other, number) =
            (pick(13), PATHS[pick(7)], PATHS[pick(7)], pick(9000) as u64);
        let said =
            arms.each_ref().map(|files| random_call(files.as_ref(), call, path, other, number));
        assert_eq!(said[0], said[1], "call {seed}");
    }
}

/// Makes a call and returns its result as text.
fn random_call(files: &dyn Files, call: usize, path: &str, other: &str, number: u64) -> String {
    let on_file = |work: &dyn Fn(Fd) -> Result<()>| {
        let fd = files.open(path, OpenFlags::CREATE)?;
        work(fd)?;
        files.close(fd)
    };
    let is_file = |stat: &Stat| stat.kind == FileKind::File;
    match call {
        0 | 1 => {
            format!("write: {:?}", on_file(&|fd| files.pwrite(fd, number, &[number as u8; 5000])))
        }
        2 => format!("truncate: {:?}", on_file(&|fd| files.ftruncate(fd, number))),
        3 => format!("create: {:?}", files.open(path, EXCLUSIVE).map(|fd| files.close(fd))),
        4 => format!("read: {:?}", files.read_file(path)),
        5 => {
            let stat = files.stat(path);
            format!(
                "stat: {:?}",
                stat.map(|stat| (stat.kind, stat.size, is_file(&stat).then_some(stat.links)))
            )
        }
        6 => format!("readdir: {:?}", files.readdir(path)),
        7 | 8 => format!("mkdir: {:?}", files.mkdir(path)),
        9 => format!("rmdir: {:?}", files.rmdir(path)),
        10 => {
            let other_word = |errno| if errno == Errno::EPERM { Errno::EISDIR } else { errno };
            format!("unlink: {:?}", files.unlink(path).map_err(other_word))
        }
        // If several errors apply, it is not specified which one is returned.
        11 => format!("link: {}", files.link(path, other).is_ok()),
        _ => format!("rename: {}", files.rename(path, other).is_ok()),
    }
}
