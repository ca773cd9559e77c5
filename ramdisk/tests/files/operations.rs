//! Random calls and their results, for any implementation of files.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::Files;
use explode_ramdisk::files::{Fd, FileKind, OpenFlags, Result, Stat};
use proptest::prelude::*;

/// A call. There are few paths and only small handles, so that calls affect the same files.
#[derive(Clone, Debug)]
pub enum Op {
    Open { path: String, flags: (bool, bool, bool) },
    Close(u32),
    Read { fd: u32, offset: u64, len: usize },
    Write { fd: u32, offset: u64, len: usize, byte: u8 },
    Truncate { fd: u32, size: u64 },
    Fstat(u32),
    Fsync(u32),
    Fdatasync(u32),
    Stat(String),
    Readdir(String),
    Mkdir(String),
    Rmdir(String),
    Link(String, String),
    Unlink(String),
    Rename(String, String),
    SyncDir(String),
    Sync,
    Remount,
}

/// The result of a call, without inode numbers.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Done,
    Opened(Fd),
    Bytes(Vec<u8>),
    Is(FileKind, u64, u32),
    Names(Vec<(String, FileKind)>),
}

fn path() -> impl Strategy<Value = String> {
    let names = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4);
    prop_oneof![40 => names.prop_map(|names| format!("/{}", names.join("/"))),
        1 => Just("/".to_owned())]
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..64, 4090u64..4100, 0u64..20_000]
}

fn len() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..20, 500usize..520, 4090usize..4100, 0usize..10_000]
}

pub fn op() -> impl Strategy<Value = Op> {
    let flags =
        || (prop::bool::weighted(0.8), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    let write = (0u32..4, offset(), len(), 0u8..4);
    prop_oneof![
        6 => (path(), flags()).prop_map(|(path, flags)| Op::Open { path, flags }),
        3 => (0u32..4).prop_map(Op::Close),
        2 => (0u32..4, offset(), len()).prop_map(|(fd, offset, len)| Op::Read { fd, offset, len }),
        8 => write.prop_map(|(fd, offset, len, byte)| Op::Write { fd, offset, len, byte }),
        3 => (0u32..4, offset()).prop_map(|(fd, size)| Op::Truncate { fd, size }),
        1 => (0u32..4).prop_map(Op::Fstat),
        2 => (0u32..4).prop_map(Op::Fsync),
        1 => (0u32..4).prop_map(Op::Fdatasync),
        1 => path().prop_map(Op::Stat),
        1 => path().prop_map(Op::Readdir),
        4 => path().prop_map(Op::Mkdir),
        2 => path().prop_map(Op::Rmdir),
        2 => (path(), path()).prop_map(|(from, to)| Op::Link(from, to)),
        3 => path().prop_map(Op::Unlink),
        5 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => path().prop_map(Op::SyncDir),
        1 => Just(Op::SyncDir("/".to_owned())),
        1 => Just(Op::Sync),
        1 => Just(Op::Remount),
    ]
}

/// Makes one call.
pub fn call(files: &dyn Files, op: &Op) -> Result<Answer> {
    let is = |stat: Stat| Answer::Is(stat.kind, stat.size, stat.links);
    let done = |()| Answer::Done;
    match op {
        Op::Open { path, flags: (create, exclusive, truncate) } => {
            let flags = OpenFlags { create: *create, exclusive: *exclusive, truncate: *truncate };
            files.open(path, flags).map(Answer::Opened)
        }
        Op::Close(fd) => files.close(Fd(*fd)).map(done),
        Op::Read { fd, offset, len } => {
            let mut bytes = vec![0; *len];
            let read = files.pread(Fd(*fd), *offset, &mut bytes)?;
            bytes.truncate(read);
            Ok(Answer::Bytes(bytes))
        }
        Op::Write { fd, offset, len, byte } => {
            files.pwrite(Fd(*fd), *offset, &vec![*byte; *len]).map(done)
        }
        Op::Truncate { fd, size } => files.ftruncate(Fd(*fd), *size).map(done),
        Op::Fstat(fd) => files.fstat(Fd(*fd)).map(is),
        Op::Fsync(fd) => files.fsync(Fd(*fd)).map(done),
        Op::Fdatasync(fd) => files.fdatasync(Fd(*fd)).map(done),
        Op::Stat(path) => files.stat(path).map(is),
        Op::Readdir(path) => files.readdir(path).map(Answer::Names),
        Op::Mkdir(path) => files.mkdir(path).map(done),
        Op::Rmdir(path) => files.rmdir(path).map(done),
        Op::Link(from, to) => files.link(from, to).map(done),
        Op::Unlink(path) => files.unlink(path).map(done),
        Op::Rename(from, to) => files.rename(from, to).map(done),
        Op::SyncDir(path) => files.sync_dir(path).map(done),
        Op::Sync => files.sync().map(done),
        Op::Remount => Ok(Answer::Done),
    }
}

/// Returns the visible tree: each path, its status, and the contents of files. Each directory is
/// entered once.
pub fn tree(files: &dyn Files) -> BTreeMap<String, (Answer, Vec<u8>)> {
    let mut seen = BTreeMap::new();
    let mut entered = BTreeSet::new();
    let mut unread = vec![("/".to_owned(), FileKind::Directory)];
    while let Some((path, kind)) = unread.pop() {
        let stat = files.stat(&path).unwrap();
        let contents =
            if kind == FileKind::File { files.read_file(&path).unwrap() } else { Vec::new() };
        // The model has no inode numbers and no directory with two names.
        let new = stat.inode == 0 && path != "/" || entered.insert(stat.inode);
        if kind == FileKind::Directory && new {
            let parent = if path == "/" { "" } else { &path };
            let names = files.readdir(&path).unwrap();
            unread.extend(names.into_iter().map(|(name, kind)| (format!("{parent}/{name}"), kind)));
        }
        seen.insert(path, (Answer::Is(stat.kind, stat.size, stat.links), contents));
    }
    seen
}
