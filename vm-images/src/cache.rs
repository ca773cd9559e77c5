//! The cache of built tools, kernels, modules and images.
//!
//! An entry is a folder `<root>/<kind>/<hash of its inputs>`. It is built as `<hash>.tmp` beside
//! its place, written to disk, and renamed, so an existing entry is complete. The builder holds a
//! lock on `<hash>.lock`, so a second builder waits and then finds the first one's entry. A lock
//! ends with its process, and the next builder removes the remains of a killed one. The output of
//! the build is in `<hash>.log`.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::syncfs;

use crate::base::{BuildProgress, CacheKey, ErrorContext, Result, VmError, own_file};
use crate::host::command::BuildLog;

/// The name of the file in an entry that lists its inputs.
const INPUTS: &str = "inputs";

/// The remedy if the cache cannot be written.
const WRITABLE_CACHE: &str = "set XDG_CACHE_HOME to a folder that can be written and has room (a \
                              kernel build needs about 4 GiB)";

/// The cache below one folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// An entry that is being built.
pub(crate) struct Building<'a> {
    /// The temporary folder. Its contents at the end of the build are the entry.
    pub dir: PathBuf,
    /// Receives the output of the build's commands.
    log: BuildLog,
    /// Receives the build's steps.
    pub progress: &'a dyn BuildProgress,
}

impl Cache {
    /// Returns the user's cache: `$XDG_CACHE_HOME/explode`, or `~/.cache/explode`.
    ///
    /// # Errors
    /// [`VmError::Missing`] if neither variable is set.
    pub fn of_user() -> Result<Self> {
        let absolute =
            |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|folder| Self::at(folder.join("explode")))
            .ok_or_else(|| {
                VmError::missing(
                    "there is no folder for the cache",
                    "set HOME or XDG_CACHE_HOME to an absolute path",
                )
            })
    }

    /// Returns a cache below a folder, which is made when it is needed.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder that contains the cache.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of an entry. `None` if the entry does not exist.
    #[must_use]
    pub fn find(&self, kind: &str, key: &CacheKey) -> Option<PathBuf> {
        let path = self.root.join(kind).join(key.hash());
        path.join(INPUTS).is_file().then_some(path)
    }

    /// Returns the folder of an entry. `build` builds it if it does not exist.
    pub(crate) fn entry(
        &self,
        kind: &str,
        key: &CacheKey,
        progress: &dyn BuildProgress,
        build: impl FnOnce(&Building<'_>) -> Result<()>,
    ) -> Result<PathBuf> {
        if let Some(path) = self.find(kind, key) {
            return Ok(path);
        }
        let folder = self.root.join(kind);
        make_folder(&folder)?;
        let file = |end: &str| folder.join(format!("{}{end}", key.hash()));
        let _lock = lock(&file(".lock"), kind, progress)?;
        // Another builder may have been faster.
        if let Some(path) = self.find(kind, key) {
            return Ok(path);
        }
        let (path, temporary) = (file(""), file(".tmp"));
        for left in [&path, &temporary] {
            remove(left)?;
        }
        fs::create_dir(&temporary).at("make the folder", &temporary)?;
        let building =
            Building { dir: temporary.clone(), log: BuildLog::create(file(".log"))?, progress };
        let result = build(&building).and_then(|()| {
            let inputs = temporary.join(INPUTS);
            fs::write(&inputs, key.inputs()).at("write", &inputs)?;
            File::open(&temporary)
                .and_then(|dir| Ok(syncfs(dir)?))
                .at("write to disk what is in", &temporary)?;
            fs::rename(&temporary, &path).at("rename a finished build to", &path)?;
            File::open(&folder).and_then(|dir| dir.sync_all()).at("write to disk", &folder)
        });
        if let Err(error) = result {
            // The error of the build is more useful than one of the cleanup.
            let _ = remove(&temporary);
            return Err(error);
        }
        Ok(path)
    }

    /// Calls `build` with a locked folder that is kept afterwards, so that the next build can reuse
    /// the results of the last.
    pub(crate) fn work<T>(
        &self,
        kind: &str,
        key: &CacheKey,
        progress: &dyn BuildProgress,
        build: impl FnOnce(&Building<'_>) -> Result<T>,
    ) -> Result<T> {
        let folder = self.root.join(kind);
        make_folder(&folder)?;
        let file = |end: &str| folder.join(format!("{}{end}", key.hash()));
        let _lock = lock(&file(".lock"), kind, progress)?;
        let dir = file(".work");
        make_folder(&dir)?;
        build(&Building { dir, log: BuildLog::create(file(".log"))?, progress })
    }
}

impl Building<'_> {
    /// Runs a command to its end. The command also ends if this process ends.
    pub fn run(&self, command: &mut Command) -> Result<()> {
        self.run_lines(command, 0)
    }

    /// Runs a command whose lines of output measure its progress.
    pub fn run_lines(&self, command: &mut Command, expected: u64) -> Result<()> {
        self.log.run(command, expected, self.progress)
    }
}

/// Makes a folder of the cache.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        VmError::broken(format!("cannot make the folder {folder}: {error}; {WRITABLE_CACHE}"))
    })
}

/// Writes a file of the cache. No reader sees a part of it while this process lives.
pub(crate) fn write_whole(file: &Path, contents: &[u8]) -> Result<()> {
    make_folder(file.parent().unwrap_or(file))?;
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    own_file(&temporary).and_then(|mut file| file.write_all(contents)).at("write", &temporary)?;
    fs::rename(&temporary, file).at("write", file)
}

/// Takes the lock of an entry. If it has to wait for the lock, it reports that first.
fn lock(path: &Path, kind: &str, progress: &dyn BuildProgress) -> Result<File> {
    let file = own_file(path).at("make", path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress.step(&format!("waiting for another explode that builds the same {kind}"));
            file.lock().at("lock", path)?;
        }
        Err(TryLockError::Error(error)) => Err(error).at("lock", path)?,
    }
    Ok(file)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() { fs::remove_dir_all(folder).at("remove", folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Sender};
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    use super::*;
    use crate::Silent;

    fn write_file(building: &Building<'_>) -> Result<()> {
        fs::write(building.dir.join("file"), "contents").doing("write")
    }

    #[test]
    fn a_link_in_the_place_of_a_file_of_the_cache_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, link) = (folder.path().join("precious"), folder.path().join("key.lock"));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        own_file(&link).unwrap_err();
        lock(&link, "kind", &crate::base::Silent).unwrap_err();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        let written = folder.path().join("written");
        write_whole(&written, b"new").unwrap();
        assert_eq!(fs::read_to_string(&written).unwrap(), "new");
    }

    #[test]
    fn an_entry_is_built_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = CacheKey::new(1).with("a", "b\nc");
        assert_eq!(cache.find("kernel", &key), None);
        let path = cache.entry("kernel", &key, &Silent, write_file).unwrap();
        assert_eq!(cache.find("kernel", &key), Some(path.clone()));
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "contents");
        assert_eq!(fs::read_to_string(path.join(INPUTS)).unwrap(), "recipe: 1\na: b\\nc\n");
        let again = cache.entry("kernel", &key, &Silent, |_| panic!("it is there")).unwrap();
        assert_eq!(again, path);
        assert_eq!(cache.find("kernel", &key.with("another", "input")), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_says_what_to_do() {
        let build = |_: &Building<'_>| panic!("there is no place for it");
        let error = Cache::at("/dev/null/explode")
            .entry("image", &CacheKey::new(1), &Silent, build)
            .unwrap_err();
        let words = ["/dev/null/explode/image: Not a directory", "set XDG_CACHE_HOME"];
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    }

    #[test]
    fn a_build_that_fails_or_dies_leaves_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = CacheKey::new(1);
        let failing = |building: &Building<'_>| {
            write_file(building)?;
            assert_eq!(cache.find("image", &key), None, "not while it is built");
            building.run(
                std::process::Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]),
            )
        };
        let error = cache.entry("image", &key, &Silent, failing).unwrap_err().to_string();
        assert!(
            error.contains("sh failed (exit status: 3); the last it printed:\n    one\n    two\n"),
            "{error}"
        );
        assert!(error.ends_with(&format!("{}.log", key.hash())), "{error}");
        let temporary = folder.path().join("image").join(format!("{}.tmp", key.hash()));
        assert!(!temporary.exists());
        let log = temporary.with_extension("log");
        assert!(fs::read_to_string(log).unwrap().ends_with("\none\ntwo\n"));

        // The remains of a killed builder.
        fs::create_dir(&temporary).unwrap();
        fs::write(temporary.join("partial"), "").unwrap();
        assert_eq!(cache.find("image", &key), None);
        let path = cache.entry("image", &key, &Silent, write_file).unwrap();
        assert!(path.join("file").exists() && !path.join("partial").exists());
    }

    /// Sends each step to a channel.
    struct SentSteps(Mutex<Sender<String>>);

    impl BuildProgress for SentSteps {
        fn step(&self, text: &str) {
            let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            sender.send(text.to_owned()).unwrap();
        }
    }

    #[test]
    fn a_second_builder_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = CacheKey::new(1);
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let (sender, steps) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                cache.entry("tools", &key, &Silent, move |building| {
                    started.send(()).unwrap();
                    may_go_on.recv().unwrap();
                    write_file(building)
                })
            });
            has_started.recv().unwrap();
            let sender = SentSteps(Mutex::new(sender));
            let (cache, key) = (&cache, &key);
            let second = scope.spawn(move || {
                cache.entry("tools", key, &sender, |_| panic!("the first one has built it"))
            });
            assert_eq!(
                steps.recv().unwrap(),
                "waiting for another explode that builds the same tools"
            );
            assert!(!second.is_finished());
            go_on.send(()).unwrap();
            assert_eq!(first.join().unwrap().unwrap(), second.join().unwrap().unwrap());
        });
    }
}
