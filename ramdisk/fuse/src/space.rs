//! The namespaces in which programs run.
//!
//! Programs see the root of this machine read-only, and private folders for what they write besides
//! the simulated files: /tmp, /run, /var/tmp and /dev/shm are empty at the start of each program.
//! Networks and process numbers are their own: process 1 is the shell of the command, and when it
//! ends the kernel ends all others.

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use libc::{SYS_mount_setattr, c_char, c_short};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::root::Root;

/// The folder in which the simulated files are mounted.
pub(crate) const MOUNTS: &str = "/run/explode";

/// The folders that are private and empty at the start of each program.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

thread_local! {
    /// The private folders that this thread has mounted, each with the number of its device.
    static OURS: RefCell<Vec<(&'static str, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Returns all folders that hide those of this machine.
fn private_folders() -> impl Iterator<Item = &'static str> {
    PRIVATE.into_iter().chain(["/run"])
}

/// Returns the private folder that programs would lose if they could write a folder of this
/// machine.
pub fn private_in(folder: &Path) -> Option<&'static str> {
    private_folders().find(|private| Path::new(private).starts_with(folder))
}

/// The access of programs to this machine besides the simulated files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The folders that programs may write.
    pub write: Vec<PathBuf>,
    /// True if programs use the networks of this machine.
    pub network: bool,
    /// The folder that programs see as the root. `None` if they see that of this machine.
    pub root: Option<PathBuf>,
}

/// Moves this thread, and the programs that it starts, to namespaces of their own. The folder in
/// which this process works stays visible.
///
/// # Errors
/// The namespaces cannot be made, which needs root.
pub(crate) fn enter(allowed: &Allowed) -> io::Result<()> {
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWIPC;
    if !allowed.network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
    let visible: Vec<(PathBuf, OwnedFd, bool)> = std::env::current_dir()
        .into_iter()
        .chain(folders_of_programs())
        .map(|path| (path, false))
        .chain(allowed.write.iter().map(|path| (path.clone(), true)))
        .map(|(path, write)| Ok((path.clone(), open_folder(&path)?, write)))
        .collect::<io::Result<_>>()?;
    let root = match &allowed.root {
        None => Root::default(),
        Some(folder) => Root::of(folder, visible.iter().map(|(path, ..)| path))?,
    };
    set_read_only(&root.folder)?;
    for folder in private_folders() {
        let at = root.at(Path::new(folder));
        if at.is_dir() {
            mount(Some("explode"), &at, Some("tmpfs"), MsFlags::empty(), none)?;
            let device = fs::metadata(&at)?.dev();
            OURS.with_borrow_mut(|ours| ours.push((folder, device)));
        }
    }
    for (path, folder, write) in &visible {
        show(&root, path, folder, *write)?;
    }
    root.enter()?;
    fs::create_dir_all(MOUNTS)?;
    if !allowed.network {
        // A kernel without loopback networks has no programs that use it.
        bring_up_loopback().ok();
    }
    Ok(())
}

/// Returns the folders of the PATH, without symbolic links.
fn folders_of_programs() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).filter(|at| at.is_dir())
}

/// Empties the private folders. One that is no longer what [`enter`] has mounted stays as it is.
pub(crate) fn clean() -> io::Result<()> {
    let ours = OURS.with_borrow(Vec::clone);
    for (folder, _) in ours.into_iter().filter(|(folder, device)| {
        PRIVATE.contains(folder) && fs::metadata(folder).is_ok_and(|found| found.dev() == *device)
    }) {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let entry = entry?;
            if is_mount_point(&entry.path()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path()).ok();
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

/// Returns true if a folder that must stay visible is mounted there or below.
fn is_mount_point(path: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/thread-self/mountinfo") else { return true };
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    points.any(|point| Path::new(point).starts_with(path))
}

/// Gives the next program that this thread starts process numbers of its own. Call
/// [`share_process_numbers`] after its start.
pub(crate) fn own_process_numbers() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWPID)?)
}

/// Lets this thread start threads and programs with the process numbers of this process again.
///
/// # Errors
/// The process numbers belong to another user namespace than this process.
pub(crate) fn share_process_numbers() -> io::Result<()> {
    let own = fs::File::open("/proc/self/ns/pid")?;
    setns(own, CloneFlags::CLONE_NEWPID).map_err(|error| {
        let hint = "in a user namespace explode needs process numbers of its own: start it with \
                    'unshare -Urpf --mount-proc'";
        io::Error::other(format!("{error}; {hint}"))
    })
}

/// Returns the number of the process that has started this one, also from another namespace of
/// process numbers, in which getppid(2) returns 0 (proc_pid_stat(5)). Allocates nothing.
pub(crate) fn parent_id() -> io::Result<u32> {
    let mut bytes = [0; 512];
    let len = File::open("/proc/self/stat")?.read(&mut bytes)?;
    // The name of the program, in brackets, stands before the state and the parent.
    let rest = bytes[..len].rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let parent = rest.split(|byte| *byte == b' ').nth(2).unwrap_or_default();
    let number = std::str::from_utf8(parent).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Mounts the file system of a FUSE connection, and returns the kernel's number of the mount.
pub(crate) fn mount_fuse(connection: &OwnedFd, path: &Path) -> io::Result<u64> {
    fs::create_dir_all(path)?;
    let fd = connection.as_raw_fd();
    let options = format!(
        "fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other,\
         max_read=1048576"
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("explode"), path, Some("fuse"), flags, Some(options.as_str()))?;
    mount_id(path)
}

/// Returns the kernel's number of the mount at a path. The file system itself is not asked.
fn mount_id(path: &Path) -> io::Result<u64> {
    let root = File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
    let about = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", root.as_raw_fd()))?;
    let id = about.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    id.ok_or_else(|| io::Error::other(format!("{}: the kernel shows no number", path.display())))
}

/// Takes the newest mount away from a path, also if a program still uses it.
pub(crate) fn unmount(path: &Path) -> io::Result<()> {
    Ok(umount2(path, MntFlags::MNT_DETACH)?)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    fs::File::open(path).map(OwnedFd::from)
}

/// Makes a mount and all below it read-only (mount_setattr(2)).
fn set_read_only(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends with a NUL, and the attributes have the size that is passed.
    let set = unsafe {
        libc::syscall(
            SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(set)?;
    Ok(())
}

/// Shows a folder of this machine at its own path.
fn show(root: &Root, path: &Path, folder: &OwnedFd, write: bool) -> io::Result<()> {
    let identity = |of: &fs::Metadata| (of.dev(), of.ino());
    let shown = identity(&File::from(folder.try_clone()?).metadata()?);
    let at = root.at(path);
    let is_visible = fs::metadata(&at).is_ok_and(|found| identity(&found) == shown);
    // A private folder stays private, and a folder of another root that of the root.
    if !write && (is_visible || private_in(path).is_some() || root.has_own(path)) {
        return Ok(());
    }
    fs::create_dir_all(&at).ok();
    let none = None::<&str>;
    let source = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    mount(Some(&source), &at, none, MsFlags::MS_BIND, none)?;
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    if !write {
        flags |= MsFlags::MS_RDONLY;
    }
    Ok(mount(none, &at, none, flags, none)?)
}

fn bring_up_loopback() -> io::Result<()> {
    // SAFETY: the call returns a new descriptor, which nothing else holds.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        Errno::result(fd)?;
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: the type is plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    // SAFETY: the request names an interface and its flags.
    Errno::result(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id as known;

    #[test]
    fn the_parent_is_known() {
        assert_eq!(super::parent_id().unwrap(), known());
    }
}
