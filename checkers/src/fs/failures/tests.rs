//! A wrong tree is refused.

use explode_ramdisk::files::{FsCall, Granule, OpenFlags, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};
use explode_runtime::verdict::CheckError;
use nix::errno::Errno;

use super::Failures;
use super::shutdown::Shutdown;
use super::step::{self, FailureStep, StepEnding};
use super::tree::{expected, found};
use crate::fs::model::{Abstract, ModelNode};

/// Files that these calls were made on.
fn files(calls: &[FsCall]) -> SimFiles {
    let storage = Storage::new(Image::new(), Recording::Off);
    let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
    calls.iter().for_each(|call| call.apply(&files).unwrap());
    files
}

/// Every path of up to two steps that succeed: its calls, the tree before the last step, the last
/// step, and the tree after it.
fn paths() -> Vec<(Vec<FsCall>, Abstract, FailureStep, Abstract)> {
    let mut fs = Abstract::new();
    step::begin().iter().for_each(|call| fs.apply(call));
    let mut paths = Vec::new();
    let mut fronts = vec![(step::begin(), fs)];
    for _ in 0..2 {
        for (calls, before) in std::mem::take(&mut fronts) {
            for step in FailureStep::possible(&before) {
                let (mut calls, mut before) = (calls.clone(), before.clone());
                step.before().iter().for_each(|call| before.apply(call));
                calls.extend(step.before());
                calls.push(step.call.clone());
                let mut after = before.clone();
                after.apply(&step.call);
                fronts.push((calls.clone(), after.clone()));
                paths.push((calls, before, step, after));
            }
        }
    }
    paths
}

/// Calls each of which makes a tree wrong.
fn wrongs(fs: &Abstract) -> Vec<FsCall> {
    let more = || "/more".to_owned();
    let open = FsCall::Open { path: more(), flags: OpenFlags::CREATE };
    let link = FsCall::Symlink { target: "file".to_owned(), path: more() };
    let mut wrongs = vec![FsCall::Mkdir { path: more() }, open, link];
    for (path, id) in fs.paths() {
        let ModelNode::File(bytes) = fs.node(id) else {
            wrongs.push(FsCall::Rmdir { path: path.clone() });
            wrongs.push(FsCall::Mkdir { path: format!("{path}/more") });
            continue;
        };
        wrongs.push(FsCall::Unlink { path: path.clone() });
        wrongs.push(FsCall::Link { from: path.clone(), to: more() });
        let size = bytes.len() as u64;
        let sizes = [size + 1, size.saturating_sub(1)].into_iter().filter(|other| *other != size);
        wrongs.extend(sizes.map(|size| FsCall::Ftruncate { path: path.clone(), size }));
        let at = [0, bytes.len() / 2, bytes.len().saturating_sub(1)];
        let at = at.into_iter().filter(|at| *at < bytes.len());
        wrongs.extend(at.map(|at| FsCall::pwrite(&path, at as u64, vec![!bytes[at]])));
    }
    wrongs
}

/// The message of a violation.
fn refused(judged: Result<(), CheckError>) -> String {
    match judged {
        Err(CheckError::Violation(violation)) => {
            format!("{}: {}", violation.promise, violation.message)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_tree_is_refused_by_the_word_of_the_last_call() {
    let mut seen = 0;
    for (calls, before, step, after) in paths() {
        let checker = |fs: Abstract, last: StepEnding| Failures { fs, last, ..Failures::new() };
        let done = checker(after.clone(), StepEnding::Done(step.name));
        done.compare(&files(&calls), "").unwrap();
        let failed = StepEnding::Failed(step.name, Errno::ENOMEM);
        let failed = checker(before.clone(), failed);
        for wrong in wrongs(&after) {
            let files = files(&calls);
            wrong.apply(&files).unwrap();
            let call = step.name.split(' ').next().unwrap();
            let message = refused(done.compare(&files, ""));
            assert!(message.starts_with(&format!("{call}-has-its-effect: ")), "{wrong}: {message}");
            let message = refused(done.compare(&files, " on the disk"));
            assert!(message.starts_with(&format!("{call}-has-its-effect-on-disk: ")), "{message}");
            seen += 1;
        }
        // An effect of a call that has failed.
        if expected(&before) != expected(&after) {
            let message = refused(failed.compare(&files(&calls), ""));
            let call = step.name.split(' ').next().unwrap();
            assert!(message.starts_with(&format!("failed-{call}-has-no-effect: ")), "{message}");
        }
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn after_a_shutdown_only_the_contents_of_the_changed_file_may_be_others() {
    for (calls, before, step, after) in paths() {
        let ended = StepEnding::Done(step.name);
        let down = Shutdown::after(&step, &ended, &mut before.clone());
        down.compare(&files(&calls), &ended).unwrap();
        for wrong in wrongs(&after) {
            let files = files(&calls);
            wrong.apply(&files).unwrap();
            let is_of_contents = matches!(wrong, FsCall::Pwrite { .. } | FsCall::Ftruncate { .. });
            let path = wrong.paths()[0];
            if is_of_contents && step.changes().contains(&path) {
                down.compare(&files, &ended).unwrap();
                continue;
            }
            let judged = down.compare(&files, &ended);
            // A wrong tree may be the one before the call.
            if found(&files).unwrap() == expected(&before) {
                judged.unwrap();
            } else {
                assert!(refused(judged).starts_with("synced-by-sync: "), "{wrong}");
            }
        }
    }
}

#[test]
fn a_message_tells_the_first_difference() {
    let done = StepEnding::Done("mkdir /new-dir");
    let mut checker = Failures { last: done, ..Failures::new() };
    step::begin().iter().for_each(|call| checker.fs.apply(call));
    let message_of = |wrong: FsCall| {
        let files = files(&step::begin());
        wrong.apply(&files).unwrap();
        refused(checker.compare(&files, ""))
    };
    let file = || "/file".to_owned();
    for (wrong, difference) in [
        (
            FsCall::Unlink { path: file() },
            "/file is not there; expected: a file of 5000 bytes and 1 links",
        ),
        (
            FsCall::Link { from: file(), to: "/link".to_owned() },
            "/file is a file of 5000 bytes and 2 links; expected: a file of 5000 bytes and 1 links",
        ),
        (FsCall::pwrite("/file", 2, vec![7]), "/file has another byte 2: 7, not 101"),
        (FsCall::Mkdir { path: "/x".to_owned() }, "/x is a directory; expected: not there"),
    ] {
        let expected = format!("mkdir-has-its-effect: mkdir /new-dir succeeded, and {difference}");
        assert_eq!(message_of(wrong), expected);
    }
}

#[test]
fn a_write_that_has_failed_may_have_written_a_part_and_nothing_else() {
    let mut fs = Abstract::new();
    step::begin().iter().for_each(|call| fs.apply(call));
    let mut steps = FailureStep::possible(&fs);
    let at = steps.iter().position(|step| step.name == "write /file").unwrap();
    let step = steps.swap_remove(at);
    let FsCall::Pwrite { path, offset, data, .. } = &step.call else { panic!("{step:?}") };
    let failed = StepEnding::Failed(step.name, Errno::ENOSPC);
    let follow = |made: &FsCall| {
        let (files, mut fs) = (files(&step::begin()), fs.clone());
        made.apply(&files).unwrap();
        step.follow(&failed, &files, &mut fs)?;
        assert_eq!(found(&files).unwrap(), expected(&fs));
        Ok(())
    };
    let part = |bytes: &[u8]| FsCall::pwrite(path, *offset, bytes.to_vec());
    assert_eq!(follow(&part(&data[..3000])), Ok(()));
    assert_eq!(follow(&part(&data[..5000])), Ok(()));
    let other = "/file has another byte 1000: 0, neither the old nor the new one";
    assert_eq!(follow(&part(&[0])), Err(other.to_owned()));
    let cut = FsCall::Ftruncate { path: path.clone(), size: 4999 };
    assert_eq!(follow(&cut), Err("/file has 4999 bytes, and had 5000".to_owned()));
}
