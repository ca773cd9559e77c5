//! Soft crashes in a guest: after each call the checked disk must have the files that the live file
//! system had at that time.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{File, FileTimes, OpenOptions, Permissions};
use std::io::{self, IoSlice, Write as _};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use explode_runtime::base::Options;
use explode_runtime::check::{Checker, CheckerDef, CheckerFacts, Cx as Steps, Unsupported};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use libc::{O_DIRECT, O_TMPFILE};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, RenameFlags, Uid, XattrFlags};

use crate::cases::Cx;
use crate::report::Report;

/// Runs every case: the target with its stack, and the steps that its file system lacks.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let mut registry = explode::registry();
    registry.checkers.push(CheckerDef::new(
        "calls",
        "makes every call that changes a file system",
        |_| Ok(Box::<Calls>::default()),
    ));
    let cx = Cx { registry: &registry, ..cx };
    let no_allocation: &[&str] = &["fallocate", "fallocate behind the end", "a hole is punched"];
    let cases = [
        ("fs-sync-ext4", vec![], 62),
        ("fs-sync-ext2", [no_allocation, &["an exchange"]].concat(), 58),
        ("fs-sync-xfs", vec![], 62),
    ];
    for (target, lacks, expected) in cases {
        report.case(
            &format!("soft crashes: {target}: each prefix of the calls is what the live one was"),
            |_| {
                let mut plan = cx.shallow(target);
                (plan.settings.soft, plan.settings.crash_depth) = (true, 0);
                (plan.checker, plan.checker_options) = ("calls".to_owned(), Options::none());
                LACKS.set(Vec::leak(lacks.clone()));
                let (summary, findings) = cx.explore(&plan);
                let said: Vec<_> = findings.iter().map(|finding| &finding.message).collect();
                assert!(said.is_empty(), "{said:#?}");
                let counted = [&summary.crash_disks, &summary.distinct]
                    .map(|count| u64::try_from(&count.0).unwrap());
                assert_eq!((counted, summary.complete), ([expected; 2], true), "{summary:?}");
            },
        );
    }
}

thread_local! {
    /// The steps that the current file system refuses.
    static LACKS: Cell<&'static [&'static str]> = const { Cell::new(&[]) };
}

/// A page, aligned for direct requests.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// The state that the steps of a run share.
struct Hands {
    root: PathBuf,
    file: Option<File>,
}

impl Hands {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("a step has opened it")
    }

    fn sh(&self, command: &str) -> io::Result<()> {
        let status =
            Command::new("/bin/sh").args(["-c", command]).current_dir(&self.root).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{command}: {status}")))
        }
    }
}

/// A step: its name, the number of its operations, and its function.
type Step = (&'static str, usize, fn(&mut Hands) -> io::Result<()>);

fn open(h: &Hands, name: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(h.at(name))
}

fn must_fail<T>(result: io::Result<T>) -> io::Result<()> {
    if result.is_ok() { Err(io::Error::other("it did not fail")) } else { Ok(()) }
}

const STEPS: &[Step] = &[
    ("create", 1, |h| {
        h.file = Some(
            OpenOptions::new()
                .write(true)
                .read(true)
                .create(true)
                .truncate(false)
                .mode(0o640)
                .open(h.at("f"))?,
        );
        Ok(())
    }),
    ("open of what is there", 0, |h| {
        File::create_new(h.at("f")).map_or(Ok(()), |_| Err(io::Error::other("new")))
    }),
    ("write", 1, |h| h.file().write_all(b"hello")),
    ("write behind a hole", 1, |h| h.file().write_all_at(b"far", 10_000)),
    ("writev", 1, |h| {
        h.file().write_vectored(&[IoSlice::new(b"one"), IoSlice::new(b"two")]).map(drop)
    }),
    ("append", 1, |h| OpenOptions::new().append(true).open(h.at("f"))?.write_all(b"end")),
    ("fsync", 0, |h| h.file().sync_all()),
    ("large write", 1, |h| h.file().write_all_at(&[b'L'; 300_000], 5)),
    ("ftruncate", 1, |h| h.file().set_len(3)),
    ("a longer size", 1, |h| h.file().set_len(70_000)),
    ("the same size", 0, |h| h.file().set_len(70_000)),
    ("O_TRUNC", 1, |h| File::create(h.at("f")).map(drop)),
    ("O_TRUNC of what is empty", 0, |h| File::create(h.at("f")).map(drop)),
    ("mkdir", 1, |h| std::fs::create_dir(h.at("d"))),
    ("calls that fail", 0, |h| {
        must_fail(std::fs::create_dir(h.at("d")))?;
        must_fail(std::fs::rename(h.at("nothing"), h.at("f")))?;
        must_fail(std::fs::remove_file(h.at("d")))?;
        must_fail(File::open(h.at("f"))?.write_all(b"x"))
    }),
    ("rename", 1, |h| std::fs::rename(h.at("f"), h.at("d/g"))),
    ("another file", 1, |h| File::create(h.at("x")).map(drop)),
    ("with contents", 1, |h| open(h, "x")?.write_all(b"contents")),
    ("an empty file", 1, |h| std::fs::write(h.at("y"), b"")),
    ("rename onto another", 1, |h| std::fs::rename(h.at("x"), h.at("d/g"))),
    ("write to what was replaced", 1, |h| h.file().write_all(b"lost")),
    ("an exchange", 1, |h| {
        Ok(rustix::fs::renameat_with(CWD, h.at("y"), CWD, h.at("d/g"), RenameFlags::EXCHANGE)?)
    }),
    ("a folder is renamed", 1, |h| std::fs::rename(h.at("d"), h.at("e"))),
    ("two more", 3, |h| {
        h.file = Some(File::create(h.at("h1"))?);
        std::fs::hard_link(h.at("h1"), h.at("h2"))?;
        std::fs::remove_file(h.at("h1"))
    }),
    ("write where another name is left", 1, |h| h.file().write_all(b"by h1")),
    ("a name goes", 1, |h| std::fs::remove_file(h.at("h2"))),
    ("write to what has no name", 1, |h| h.file().write_all(b"nobody's")),
    ("ftruncate of it", 1, |h| h.file().set_len(1)),
    ("symlink", 1, |h| std::os::unix::fs::symlink("e/g", h.at("s"))),
    ("write by the symlink", 1, |h| open(h, "s")?.write_all_at(b"S", 2)),
    ("owner of the symlink", 1, |h| {
        let (user, group) = (Some(Uid::from_raw(3)), Some(Gid::from_raw(4)));
        Ok(rustix::fs::chownat(CWD, h.at("s"), user, group, AtFlags::SYMLINK_NOFOLLOW)?)
    }),
    ("fifo", 1, |h| {
        Ok(rustix::fs::mknodat(CWD, h.at("p"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?)
    }),
    ("device", 1, |h| {
        let device = rustix::fs::makedev(1, 3);
        Ok(rustix::fs::mknodat(
            CWD,
            h.at("c"),
            FileType::CharacterDevice,
            Mode::from_raw_mode(0o600),
            device,
        )?)
    }),
    ("chmod", 1, |h| std::fs::set_permissions(h.at("e/g"), Permissions::from_mode(0o4711))),
    ("chown", 1, |h| std::os::unix::fs::chown(h.at("e/g"), Some(5), Some(6))),
    ("chmod again", 1, |h| std::fs::set_permissions(h.at("e"), Permissions::from_mode(0o2750))),
    ("utimes", 1, |h| {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        open(h, "e/g")?.set_times(FileTimes::new().set_accessed(at(1000)).set_modified(at(2000)))
    }),
    ("an attribute", 1, |h| {
        Ok(rustix::fs::setxattr(h.at("e/g"), "user.k", b"v", XattrFlags::empty())?)
    }),
    ("its new value", 1, |h| {
        Ok(rustix::fs::setxattr(h.at("e/g"), "user.k", b"value", XattrFlags::empty())?)
    }),
    ("an attribute of a directory", 1, |h| {
        Ok(rustix::fs::setxattr(h.at("e"), "user.d", b"", XattrFlags::empty())?)
    }),
    ("no attribute", 1, |h| Ok(rustix::fs::removexattr(h.at("e/g"), "user.k")?)),
    ("fallocate", 1, |h| {
        Ok(rustix::fs::fallocate(open(h, "y")?, FallocateFlags::empty(), 0, 9000)?)
    }),
    ("fallocate behind the end", 1, |h| {
        Ok(rustix::fs::fallocate(open(h, "y")?, FallocateFlags::KEEP_SIZE, 9000, 9000)?)
    }),
    ("fill", 1, |h| open(h, "y")?.write_all_at(&[b'y'; 9000], 0)),
    ("a hole is punched", 1, |h| {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(open(h, "y")?, flags, 4096, 4096)?)
    }),
    ("mkdir and rmdir", 2, |h| {
        std::fs::create_dir(h.at("z")).and_then(|()| std::fs::remove_dir(h.at("z")))
    }),
    ("O_DIRECT", 1, |h| {
        let file = OpenOptions::new().write(true).custom_flags(O_DIRECT).open(h.at("y"))?;
        file.write_all_at(&Page([b'D'; 4096]).0, 4096)
    }),
    ("sendfile", 1, |h| {
        let sent = rustix::fs::sendfile(open(h, "e/g")?, File::open(h.at("y"))?, None, 5000)?;
        if sent == 5000 { Ok(()) } else { Err(io::Error::other(format!("{sent} bytes"))) }
    }),
    ("a file for children", 1, |h| {
        h.file = Some(OpenOptions::new().read(true).write(true).create_new(true).open(h.at("k"))?);
        Ok(())
    }),
    ("a child writes to what it has inherited", 1, |h| {
        let out = Stdio::from(h.file().try_clone()?);
        let status = Command::new("/bin/sh").args(["-c", "echo child"]).stdout(out).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other("it failed")) }
    }),
    ("and its parent behind that", 1, |h| h.file().write_all(b"parent")),
    ("two processes append", 6, |h| {
        h.sh("(for i in 1 2 3; do echo a$i; done >>k) & (for i in 1 2 3; do echo b$i; done >>k) & \
              wait")
    }),
    ("a child in another directory", 3, |h| h.sh("cd e && echo x >rel && mv rel ../up")),
    ("a file without a name", 1, |h| {
        h.file = Some(
            OpenOptions::new().write(true).custom_flags(O_TMPFILE).mode(0o604).open(h.at("e"))?,
        );
        Ok(())
    }),
    ("its contents", 1, |h| h.file().write_all(b"temporary")),
    ("and then its name", 1, |h| {
        let path = format!("/proc/self/fd/{}", h.file().as_raw_fd());
        Ok(rustix::fs::linkat(CWD, path, CWD, h.at("t"), AtFlags::SYMLINK_FOLLOW)?)
    }),
    ("a store", 1, |h| {
        let (file, length) = (open(h, "t")?, NonZeroUsize::MIN);
        let (protection, flags) =
            (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: a new mapping of a file with at least one byte. It has no other user and ends
        // here.
        unsafe {
            let byte = mmap(None, length, protection, flags, &file, 0)?;
            byte.cast::<u8>().write_volatile(b'T');
            munmap(byte, 1)?;
        }
        Ok(())
    }),
];

/// The object of a name, as a user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    times: (i64, i64),
    device: u64,
    contents: Vec<u8>,
    attributes: Vec<(String, Vec<u8>)>,
}

type Tree = BTreeMap<PathBuf, Entry>;

fn tree(root: &Path, path: &Path, found: &mut Tree) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    let contents = if metadata.is_file() {
        std::fs::read(path)?
    } else if metadata.is_symlink() {
        std::fs::read_link(path)?.into_os_string().into_encoded_bytes()
    } else {
        Vec::new()
    };
    let mut names = vec![0; 1000];
    let len = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let names = names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let attribute = |name: &[u8]| {
        let mut value = vec![0; 1000];
        let len = rustix::fs::lgetxattr(path, name, &mut value[..])?;
        io::Result::Ok((String::from_utf8_lossy(name).into_owned(), value[..len].to_vec()))
    };
    let entry = Entry {
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        links: metadata.nlink(),
        times: (metadata.atime(), metadata.mtime()),
        device: metadata.rdev(),
        contents,
        attributes: names.map(attribute).collect::<io::Result<_>>()?,
    };
    found.insert(path.strip_prefix(root).expect("it is below").to_owned(), entry);
    if metadata.is_dir() {
        for name in std::fs::read_dir(path)? {
            tree(root, &name?.path(), found)?;
        }
    }
    Ok(())
}

/// Runs the steps in one interval.
#[derive(Default)]
struct Calls {
    /// The tree after each operation. `None` inside a step.
    expected: Vec<Option<Tree>>,
    checked: Cell<usize>,
}

fn root(stack: &Stack) -> Result<PathBuf, CheckError> {
    stack.paths().path.ok_or_else(|| CheckError::broken("no path"))
}

fn look(root: &Path) -> Result<Tree, CheckError> {
    let mut found = Tree::new();
    tree(root, root, &mut found)
        .map_err(|error| CheckError::broken(format!("{}: {error}", root.display())))?;
    Ok(found)
}

impl Checker for Calls {
    fn mutate(&mut self, cx: &mut Steps<'_>) -> Result<(), CheckError> {
        let mut hands = Hands { root: root(cx.stack())?, file: None };
        cx.check_crashes_start(&[]);
        for (name, operations, step) in STEPS {
            match step(&mut hands) {
                Ok(()) if !LACKS.get().contains(name) => {
                    self.expected.extend((1..*operations).map(|_| None));
                    if *operations > 0 {
                        self.expected.push(Some(look(&hands.root)?));
                    }
                }
                Err(_) if LACKS.get().contains(name) => {}
                result => return Err(CheckError::broken(format!("{name}: {result:?}"))),
            }
        }
        drop(hands);
        let asked = cx.check_crashes_end(self, &[]);
        asked?;
        assert_eq!(self.checked.get(), self.expected.len(), "one check for each operation");
        Ok(())
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let index = self.checked.replace(self.checked.get() + 1);
        let found = look(&root(stack)?)?;
        let Some(Some(expected)) = self.expected.get(index) else { return Ok(()) };
        let names = expected.keys().chain(found.keys());
        let differs = |name: &&PathBuf| expected.get(*name) != found.get(*name);
        match names.clone().find(differs) {
            None => Ok(()),
            Some(name) => {
                let text = format!(
                    "after operation {}: {}: {:?}, and it was {:?}",
                    index + 1,
                    name.display(),
                    found.get(name),
                    expected.get(name)
                );
                Err(Violation::new(Verdict::Corrupt, "prefix", text).into())
            }
        }
    }

    /// The result also depends on the number of the check.
    fn facts(&self, _stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        Ok(CheckerFacts::default().reads_only_its_disks(false))
    }
}
