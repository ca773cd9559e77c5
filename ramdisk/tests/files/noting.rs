//! An implementation of [`Files`] that only records its calls, and a list of calls of every method.
//! Tests of other crates include this file.

use std::cell::RefCell;

use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};

/// Files that record each call with its arguments.
#[derive(Default)]
pub struct Noting {
    arrived: RefCell<Vec<String>>,
}

impl Noting {
    /// Records a call.
    pub fn note(&self, what: String) {
        self.arrived.borrow_mut().push(what);
    }

    /// Returns the calls since the last time, in order.
    pub fn take(&self) -> Vec<String> {
        self.arrived.take()
    }
}

/// A call of a method.
pub struct Call {
    /// The method.
    pub name: &'static str,
    /// The call as it is recorded.
    pub noted: String,
    /// The result in debug form.
    pub answer: String,
    /// Makes the call and returns its result in debug form.
    pub make: fn(&dyn Files) -> String,
}

/// Implements `Files` from a list of its methods, each with arguments and a result.
macro_rules! noting {
    ($($call:ident($($name:ident: $type:ty = $value:expr),*) -> $gives:ty = $answer:expr;)*) => {
        #[deny(clippy::missing_trait_methods)]
        impl Files for Noting {
            $(fn $call(&self, $($name: $type),*) -> $gives {
                self.note(format!("{}{:?}", stringify!($call), ($($name,)*)));
                $answer
            })*
        }

        /// Returns one call of each method.
        pub fn calls() -> Vec<Call> {
            vec![$({
                let answer: $gives = $answer;
                Call {
                    name: stringify!($call),
                    noted: format!("{}{:?}", stringify!($call), ($($value,)*)),
                    answer: format!("{answer:?}"),
                    make: |files| format!("{:?}", files.$call($($value),*)),
                }
            }),*]
        }
    };
}

const STAT: Stat = Stat { kind: FileKind::File, inode: 3, size: 0, links: 1 };

noting! {
    open(path: &str = "/a", flags: OpenFlags = OpenFlags::EXISTING) -> Result<Fd> = Ok(Fd(7));
    close(fd: Fd = Fd(7)) -> Result<()> = Ok(());
    pread(fd: Fd = Fd(7), offset: u64 = 5, buf: &mut [u8] = &mut [0; 2]) -> Result<usize> = Ok(2);
    pwrite(fd: Fd = Fd(7), offset: u64 = 5, data: &[u8] = b"ab") -> Result<()> = Ok(());
    ftruncate(fd: Fd = Fd(7), size: u64 = 5) -> Result<()> = Ok(());
    fstat(fd: Fd = Fd(7)) -> Result<Stat> = Ok(STAT);
    fsync(fd: Fd = Fd(7)) -> Result<()> = Ok(());
    fdatasync(fd: Fd = Fd(7)) -> Result<()> = Ok(());
    stat(path: &str = "/a") -> Result<Stat> = Ok(STAT);
    readdir(path: &str = "/") -> Result<Vec<(String, FileKind)>> =
        Ok(vec![("a".to_owned(), FileKind::File)]);
    mkdir(path: &str = "/d") -> Result<()> = Ok(());
    rmdir(path: &str = "/d") -> Result<()> = Ok(());
    link(from: &str = "/a", to: &str = "/b") -> Result<()> = Ok(());
    unlink(path: &str = "/b") -> Result<()> = Ok(());
    rename(from: &str = "/a", to: &str = "/b") -> Result<()> = Ok(());
    sync_dir(path: &str = "/") -> Result<()> = Ok(());
    sync() -> Result<()> = Ok(());
    can(ability: FsAbility = FsAbility::Mapped) -> bool = true;
    open_directory(path: &str = "/d") -> Result<Fd> = Ok(Fd(11));
    sync_machine() -> Result<()> = Ok(());
    syncfs() -> Result<()> = Ok(());
    open_synced(path: &str = "/a", flags: OpenFlags = OpenFlags::EXISTING,
        synced: Synced = Synced::Data) -> Result<Fd> = Ok(Fd(8));
    open_flagged(path: &str = "/a", flags: OpenFlags = OpenFlags::EXISTING,
        flag: WriteFlag = WriteFlag::Append) -> Result<Fd> = Ok(Fd(10));
    write_mapped(fd: Fd = Fd(7), offset: u64 = 5, data: &[u8] = b"ab") -> Result<()> = Ok(());
    symlink(target: &str = "to", path: &str = "/l") -> Result<()> = Ok(());
    readlink(path: &str = "/l") -> Result<String> = Ok("to".to_owned());
    chmod(path: &str = "/a", mode: u32 = 0o600) -> Result<()> = Ok(());
    mode(path: &str = "/a") -> Result<u32> = Ok(0o600);
    setxattr(path: &str = "/a", name: &str = "user.a",
        value: &[u8] = b"one") -> Result<()> = Ok(());
    removexattr(path: &str = "/a", name: &str = "user.a") -> Result<()> = Ok(());
    xattrs(path: &str = "/a") -> Result<Vec<(String, Vec<u8>)>> =
        Ok(vec![("user.a".to_owned(), b"one".to_vec())]);
    rename_with(from: &str = "/a", to: &str = "/b",
        how: Renaming = Renaming::NoReplace) -> Result<()> = Ok(());
    open_unnamed(directory: &str = "/") -> Result<Fd> = Ok(Fd(9));
    link_open(fd: Fd = Fd(7), to: &str = "/b") -> Result<()> = Ok(());
    fallocate(fd: Fd = Fd(7), how: Fallocate = Fallocate::KeepSize, offset: u64 = 5,
        len: u64 = 6) -> Result<()> = Ok(());
    clone_file(from: Fd = Fd(7), to: Fd = Fd(8)) -> Result<()> = Ok(());
    copy_range(from: Fd = Fd(7), to: Fd = Fd(8), offset: u64 = 5, len: u64 = 6) -> Result<()> =
        Ok(());
    read_file(path: &str = "/a") -> Result<Vec<u8>> = Ok(b"one".to_vec());
}
