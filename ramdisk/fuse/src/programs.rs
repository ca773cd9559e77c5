//! The thread that mounts files and starts programs, for one thread that owns the files.
//!
//! It works in namespaces of its own, so its mounts are seen by its programs only, and they vanish
//! with it.

use std::cell::RefCell;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use explode_ramdisk::SimFiles;
use fuser::{Config, Session, SessionACL};
use nix::sys::statvfs::statvfs;

use crate::forward::Forward;
use crate::guard::Guard;
use crate::held_calls;
use crate::hook::with_hook;
use crate::mappings::Mappings;
use crate::marks::{MARK_HOOK, MARKS, MarkHook, forget_answers, listen};
use crate::processor::Processor;
use crate::requests::{self, MountId, Requests, serve_until};
use crate::server::{CALL_HOOK, CallHook, FileServer};
use crate::space::{self, Allowed, MOUNTS};

/// Work for the thread of the programs.
type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    static PROGRAMS: RefCell<Option<Programs>> = const { RefCell::new(None) };
}

/// The thread of the programs, as its owner knows it.
#[derive(Clone)]
struct Programs {
    allowed: Allowed,
    jobs: Sender<Job>,
    /// The place in the sequence of random numbers.
    numbers: Arc<AtomicU64>,
    mappings: Mappings,
    /// The processor of this thread and of all programs. `None` if all were taken.
    processor: Option<Arc<Processor>>,
}

/// Simulated files as a mounted file system, which only the programs of [`run`] see. A later mount
/// with the same name hides an earlier one until it is dropped.
pub struct Mount {
    id: MountId,
    path: PathBuf,
}

/// A program that runs beside the mounts of this thread, in the folder of the newest.
#[derive(Debug)]
pub struct Program {
    /// The text for the shell.
    pub command: String,
    /// Its environment, in place of this process's.
    pub environment: Vec<(String, String)>,
    /// The seed of the random numbers that the kernel gives it.
    pub seed: u32,
    /// Files in private folders that it finds when it starts, with their contents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The place of its standard output.
    pub out: File,
    /// The place of its standard error.
    pub err: File,
}

/// The functions that are called while a program runs, on the thread that runs it.
#[derive(Default)]
pub struct ProgramHooks {
    /// Makes and records each call that changes or syncs files.
    pub calls: Option<CallHook>,
    /// Receives the lines that the program writes to the pipe `asked` in [`MARKS`].
    pub marks: Option<MarkHook>,
}

/// Returns true if this thread serves simulated files.
pub fn is_serving() -> bool {
    requests::newest_path().is_some()
}

/// Returns the environment of programs: the path of this process, and fixed values for what often
/// changes results.
pub fn environment() -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
    let path = format!("{MARKS}:{path}");
    let fixed = [("HOME", "/tmp"), ("LC_ALL", "C"), ("TZ", "UTC"), ("USER", "root")];
    let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    fixed.chain([("PATH".to_owned(), path)]).collect()
}

/// Starts the thread of the programs if this thread has none with the same access to the machine.
fn programs(allowed: Option<&Allowed>) -> io::Result<Programs> {
    PROGRAMS.with_borrow_mut(|programs| {
        if let Some(having) = programs {
            if allowed.is_none_or(|allowed| *allowed == having.allowed) {
                return Ok(having.clone());
            }
            if is_serving() {
                let text = "two layers 'files' allow different things; give them equal options";
                return Err(io::Error::other(text));
            }
        }
        let allowed = allowed.cloned().unwrap_or_default();
        // This thread stays on the processor that it has taken before.
        let taken = programs.as_ref().and_then(|having| having.processor.clone());
        let processor = taken.or_else(|| Processor::take().map(Arc::new));
        Ok(programs.insert(start(allowed, requests::to_this_thread(), processor)?).clone())
    })
}

fn start(
    allowed: Allowed,
    requests: Requests,
    processor: Option<Arc<Processor>>,
) -> io::Result<Programs> {
    // fuser fills two new buffers of 16 MiB with zeroes for each mount. Fresh memory holds zeroes,
    // but only an allocation above this threshold is fresh (mallopt(3)).
    // SAFETY: the arguments are two numbers.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
    let (jobs, waiting) = channel::<Job>();
    let (started, starts) = channel();
    let (space_of, numbers) = (allowed.clone(), Arc::new(AtomicU64::new(0)));
    let held = Arc::clone(&numbers);
    thread::Builder::new().name("programs".to_owned()).spawn(move || {
        let entered = space::enter(&space_of).and_then(|()| {
            listen(requests.clone())?;
            let guard = Guard::start()?;
            let mappings = Mappings::start(requests)?;
            held_calls::hold(mappings.clone(), held)?;
            Ok((mappings, guard))
        });
        let (mappings, guard) = entered.map_or_else(
            |error| (Err(error), None),
            |(mappings, guard)| (Ok(mappings), Some(guard)),
        );
        started.send(mappings).ok();
        if guard.is_some() {
            waiting.iter().for_each(|job| job());
        }
    })?;
    let ended = |_| io::Error::other("the thread of the programs has ended");
    let mappings = starts.recv().map_err(ended)??;
    Ok(Programs { allowed, jobs, numbers, mappings, processor })
}

/// Does work on the thread of the programs, and answers requests until it has a result.
pub(crate) fn there<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Programs { jobs, .. } = programs(None)?;
    serve_until(move |finish| {
        let job: Job = Box::new(move || finish(work()));
        // If the thread has ended, the job is dropped, and with it the only way to a result.
        jobs.send(job).ok();
    })
}

impl Mount {
    /// Mounts simulated files under a name, for programs with this access to the machine.
    ///
    /// # Errors
    /// The machine does not allow it, which needs root and /dev/fuse. Another mount of this thread
    /// allows something else.
    pub fn new(files: SimFiles, name: &str, allowed: &Allowed) -> io::Result<Mount> {
        let Programs { mappings, .. } = programs(Some(allowed))?;
        let path = Path::new(MOUNTS).join(name);
        let id = requests::serve(FileServer::new(files), path.clone());
        let mount = Mount { id, path: path.clone() };
        let requests = requests::to_this_thread();
        let kernel_id = there(move || connect(Forward { mount: id, requests, mappings }, &path))??;
        requests::mounted(id, kernel_id);
        Ok(mount)
    }

    /// Returns the path by which programs find the files.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let path = self.path.clone();
        // A mount that is gone already needs nothing.
        there(move || space::unmount(&path)).ok();
        requests::end_service(self.id);
    }
}

/// Mounts, and starts the thread that reads the kernel's requests.
fn connect(forward: Forward, path: &Path) -> io::Result<u64> {
    let device = |error| io::Error::other(format!("/dev/fuse: {error}"));
    let connection = File::options().read(true).write(true).open("/dev/fuse").map_err(device)?;
    let connection = OwnedFd::from(connection);
    let kernel_id = space::mount_fuse(&connection, path)?;
    let session = Session::from_fd(forward, connection, SessionACL::All, Config::default())?;
    thread::Builder::new().name("fuse".to_owned()).spawn(move || session.run())?;
    Ok(kernel_id)
}

/// Runs a program, and serves the mounts of this thread until it and all that it has started have
/// ended.
///
/// # Errors
/// The program cannot be started.
pub fn run(program: Program, watch: ProgramHooks) -> io::Result<ExitStatus> {
    let Program { command, environment, seed, files, out, err } = program;
    let Programs { numbers, mappings, .. } = programs(None)?;
    numbers.store(u64::from(seed) << 32, Ordering::Relaxed);
    let folder = requests::newest_path().ok_or_else(|| io::Error::other("nothing is mounted"))?;
    let mut shell = shell(&command, environment);
    shell.current_dir(&folder).stdin(Stdio::null()).stdout(out).stderr(err);
    let work = move || {
        space::clean()?;
        forget_answers()?;
        for (path, contents) in files {
            fs::write(&path, contents)?;
            // A file may be a program.
            fs::set_permissions(path, Permissions::from_mode(0o755))?;
        }
        let mut child = spawn(shell)?;
        mappings.process.store(child.id(), Ordering::Release);
        let ended = child.wait();
        mappings.process.store(0, Ordering::Release);
        ended
    };
    with_hook(&MARK_HOOK, watch.marks, || {
        with_hook(&CALL_HOOK, watch.calls, || {
            let ended = there(work)?;
            drain(&folder)?;
            ended
        })
    })
}

/// The largest number of rounds in which open files are waited for.
const MOST_ROUNDS: usize = 10_000;

/// Answers the requests that close the files of a program that has ended. The kernel sends them
/// without waiting for an answer, so that they may come after the end. A file without a name is
/// forgotten when it is closed, which is an event.
///
/// # Errors
/// A file stays open.
fn drain(path: &Path) -> io::Result<()> {
    for _ in 0..MOST_ROUNDS {
        if requests::open_handles() == 0 {
            return Ok(());
        }
        // The kernel sends requests in order, so this one comes after those that wait.
        let path = path.to_owned();
        there(move || statvfs(&path).map(drop))??;
    }
    Err(io::Error::other("files of a program that has ended stay open"))
}

/// Returns the shell of a command.
pub(crate) fn shell(command: &str, environment: Vec<(String, String)>) -> Command {
    // Without the last line the shell would become the command. Process 1 must not be one, because
    // the kernel keeps signals from it.
    let text = format!("{command}\nexit $?");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &text]).env_clear().envs(environment);
    shell
}

/// Starts a shell with process numbers of its own, on the thread of the programs. It ends with that
/// thread.
pub(crate) fn spawn(mut shell: Command) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: the calls are system calls, and allocate nothing.
    unsafe {
        shell.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // If this process died before that call, the shell receives no signal.
            if space::parent_id()? != parent {
                return Err(io::ErrorKind::NotConnected.into());
            }
            libc::umask(0o022);
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            Ok(())
        })
    };
    space::own_process_numbers()?;
    let child = shell.spawn();
    space::share_process_numbers()?;
    child
}
