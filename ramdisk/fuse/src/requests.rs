//! The requests that wait for the thread that owns the simulated files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::channel;

use explode_ramdisk::files::FsCall;

use crate::queue::{self, Receiver, Sender};
use crate::server::FileServer;

/// The number of a mount in its thread. A later mount has a higher number.
pub(crate) type MountId = u64;

/// The mounts that a thread serves.
#[derive(Default)]
pub(crate) struct Served {
    mounts: BTreeMap<MountId, ServedMount>,
}

struct ServedMount {
    server: FileServer,
    path: PathBuf,
    /// The kernel's number of the mount. `None` until it is mounted.
    kernel_id: Option<u64>,
}

impl Served {
    /// Returns the files of a mount. `None` if it is no longer served.
    pub fn get_mut(&mut self, id: MountId) -> Option<&mut FileServer> {
        self.mounts.get_mut(&id).map(|mount| &mut mount.server)
    }

    /// Makes the files durable that a program sees: all of them (sync(2)), or those of one mount of
    /// the kernel (syncfs(2)). A mount that lies under a later one is not seen. `Some(None)` is an
    /// unknown mount.
    pub fn sync(&mut self, only: Option<Option<u64>>) {
        let mut newest = BTreeMap::new();
        for mount in self.mounts.values_mut() {
            newest.insert(mount.path.clone(), mount);
        }
        for mount in newest.into_values() {
            let (is_meant, call) = match only {
                None => (true, FsCall::Sync),
                Some(id) => (id.is_some() && id == mount.kernel_id, FsCall::Syncfs),
            };
            if is_meant {
                // Simulated files can always be synced.
                mount.server.sync_all(call).ok();
            }
        }
    }
}

/// Work for the thread that owns the files.
pub(crate) type Request = Box<dyn FnOnce(&mut Served) + Send>;

/// Sends requests to the thread that owns the files.
pub(crate) type Requests = Sender<Request>;

/// The owner's side.
struct Desk {
    requests: Receiver<Request>,
    sender: Requests,
    served: Served,
    next: MountId,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::new());
}

impl Desk {
    fn new() -> Desk {
        let (sender, requests) = queue::to_this_thread();
        Desk { requests, sender, served: Served::default(), next: 0 }
    }
}

/// Returns the sender of requests to this thread.
pub(crate) fn to_this_thread() -> Requests {
    DESK.with_borrow(|desk| desk.sender.clone())
}

/// Lets this thread serve files, which are to be mounted at `path`, from now on.
pub(crate) fn serve(server: FileServer, path: PathBuf) -> MountId {
    DESK.with_borrow_mut(|desk| {
        desk.next += 1;
        desk.served.mounts.insert(desk.next, ServedMount { server, path, kernel_id: None });
        desk.next
    })
}

/// Sets the kernel's number of a mount.
pub(crate) fn mounted(id: MountId, kernel_id: u64) {
    DESK.with_borrow_mut(|desk| {
        desk.served.mounts.entry(id).and_modify(|mount| mount.kernel_id = Some(kernel_id));
    });
}

/// Ends the service of files.
pub(crate) fn end_service(id: MountId) {
    DESK.with_borrow_mut(|desk| desk.served.mounts.remove(&id));
}

/// Returns the path of the newest mount of this thread.
pub(crate) fn newest_path() -> Option<PathBuf> {
    DESK.with_borrow(|desk| desk.served.mounts.values().next_back().map(|at| at.path.clone()))
}

/// Returns the number of open files of the newest mount of this thread.
pub(crate) fn open_handles() -> u64 {
    DESK.with_borrow(|desk| {
        desk.served.mounts.values().next_back().map_or(0, |mount| mount.server.open_handles())
    })
}

/// Wakes the owner when it is dropped, also by a thread that panics.
struct Awake(Requests);

impl Drop for Awake {
    fn drop(&mut self) {
        // Without an owner nothing waits.
        self.0.send(Box::new(|_| {})).ok();
    }
}

/// Answers requests until `work`, which another thread does, has a result. `start` hands the work
/// to that thread, together with a function that takes the result.
///
/// # Errors
/// The other thread has ended without a result.
pub(crate) fn serve_until<T: Send + 'static>(
    start: impl FnOnce(Box<dyn FnOnce(T) + Send>),
) -> io::Result<T> {
    DESK.with_borrow_mut(|desk| {
        let (finished, result) = channel();
        let awake = Awake(desk.sender.clone());
        start(Box::new(move |value| {
            // The owner waits for the result.
            finished.send(value).ok();
            drop(awake);
        }));
        loop {
            match result.try_recv() {
                Ok(value) => return Ok(value),
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    return Err(io::Error::other("the thread of the programs has ended"));
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => {}
            }
            let request = desk.requests.receive();
            request(&mut desk.served);
        }
    })
}
