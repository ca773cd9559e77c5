//! A wrong tree is refused.

use explode_ramdisk::files::{Files, FsCall, Granule, OpenFlags, SimFiles};
use explode_ramdisk::{Image, Recording, Storage};
use explode_runtime::verdict::CheckError;

use super::shutdown::Shutdown;
use super::step::{self, FailureStep, StepEnding};
use super::{Failures, expected};
use crate::fs::model::{Abstract, ModelNode};

/// Files that these calls were made on.
pub fn files(calls: &[FsCall]) -> SimFiles {
    let storage = Storage::new(Image::new(), Recording::Off);
    let files = SimFiles::mount(storage, 0, Granule::default()).unwrap();
    calls.iter().for_each(|call| call.apply(&files).unwrap());
    files
}

/// Every path of up to two steps that succeed: its calls, the tree before the last step, the last
/// step, and the tree after it.
pub fn paths() -> Vec<(Vec<FsCall>, Abstract, FailureStep, Abstract)> {
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
pub fn wrongs(fs: &Abstract) -> Vec<FsCall> {
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
        let failed = StepEnding::Failed(step.name, nix::errno::Errno::ENOMEM);
        let failed = checker(before.clone(), failed);
        for wrong in wrongs(&after) {
            let files = files(&calls);
            wrong.apply(&files).unwrap();
            let call = step.name.split(' ').next().unwrap();
            let told = refused(done.compare(&files, ""));
            assert!(told.starts_with(&format!("{call}-has-its-effect: ")), "{wrong}: {told}");
            let told = refused(done.compare(&files, " on the disk"));
            assert!(told.starts_with(&format!("{call}-has-its-effect-on-disk: ")), "{told}");
            seen += 1;
        }
        // An effect of a call that has failed.
        if expected(&before) != expected(&after) {
            let told = refused(failed.compare(&files(&calls), ""));
            let call = step.name.split(' ').next().unwrap();
            assert!(told.starts_with(&format!("failed-{call}-has-no-effect: ")), "{told}");
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
            // The call itself may not have had its effect.
            let undone = FoundOf(&files).is(&before);
            let judged = down.compare(&files, &ended);
            if undone {
                judged.unwrap();
            } else {
                assert!(refused(judged).starts_with("synced-by-sync: "), "{wrong}");
            }
        }
    }
}

struct FoundOf<'a>(&'a SimFiles);

impl FoundOf<'_> {
    fn is(&self, fs: &Abstract) -> bool {
        super::found(self.0 as &dyn Files).unwrap() == expected(fs)
    }
}
