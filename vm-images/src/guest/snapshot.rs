//! Snapshots: the state of an emulated machine when its agent has answered. A guest with the same
//! parts starts from it and does not boot.
//!
//! A snapshot is a file `<hash of the parts>` in the folder of snapshots: QEMU's migration stream,
//! the bytes that the agent had written, and their number (8 bytes, little-endian). The file is
//! written as `<hash>.tmp`, flushed and renamed, so a file without that ending is complete. Its
//! writer holds a lock on it, and others that need the same guest wait for it. A lock ends with its
//! process, and the next writer begins again.

use std::fs::{self, File, TryLockError};
use std::io::{self, PipeReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::{SpliceFFlags, tee};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use super::accelerator::Accelerator;
use super::agent::libraries_of;
use super::memory::give;
use super::monitor::Monitor;
use super::spec::GuestSpec;
use super::{identity, qemu};
use crate::base::{CacheKey, Result, own_file};
use crate::cache::make_folder;

/// The version of a snapshot's contents. It must be raised when the machine changes.
const RECIPE: u32 = 2;

/// The size of all snapshots of the folder, in bytes. The ones that were not used for the longest
/// time are removed first.
const LIMIT: u64 = 2 << 30;

/// The interval at which a waiting process looks for the snapshot and for a cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// The ending of a snapshot that is being written.
const UNFINISHED: &str = "tmp";

/// The source of a guest's first state.
pub(super) enum Beginning {
    /// A boot, without a snapshot.
    Boot,
    /// A boot, after which a snapshot is made.
    Save(Unsaved),
    /// A snapshot.
    Restore(Snapshot),
}

/// A snapshot that is there.
pub(super) struct Snapshot {
    path: PathBuf,
    /// The file, at its first byte.
    file: Arc<File>,
    /// The bytes that the agent had written.
    pub(super) answer: Vec<u8>,
}

/// A snapshot that only this process makes. Without [`finish`](Unsaved::finish) nothing stays.
pub(super) struct Unsaved {
    file: File,
    path: PathBuf,
    is_named: bool,
}

/// Returns the beginning of a guest. Waits while another process makes its snapshot.
pub(super) fn beginning(spec: &GuestSpec, is_cancelled: &dyn Fn() -> bool) -> Result<Beginning> {
    let Some(folder) = &spec.snapshots else { return Ok(Beginning::Boot) };
    // Hardware boots a guest in about the time in which a snapshot is read.
    if spec.accelerator != Accelerator::Emulation {
        return Ok(Beginning::Boot);
    }
    let path = folder.join(key(spec)?.hash());
    // Another process boots the guest within its own deadline, or is stopped.
    let begin = Instant::now();
    let gives_up = || is_cancelled() || begin.elapsed() > spec.boot_deadline;
    // Without a place for a snapshot a guest can still boot.
    Ok(at(&path, &gives_up).unwrap_or(Beginning::Boot))
}

fn at(path: &Path, gives_up: &dyn Fn() -> bool) -> Result<Beginning> {
    let temporary = path.with_extension(UNFINISHED);
    make_folder(path.parent().unwrap_or(path))?;
    while !gives_up() {
        if let Some(snapshot) = Snapshot::open(path) {
            return Ok(Beginning::Restore(snapshot));
        }
        let Ok(file) = kept_file(&temporary) else { break };
        match file.try_lock() {
            // Its last writer may have renamed or removed it meanwhile.
            Ok(()) if !is_named(&file, &temporary) => {}
            Ok(()) if file.set_len(0).is_ok() => {
                let unsaved = Unsaved { file, path: path.to_owned(), is_named: false };
                // A writer may have finished between the two looks.
                if !path.exists() {
                    return Ok(Beginning::Save(unsaved));
                }
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            Ok(()) | Err(TryLockError::Error(_)) => break,
        }
    }
    Ok(Beginning::Boot)
}

/// Opens or makes a file whose contents another process may be writing.
fn kept_file(path: &Path) -> io::Result<File> {
    if path.exists() { File::options().write(true).open(path) } else { own_file(path) }
}

/// Returns true if a path leads to this open file.
fn is_named(file: &File, path: &Path) -> bool {
    let number = |data: fs::Metadata| (data.dev(), data.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(named)) => number(open) == number(named),
        _ => false,
    }
}

impl Snapshot {
    /// Opens a snapshot. `None` if there is none, or it is not readable.
    fn open(path: &Path) -> Option<Snapshot> {
        let mut file = File::open(path).ok()?;
        let mut len = [0; 8];
        let len_at = file.seek(SeekFrom::End(-8)).ok()?;
        file.read_exact(&mut len).ok()?;
        let len = u64::from_le_bytes(len);
        file.seek(SeekFrom::Start(len_at.checked_sub(len)?)).ok()?;
        let mut answer = vec![0; usize::try_from(len).ok()?];
        file.read_exact(&mut answer).ok()?;
        file.rewind().ok()?;
        // The time says when it was last used. It does not matter if that cannot be noted.
        let _ = file.set_modified(SystemTime::now());
        Some(Snapshot { path: path.to_owned(), file: Arc::new(file), answer })
    }

    /// Makes a QEMU that is not started yet begin with this state.
    pub(super) fn give(&self, command: &mut Command) {
        command.args(["-incoming", &format!("fd:{}", self.file.as_raw_fd())]);
        give(command, Arc::clone(&self.file));
    }

    /// Removes a snapshot that QEMU has not accepted.
    pub(super) fn remove(self) {
        // If it stays, the next guest boots after it has tried.
        let _ = fs::remove_file(self.path);
    }
}

impl Unsaved {
    /// Writes the state of a guest whose agent has answered. The guest stands still afterwards,
    /// until the monitor gets `cont`. What the agent has written stays in the stream.
    pub(super) fn write(&mut self, monitor: &mut Monitor, stream: &PipeReader) -> io::Result<()> {
        // One pass over the memory, however long it takes.
        let limits = json!({"max-bandwidth": 1_u64 << 40, "downtime-limit": 600_000});
        monitor.ask("migrate-set-parameters", limits)?;
        monitor.give_file("snapshot", &self.file)?;
        monitor.ask("migrate", json!({"uri": "fd:snapshot"}))?;
        loop {
            match monitor.ask("query-migrate", json!({}))?["status"].as_str() {
                Some("completed") => break,
                Some("failed" | "cancelled") => {
                    return Err(io::Error::other("QEMU has not written the snapshot"));
                }
                _ => thread::sleep(Duration::from_millis(2)),
            }
        }
        let answer = copied(stream)?;
        // QEMU writes by the same open file, so this goes behind its bytes.
        self.file.write_all(&answer)?;
        self.file.write_all(&(answer.len() as u64).to_le_bytes())
    }

    /// Gives a written snapshot its name, and removes old ones.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.file.sync_data()?;
        fs::rename(self.path.with_extension(UNFINISHED), &self.path)?;
        self.is_named = true;
        prune(self.path.parent().unwrap_or(&self.path), LIMIT)
    }
}

impl Drop for Unsaved {
    fn drop(&mut self) {
        if !self.is_named {
            // If it stays, the next writer begins again.
            let _ = fs::remove_file(self.path.with_extension(UNFINISHED));
        }
    }
}

/// Returns what waits in a pipe, and leaves it there.
fn copied(stream: &PipeReader) -> io::Result<Vec<u8>> {
    let mut waiting = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    if poll(&mut waiting, PollTimeout::ZERO)? == 0 {
        return Ok(Vec::new());
    }
    let (mut reader, writer) = io::pipe()?;
    // The second pipe is smaller, and is full if it does not hold everything.
    const ROOM: usize = 32 << 10;
    let len = tee(stream, &writer, ROOM, SpliceFFlags::SPLICE_F_NONBLOCK)?;
    if len == ROOM {
        return Err(io::Error::other("the agent has written too much before it was asked"));
    }
    let mut bytes = vec![0; len];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Removes the files that were not used for the longest time, until the others have this size.
fn prune(folder: &Path, limit: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let data = file.metadata()?;
        files.push((data.modified()?, data.len(), file.path()));
    }
    files.sort_by(|one, other| other.cmp(one));
    let mut sum = 0;
    for (_, len, path) in files {
        sum += len;
        if sum > limit && !is_locked(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns true if a process is writing a file.
fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Returns everything that the state of a guest depends on, up to the answer of its agent.
fn key(spec: &GuestSpec) -> Result<CacheKey> {
    let GuestSpec {
        kernel,
        image,
        userland,
        modules,
        drivers,
        agent,
        files,
        memory_mib,
        accelerator: _,
        boot_deadline: _,
        snapshots: _,
        kernel_arguments,
        shared_bytes,
    } = spec;
    let mut key = CacheKey::new(RECIPE)
        .with("machine", identity::of_machine())
        .with("QEMU", identity::of_file(&qemu::program()?))
        .with("memory", memory_mib)
        .with("shared", shared_bytes)
        .with("arguments", kernel_arguments.join(" "))
        .with("kernel", identity::of_file(&kernel.boot_image()))
        .with("image", identity::of_file(image));
    if let Some(userland) = userland {
        key = key.with("userland", identity::of_file(&userland.file));
    }
    let modules = modules.iter().flat_map(|modules| [&modules.rdd, &modules.ekm]);
    for module in drivers.iter().chain(modules) {
        key = key.with("module", identity::of_file(module));
    }
    if let Some(agent) = agent {
        key = key.with("agent", identity::of_file(&agent.program));
        for library in libraries_of(agent)? {
            key = key.with("library", identity::of_file(&library));
        }
        for argument in &agent.arguments {
            key = key.with("argument", argument);
        }
    }
    for file in files {
        key = key
            .with("file", format_args!("{:o} {}", file.mode, file.path))
            .with_bytes("contents", &file.contents);
    }
    Ok(key)
}
