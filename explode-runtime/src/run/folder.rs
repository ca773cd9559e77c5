//! The run folder: `run.jsonl` with every message, `traces/<id>.json` with every finding.
//!
//! Whatever is kept is written durably: a temporary file, fsync, rename, fsync of the folder. It would be a shame otherwise.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::RunError;
use super::options::UsageError;
use super::plan::Plan;
use crate::report::Message;
use crate::trace::{Secret, Tagged, Trace};

/// What every message is added to; whoever adds to it has its lock.
const MESSAGES: &str = "run.jsonl";
/// The tag of the plan, where that carries commands.
const TAG: &str = "tag";
/// What to do about a folder that was there before.
pub(super) const RESUMED: &str = "make room there, or make it writable, and resume the run again";

/// Where a run keeps what it finds. As long as this is there, no other process goes on with the run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    messages: File,
    /// It was there before.
    resumed: bool,
}

/// The folder of an earlier process, kept from all others: only then is it read, and gone on with.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    messages: File,
}

impl Claim {
    /// Claims a run folder.
    ///
    /// # Errors
    /// It is no run folder, or the run is still going on (usage); it cannot be written.
    pub fn of(folder: &Path) -> Result<Claim, RunError> {
        let path = folder.join(MESSAGES);
        let messages = File::options().append(true).open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                let text = format!("{}: {error}; name the folder of a run, with its journal", path.display());
                UsageError(text).into()
            }
            _ => RunError::unwritable(&path, error, RESUMED),
        })?;
        lock(&messages, folder)?;
        Ok(Claim { path: folder.to_owned(), messages })
    }
}

/// Returns true if the folder has a tag of this secret for this plan. A tag that is absent or cannot be read is none.
pub fn is_tagged(folder: &Path, plan: &Plan, secret: &Secret) -> bool {
    let tag = fs::read_to_string(folder.join(TAG));
    tag.is_ok_and(|tag| secret.verifies(Tagged::Run, plan, tag.trim_end()))
}

/// Takes the lock of a run, which ends with the last handle of the file. A file system that has no locks gives none.
fn lock(messages: &File, folder: &Path) -> Result<(), RunError> {
    match messages.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            let text = format!("{folder}: this run is still going on in another process; wait for it to end");
            Err(UsageError(text).into())
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(RunError::folder(&folder.join(MESSAGES), error)),
    }
}

impl RunFolder {
    /// Makes the folder; it must be absent or empty. Without a path, `explode-runs/<target>-<n>` with the first free n.
    ///
    /// # Errors
    /// A folder with something in it, or one that cannot be made.
    pub fn create(path: Option<&Path>, target: &str) -> Result<RunFolder, RunError> {
        let path = fresh_folder(path, target)?;
        let failed = |error| RunError::folder(&path, error);
        make_folder(&path.join("traces")).map_err(failed)?;
        let messages =
            File::options().append(true).create_new(true).open(path.join(MESSAGES)).map_err(failed)?;
        lock(&messages, &path)?;
        sync_folder(&path).map_err(failed)?;
        Ok(RunFolder { path, messages, resumed: false })
    }

    /// Opens the folder of an earlier process, to add to it. A last line that is torn goes.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn reopen(claim: Claim) -> Result<RunFolder, RunError> {
        let Claim { path, messages } = claim;
        let failed = |error| RunError::unwritable(&path, error, RESUMED);
        make_folder(&path.join("traces")).map_err(failed)?;
        let text = fs::read(path.join(MESSAGES)).map_err(failed)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        messages.set_len(whole as u64).map_err(failed)?;
        Ok(RunFolder { path, messages, resumed: true })
    }

    /// Writes the tag of its plan, durably.
    pub(super) fn write_tag(&self, tag: &str) -> Result<(), RunError> {
        let path = self.path.join(TAG);
        durable_write(&path, format!("{tag}\n").as_bytes()).map_err(|error| self.refused(&path, error))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the trace of a finding stands.
    pub fn trace_path(&self, id: &str) -> PathBuf {
        self.path.join("traces").join(format!("{id}.json"))
    }

    /// Writes a trace, durably.
    ///
    /// # Errors
    /// Those of the file system; what was written before stays.
    pub fn write_trace(&self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        let path = self.trace_path(id);
        let text = trace.to_json();
        match durable_write(&path, text.as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) => Err(self.refused(&path, error)),
        }
    }

    /// Appends a message; all but progress durably.
    ///
    /// # Errors
    /// Those of the file system.
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

    /// The file system refused something in it.
    fn refused(&self, path: &Path, error: io::Error) -> RunError {
        if self.resumed { RunError::unwritable(path, error, RESUMED) } else { RunError::folder(path, error) }
    }
}

/// Makes the first of `explode-runs/<target>-<n>` that is not there; of two runs at once each makes its own.
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

/// Finds a place for a folder and makes it; it must be absent or empty. Without a path, `explode-runs/<name>-<n>` with the first free n.
///
/// # Errors
/// A folder with something in it, or one that cannot be made.
pub fn fresh_folder(path: Option<&Path>, name: &str) -> Result<PathBuf, RunError> {
    let path = match path {
        Some(path) => {
            let unfit = |what| UsageError(format!("--out {}: {what}; name another one", path.display()));
            if path.exists() && !path.is_dir() {
                return Err(unfit("this is not a folder").into());
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

/// Makes a folder and those above it, durably.
///
/// # Errors
/// Those of the file system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let absent: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    absent.into_iter().try_for_each(|folder| sync_folder(above(folder)))
}

/// Writes a file so that a crash leaves the old contents or the new, and after return the new.
///
/// # Errors
/// Those of the file system; the temporary file is then removed.
pub fn durable_write(path: &Path, contents: &[u8]) -> io::Result<()> {
    durable_file(path, |file| file.write_all(contents))
}

/// The same for whatever `write` puts into the file.
///
/// # Errors
/// Those of `write` and of the file system; the temporary file is then removed.
pub fn durable_file(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = above(path);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = folder.join(name);
    let written = File::create(&temporary).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_folder(folder)
    });
    if written.is_err() {
        // The first error is the one to report; a left-over temporary file harms nobody.
        fs::remove_file(&temporary).ok();
    }
    written
}

/// The folder that a path is in.
pub(super) fn above(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
