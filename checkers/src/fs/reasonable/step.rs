//! The steps that mutate chooses from: the calls of the generic core, sync, and fsync of every node
//! that is not forced, by each of its names.

use explode_ramdisk::files::{Files, FsCall, OpenFlags, WriteMethod};
use explode_runtime::verdict::CheckError;
use nix::errno::Errno;

use super::Reasonable;
use super::free::Free;
use crate::fs::from_tree::FromTree;
use crate::fs::model::History;
use crate::fs::model::SyncCall as By;
use crate::fs::model::{Abstract, Id};
use crate::fs::start::Start;
use crate::fs::topology::{BLOCK, Limits, TopologyCall, is_as_expected};

/// One call of mutate.
#[derive(Clone, Debug)]
pub enum FsStep {
    Call(TopologyCall),
    Sync,
    Fsync(String, Id),
}

impl FsStep {
    /// Returns the steps that change anything, calls first.
    pub fn possible(fs: &Abstract, history: &History, free: &Free, limits: &Limits) -> Vec<FsStep> {
        let calls = TopologyCall::possible_by(fs, limits, &|id| free.next(fs, id));
        let mut steps: Vec<FsStep> = calls.into_iter().map(FsStep::Call).collect();
        let all = [("/".to_owned(), Abstract::ROOT)].into_iter().chain(fs.paths());
        let mut left: Vec<(String, Id)> =
            all.filter(|(_, id)| !history.is_forced(fs, *id)).collect();
        if !left.is_empty() {
            steps.push(FsStep::Sync);
        }
        // A file is fsynced by each of its names, which a log of the file system may treat
        // differently. A symbolic link cannot be opened.
        left.retain(|(_, id)| !fs.is_symlink(*id));
        steps.extend(left.into_iter().map(|(path, id)| FsStep::Fsync(path, id)));
        steps
    }

    /// Returns the name of the step in traces.
    pub fn name(&self) -> String {
        match self {
            FsStep::Call(call) => call.name(),
            FsStep::Sync => "sync".to_owned(),
            FsStep::Fsync(path, _) => format!("fsync {path}"),
        }
    }

    /// Takes the step and updates the checker.
    ///
    /// # Errors
    /// Returns "broken" if a call fails, and a violation if it has another effect than expected. A
    /// sync that fails promises nothing, and the path continues.
    pub fn take(&self, checker: &mut Reasonable, files: &dyn Files) -> Result<(), CheckError> {
        let failed = |errno: Errno| CheckError::broken(format!("{}: {errno}", self.name()));
        match self {
            FsStep::Call(call) => {
                checker.writes += u32::from(call.writes());
                let bytes = call.bytes(&checker.fs, checker.writes);
                match call.make(files, &bytes, WriteMethod::Plain) {
                    Ok(()) => checker.follow(call, &bytes),
                    // Some file systems have no links.
                    Err(errno) if call.is_refused(errno) => {}
                    Err(errno) => return Err(failed(errno)),
                }
                is_as_expected(files, &checker.fs, call, checker.limits.calls)?;
                checker.history.begin();
                checker.force(self);
            }
            FsStep::Sync => {
                checker.history.begin();
                if files.sync().is_ok() {
                    checker.force(self);
                }
            }
            FsStep::Fsync(path, id) => {
                checker.history.begin();
                let synced = if checker.fs.is_directory(*id) {
                    files.sync_dir(path)
                } else {
                    let fd = files.open(path, OpenFlags::EXISTING).map_err(failed)?;
                    let synced = files.fsync(fd);
                    files.close(fd).map_err(failed)?;
                    synced
                };
                if synced.is_ok() {
                    checker.force(self);
                }
            }
        }
        Ok(())
    }
}

impl Reasonable {
    /// Applies a call that has succeeded and written these bytes.
    fn follow(&mut self, call: &TopologyCall, bytes: &[u8]) {
        self.follow_calls(&call.calls(bytes));
    }

    /// Applies calls that have succeeded. Their operations are volatile.
    pub(in crate::fs) fn follow_calls(&mut self, calls: &[FsCall]) {
        let before = self.fs.clone();
        self.history.now.follow(&mut self.fs, calls);
        self.free.follow(&before, &self.fs);
    }

    /// Makes stable what a step that has succeeded forces, if the profile keeps that promise.
    fn force(&mut self, step: &FsStep) {
        match step {
            FsStep::Call(call) => {
                for call in call.calls(&[0; BLOCK]) {
                    if By::of_write(&call).is_some_and(|by| self.counts(by)) {
                        self.history.now.end(&self.fs, &call);
                    }
                }
            }
            FsStep::Sync if self.counts(By::Sync) => self.history.now.sync(&self.fs),
            FsStep::Fsync(_, id) => {
                let by = if self.fs.is_directory(*id) { By::FsyncOfDirectory } else { By::Fsync };
                if self.counts(by) {
                    self.history.now.fsync(&self.fs, *id, By::Fsync);
                }
            }
            FsStep::Sync => {}
        }
    }

    /// Applies a step as if it had succeeded, without any files.
    pub(super) fn imagine(&mut self, step: &FsStep) {
        if let FsStep::Call(call) = step {
            self.writes += u32::from(call.writes());
            let bytes = call.bytes(&self.fs, self.writes);
            self.follow(call, &bytes);
        }
        self.force(step);
    }
}

impl FromTree for Reasonable {
    fn tree(&self) -> &Abstract {
        &self.fs
    }

    fn limits_mut(&mut self) -> &mut Limits {
        &mut self.limits
    }

    fn promises_sync(&self) -> bool {
        self.counts(By::Sync)
    }

    fn writes_mut(&mut self) -> &mut u32 {
        &mut self.writes
    }

    fn made(&mut self, call: &TopologyCall, bytes: &[u8]) {
        self.follow(call, bytes);
    }

    fn committed(&mut self, _start: Start) {
        self.history.now.sync(&self.fs);
        self.history.begin();
    }
}
