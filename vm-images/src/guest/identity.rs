//! Texts that change when a file is replaced, or when the machine is another.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::sys::utsname::uname;

/// Identifies a version of a file by its path, size and time.
pub(super) fn of_file(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let data = path.metadata().map(|data| {
        (data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec(), data.ctime_nsec())
    });
    format!("{} {:?}", path.display(), data.unwrap_or_default())
}

/// Identifies the machine's kernel and processor.
pub(super) fn of_machine() -> String {
    let release =
        uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default();
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find(|line| line.starts_with("model name")).unwrap_or("unknown");
    format!("{release} {model}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("qemu");
        fs::write(&program, "1").unwrap();
        let one = of_file(&program);
        assert_eq!(of_file(&program), one);
        fs::write(&program, "22").unwrap();
        assert_ne!(of_file(&program), one);
        fs::rename(&program, folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", &program).unwrap();
        assert!(of_file(&program).contains("/other "));
    }
}
