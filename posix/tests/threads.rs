//! Calls of threads, of code outside the store, and calls that are refused.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use explode_posix::{Result, Step, crash_test};

/// A log that a thread of its own writes.
struct Log {
    path: PathBuf,
    /// Bytes for the thread.
    bytes: Option<Sender<u8>>,
    written: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

fn open(folder: &Path, sync: bool) -> Result<Log> {
    let path = folder.join("log");
    let file = File::options().append(true).create(true).open(&path)?;
    File::open(folder)?.sync_all()?;
    let (bytes, to_write) = channel::<u8>();
    let (done, written) = channel();
    let mut file = file;
    let thread = thread::spawn(move || {
        for byte in to_write {
            file.write_all(&[byte]).unwrap();
            if sync {
                file.sync_data().unwrap();
            }
            done.send(()).unwrap();
        }
    });
    Ok(Log { path, bytes: Some(bytes), written, thread: Some(thread) })
}

impl Drop for Log {
    fn drop(&mut self) {
        self.bytes = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

fn step(log: &mut Log, bytes: &mut Vec<u8>, step: &mut Step<'_, '_>) -> Result<()> {
    let byte = [b'a', b'b'][step.choose(2)];
    bytes.push(byte);
    log.bytes.as_ref().unwrap().send(byte)?;
    Ok(log.written.recv()?)
}

fn read(log: &mut Log) -> Result<Vec<u8>> {
    Ok(fs::read(&log.path)?.into_iter().take_while(|byte| *byte != 0).collect())
}

#[test]
fn calls_of_a_thread_of_the_store_are_served() {
    let sound = crash_test("log of a thread", |folder| open(folder, true), step, read).run();
    assert!(sound.complete && sound.broken.is_zero());
    assert_eq!((sound.states, sound.crash_disks), (15.into(), (14 * 5).into()));
    let lazy = crash_test("lazy log of a thread", |folder| open(folder, false), step, read);
    let text = lazy.outcome().expect_err("nothing is synced");
    assert!(text.contains("FAIL lost: 1 steps were durable, 0 are there; it holds []"), "{text}");
}

/// Work of the store, of a thread that belongs to no store, and of one with the same folder, at the
/// same time.
#[test]
fn calls_elsewhere_pass_through() {
    let real = tempfile::tempdir().unwrap();
    let path = real.path().join("real");
    let (end, ended) = channel::<()>();
    let elsewhere = {
        let path = path.clone();
        thread::spawn(move || {
            let mut times = 0_u64;
            while times == 0 || ended.try_recv().is_err() {
                fs::write(&path, times.to_string()).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), times.to_string());
                assert!(!Path::new("/explode").exists());
                times += 1;
            }
        })
    };
    let inside = path.with_extension("inside");
    let name = inside.clone();
    let step_elsewhere = move |log: &mut Log, bytes: &mut Vec<u8>, cx: &mut Step<'_, '_>| {
        fs::write(&name, "of a step")?;
        step(log, bytes, cx)
    };
    let test = crash_test("log of a thread", |folder| open(folder, true), step_elsewhere, read);
    assert!(test.run().complete);
    end.send(()).unwrap();
    elsewhere.join().unwrap();
    assert_eq!(fs::read_to_string(inside).unwrap(), "of a step");
    assert!(!Path::new("/explode").exists());
}

/// Returns the text of a test whose `open` does this.
fn opening(open: impl Fn(&Path) -> Result<()> + Send + Sync + 'static) -> String {
    let step = |_: &mut (), steps: &mut u32, _: &mut Step<'_, '_>| {
        *steps += 1;
        Ok(())
    };
    let test = crash_test("opening", open, step, |_| Ok(0));
    test.outcome().expect_err("the test is broken")
}

fn map(file: &File, protection: i32, flags: i32, len: usize) -> std::io::Result<*mut u8> {
    // SAFETY: The kernel chooses the address.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(at.cast()) }
}

/// Makes a file for reading and writing.
fn new_file(folder: &Path) -> std::io::Result<File> {
    let path = folder.join("a");
    File::options().read(true).write(true).create(true).truncate(true).open(path)
}

#[test]
fn a_shared_mapping_for_stores_is_refused_by_name() {
    let text = opening(|folder| {
        let file = new_file(folder)?;
        file.set_len(4096)?;
        let mapped = map(&file, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, 4096);
        assert_eq!(mapped.unwrap_err().raw_os_error(), Some(libc::ENODEV));
        Ok(())
    });
    assert!(text.contains("the store uses writes through a shared mapping (mmap)"), "{text}");
}

#[test]
fn a_mapping_for_reading_shows_later_writes() {
    let text = opening(|folder| {
        let file = new_file(folder)?;
        (&file).write_all(b"one")?;
        let at = map(&file, libc::PROT_READ, libc::MAP_SHARED, 4096)?;
        // SAFETY: The mapping has a whole page.
        let seen = || unsafe { std::slice::from_raw_parts(at, 6) }.to_vec();
        assert_eq!(seen(), b"one\0\0\0");
        (&file).write_all(b"two")?;
        assert_eq!(seen(), b"onetwo");
        file.set_len(2)?;
        assert_eq!(seen(), b"on\0\0\0\0");
        Err("all is as it should be".into())
    });
    assert!(text.contains("all is as it should be"), "{text}");
}

#[test]
fn other_calls_that_are_not_seen_are_refused_by_name() {
    let text = opening(|folder| {
        std::env::set_current_dir(folder).unwrap_err();
        Ok(())
    });
    assert!(text.contains("the store uses chdir of this process"), "{text}");
    let text = opening(|_| {
        // SAFETY: The call fails without a use of its arguments.
        assert_eq!(unsafe { libc::syscall(libc::SYS_io_uring_setup, 8, 0) }, -1);
        Ok(())
    });
    assert!(text.contains("the store uses io_uring"), "{text}");
}

/// A descriptor of a store is none of a file for a system call that the C library does not make.
#[test]
fn raw_system_calls_fail() {
    let text = opening(|folder| {
        let mut file = File::create(folder.join("a"))?;
        file.write_all(b"one")?;
        let kernel = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut bytes = String::new();
        let opened = File::open(kernel).and_then(|mut file| file.read_to_string(&mut bytes));
        Err(format!("{opened:?} {bytes:?}").into())
    });
    assert!(text.contains("Is a directory"), "{text}");
}
