//! The run folder: `run.jsonl` with every message, `traces/<id>.json` with every finding.
//!
//! Everything that is kept is written durably, to plain files in a folder of the user. See
//! [`crate::base`].

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Seek as _, Write};
use std::path::{Path, PathBuf};

use super::names::{JOURNAL, MESSAGES, TAG, TRACES};
use crate::base::{
    RunError, UsageError, check_folder, check_plain, durable_write, foreign_owner, make_folder,
    open_plain, read_plain_at_most, remove_temporary, sync_folder,
};
use crate::plan::Plan;
use crate::report::Message;
use crate::trace::{Secret, Tagged, Trace};

/// The maximal size of a tag that is read, in bytes.
const MOST_TAG_BYTES: u64 = 1 << 10;
/// The advice for a folder of an earlier process that cannot be used.
pub(super) const RESUMED: &str = "make room there, or make it writable, and resume the run again";

/// The folder in which a run keeps its findings. While it is open, no other process can resume the
/// run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    messages: File,
    /// True if an earlier process made the folder.
    resumed: bool,
}

/// The folder of an earlier process, locked against all others. Only then can it be read and the
/// run resumed.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    messages: File,
}

impl FolderLock {
    /// Locks a run folder.
    ///
    /// # Errors
    /// A usage error if the path is not a run folder, belongs to another user, has something that
    /// is not a plain file, or the run is still running. Another error if the folder cannot be
    /// written.
    pub fn of(folder: &Path) -> Result<FolderLock, RunError> {
        check_owner(folder)?;
        let path = folder.join(MESSAGES);
        let opened = open_plain(&path, File::options().read(true).append(true));
        let messages = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                let text = format!(
                    "{}: {error}; name the folder of a run, with its journal",
                    path.display()
                );
                UsageError(text).into()
            }
            _ => RunError::unwritable(&path, error, RESUMED),
        })?;
        check_own_files(folder)?;
        lock(&messages, folder)?;
        Ok(FolderLock { path: folder.to_owned(), messages })
    }
}

/// Refuses to resume a folder of another user, because its contents decide which commands are run.
///
/// # Errors
/// Another user owns the folder. The text names the owner and what to do.
pub fn check_owner(folder: &Path) -> Result<(), UsageError> {
    match fs::metadata(folder) {
        Ok(found) => check_owner_of(folder, &found),
        // The caller reports why the folder cannot be read.
        Err(_) => Ok(()),
    }
}

fn check_owner_of(path: &Path, found: &fs::Metadata) -> Result<(), UsageError> {
    let Some(owner) = foreign_owner(found) else { return Ok(()) };
    let path = path.display();
    Err(UsageError(format!(
        "--resume {path}: this belongs to {owner}, and decides which commands are run as you; let \
         its owner resume it, \
         or, if you trust it, copy the folder (cp -r) and resume the copy"
    )))
}

/// Checks that the names of a run belong to plain files of this user, and to a folder of plain
/// traces.
fn check_own_files(folder: &Path) -> Result<(), RunError> {
    let failed = |path: &Path, error| RunError::unwritable(path, error, RESUMED);
    for name in [MESSAGES, JOURNAL, TAG] {
        let path = folder.join(name);
        let found = check_plain(&path).map_err(|error| failed(&path, error))?;
        found.map_or(Ok(()), |found| check_owner_of(&path, &found))?;
    }
    let traces = folder.join(TRACES);
    if check_folder(&traces).map_err(|error| failed(&traces, error))?.is_none() {
        return Ok(());
    }
    for entry in fs::read_dir(&traces).map_err(|error| failed(&traces, error))? {
        let path = entry.map_err(|error| failed(&traces, error))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            check_plain(&path).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// Returns the number of bytes of a file that are whole lines. The file of a long run is large, so
/// it is read in parts.
fn whole_lines(mut file: &File) -> io::Result<u64> {
    file.rewind()?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (mut read, mut whole) = (0, 0);
    loop {
        let part = file.fill_buf()?;
        if part.is_empty() {
            return Ok(whole);
        }
        if let Some(end) = part.iter().rposition(|byte| *byte == b'\n') {
            whole = read + end as u64 + 1;
        }
        let length = part.len();
        read += length as u64;
        file.consume(length);
    }
}

/// Returns true if the folder has a tag of this secret for this plan; false if the tag is absent or
/// cannot be read.
pub fn is_tagged(folder: &Path, plan: &Plan, secret: &Secret) -> bool {
    let tag = read_plain_at_most(&folder.join(TAG), MOST_TAG_BYTES).ok();
    let tag = tag.and_then(|tag| String::from_utf8(tag).ok());
    tag.is_some_and(|tag| secret.verifies(Tagged::Run, plan, tag.trim_end()))
}

/// Takes the lock of a run. The lock ends with the last handle of the file. On a file system
/// without locks nothing is locked.
fn lock(messages: &File, folder: &Path) -> Result<(), RunError> {
    match messages.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            let text = format!(
                "{folder}: this run is still running in another process; wait until it ends"
            );
            Err(UsageError(text).into())
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(RunError::folder(&folder.join(MESSAGES), error)),
    }
}

impl RunFolder {
    /// Makes the folder, which must be absent or empty. Without a path it is the first free
    /// `explode-runs/<target>-<n>`.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be made.
    pub fn create(path: Option<&Path>, target: &str) -> Result<RunFolder, RunError> {
        let path = fresh_folder(path, target)?;
        let failed = |error| RunError::folder(&path, error);
        make_folder(&path.join(TRACES)).map_err(failed)?;
        let messages = File::options()
            .append(true)
            .create_new(true)
            .open(path.join(MESSAGES))
            .map_err(failed)?;
        lock(&messages, &path)?;
        sync_folder(&path).map_err(failed)?;
        Ok(RunFolder { path, messages, resumed: false })
    }

    /// Opens the folder of an earlier process, to add to it. Removes temporary files and a torn
    /// last line.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn reopen(claim: FolderLock) -> Result<RunFolder, RunError> {
        let FolderLock { path, messages } = claim;
        let failed = |error| RunError::unwritable(&path, error, RESUMED);
        make_folder(&path.join(TRACES)).map_err(failed)?;
        [&path, &path.join(TRACES)]
            .into_iter()
            .try_for_each(|folder| remove_temporary(folder))
            .map_err(failed)?;
        let whole = whole_lines(&messages).map_err(failed)?;
        messages.set_len(whole).map_err(failed)?;
        Ok(RunFolder { path, messages, resumed: true })
    }

    /// Writes the tag of the plan, durably.
    pub(super) fn write_tag(&self, tag: &str) -> Result<(), RunError> {
        let path = self.path.join(TAG);
        durable_write(&path, format!("{tag}\n").as_bytes())
            .map_err(|error| self.refused(&path, error))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the trace of a finding.
    pub fn trace_path(&self, id: &str) -> PathBuf {
        self.path.join(TRACES).join(format!("{id}.json"))
    }

    /// Writes a trace, durably.
    ///
    /// # Errors
    /// The trace cannot be written. What was written before stays.
    pub fn write_trace(&self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        let path = self.trace_path(id);
        let text = trace.to_json();
        match durable_write(&path, text.as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) => Err(self.refused(&path, error)),
        }
    }

    /// Appends a message. All messages except progress are durable.
    ///
    /// # Errors
    /// The message cannot be written.
    pub fn append(&mut self, message: &Message) -> Result<(), RunError> {
        let failed = |error| self.refused(&self.path.join(MESSAGES), error);
        let mut line = serde_json::to_string(message).expect("a message is plain data");
        line.push('\n');
        (&self.messages).write_all(line.as_bytes()).map_err(failed)?;
        if !matches!(message, Message::Progress(_)) {
            self.messages.sync_data().map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the error for a path in the folder that the file system refused to write.
    fn refused(&self, path: &Path, error: io::Error) -> RunError {
        if self.resumed {
            RunError::unwritable(path, error, RESUMED)
        } else {
            RunError::folder(path, error)
        }
    }
}

/// Makes the first of `explode-runs/<target>-<n>` that is absent. Two runs at the same time make
/// two folders.
fn free_folder(target: &str) -> Result<PathBuf, RunError> {
    let runs = Path::new("explode-runs");
    make_folder(runs).map_err(|error| RunError::folder(runs, error))?;
    let mut n = 1;
    loop {
        let path = runs.join(format!("{target}-{n}"));
        match fs::create_dir(&path) {
            Ok(()) => {
                sync_folder(runs).map_err(|error| RunError::folder(runs, error))?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(error) => return Err(RunError::folder(&path, error)),
        }
    }
}

/// Makes a folder, which must be absent or empty. Without a path it is the first free
/// `explode-runs/<name>-<n>`.
///
/// # Errors
/// The folder is not empty, or cannot be made.
pub fn fresh_folder(path: Option<&Path>, name: &str) -> Result<PathBuf, RunError> {
    let path = match path {
        Some(path) => {
            let unfit = |problem| {
                UsageError(format!("--out {}: {problem}; name another one", path.display()))
            };
            if path.exists() && !path.is_dir() {
                return Err(unfit("this is not a folder").into());
            }
            if path.is_symlink() && !path.exists() {
                return Err(unfit("this is a symbolic link that leads nowhere").into());
            }
            if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(unfit("the folder is not empty").into());
            }
            path.to_owned()
        }
        None => free_folder(name)?,
    };
    make_folder(&path).map_err(|error| RunError::folder(&path, error))?;
    Ok(path)
}
