//! Calls that prove that this program's calls arrive here.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use explode_ramdisk::files::{
    CallRecorder, FileModel, Files as _, FsCall, Granule, ProgramFiles, Result,
};
use explode_ramdisk::{Image, Recording, SimFiles, Storage};

use crate::folder::{PREFIX, StoreFiles};
use crate::owner::{Home, Sharing};
use crate::symbols;

/// The reason why calls may not arrive.
const NEEDS: &str = "it needs Linux with glibc, linked as a shared library, and no other library \
                     that takes the place of these functions";

/// Records nothing.
struct Unrecorded;

impl CallRecorder for Unrecorded {
    fn is_on(&self) -> bool {
        false
    }

    fn record(&self, _call: FsCall, make: &mut dyn FnMut() -> Result<()>) {
        // The caller has the result.
        let _ = make();
    }
}

/// Checks once in a process that file calls of its code arrive here.
///
/// # Errors
/// The text says what did not arrive.
pub fn arrive() -> std::result::Result<(), String> {
    static ARRIVED: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    ARRIVED.get_or_init(check).clone()
}

/// Checks that calls of this program for the time and for random numbers arrive here.
///
/// # Errors
/// The text says what did not arrive.
#[cfg(feature = "isolation")]
pub fn isolation_arrives() -> std::result::Result<(), String> {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use crate::isolation::{EPOCH, Isolation};

    // The linker keeps all functions because of this call.
    assert!(symbols::count() > 0, "there are functions");
    let calls = || {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut bytes = [0u8; 16];
        // SAFETY: The call writes at most 16 bytes.
        let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        (time, filled, bytes)
    };
    let asked = || Isolation::new(7).enter(Duration::from_millis(3), calls);
    let (first, second) = (asked(), asked());
    if first.0 == EPOCH + Duration::from_millis(3) && first.1 == 16 && first == second {
        return Ok(());
    }
    let calls = "explode does not see the calls of this program for the time and random numbers";
    Err(format!("unsupported: {calls}; {NEEDS}"))
}

fn check() -> std::result::Result<(), String> {
    // The linker keeps all functions because of this call.
    assert!(symbols::count() > 0, "there are functions");
    let storage = Storage::new(Image::new(), Recording::Off);
    let files = SimFiles::mount_by_nodes(FileModel::Posix, storage, 0, Granule::default())
        .map_err(|errno| format!("unsupported: simulated files cannot be mounted: {errno}"))?;
    let recorded = ProgramFiles::new(files.clone(), Box::new(Unrecorded));
    let home = Home::new(StoreFiles::new(recorded, PREFIX), Sharing::Threads);
    let called = home.enter(|| call(Path::new(PREFIX)));
    home.end();
    judge(called, &files)
}

/// Returns an error unless the calls were made on the simulated files.
fn judge(
    called: std::result::Result<Vec<String>, (&'static str, io::Error)>,
    files: &SimFiles,
) -> std::result::Result<(), String> {
    let seen = |path: &str| files.read_file(path).is_ok_and(|bytes| bytes == b"seen");
    match called {
        Ok(names) if names == ["b"] && seen("/d/b") => Ok(()),
        Ok(_) => Err(unseen("they have another result")),
        Err((call, error)) => Err(unseen(&format!("{call}: {error}"))),
    }
}

fn unseen(why: &str) -> String {
    format!(
        "unsupported: explode-posix does not see the file calls of this program ({why}); {NEEDS}"
    )
}

/// Makes calls of each group, and returns the names in a directory.
fn call(root: &Path) -> std::result::Result<Vec<String>, (&'static str, io::Error)> {
    let named = |name| move |error| (name, error);
    let directory = root.join("d");
    fs::create_dir(&directory).map_err(named("mkdir"))?;
    let (a, b) = (directory.join("a"), directory.join("b"));
    let mut file = File::create_new(&a).map_err(named("open"))?;
    file.write_all(b"seen").map_err(named("write"))?;
    file.sync_all().map_err(named("fsync"))?;
    fs::rename(&a, &b).map_err(named("rename"))?;
    fs::metadata(&b).map_err(named("statx"))?;
    let names = fs::read_dir(&directory).map_err(named("opendir"))?;
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into());
    names.map(name).collect::<io::Result<_>>().map_err(named("readdir"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_arrive_in_the_code_of_a_store_only() {
        assert_eq!(check(), Ok(()));
        // This thread runs no code of a store, so the kernel answers.
        let storage = Storage::new(Image::new(), Recording::Off);
        let files =
            SimFiles::mount_by_nodes(FileModel::Posix, storage, 0, Granule::default()).unwrap();
        let unseen = judge(call(Path::new(PREFIX)), &files).unwrap_err();
        assert!(unseen.starts_with("unsupported: explode-posix does not see"), "{unseen}");
        assert!(unseen.contains("mkdir: No such file or directory"), "{unseen}");
    }
}
