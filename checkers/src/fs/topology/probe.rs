//! Which groups of calls a file system has: each is tried on it once, and everything is taken away
//! again.

use explode_ramdisk::files::{
    Fallocate, FileKind, Files, FsCall, Result as FilesResult, WriteMethod,
};
use explode_runtime::base::StepError;
use nix::errno::Errno;

use super::call::TopologyCall;
use crate::fs::RESERVED;
use crate::fs::model::groups::{Group, Groups};
use crate::fs::model::{Abstract, Id};

/// The words of those that an empty file system does not have; it is empty afterwards, and synced.
///
/// # Errors
/// Any other error of a call.
pub fn probe(files: &dyn Files, groups: Groups) -> Result<Vec<&'static str>, StepError> {
    let mut missing = Vec::new();
    for (word, group) in groups.each() {
        let calls = calls(group);
        let tried = try_calls(files, &calls).map(|fs| keeps(files, group, &fs));
        let failed =
            |what: &str, errno: Errno| StepError::new(format!("trying '{word}': {what}: {errno}"));
        clear(files, "").map_err(|errno| failed("taking it away", errno))?;
        match tried {
            Ok(true) => {}
            Ok(false) => missing.push(word),
            Err((_, errno)) if is_missing(errno) => missing.push(word),
            Err((call, errno)) => return Err(failed(&call.name(), errno)),
        }
    }
    files.sync()?;
    Ok(missing)
}

/// Every call of a group, with what it needs before.
fn calls(group: Group) -> Vec<TopologyCall> {
    const FILE: &str = "/f";
    let path = || FILE.to_owned();
    let mut calls = vec![
        TopologyCall::creat(FILE),
        TopologyCall::pwrite(FILE, 0),
        TopologyCall::pwrite(FILE, super::BLOCK),
        FsCall::Mkdir { path: "/d".to_owned() }.into(),
    ];
    let fallocate = |mode| TopologyCall::fallocate(FILE, mode, 0);
    calls.extend(match group {
        Group::Contents => Vec::new(),
        Group::Symlink => {
            let link = |name: &str, target: String| {
                FsCall::Symlink { target, path: name.to_owned() }.into()
            };
            vec![link("/s", path()), link("/t", "t".repeat(100))]
        }
        Group::Chmod => vec![
            FsCall::Chmod { path: path(), mode: 0o600 }.into(),
            FsCall::Chmod { path: "/d".to_owned(), mode: 0o700 }.into(),
        ],
        Group::Xattr => ["/f", "/d"].map(of_xattr).concat(),
        Group::Exchange => vec![FsCall::Exchange { from: path(), to: "/d".to_owned() }.into()],
        Group::NoReplace => {
            vec![FsCall::RenameNoReplace { from: path(), to: "/g".to_owned() }.into()]
        }
        Group::Allocate => [Fallocate::Allocate, Fallocate::KeepSize].map(fallocate).to_vec(),
        Group::Punch => vec![fallocate(Fallocate::PunchHole)],
        Group::Zero => vec![fallocate(Fallocate::ZeroRange)],
        Group::Shift => [Fallocate::CollapseRange, Fallocate::InsertRange].map(fallocate).to_vec(),
        Group::Tmpfile => vec![TopologyCall::Tmpfile { path: "/g".to_owned() }],
        Group::Held => vec![TopologyCall::UnlinkHeld { path: path() }],
        Group::Mmap => vec![TopologyCall::store(FILE)],
        Group::Reflink => {
            vec![
                TopologyCall::creat("/g"),
                TopologyCall::Clone { from: path(), to: "/g".to_owned() },
            ]
        }
    });
    calls
}

fn of_xattr(path: &str) -> Vec<TopologyCall> {
    let set = |len| TopologyCall::setxattr(path, len);
    vec![set(5), set(300), TopologyCall::removexattr(path)]
}

/// Makes them; returns what should be there then.
fn try_calls<'c>(
    files: &dyn Files,
    calls: &'c [TopologyCall],
) -> Result<Abstract, (&'c TopologyCall, Errno)> {
    let mut fs = Abstract::new();
    for call in calls {
        let bytes = tried(call, &fs);
        call.make(files, &bytes, WriteMethod::Plain).map_err(|errno| (call, errno))?;
        call.apply(&mut fs, &bytes);
    }
    Ok(fs)
}

/// What a call writes here. A file that is removed while it is open gets nothing: whether it can be
/// removed is asked, and what becomes of a write to it is explored (HFS does not come back from its
/// close, `bugs/hfs-removed-while-open`; here that would end every start).
fn tried(call: &TopologyCall, fs: &Abstract) -> Vec<u8> {
    match call {
        TopologyCall::UnlinkHeld { .. } => Vec::new(),
        _ => call.bytes(fs, 1),
    }
}

/// Has it done anything? Linux's FAT has no modes, and its chmod succeeds all the same
/// (fat_setattr: "We don't return -EPERM here").
fn keeps(files: &dyn Files, group: Group, fs: &Abstract) -> bool {
    let is_kept = |(path, id): &(String, Id)| {
        files.mode(path).is_ok_and(|mode| mode == fs.attributes(*id).mode)
    };
    group != Group::Chmod || fs.paths().iter().all(is_kept)
}

/// Removes what is in a directory, but what the file system keeps there for itself.
fn clear(files: &dyn Files, folder: &str) -> FilesResult<()> {
    for (name, _) in files.readdir(if folder.is_empty() { "/" } else { folder })? {
        let path = format!("{folder}/{name}");
        if RESERVED.contains(&path.as_str()) {
            continue;
        }
        // What a directory says of the kind may be out of date; whether it is will be explored.
        match files.stat(&path)?.kind {
            FileKind::Directory => {
                clear(files, &path)?;
                files.rmdir(&path)?;
            }
            FileKind::File | FileKind::Symlink => files.unlink(&path)?,
        }
    }
    Ok(())
}

/// What a file system says that does not have a call, or not this flag of it (the manual pages'
/// ERRORS).
fn is_missing(errno: Errno) -> bool {
    use Errno::{EINVAL, EISDIR, ENAMETOOLONG, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, EXDEV};
    matches!(errno, EINVAL | EISDIR | ENAMETOOLONG | ENOSYS | ENOTTY | EOPNOTSUPP | EPERM | EXDEV)
}
