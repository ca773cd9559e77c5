//! Stores of programs through shared mappings, which FUSE shows late: they are brought to the
//! simulated files before a call that makes something durable.
//!
//! A thread looks for files of the mounts that processes of the program have mapped for shared
//! writing (proc_pid_maps(5)), and lets the kernel write their changed pages (sync_file_range(2)).
//! The kernel sends these as writes. Then the call goes on.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::requests::{Request, Requests};
use crate::space::MOUNTS;

/// Sends calls that make something durable to the owner of the files, behind the stores before
/// them.
#[derive(Clone)]
pub(crate) struct Mappings {
    calls: Sender<Request>,
    /// The process of the program's shell. 0 if none runs.
    pub process: Arc<AtomicU32>,
}

impl Mappings {
    /// Starts the thread.
    pub fn start(requests: Requests) -> std::io::Result<Mappings> {
        let (calls, waiting) = channel::<Request>();
        let process = Arc::new(AtomicU32::new(0));
        let shell = Arc::clone(&process);
        thread::Builder::new().name("mappings".to_owned()).spawn(move || {
            for call in waiting {
                write_out(shell.load(Ordering::Acquire));
                if requests.send(call).is_err() {
                    return;
                }
            }
        })?;
        Ok(Mappings { calls, process })
    }

    /// Sends a call. If the thread has ended, the reply within the call is dropped, which answers
    /// the kernel with EIO.
    pub fn send(&self, call: Request) {
        self.calls.send(call).ok();
    }
}

/// Lets the kernel write the changed pages of all mappings of a process and its descendants.
fn write_out(process: u32) {
    if process == 0 {
        return;
    }
    let (mut processes, mut next) = (vec![process], 0);
    let mut files = BTreeSet::new();
    while let Some(process) = processes.get(next).copied() {
        next += 1;
        files.extend(mapped(process));
        let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            processes.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        }
    }
    for (_, path) in files {
        // A mapping that has just ended has been written.
        let Ok(file) = File::open(path) else { continue };
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        // SAFETY: the descriptor is open, and the other arguments are numbers.
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
    }
}

/// Returns the files of mounts that a process has mapped for shared writing: each path, and the
/// link that leads to it.
fn mapped(process: u32) -> Vec<(String, PathBuf)> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let of_mount = |line: &str| {
        let mut words = line.split_whitespace();
        let (range, access) = (words.next()?, words.next()?);
        let path = words.nth(3)?;
        let is_shared = access.contains('w') && access.ends_with('s');
        let link = format!("/proc/{process}/map_files/{range}");
        (is_shared && path.starts_with(MOUNTS)).then(|| (path.to_owned(), link.into()))
    };
    maps.lines().filter_map(of_mount).collect()
}
