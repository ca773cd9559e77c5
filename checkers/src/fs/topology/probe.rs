//! Finds out which groups of calls a file system supports. Each group is tried once, and its files
//! are removed again.

use explode_ramdisk::files::{
    Fallocate, FileKind, Files, FsCall, Result as FilesResult, WriteMethod,
};
use explode_runtime::base::StepError;
use nix::errno::Errno;

use super::call::TopologyCall;
use crate::fs::RESERVED;
use crate::fs::model::groups::{Group, Groups};
use crate::fs::model::{Abstract, Id};

/// Returns the words of the groups that an empty file system does not support. The file system is
/// empty and synced afterwards.
///
/// # Errors
/// Returns any other error of a call.
pub fn probe(files: &dyn Files, groups: Groups) -> Result<Vec<&'static str>, StepError> {
    let mut missing = Vec::new();
    for (word, group) in groups.each() {
        let calls = calls(group);
        let tried = try_calls(files, &calls).map(|fs| keeps(files, group, &fs));
        let failed = |action: &str, errno: Errno| {
            StepError::new(format!("trying '{word}': {action}: {errno}"))
        };
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

/// Returns the calls of a group, after the calls that they need.
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
        Group::Truncate => vec![TopologyCall::truncate(FILE)],
        Group::Append => vec![TopologyCall::write(FILE, 2 * super::BLOCK, WriteMethod::Appended)],
        Group::Direct => vec![TopologyCall::write(FILE, 0, WriteMethod::Direct)],
        Group::OSync => [WriteMethod::Synced, WriteMethod::DataSynced]
            .map(|method| TopologyCall::write(FILE, 0, method))
            .to_vec(),
        Group::Copy => vec![TopologyCall::creat("/g"), TopologyCall::copy(FILE, "/g")],
        Group::Extend => {
            vec![FsCall::Ftruncate { path: path(), size: 3 * super::BLOCK as u64 }.into()]
        }
    });
    calls
}

fn of_xattr(path: &str) -> Vec<TopologyCall> {
    let set = |len| TopologyCall::setxattr(path, len);
    vec![set(5), set(300), TopologyCall::removexattr(path)]
}

/// Makes the calls and returns the expected tree.
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

/// Returns the bytes that a call writes in the probe. A file that is removed while it is open gets
/// no data: the probe only tests whether it can be removed, and exploration tests the write (on HFS
/// the close after such a write does not return, `bugs/hfs-removed-while-open`, which would end
/// every start).
fn tried(call: &TopologyCall, fs: &Abstract) -> Vec<u8> {
    match call {
        TopologyCall::UnlinkHeld { .. } => Vec::new(),
        _ => call.bytes(fs, 1),
    }
}

/// Returns true if the calls have had an effect. Linux's FAT has no modes, but its chmod succeeds
/// (fat_setattr: "We don't return -EPERM here").
fn keeps(files: &dyn Files, group: Group, fs: &Abstract) -> bool {
    let is_kept = |(path, id): &(String, Id)| {
        files.mode(path).is_ok_and(|mode| mode == fs.attributes(*id).mode)
    };
    group != Group::Chmod || fs.paths().iter().all(is_kept)
}

/// Removes everything in a directory except the reserved paths of the file system.
fn clear(files: &dyn Files, folder: &str) -> FilesResult<()> {
    for (name, _) in files.readdir(if folder.is_empty() { "/" } else { folder })? {
        let path = format!("{folder}/{name}");
        if RESERVED.contains(&path.as_str()) {
            continue;
        }
        // The kind that a directory reports may be out of date. Exploration checks that.
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

/// Returns true for the errors of a file system that does not support a call, or not this flag of
/// it (ERRORS in the manual pages).
fn is_missing(errno: Errno) -> bool {
    use Errno::{EINVAL, EISDIR, ENAMETOOLONG, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, EXDEV};
    matches!(errno, EINVAL | EISDIR | ENAMETOOLONG | ENOSYS | ENOTTY | EOPNOTSUPP | EPERM | EXDEV)
}
