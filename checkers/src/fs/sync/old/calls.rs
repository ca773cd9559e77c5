//! The calls of the steps: each is made to the files, and then to the models.
//!
//! The models know which calls can succeed, so an error of one says nothing of promises and is
//! "broken" (no space, say); but a sync that fails has promised nothing, and that is all.

use std::collections::BTreeMap;

use explode_ramdisk::files::{Fd, Files, OpenFlags, Result as FilesResult};
use explode_runtime::verdict::Failure;

use super::model::Model;
use super::models::Models;
use crate::fs::model::SyncCall as Call;
use crate::fs::model::file::File;
use crate::fs::model::pattern::pattern;

/// Files and their models.
pub struct Calls<'a> {
    pub files: &'a dyn Files,
    pub models: &'a mut Models,
    /// How often each file was written, by its letter.
    pub versions: &'a mut BTreeMap<char, u32>,
}

impl Calls<'_> {
    /// Writes the next version of some bytes of a file, made if it is not there.
    pub fn write(&mut self, path: &str, at: usize, len: usize) -> Result<(), Failure> {
        let letter = path.chars().next_back().expect("a path has a name");
        let version = self.versions.entry(letter).or_default();
        *version += 1;
        let bytes = pattern(letter, *version, at, len);
        self.with_open(path, "write", OpenFlags::CREATE, |files, fd| {
            files.pwrite(fd, at as u64, &bytes)
        })?;
        self.models.change(|model| model.file_or_new(path).write(at, &bytes));
        Ok(())
    }

    /// Writes at the end of a file, made if it is not there.
    pub fn append(&mut self, path: &str, len: usize) -> Result<(), Failure> {
        let end = self.models.all.file(path).map_or(0, File::size);
        self.write(path, end, len)
    }

    pub fn truncate(&mut self, path: &str, size: usize) -> Result<(), Failure> {
        self.with_open(path, "truncate", OpenFlags::EXISTING, |files, fd| {
            files.ftruncate(fd, size as u64)
        })?;
        self.models.change(|model| model.file_or_new(path).truncate(size));
        Ok(())
    }

    pub fn unlink(&mut self, path: &str) -> Result<(), Failure> {
        done("unlink", path, self.files.unlink(path))?;
        self.models.change(|model| model.remove(path));
        Ok(())
    }

    /// Makes a directory if it is not there.
    pub fn mkdir(&mut self, path: &str) -> Result<(), Failure> {
        if self.models.all.is_there(path) {
            return Ok(());
        }
        done("mkdir", path, self.files.mkdir(path))?;
        self.models.change(|model| model.mkdir(path));
        Ok(())
    }

    pub fn rmdir(&mut self, path: &str) -> Result<(), Failure> {
        done("rmdir", path, self.files.rmdir(path))?;
        self.models.change(|model| model.remove(path));
        Ok(())
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        done("rename", from, self.files.rename(from, to))?;
        self.models.change(|model| model.rename(from, to));
        Ok(())
    }

    /// fsync or fdatasync of a file.
    pub fn sync_file(&mut self, path: &str, call: Call) -> Result<(), Failure> {
        let mut synced = false;
        self.with_open(path, "open", OpenFlags::EXISTING, |files, fd| {
            let result =
                if call == Call::Fdatasync { files.fdatasync(fd) } else { files.fsync(fd) };
            synced = result.is_ok();
            Ok(())
        })?;
        if synced {
            self.models.sync(call, |model| model.sync_file(path, call));
        }
        Ok(())
    }

    /// fsync of a file and of every directory on the way to it, from the inside out (EX-101): a
    /// file's fsync does not make its name durable.
    pub fn fsync_with_directories(&mut self, path: &str) -> Result<(), Failure> {
        self.sync_file(path, Call::Fsync)?;
        for (slash, _) in path.rmatch_indices('/') {
            self.sync_directory(if slash == 0 { "/" } else { &path[..slash] });
        }
        Ok(())
    }

    pub fn sync_directory(&mut self, path: &str) {
        if self.files.sync_dir(path).is_ok() {
            self.models.sync(Call::FsyncOfDirectory, |model| model.sync_directory(path));
        }
    }

    pub fn sync(&mut self) {
        if self.files.sync().is_ok() {
            self.models.sync(Call::Sync, Model::sync_all);
        }
    }

    fn with_open(
        &self,
        path: &str,
        what: &str,
        flags: OpenFlags,
        work: impl FnOnce(&dyn Files, Fd) -> FilesResult<()>,
    ) -> Result<(), Failure> {
        let fd = done("open", path, self.files.open(path, flags))?;
        let worked = done(what, path, work(self.files, fd));
        done("close", path, self.files.close(fd)).and(worked)
    }
}

fn done<T>(what: &str, path: &str, result: FilesResult<T>) -> Result<T, Failure> {
    result.map_err(|errno| Failure::broken(format!("{what} {path}: {errno}")))
}
