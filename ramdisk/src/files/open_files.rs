//! Open files and their paths, which calls change while the files are open.

use std::collections::BTreeMap;

use super::call::{FsCall, NAMELESS, WriteMethod};
use super::{Fd, Files, OpenFlags, Renaming, Result, Synced};

/// The path of each open file, and how a write to it writes.
#[derive(Clone, Debug, Default)]
pub struct OpenFiles(BTreeMap<Fd, (String, WriteMethod)>);

impl OpenFiles {
    /// A file has been opened.
    pub fn opened(&mut self, fd: Fd, path: &str, method: WriteMethod) {
        self.0.insert(fd, (path.to_owned(), method));
    }

    /// A file is being closed.
    pub fn closed(&mut self, fd: Fd) {
        self.0.remove(&fd);
    }

    /// The path that an open file has, or [`NAMELESS`], and how a write to it writes.
    pub fn get(&self, fd: Fd) -> (String, WriteMethod) {
        self.0.get(&fd).cloned().unwrap_or_else(|| (NAMELESS.to_owned(), WriteMethod::Plain))
    }

    /// An open file has been linked to a path, which it has from now on if it had none.
    pub fn linked(&mut self, fd: Fd, to: &str) {
        let (path, method) = self.get(fd);
        if path == NAMELESS {
            self.opened(fd, to, method);
        }
    }

    /// An open file that has this path, if there is one to which a write writes so.
    fn at(&self, path: &str, method: WriteMethod) -> Option<Fd> {
        let is = |(_, (open, how)): &(&Fd, &(String, WriteMethod))| open == path && *how == method;
        self.0.iter().find(is).map(|(fd, _)| *fd)
    }

    /// A call has succeeded that may have given open files other paths.
    pub fn follow(&mut self, call: &FsCall) {
        match call {
            FsCall::Unlink { path } => self.renamed(path, NAMELESS),
            FsCall::Rename { from, to } if from != to => {
                self.renamed(to, NAMELESS);
                self.renamed(from, to);
            }
            FsCall::RenameNoReplace { from, to } => self.renamed(from, to),
            FsCall::Exchange { from, to } => {
                // No path is like this one: all others begin with a slash.
                let between = "between";
                for (from, to) in [(&**from, between), (to, from), (between, to)] {
                    self.renamed(from, to);
                }
            }
            _ => {}
        }
    }

    /// Gives open files their new path: the renamed one, and those in a renamed directory.
    fn renamed(&mut self, from: &str, to: &str) {
        for (path, _) in self.0.values_mut() {
            match path.strip_prefix(from) {
                Some("") => to.clone_into(path),
                Some(below) if below.starts_with('/') => *path = format!("{to}{below}"),
                _ => {}
            }
        }
    }
}

/// Makes calls one after the other; a file stays open from [`FsCall::Open`] to [`FsCall::Close`],
/// and calls on its path are made on it. What is open at the end is closed.
pub struct Session<'a> {
    files: &'a dyn Files,
    open: OpenFiles,
}

impl<'a> Session<'a> {
    /// One without open files.
    pub fn new(files: &'a dyn Files) -> Session<'a> {
        Session { files, open: OpenFiles::default() }
    }

    /// Makes a call. One on a file that is not open opens it, and closes it afterwards.
    ///
    /// # Errors
    /// That of the first system call that fails.
    pub fn make(&mut self, call: &FsCall) -> Result<()> {
        let files = self.files;
        match call {
            FsCall::Open { path, flags } => {
                self.open.opened(files.open(path, *flags)?, path, WriteMethod::Plain);
            }
            FsCall::OpenUnnamed { directory } => {
                self.open.opened(files.open_unnamed(directory)?, NAMELESS, WriteMethod::Plain);
            }
            FsCall::Close { path } => self.close(path)?,
            FsCall::Pwrite { path, offset, data, method: WriteMethod::Mapped } => {
                self.on_plain(path, |fd| files.write_mapped(fd, *offset, data))?;
            }
            FsCall::Pwrite { path, offset, data, method } => {
                self.on(path, *method, |fd| files.pwrite(fd, *offset, data))?;
            }
            FsCall::Ftruncate { path, size } => {
                self.on_plain(path, |fd| files.ftruncate(fd, *size))?;
            }
            FsCall::Fallocate { path, mode, offset, len } => {
                self.on_plain(path, |fd| files.fallocate(fd, *mode, *offset, *len))?;
            }
            FsCall::Clone { from, to } => {
                self.on_plain(from, |from| self.on_plain(to, |to| files.clone_file(from, to)))?
            }
            FsCall::Fsync { path } => self.on_plain(path, |fd| files.fsync(fd))?,
            FsCall::Fdatasync { path } => self.on_plain(path, |fd| files.fdatasync(fd))?,
            FsCall::FsyncDir { path } => files.sync_dir(path)?,
            FsCall::Syncfs => files.sync()?,
            FsCall::Sync => files.sync_machine()?,
            FsCall::Mkdir { path } => files.mkdir(path)?,
            FsCall::Rmdir { path } => files.rmdir(path)?,
            FsCall::Unlink { path } => files.unlink(path)?,
            FsCall::Link { from, to } => files.link(from, to)?,
            FsCall::LinkOpen { from, to } => {
                self.on_plain(from, |fd| files.link_open(fd, to))?;
                if let Some(fd) = self.open.at(from, WriteMethod::Plain) {
                    self.open.linked(fd, to);
                }
            }
            FsCall::Rename { from, to } => files.rename(from, to)?,
            FsCall::RenameNoReplace { from, to } => {
                files.rename_with(from, to, Renaming::NoReplace)?;
            }
            FsCall::Exchange { from, to } => files.rename_with(from, to, Renaming::Exchange)?,
            FsCall::Symlink { target, path } => files.symlink(target, path)?,
            FsCall::Chmod { path, mode } => files.chmod(path, *mode)?,
            FsCall::Setxattr { path, name, value } => files.setxattr(path, name, value)?,
            FsCall::Removexattr { path, name } => files.removexattr(path, name)?,
        }
        self.open.follow(call);
        Ok(())
    }

    /// Closes an open file; a path that is not open is closed already.
    fn close(&mut self, path: &str) -> Result<()> {
        let Some(fd) = self.open.at(path, WriteMethod::Plain) else { return Ok(()) };
        self.open.closed(fd);
        self.files.close(fd)
    }

    fn on_plain(&self, path: &str, work: impl FnOnce(Fd) -> Result<()>) -> Result<()> {
        self.on(path, WriteMethod::Plain, work)
    }

    /// Works on a file that has been opened so; an error of close(2) comes before one of the work.
    fn on(
        &self,
        path: &str,
        method: WriteMethod,
        work: impl FnOnce(Fd) -> Result<()>,
    ) -> Result<()> {
        if let Some(fd) = self.open.at(path, method) {
            return work(fd);
        }
        let existing = OpenFlags::EXISTING;
        let fd = match method {
            WriteMethod::DataSynced => self.files.open_synced(path, existing, Synced::Data)?,
            WriteMethod::Synced => self.files.open_synced(path, existing, Synced::All)?,
            WriteMethod::Plain | WriteMethod::Mapped => self.files.open(path, existing)?,
        };
        let worked = work(fd);
        self.files.close(fd).and(worked)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for fd in self.open.0.keys() {
            // Whatever it says, the file is closed (close(2)).
            self.files.close(*fd).ok();
        }
    }
}

impl FsCall {
    /// Makes the call. One on an open file opens the file that has the path, and closes it
    /// afterwards; [`Session`] keeps files open from one call to the next.
    ///
    /// # Errors
    /// That of the first system call that fails.
    pub fn apply(&self, files: &dyn Files) -> Result<()> {
        Session::new(files).make(self)
    }
}
