//! Lines that a program sends to the owner of the files while it runs, through two named pipes in
//! [`MARKS`]. The program waits for a line in the second until the owner has received its line.

use std::cell::RefCell;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::hook::Hook;
use crate::requests::Requests;

/// The folder of the pipes `asked` and `heard`, which is also on the PATH of programs.
pub const MARKS: &str = "/run/explode/bin";

/// A function that receives a line.
pub type MarkHook = Box<dyn FnMut(&str)>;

thread_local! {
    /// The receiver of the lines of the program that runs.
    pub(crate) static MARK_HOOK: Hook<MarkHook> = const { RefCell::new(None) };
}

/// Removes answers that programs which were killed have not read.
pub(crate) fn forget_answers() -> io::Result<()> {
    let path = Path::new(MARKS).join("heard");
    let mut heard =
        File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    while heard.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
    Ok(())
}

/// Makes the pipes, and the thread that passes lines on.
pub(crate) fn listen(requests: Requests) -> io::Result<()> {
    fs::create_dir_all(MARKS)?;
    let pipe = |name: &str| -> io::Result<File> {
        let path = Path::new(MARKS).join(name);
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // A program may run as another user. Only programs of this run see the pipe.
        fs::set_permissions(&path, Permissions::from_mode(0o666))?;
        // Both ends are open here, so opening never blocks.
        File::options().read(true).write(true).open(path)
    };
    let (asked, heard) = (pipe("asked")?, pipe("heard")?);
    thread::Builder::new()
        .name("marks".to_owned())
        .spawn(move || pass_on(&asked, &heard, &requests))?;
    Ok(())
}

fn pass_on(mut asked: &File, heard: &File, requests: &Requests) {
    let mut bytes = [0; 4096];
    // A line arrives as a whole (pipe(7), PIPE_BUF).
    while let Ok(length) = asked.read(&mut bytes) {
        let lines = String::from_utf8_lossy(&bytes[..length]).into_owned();
        let Ok(mut answer) = heard.try_clone() else { return };
        let sent = requests.send(Box::new(move |_| {
            for line in lines.lines() {
                MARK_HOOK.with_borrow_mut(|hook| hook.iter_mut().for_each(|hook| hook(line)));
                // A program that was killed does not wait.
                answer.write_all(b"yes\n").ok();
            }
        }));
        if sent.is_err() {
            return;
        }
    }
}
