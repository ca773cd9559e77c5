//! Tests of calls as data: each call makes its system calls, prints as one line, and returns its
//! paths.

use explode_ramdisk::files::{
    Fallocate, Files, FsCall, Granule, NAMELESS, OpenFlags, REMOVED_DIRECTORY, Session, WriteMethod,
};
use explode_ramdisk::{Image, Recording, SimFiles, Storage};
use nix::errno::Errno;
use proptest::prelude::*;

use crate::noting::Noting;

fn files() -> SimFiles {
    SimFiles::mount(Storage::new(Image::new(), Recording::Off), 0, Granule::default()).unwrap()
}

/// Returns a strategy for any call, with paths and texts from the given strategies.
fn call(
    path: impl Strategy<Value = String> + Clone + 'static,
    text: impl Strategy<Value = String> + Clone + 'static,
) -> impl Strategy<Value = FsCall> {
    let (from, to) = (path.clone(), path.clone());
    let data = prop::collection::vec(any::<u8>(), 0..40);
    let numbers = (0..10_000_u64, 0..10_000_u64);
    (0..23_u8, from, to, text, data, numbers, any::<(bool, bool, bool)>()).prop_map(
        |(kind, path, to, text, data, (offset, size), (create, exclusive, truncate))| {
            let from = path.clone();
            let method = [
                WriteMethod::Plain,
                WriteMethod::DataSynced,
                WriteMethod::Synced,
                WriteMethod::Mapped,
            ][size as usize % 4];
            let mode = [
                Fallocate::Allocate,
                Fallocate::KeepSize,
                Fallocate::PunchHole,
                Fallocate::ZeroRange,
                Fallocate::CollapseRange,
                Fallocate::InsertRange,
            ][size as usize % 6];
            match kind {
                0 => FsCall::Open { path, flags: OpenFlags { create, exclusive, truncate } },
                1 => FsCall::OpenUnnamed { directory: path },
                2 => FsCall::Close { path },
                3 => FsCall::Pwrite { path, offset, data, method },
                4 => FsCall::Ftruncate { path, size },
                5 => FsCall::Fallocate { path, mode, offset, len: size },
                6 => FsCall::Clone { from, to },
                7 => FsCall::Fsync { path },
                8 => FsCall::Fdatasync { path },
                9 => FsCall::FsyncDir { path },
                10 => FsCall::Syncfs,
                11 => FsCall::Sync,
                12 => FsCall::Mkdir { path },
                13 => FsCall::Rmdir { path },
                14 => FsCall::Unlink { path },
                15 => FsCall::Link { from, to },
                16 => FsCall::LinkOpen { from, to },
                17 => FsCall::Rename { from, to },
                18 => FsCall::RenameNoReplace { from, to },
                19 => FsCall::Exchange { from, to },
                20 => FsCall::Symlink { target: text, path },
                21 => FsCall::Setxattr { path, name: text, value: data },
                _ if truncate => FsCall::Chmod { path, mode: size as u32 & 0o7777 },
                _ => FsCall::Removexattr { path, name: text },
            }
        },
    )
}

/// Returns a strategy for calls on the paths of a small tree.
fn plain() -> impl Strategy<Value = FsCall> {
    let path = prop::sample::select(vec!["/", "/a", "/b", "/d", "/d/a", "/d/e", NAMELESS]);
    call(path.prop_map(str::to_owned), Just("user.a".to_owned()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_call_is_one_line_that_holds_its_paths(call in call(any::<String>(), any::<String>())) {
        let line = call.to_string();
        prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        prop_assert_eq!(line.lines().count(), 1);
        for path in call.paths() {
            let is_plain = !path.chars().any(|letter| letter.is_control() || letter > '~');
            prop_assert!(!is_plain || line.contains(path), "{line:?} has no {path:?}");
        }
    }

    #[test]
    fn calls_of_different_effect_are_different_lines(one in plain(), other in plain()) {
        // The line does not contain the data, and a directory is synced by the same call as a file.
        let reported = |call: &FsCall| match call.clone() {
            FsCall::Pwrite { path, offset, data, method } => {
                FsCall::Pwrite { path, offset, data: vec![0; data.len()], method }
            }
            FsCall::Setxattr { path, name, value } => {
                FsCall::Setxattr { path, name, value: vec![0; value.len()] }
            }
            FsCall::FsyncDir { path } => FsCall::Fsync { path },
            call => call,
        };
        prop_assert_eq!(one.to_string() == other.to_string(), reported(&one) == reported(&other));
    }

    /// A session leaves no file open, and a successful call has its effect.
    #[test]
    fn calls_have_their_effect(calls in prop::collection::vec(plain(), 0..30)) {
        let files = files();
        let noting = Noting::default();
        for call in &calls {
            let made = call.apply(&files);
            let there = |path: &str| files.stat(path).is_ok();
            match (made, call) {
                (Ok(()), FsCall::Mkdir { path } | FsCall::Symlink { path, .. }) => {
                    prop_assert!(there(path));
                }
                (Ok(()), FsCall::Unlink { path } | FsCall::Rmdir { path }) => {
                    prop_assert!(!there(path));
                }
                (Ok(()), FsCall::Rename { to, .. } | FsCall::Link { to, .. }) => {
                    prop_assert!(there(to));
                }
                (Ok(()), FsCall::Ftruncate { path, size }) => {
                    prop_assert_eq!(files.stat(path).unwrap().size, *size);
                }
                (Ok(()), FsCall::Pwrite { path, offset, data, .. }) => {
                    let bytes = files.read_file(path).unwrap();
                    let end = *offset as usize + data.len();
                    prop_assert!(data.is_empty() || bytes[*offset as usize..end] == data[..]);
                }
                _ => {}
            }
            call.apply(&noting).unwrap();
            let made = noting.take();
            let count = |name: &str| made.iter().filter(|made| made.starts_with(name)).count();
            prop_assert_eq!(count("open"), count("close("), "{:?}", made);
        }
    }
}

#[test]
fn each_call_is_its_system_calls() {
    let path = || "/a".to_owned();
    let (from, to) = (path(), "/b".to_owned());
    let opened = |call: &str| vec![OPEN.to_owned(), call.to_owned(), "close(Fd(7),)".to_owned()];
    const OPEN: &str =
        r#"open("/a", OpenFlags { create: false, exclusive: false, truncate: false })"#;
    let flagged = |flag: &str| {
        let open = OPEN.replace("open(", "open_flagged(").replace(" })", &format!(" }}, {flag})"));
        vec![open, "pwrite(Fd(10), 9, [97, 98])".to_owned(), "close(Fd(10),)".to_owned()]
    };
    let written = |method| FsCall::Pwrite { path: path(), offset: 9, data: b"ab".to_vec(), method };
    let cases: [(FsCall, Vec<String>, &str); 11] = [
        (
            FsCall::pwrite("/a", 5, b"ab".to_vec()),
            opened("pwrite(Fd(7), 5, [97, 98])"),
            "pwrite /a 5+2",
        ),
        (
            FsCall::Pwrite { path: path(), offset: 5, data: vec![1], method: WriteMethod::Mapped },
            opened("write_mapped(Fd(7), 5, [1])"),
            "store, msync /a 5+1",
        ),
        (FsCall::Fsync { path: path() }, opened("fsync(Fd(7),)"), "fsync /a"),
        (FsCall::FsyncDir { path: path() }, vec![r#"sync_dir("/a",)"#.to_owned()], "fsync /a"),
        (
            FsCall::Rename { from: from.clone(), to: to.clone() },
            vec![r#"rename("/a", "/b")"#.to_owned()],
            "rename /a /b",
        ),
        (
            FsCall::Exchange { from, to },
            vec![r#"rename_with("/a", "/b", Exchange)"#.to_owned()],
            "rename /a /b RENAME_EXCHANGE",
        ),
        (FsCall::Chmod { path: path(), mode: 0o700 }, vec![r#"chmod("/a", 448)"#.to_owned()], {
            "chmod /a 0700"
        }),
        (
            FsCall::Fallocate { path: path(), mode: Fallocate::PunchHole, offset: 0, len: 4096 },
            opened("fallocate(Fd(7), PunchHole, 0, 4096)"),
            "fallocate /a punch-hole 0+4096",
        ),
        (
            FsCall::CopyRange { from: path(), to: path(), offset: 5, len: 6 },
            [OPEN, OPEN, "copy_range(Fd(7), Fd(7), 5, 6)", "close(Fd(7),)", "close(Fd(7),)"]
                .map(str::to_owned)
                .to_vec(),
            "copy_file_range /a /a 5+6",
        ),
        (written(WriteMethod::Appended), flagged("Append"), "pwrite /a 9+2 O_APPEND"),
        (written(WriteMethod::Direct), flagged("Direct"), "pwrite /a 9+2 O_DIRECT"),
    ];
    for (call, made, line) in cases {
        let noting = Noting::default();
        call.apply(&noting).unwrap();
        assert_eq!(noting.take(), made);
        assert_eq!(call.to_string(), line);
    }
}

/// Fsync of a directory goes through the descriptor that is open, also after a rename and after the
/// directory was removed or replaced. Then its path is [`REMOVED_DIRECTORY`].
#[test]
fn a_directory_stays_open_in_a_session() {
    let files = files();
    let path = |path: &str| path.to_owned();
    let mut session = Session::new(&files);
    for name in ["/a", "/b", "/c"] {
        files.mkdir(name).unwrap();
        session.open_directory(name).unwrap();
    }
    let fsync = |path: &str| FsCall::FsyncDir { path: path.to_owned() };
    session.make(&FsCall::Rename { from: path("/a"), to: path("/b/d") }).unwrap();
    session.make(&fsync("/b/d")).unwrap();
    assert_eq!(session.make(&fsync("/a")), Err(Errno::ENOENT));
    assert_eq!(session.make(&fsync(REMOVED_DIRECTORY)), Err(Errno::EINVAL), "none was removed");
    session.make(&FsCall::Rename { from: path("/b/d"), to: path("/c") }).unwrap();
    session.make(&fsync(REMOVED_DIRECTORY)).unwrap();
    session.make(&FsCall::Rmdir { path: path("/b") }).unwrap();
    session.make(&fsync("/c")).unwrap();
    let open = session.leave();
    assert!(open.has_removed_directory());
    drop(Session::resume(&files, open));
    assert_eq!(files.open_directory("/b"), Err(Errno::ENOENT));
    assert_eq!(files.open_directory("/c").map(|fd| files.close(fd)), Ok(Ok(())));
}

/// A file that was opened by two paths has a path until both are removed. Then calls go through the
/// descriptor that was opened by the removed path.
#[test]
fn an_open_file_has_all_its_paths() {
    let files = files();
    let path = |path: &str| path.to_owned();
    files.open("/a", OpenFlags::CREATE).and_then(|fd| files.close(fd)).unwrap();
    files.link("/a", "/b").unwrap();
    let mut session = Session::new(&files);
    for name in ["/a", "/b"] {
        session.make(&FsCall::Open { path: path(name), flags: OpenFlags::EXISTING }).unwrap();
    }
    session.linked_path("/a", "/b");
    session.linked_path("/b", "/a");
    let open = session.leave();
    assert_eq!(open.paths().collect::<Vec<_>>(), ["/a", "/b"]);
    let mut session = Session::resume(&files, open);
    session.make(&FsCall::Unlink { path: path("/b") }).unwrap();
    session.make(&FsCall::pwrite("/a", 0, b"one".to_vec())).unwrap();
    assert_eq!(files.read_file("/a"), Ok(b"one".to_vec()));
    session.make(&FsCall::Link { from: path("/a"), to: path("/c") }).unwrap();
    session.make(&FsCall::Unlink { path: path("/a") }).unwrap();
    session.make(&FsCall::pwrite("/c", 0, b"two".to_vec())).unwrap();
    assert_eq!(files.read_file("/c"), Ok(b"two".to_vec()));
    // Rename does nothing if both paths are of one file.
    session.make(&FsCall::Link { from: path("/c"), to: path("/d") }).unwrap();
    session.make(&FsCall::Rename { from: path("/c"), to: path("/d") }).unwrap();
    let open = session.leave();
    assert_eq!(open.paths().collect::<Vec<_>>(), ["/c", "/c"]);
    let mut session = Session::resume(&files, open);
    session.make(&FsCall::Unlink { path: path("/c") }).unwrap();
    files.open("/e", OpenFlags::CREATE).and_then(|fd| files.close(fd)).unwrap();
    session.make(&FsCall::Rename { from: path("/e"), to: path("/d") }).unwrap();
    session.make(&FsCall::pwrite(NAMELESS, 0, b"three".to_vec())).unwrap();
    let open = session.leave();
    assert_eq!(open.paths().collect::<Vec<_>>(), [NAMELESS; 2]);
    assert_eq!(files.read_file("/d"), Ok(Vec::new()));
    drop(Session::resume(&files, open));
}

#[test]
fn a_file_stays_open_in_a_session_and_keeps_its_new_path() {
    let files = files();
    let path = |path: &str| path.to_owned();
    let mut session = Session::new(&files);
    let mut make = |call: FsCall| session.make(&call);
    make(FsCall::Open { path: path("/a"), flags: OpenFlags::CREATE }).unwrap();
    make(FsCall::Rename { from: path("/a"), to: path("/b") }).unwrap();
    make(FsCall::pwrite("/b", 0, b"one".to_vec())).unwrap();
    assert_eq!(make(FsCall::pwrite("/a", 0, b"two".to_vec())), Err(Errno::ENOENT));
    make(FsCall::Unlink { path: path("/b") }).unwrap();
    // The file has no name and can still be written.
    make(FsCall::pwrite(NAMELESS, 3, b"two".to_vec())).unwrap();
    make(FsCall::Close { path: path(NAMELESS) }).unwrap();
    make(FsCall::OpenUnnamed { directory: path("/") }).unwrap();
    make(FsCall::pwrite(NAMELESS, 0, b"new".to_vec())).unwrap();
    make(FsCall::LinkOpen { from: path(NAMELESS), to: path("/c") }).unwrap();
    make(FsCall::Fsync { path: path("/c") }).unwrap();
    drop(session);
    assert_eq!(files.read_file("/c"), Ok(b"new".to_vec()));
    assert_eq!(files.stat("/b").map(|stat| stat.size), Err(Errno::ENOENT));
}
