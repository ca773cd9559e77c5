//! Open files and their paths, which calls change while the files are open.

use std::collections::BTreeMap;

use super::call::{FsCall, NAMELESS, REMOVED_DIRECTORY, WriteMethod};
use super::{Fd, Files, OpenFlags, Renaming, Result, Synced, WriteFlag};

/// The paths of each open file, and the method of writes to it. The paths of open directories.
#[derive(Clone, Debug, Default, Hash)]
pub struct OpenFiles {
    files: BTreeMap<Fd, OpenFile>,
    directories: BTreeMap<Fd, String>,
}

/// An open file.
#[derive(Clone, Debug, Hash)]
struct OpenFile {
    /// The known paths of the file. Calls name it by the first. Empty once all are removed.
    paths: Vec<String>,
    method: WriteMethod,
}

impl OpenFile {
    fn path(&self) -> &str {
        self.paths.first().map_or(NAMELESS, String::as_str)
    }

    fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path)
    }
}

impl OpenFiles {
    /// Records that a file was opened.
    pub fn opened(&mut self, fd: Fd, path: &str, method: WriteMethod) {
        let paths = Some(path).filter(|path| *path != NAMELESS).map(str::to_owned);
        self.files.insert(fd, OpenFile { paths: paths.into_iter().collect(), method });
    }

    /// Records that a directory was opened.
    pub fn opened_directory(&mut self, fd: Fd, path: &str) {
        self.directories.insert(fd, path.to_owned());
    }

    /// Records that a file or directory is closed.
    pub fn closed(&mut self, fd: Fd) {
        self.files.remove(&fd);
        self.directories.remove(&fd);
    }

    /// Returns the path of an open file, or [`NAMELESS`], and the method of writes to it.
    pub fn get(&self, fd: Fd) -> (String, WriteMethod) {
        let open = self.files.get(&fd).map(|file| (file.path().to_owned(), file.method));
        open.unwrap_or_else(|| (NAMELESS.to_owned(), WriteMethod::Plain))
    }

    /// Records that an open file was linked to a path. If the file had no path, this becomes its
    /// path.
    pub fn linked(&mut self, fd: Fd, to: &str) {
        self.files.entry(fd).and_modify(|file| file.paths.push(to.to_owned()));
    }

    /// Records that the file of a path has another path as well. If a path is removed, calls name
    /// the open file by the other one.
    pub fn linked_path(&mut self, from: &str, to: &str) {
        let files = self.files.values_mut().filter(|file| file.has(from) && !file.has(to));
        files.for_each(|file| file.paths.push(to.to_owned()));
    }

    /// Returns true if an open file is known to have both paths.
    fn are_one_file(&self, one: &str, other: &str) -> bool {
        self.files.values().any(|file| file.has(one) && file.has(other))
    }

    /// Returns the file that was opened last of those with this path and write method. `None` if
    /// there is no such file.
    fn at(&self, path: &str, method: WriteMethod) -> Option<Fd> {
        let mut files = self.files.iter().rev();
        let found = files.find(|(_, file)| file.path() == path && file.method == method);
        found.map(|(fd, _)| *fd)
    }

    /// Returns an open directory with this path. `None` if there is no such directory.
    fn directory_at(&self, path: &str) -> Option<Fd> {
        self.directories.iter().find(|(_, open)| *open == path).map(|(fd, _)| *fd)
    }

    /// Returns the path of an open directory, or [`REMOVED_DIRECTORY`]. `None` if the descriptor is
    /// not one of a directory.
    pub fn directory(&self, fd: Fd) -> Option<&str> {
        self.directories.get(&fd).map(String::as_str)
    }

    /// Returns true if an open directory was removed.
    pub fn has_removed_directory(&self) -> bool {
        self.directory_at(REMOVED_DIRECTORY).is_some()
    }

    /// Returns the path of each open file, or [`NAMELESS`].
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(OpenFile::path)
    }

    /// Updates the paths of open files after a successful call.
    pub fn follow(&mut self, call: &FsCall) {
        match call {
            FsCall::Link { from, to } => self.linked_path(from, to),
            FsCall::Unlink { path } | FsCall::Rmdir { path } => self.renamed(path, NAMELESS),
            // Nothing happens to two paths of one file.
            FsCall::Rename { from, to } if from == to || self.are_one_file(from, to) => {}
            FsCall::Rename { from, to } => {
                self.renamed(to, NAMELESS);
                self.renamed(from, to);
            }
            FsCall::RenameNoReplace { from, to } => self.renamed(from, to),
            FsCall::Exchange { from, to } => {
                // Differs from every path, because paths begin with a slash.
                let between = "between";
                for (from, to) in [(&**from, between), (to, from), (between, to)] {
                    self.renamed(from, to);
                }
            }
            _ => {}
        }
    }

    /// Replaces the path of the renamed file or directory, and of what is open below the directory.
    fn renamed(&mut self, from: &str, to: &str) {
        let moved = |path: &mut String, to: &str| match path.strip_prefix(from) {
            Some("") => to.clone_into(path),
            Some(below) if below.starts_with('/') => *path = format!("{to}{below}"),
            _ => {}
        };
        for file in self.files.values_mut() {
            file.paths.iter_mut().for_each(|path| moved(path, to));
            file.paths.retain(|path| path != NAMELESS);
        }
        let to = if to == NAMELESS { REMOVED_DIRECTORY } else { to };
        self.directories.values_mut().for_each(|path| moved(path, to));
    }
}

/// A series of calls. A file stays open from [`FsCall::Open`] to [`FsCall::Close`], and calls on
/// its path use the open file. Files that are open at the end are closed.
pub struct Session<'a> {
    files: &'a dyn Files,
    open: OpenFiles,
}

impl<'a> Session<'a> {
    /// Returns a session without open files.
    pub fn new(files: &'a dyn Files) -> Session<'a> {
        Session::resume(files, OpenFiles::default())
    }

    /// Returns a session that continues with files that an earlier one has left open.
    pub fn resume(files: &'a dyn Files, open: OpenFiles) -> Session<'a> {
        Session { files, open }
    }

    /// Ends the session and returns the files that are open. They stay open.
    pub fn leave(mut self) -> OpenFiles {
        std::mem::take(&mut self.open)
    }

    /// Opens an existing file for a write method. Writes by this method use the open file from then
    /// on.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open_for(&mut self, path: &str, method: WriteMethod) -> Result<()> {
        self.open.opened(open_for(self.files, path, method)?, path, method);
        Ok(())
    }

    /// Opens a directory. Its fsync uses the open directory from then on.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open_directory(&mut self, path: &str) -> Result<()> {
        self.open.opened_directory(self.files.open_directory(path)?, path);
        Ok(())
    }

    /// Records that the file of a path has another path as well, as [`OpenFiles::linked_path`].
    pub fn linked_path(&mut self, from: &str, to: &str) {
        self.open.linked_path(from, to);
    }

    /// Makes a call. A call on a file that is not open opens it and closes it afterwards.
    ///
    /// # Errors
    /// The error of the first system call that fails.
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
            FsCall::CopyRange { from, to, offset, len } => self.on_plain(from, |from| {
                self.on_plain(to, |to| files.copy_range(from, to, *offset, *len))
            })?,
            FsCall::Fsync { path } => self.on_plain(path, |fd| files.fsync(fd))?,
            FsCall::Fdatasync { path } => self.on_plain(path, |fd| files.fdatasync(fd))?,
            FsCall::FsyncDir { path } => match self.open.directory_at(path) {
                Some(fd) => files.fsync(fd)?,
                None => files.sync_dir(path)?,
            },
            FsCall::Syncfs => files.sync()?,
            FsCall::Sync => files.sync_machine()?,
            FsCall::Mkdir { path } => files.mkdir(path)?,
            FsCall::Rmdir { path } => files.rmdir(path)?,
            FsCall::Unlink { path } => files.unlink(path)?,
            FsCall::Link { from, to } => files.link(from, to)?,
            FsCall::LinkOpen { from, to } => {
                self.on_plain(from, |fd| files.link_open(fd, to))?;
                match self.open.at(from, WriteMethod::Plain) {
                    Some(fd) if from == NAMELESS => self.open.linked(fd, to),
                    _ => self.open.linked_path(from, to),
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

    /// Closes an open file. Does nothing if the path is not open.
    fn close(&mut self, path: &str) -> Result<()> {
        let Some(fd) = self.open.at(path, WriteMethod::Plain) else { return Ok(()) };
        self.open.closed(fd);
        self.files.close(fd)
    }

    fn on_plain(&self, path: &str, work: impl FnOnce(Fd) -> Result<()>) -> Result<()> {
        self.on(path, WriteMethod::Plain, work)
    }

    /// Calls `work` with a file that is open for this write method. An error of close(2) precedes
    /// one of `work`.
    fn on(
        &self,
        path: &str,
        method: WriteMethod,
        work: impl FnOnce(Fd) -> Result<()>,
    ) -> Result<()> {
        if let Some(fd) = self.open.at(path, method) {
            return work(fd);
        }
        let fd = open_for(self.files, path, method)?;
        let worked = work(fd);
        self.files.close(fd).and(worked)
    }
}

/// Opens an existing file for a write method.
fn open_for(files: &dyn Files, path: &str, method: WriteMethod) -> Result<Fd> {
    let existing = OpenFlags::EXISTING;
    match method {
        WriteMethod::DataSynced => files.open_synced(path, existing, Synced::Data),
        WriteMethod::Synced => files.open_synced(path, existing, Synced::All),
        WriteMethod::Appended => files.open_flagged(path, existing, WriteFlag::Append),
        WriteMethod::Direct => files.open_flagged(path, existing, WriteFlag::Direct),
        WriteMethod::Plain | WriteMethod::Mapped => files.open(path, existing),
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for fd in self.open.files.keys().chain(self.open.directories.keys()) {
            // The file is closed even if close(2) returns an error.
            self.files.close(*fd).ok();
        }
    }
}

impl FsCall {
    /// Makes the call. A call on an open file opens the path and closes it afterwards. [`Session`]
    /// keeps files open between calls.
    ///
    /// # Errors
    /// The error of the first system call that fails.
    pub fn apply(&self, files: &dyn Files) -> Result<()> {
        Session::new(files).make(self)
    }
}
