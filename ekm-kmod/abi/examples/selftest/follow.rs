//! Cases about calls: each that has changed a followed file system is in the log, and no other.

use std::fs::{self, File};
use std::io::Write as _;
use std::mem::offset_of;
use std::os::fd::AsRawFd;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::*;
use nix::errno::Errno;

use crate::Case;
use crate::Outcome::{self, Good, Skip};
use crate::device::{Disk, Ekm, Record};
use crate::systems::{MOUNT, Mounted, mkfs};

pub(crate) const CASES: &[Case] = &[
    ("ext2: calls", || calls("ext2")),
    ("ext4: calls", || calls("ext4")),
    ("vfat: calls", || calls("vfat")),
    ("minix: calls", || calls("minix")),
];

/// What was called, its two texts, and its bytes.
type Call = (u64, String, String, Vec<u8>);

fn call(record: &Record) -> Call {
    let Record { head, data } = record;
    assert_eq!((head.kind, head.device), (KIND_CALL, 3));
    let half = |at: usize| u32::from_ne_bytes(data[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(half(offset_of!(CallDetail, missing)), 0);
    let texts = size_of::<CallDetail>();
    let (path, other) = (half(offset_of!(CallDetail, path)), half(offset_of!(CallDetail, other)));
    let text = |from: usize, bytes: usize| String::from_utf8(data[from..from + bytes].to_vec()).unwrap();
    let bytes = data[texts + path + other..].to_vec();
    assert_eq!(bytes.len() as u64, head.len);
    (head.sector, text(texts, path), text(texts + path, other), bytes)
}

fn calls(kind: &str) -> Outcome {
    let disk = Disk::new(8);
    if let Err(why) = mkfs(kind, &disk) {
        return Skip(why);
    }
    let mounted = Mounted::new(kind, &disk);
    let ekm = Ekm::open();
    let folder = File::open(MOUNT).unwrap();
    let begin = |system| Follow { file: folder.as_raw_fd() as u32, system, what: FOLLOW_BEGIN, missed: 0 };
    let follow = |follow| user::follow(ekm.fd(), follow);
    assert_eq!(follow(begin(FOLLOWED_MAX as u32)), Err(Errno::EINVAL));
    assert_eq!(follow(Follow { what: 3, ..begin(0) }), Err(Errno::EINVAL));
    assert_eq!(follow(Follow { file: u32::MAX, ..begin(0) }), Err(Errno::EBADF));
    let work = || {
        let path = |name: &str| Mounted::path(name);
        fs::write(std::env::temp_dir().join("elsewhere"), b"elsewhere").unwrap();
        let mut file = File::create(path("a")).unwrap();
        file.write_all(b"hello").unwrap();
        file.sync_all().unwrap();
        fs::create_dir(path("d")).unwrap();
        fs::create_dir(path("d")).unwrap_err();
        fs::rename(path("a"), path("d/b")).unwrap();
        // Its name is another now.
        file.write_all(b"!").unwrap();
        file.set_len(2).unwrap();
        drop(file);
        fs::remove_file(path("d/b")).unwrap();
        fs::remove_dir(path("d")).unwrap();
    };
    assert_eq!(follow(begin(3)), Ok(0));
    assert_eq!(follow(begin(4)), Err(Errno::EEXIST));
    work();
    let seen: Vec<_> = ekm.take().iter().map(call).collect();
    let one = |what: u64, path: &str, other: &str, bytes: &[u8]| {
        (what, path.to_owned(), other.to_owned(), bytes.to_vec())
    };
    let expected = [
        one(CALL_CREATE, "/a", "", b""),
        one(CALL_WRITE, "/a", "", b"hello"),
        one(CALL_MKDIR, "/d", "", b""),
        one(CALL_RENAME, "/a", "/d/b", b""),
        one(CALL_WRITE, "/d/b", "", b"!"),
        one(CALL_CHANGE, "/d/b", "", b""),
        one(CALL_UNLINK, "/d/b", "", b""),
        one(CALL_RMDIR, "/d", "", b""),
    ];
    assert_eq!(seen, expected);
    assert_eq!(follow(Follow { system: 3, what: FOLLOW_END, ..Follow::default() }), Ok(0));
    work();
    assert_eq!(ekm.take().len(), 0, "it is followed no more");
    drop((folder, mounted));
    Good
}
