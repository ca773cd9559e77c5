//! File calls that are forwarded to the files below, for components that change a few of them.

/// Defines these methods of `Files` for a type whose field `files` has the files below.
macro_rules! forward {
    ($($call:ident)*) => { $( $crate::forward::forward!(@ $call); )* };
    (@ open) => {
        $crate::forward::forward!(
            @ open(path: &str, flags: explode_ramdisk::files::OpenFlags)
                -> explode_ramdisk::files::Fd
        );
    };
    (@ close) => { $crate::forward::forward!(@ close(fd: explode_ramdisk::files::Fd) -> ()); };
    (@ pread) => {
        $crate::forward::forward!(
            @ pread(fd: explode_ramdisk::files::Fd, offset: u64, buf: &mut [u8]) -> usize
        );
    };
    (@ pwrite) => {
        $crate::forward::forward!(
            @ pwrite(fd: explode_ramdisk::files::Fd, offset: u64, data: &[u8]) -> ()
        );
    };
    (@ ftruncate) => {
        $crate::forward::forward!(@ ftruncate(fd: explode_ramdisk::files::Fd, size: u64) -> ());
    };
    (@ fstat) => {
        $crate::forward::forward!(
            @ fstat(fd: explode_ramdisk::files::Fd) -> explode_ramdisk::files::Stat
        );
    };
    (@ fsync) => { $crate::forward::forward!(@ fsync(fd: explode_ramdisk::files::Fd) -> ()); };
    (@ fdatasync) => {
        $crate::forward::forward!(@ fdatasync(fd: explode_ramdisk::files::Fd) -> ());
    };
    (@ stat) => { $crate::forward::forward!(@ stat(path: &str) -> explode_ramdisk::files::Stat); };
    (@ readdir) => {
        $crate::forward::forward!(
            @ readdir(path: &str) -> Vec<(String, explode_ramdisk::files::FileKind)>
        );
    };
    (@ mkdir) => { $crate::forward::forward!(@ mkdir(path: &str) -> ()); };
    (@ rmdir) => { $crate::forward::forward!(@ rmdir(path: &str) -> ()); };
    (@ link) => { $crate::forward::forward!(@ link(from: &str, to: &str) -> ()); };
    (@ unlink) => { $crate::forward::forward!(@ unlink(path: &str) -> ()); };
    (@ rename) => { $crate::forward::forward!(@ rename(from: &str, to: &str) -> ()); };
    (@ sync_dir) => { $crate::forward::forward!(@ sync_dir(path: &str) -> ()); };
    (@ sync) => { $crate::forward::forward!(@ sync() -> ()); };
    (@ sync_machine) => { $crate::forward::forward!(@ sync_machine() -> ()); };
    (@ symlink) => { $crate::forward::forward!(@ symlink(target: &str, path: &str) -> ()); };
    (@ readlink) => { $crate::forward::forward!(@ readlink(path: &str) -> String); };
    (@ mode) => { $crate::forward::forward!(@ mode(path: &str) -> u32); };
    (@ xattrs) => { $crate::forward::forward!(@ xattrs(path: &str) -> Vec<(String, Vec<u8>)>); };
    (@ read_file) => { $crate::forward::forward!(@ read_file(path: &str) -> Vec<u8>); };
    (@ $call:ident($($name:ident: $type:ty),*) -> $gives:ty) => {
        fn $call(&self, $($name: $type),*) -> explode_ramdisk::files::Result<$gives> {
            self.files.$call($($name),*)
        }
    };
}
pub(crate) use forward;

#[cfg(test)]
pub(crate) mod tests {
    use std::rc::Rc;

    use explode_ramdisk::files::Files;

    use crate::noting::{Noting, calls};

    /// Makes each call on files over a recorder. The call must arrive there as itself, besides
    /// calls of stat and fstat, or be refused without any effect. Returns the names of the refused
    /// calls.
    pub(crate) fn refused(over: impl Fn(Rc<dyn Files>) -> Box<dyn Files>) -> Vec<&'static str> {
        let mut refused = Vec::new();
        for call in calls() {
            let noting = Rc::new(Noting::default());
            let answer = (call.make)(&*over(Rc::clone(&noting) as _));
            let mut arrived = noting.take();
            let is_in_list =
                |noted: &String| noted.starts_with("stat(") || noted.starts_with("fstat(");
            arrived.retain(|noted| *noted == call.noted || !is_in_list(noted));
            if arrived.is_empty() {
                assert!(
                    answer == "false" || answer == "Err(EOPNOTSUPP)",
                    "{}: {answer}",
                    call.name
                );
                refused.push(call.name);
            } else {
                assert_eq!((arrived.as_slice(), answer), ([call.noted].as_slice(), call.answer));
            }
        }
        refused
    }
}
