//! Calls of files that go on to those below, for components that change a few of them.

/// These methods of `Files`, of a type whose field `files` has the files below.
macro_rules! forward {
    ($($call:ident)*) => { $( $crate::forward::forward!(@ $call); )* };
    (@ open) => { $crate::forward::forward!(@ open(path: &str, flags: explode_ramdisk::files::OpenFlags) -> explode_ramdisk::files::Fd); };
    (@ close) => { $crate::forward::forward!(@ close(fd: explode_ramdisk::files::Fd) -> ()); };
    (@ pread) => { $crate::forward::forward!(@ pread(fd: explode_ramdisk::files::Fd, offset: u64, buf: &mut [u8]) -> usize); };
    (@ pwrite) => { $crate::forward::forward!(@ pwrite(fd: explode_ramdisk::files::Fd, offset: u64, data: &[u8]) -> ()); };
    (@ ftruncate) => { $crate::forward::forward!(@ ftruncate(fd: explode_ramdisk::files::Fd, size: u64) -> ()); };
    (@ fstat) => { $crate::forward::forward!(@ fstat(fd: explode_ramdisk::files::Fd) -> explode_ramdisk::files::Stat); };
    (@ fsync) => { $crate::forward::forward!(@ fsync(fd: explode_ramdisk::files::Fd) -> ()); };
    (@ fdatasync) => { $crate::forward::forward!(@ fdatasync(fd: explode_ramdisk::files::Fd) -> ()); };
    (@ stat) => { $crate::forward::forward!(@ stat(path: &str) -> explode_ramdisk::files::Stat); };
    (@ readdir) => { $crate::forward::forward!(@ readdir(path: &str) -> Vec<(String, explode_ramdisk::files::Kind)>); };
    (@ mkdir) => { $crate::forward::forward!(@ mkdir(path: &str) -> ()); };
    (@ rmdir) => { $crate::forward::forward!(@ rmdir(path: &str) -> ()); };
    (@ link) => { $crate::forward::forward!(@ link(from: &str, to: &str) -> ()); };
    (@ unlink) => { $crate::forward::forward!(@ unlink(path: &str) -> ()); };
    (@ rename) => { $crate::forward::forward!(@ rename(from: &str, to: &str) -> ()); };
    (@ sync_dir) => { $crate::forward::forward!(@ sync_dir(path: &str) -> ()); };
    (@ sync) => { $crate::forward::forward!(@ sync() -> ()); };
    (@ symlink) => { $crate::forward::forward!(@ symlink(target: &str, path: &str) -> ()); };
    (@ readlink) => { $crate::forward::forward!(@ readlink(path: &str) -> String); };
    (@ $call:ident($($name:ident: $type:ty),*) -> $gives:ty) => {
        fn $call(&self, $($name: $type),*) -> explode_ramdisk::files::Result<$gives> {
            self.files.$call($($name),*)
        }
    };
}
pub(crate) use forward;
