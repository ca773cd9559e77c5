//! Files whose syncs can lie: they return success and make nothing durable. A system on such files
//! breaks its promises.

mod lies;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use explode_ramdisk::files::{
    Fallocate, Fd, FileKind, Files, FsAbility, OpenFlags, Renaming, Result, Stat, Synced, WriteFlag,
};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Recovery, Surface};
use explode_runtime::verdict::{Profile, Promise};
use nix::errno::Errno;

use crate::forward::forward;
use lies::Lies;

/// The name in the registry.
pub const NAME: &str = "lying-sync";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(NAME, "the files below it, with syncs that lie", build)
        .on("simfiles")
        .options([
            OptionDef {
                name: "lies",
                about: "sync call that does nothing: none, files (fsync, fdatasync), directories \
                    (fsync of one), growth (fdatasync of a file that has grown since its last), \
                    subdirectories (sync below the root), sync, syncfs, fsync, fdatasync, \
                    o-sync, o-dsync, msync, mount-sync (it looks mounted with -o sync, and is \
                    not), moved (fsync of a directory while what has got another name was not \
                    synced itself since), removals (sync, of a directory that has lost a name), \
                    attributes (fsync, of the mode and the extended attributes), linked (fsync, \
                    of a file by a name that link has given it), others (fsync, by a descriptor \
                    that was opened before another one wrote to the file), old (fsync, of a file \
                    that was there when the file system was mounted), open-directories (fsync of a \
                    directory that stays open); and what no sync makes \
                    durable: modes, xattrs, targets (of symbolic links), exchanged (the second \
                    directory of an exchange), held (the directory of a file that was removed \
                    while it was open), holes (a file in which one was punched), shifted (a file \
                    from which a range was taken, or into which one was put), appends (a file \
                    that was opened with O_APPEND), direct (with O_DIRECT), copies (a file to \
                    which copy_file_range has copied), unnamed (a file \
                    that was made without a name), clones (a file that is one)",
                default: "none",
            },
            OptionDef {
                name: "refuses",
                about: "refuse fsync of a directory with EINVAL, as HFS does: true, false",
                default: "false",
            },
            OptionDef {
                name: "unreadable",
                about: "path that cannot be opened (EIO) after the recovery from a crash, or none",
                default: "none",
            },
            OptionDef {
                name: "excludes",
                about: "promises that the profile excludes, so that breaking them is by design: \
                    none, or synced-by-sync and the others that fs-ways has, or those that \
                    fs-reasonable, fs- replaced and fs-moved have but for what was flushed, one \
                    or more with commas",
                default: "none",
            },
        ])
}

/// The promises that the profile can exclude.
const EXCLUDABLE: [&str; 21] = [
    "none",
    "synced-by-sync",
    "synced-by-syncfs",
    "synced-by-fsync",
    "synced-by-fdatasync",
    "synced-by-o-sync",
    "synced-by-o-dsync",
    "synced-by-msync",
    "synced-by-mount-sync",
    "metadata-synced-by-mount-sync",
    "synced-directory",
    "unsynced-contents",
    "unsynced-attributes",
    "readable",
    "kind",
    "created-name",
    "one-sequence",
    "link-count",
    "replaced-name",
    "moved-name",
    "replaced-by-rename",
];

struct LyingSync {
    lies: Lies,
    refuses: bool,
    unreadable: String,
    /// True after `recover`.
    recovered: bool,
    excludes: Vec<Promise>,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    let excludes = excluded(&options.text("excludes", "none")?)?;
    let refuses = options.bool("refuses", false)?;
    let (lies, unreadable) =
        (options.one_of("lies", &Lies::ALL)?, options.text("unreadable", "none")?);
    Ok(Box::new(LyingSync { lies, refuses, unreadable, recovered: false, excludes, files: None }))
}

/// Returns the lines of a profile that excludes these promises.
fn excluded(words: &str) -> std::result::Result<Vec<Promise>, UsageError> {
    let line = |word: &str| {
        let name = EXCLUDABLE.into_iter().find(|known| *known == word);
        let name = name.ok_or_else(|| UsageError::unknown("promise", word, EXCLUDABLE))?;
        Ok(Promise {
            name,
            kept: false,
            quote: "its syncs lie",
            source: "the option lying-sync.excludes",
        })
    };
    words.split(',').filter(|word| *word != "none").map(line).collect()
}

impl Component for LyingSync {
    fn recover(&mut self, _below: &Below<'_>) -> std::result::Result<Recovery, StepError> {
        self.recovered = true;
        Ok(Recovery::Clean)
    }

    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        let unreadable = self.recovered.then(|| self.unreadable.clone());
        let mut liar = Liar::on(below.files()?, self.lies, self.refuses, unreadable);
        if self.lies == Lies::Old {
            liar.old = inodes(liar.files.as_ref(), "/").map_err(|errno| {
                StepError::new(format!("the files at the mount cannot be listed: {errno}"))
            })?;
        }
        self.files = Some(Rc::new(liar));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.files = None;
        Ok(())
    }

    /// Has no profile if it excludes nothing. The profile of the child then applies.
    fn facts(&self) -> Facts {
        let promises = self.excludes.clone();
        let profile =
            (!promises.is_empty()).then(|| Profile { system: "lying-sync".to_owned(), promises });
        Facts::default().promises(profile)
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, Surface::Files)
    }
}

struct Liar {
    lies: Lies,
    /// True if no directory can be fsynced.
    refuses: bool,
    /// The path that cannot be opened.
    unreadable: Option<String>,
    files: Rc<dyn Files>,
    /// The size of each inode at its last fsync or fdatasync.
    sizes: RefCell<BTreeMap<u32, u64>>,
    /// The inodes that got another name and were not synced since.
    moved: RefCell<BTreeSet<u32>>,
    /// The directories that lost a name and were not synced since.
    shrunk: RefCell<BTreeSet<u32>>,
    /// The files and directories that no sync makes durable any more.
    skipped: RefCell<BTreeSet<u32>>,
    /// The inode of each open file.
    open: RefCell<BTreeMap<Fd, u32>>,
    /// The paths that `link` made, and the files that were opened by one of them.
    linked: RefCell<BTreeSet<String>>,
    by_link: RefCell<BTreeSet<Fd>>,
    /// The open files to which another descriptor has written.
    written: RefCell<BTreeSet<Fd>>,
    /// The files that were there at the mount. Empty unless the lie is about them.
    old: BTreeSet<u32>,
    /// The modes that were set, and the attributes that were set or removed. The files below do not
    /// receive them.
    modes: RefCell<BTreeMap<u32, u32>>,
    xattrs: RefCell<BTreeMap<u32, Attributes>>,
}

/// Returns the inodes of the files below a directory.
fn inodes(files: &dyn Files, directory: &str) -> Result<BTreeSet<u32>> {
    let mut inodes = BTreeSet::new();
    for (name, kind) in files.readdir(directory)? {
        let path = format!("{}/{name}", directory.trim_end_matches('/'));
        match kind {
            FileKind::Directory => inodes.extend(self::inodes(files, &path)?),
            FileKind::File => _ = inodes.insert(files.stat(&path)?.inode),
            FileKind::Symlink => {}
        }
    }
    Ok(inodes)
}

/// Extended attributes, by their names.
type Attributes = BTreeMap<String, Vec<u8>>;

impl Liar {
    fn on(files: Rc<dyn Files>, lies: Lies, refuses: bool, unreadable: Option<String>) -> Liar {
        Liar {
            lies,
            refuses,
            unreadable,
            files,
            sizes: RefCell::default(),
            moved: RefCell::default(),
            shrunk: RefCell::default(),
            skipped: RefCell::default(),
            open: RefCell::default(),
            linked: RefCell::default(),
            by_link: RefCell::default(),
            written: RefCell::default(),
            old: BTreeSet::new(),
            modes: RefCell::default(),
            xattrs: RefCell::default(),
        }
    }

    fn can_be_opened(&self, path: &str) -> Result<()> {
        let fails = self.unreadable.as_deref() == Some(path) && self.files.stat(path).is_ok();
        if fails { Err(Errno::EIO) } else { Ok(()) }
    }

    /// Records a file's size. Returns true if the file has grown since the last call.
    fn has_grown(&self, fd: Fd) -> Result<bool> {
        let Stat { inode, size, .. } = self.files.fstat(fd)?;
        Ok(self.sizes.borrow_mut().insert(inode, size).unwrap_or(0) < size)
    }

    /// Records that the file at a path got another name.
    fn moves(&self, path: &str) -> Result<()> {
        self.moved.borrow_mut().insert(self.files.stat(path)?.inode);
        Ok(())
    }

    /// Returns the directory of a path.
    fn parent(&self, path: &str) -> Result<u32> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        Ok(self.files.stat(if parent.is_empty() { "/" } else { parent })?.inode)
    }

    /// Records that a path made by `link` has another name.
    fn renames(&self, from: &str, to: &str) {
        let mut linked = self.linked.borrow_mut();
        let is_linked = linked.remove(from);
        linked.remove(to);
        linked.extend(is_linked.then(|| to.to_owned()));
    }

    /// Records that a directory lost the name of a path.
    fn loses(&self, path: &str) -> Result<()> {
        self.shrunk.borrow_mut().insert(self.parent(path)?);
        Ok(())
    }

    /// Excludes the inode from all later syncs, if this is the lie in force.
    fn skips(&self, lie: Lies, inode: u32) {
        if self.lies == lie {
            self.skipped.borrow_mut().insert(inode);
        }
    }

    fn skips_file(&self, lie: Lies, fd: Fd) -> Result<()> {
        self.skips(lie, self.files.fstat(fd)?.inode);
        Ok(())
    }

    fn is_skipped(&self, inode: u32) -> bool {
        self.skipped.borrow().contains(&inode)
    }

    /// Syncs everything. If some inodes are skipped, each other file and directory is synced by
    /// itself.
    fn sync_but_skipped(&self, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.lies != Lies::Targets && self.skipped.borrow().is_empty() {
            return sync();
        }
        self.sync_but("/", &self.skipped.borrow())
    }

    fn attributes(&self, path: &str) -> Result<Attributes> {
        let inode = self.files.stat(path)?.inode;
        match self.xattrs.borrow().get(&inode) {
            Some(known) => Ok(known.clone()),
            None => Ok(self.files.xattrs(path)?.into_iter().collect()),
        }
    }

    fn change_attributes(&self, path: &str, change: impl FnOnce(&mut Attributes)) -> Result<()> {
        let mut attributes = self.attributes(path)?;
        change(&mut attributes);
        self.xattrs.borrow_mut().insert(self.files.stat(path)?.inode, attributes);
        Ok(())
    }

    /// Syncs everything below a directory except these inodes and the targets of symbolic links.
    fn sync_but(&self, directory: &str, skipped: &BTreeSet<u32>) -> Result<()> {
        for (name, kind) in self.files.readdir(directory)? {
            let path = format!("{}/{name}", directory.trim_end_matches('/'));
            match kind {
                FileKind::Directory => self.sync_but(&path, skipped)?,
                FileKind::File if skipped.contains(&self.files.stat(&path)?.inode) => {}
                FileKind::File => self.fsync_path(&path)?,
                FileKind::Symlink => {}
            }
        }
        let inode = self.files.stat(directory)?.inode;
        if skipped.contains(&inode) { Ok(()) } else { self.files.sync_dir(directory) }
    }

    fn fsync_path(&self, path: &str) -> Result<()> {
        let fd = self.files.open(path, OpenFlags::EXISTING)?;
        self.files.fsync(fd)?;
        self.files.close(fd)
    }

    /// Syncs a directory by `sync`, or does nothing, or refuses.
    fn sync_directory(&self, inode: u32, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.refuses {
            return Err(Errno::EINVAL);
        }
        let mut moved = self.moved.borrow_mut();
        moved.remove(&inode);
        if self.lies == Lies::Directories || self.lies == Lies::Moved && !moved.is_empty() {
            return Ok(());
        }
        self.shrunk.borrow_mut().remove(&inode);
        if self.is_skipped(inode) { Ok(()) } else { sync() }
    }

    /// Syncs the root and the files in it.
    fn sync_root(&self) -> Result<()> {
        for (name, _) in self.files.readdir("/")?.iter().filter(|(_, kind)| *kind == FileKind::File)
        {
            self.fsync_path(&format!("/{name}"))?;
        }
        self.files.sync_dir("/")
    }
}

#[deny(clippy::missing_trait_methods)]
impl Files for Liar {
    forward!(pread ftruncate fstat stat readdir mkdir symlink readlink);

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        self.files.pwrite(fd, offset, data)?;
        let open = self.open.borrow();
        let others = open.iter().filter(|(other, of)| **other != fd && Some(*of) == open.get(&fd));
        self.written.borrow_mut().extend(others.map(|(other, _)| *other));
        Ok(())
    }
    fn fsync(&self, fd: Fd) -> Result<()> {
        let Stat { inode, kind, .. } = self.files.fstat(fd)?;
        if kind == FileKind::Directory && self.lies == Lies::OpenDirectories {
            return Ok(());
        }
        if kind == FileKind::Directory {
            return self.sync_directory(inode, || self.files.fsync(fd));
        }
        self.has_grown(fd)?;
        self.moved.borrow_mut().remove(&inode);
        match self.lies {
            Lies::Files | Lies::Fsync => Ok(()),
            Lies::Attributes => self.files.fdatasync(fd),
            Lies::Linked if self.by_link.borrow().contains(&fd) => Ok(()),
            Lies::Others if self.written.borrow().contains(&fd) => Ok(()),
            Lies::Old if self.old.contains(&inode) => Ok(()),
            _ if self.is_skipped(inode) => Ok(()),
            _ => self.files.fsync(fd),
        }
    }
    fn fdatasync(&self, fd: Fd) -> Result<()> {
        let grown = self.has_grown(fd)?;
        let lies = matches!(self.lies, Lies::Files | Lies::Fdatasync)
            || self.lies == Lies::Growth && grown;
        if lies || self.is_skipped(self.files.fstat(fd)?.inode) {
            Ok(())
        } else {
            self.files.fdatasync(fd)
        }
    }
    fn sync_dir(&self, path: &str) -> Result<()> {
        self.sync_directory(self.files.stat(path)?.inode, || self.files.sync_dir(path))
    }
    fn open_directory(&self, path: &str) -> Result<Fd> {
        self.files.open_directory(path)
    }
    fn sync(&self) -> Result<()> {
        match self.lies {
            Lies::Subdirectories => self.sync_root(),
            Lies::Sync => Ok(()),
            Lies::Removals => self.sync_but("/", &self.shrunk.borrow()),
            _ => self.sync_but_skipped(|| self.files.sync()),
        }
    }
    fn can(&self, ability: FsAbility) -> bool {
        let claims = self.lies == Lies::MountSync && ability == FsAbility::Synchronous;
        claims || self.files.can(ability)
    }
    fn sync_machine(&self) -> Result<()> {
        match self.lies {
            Lies::Sync | Lies::Removals | Lies::Subdirectories => self.sync(),
            _ => self.sync_but_skipped(|| self.files.sync_machine()),
        }
    }
    fn syncfs(&self) -> Result<()> {
        if self.lies == Lies::Syncfs {
            Ok(())
        } else {
            self.sync_but_skipped(|| self.files.syncfs())
        }
    }
    fn open_synced(&self, path: &str, flags: OpenFlags, synced: Synced) -> Result<Fd> {
        match (self.lies, synced) {
            (Lies::OSync, Synced::All) | (Lies::ODsync, Synced::Data) => {
                self.files.open(path, flags)
            }
            _ => self.files.open_synced(path, flags, synced),
        }
    }
    fn open_flagged(&self, path: &str, flags: OpenFlags, flag: WriteFlag) -> Result<Fd> {
        let fd = self.files.open_flagged(path, flags, flag)?;
        let inode = self.files.fstat(fd)?.inode;
        self.open.borrow_mut().insert(fd, inode);
        match flag {
            WriteFlag::Append => self.skips(Lies::Appends, inode),
            WriteFlag::Direct => self.skips(Lies::Direct, inode),
        }
        Ok(fd)
    }
    fn write_mapped(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        if self.lies != Lies::Msync {
            return self.files.write_mapped(fd, offset, data);
        }
        self.files.pwrite(fd, offset, data)
    }
    fn open(&self, path: &str, flags: OpenFlags) -> Result<Fd> {
        self.can_be_opened(path)?;
        let fd = self.files.open(path, flags)?;
        self.open.borrow_mut().insert(fd, self.files.fstat(fd)?.inode);
        if self.linked.borrow().contains(path) {
            self.by_link.borrow_mut().insert(fd);
        }
        Ok(fd)
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.can_be_opened(path)?;
        self.files.read_file(path)
    }
    fn close(&self, fd: Fd) -> Result<()> {
        self.open.borrow_mut().remove(&fd);
        self.by_link.borrow_mut().remove(&fd);
        self.written.borrow_mut().remove(&fd);
        self.files.close(fd)
    }
    fn rmdir(&self, path: &str) -> Result<()> {
        self.files.rmdir(path)?;
        self.loses(path)
    }
    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.files.link(from, to)?;
        self.linked.borrow_mut().insert(to.to_owned());
        self.moves(to)
    }
    fn unlink(&self, path: &str) -> Result<()> {
        let inode = self.files.stat(path)?.inode;
        self.files.unlink(path)?;
        if self.open.borrow().values().any(|open| *open == inode) {
            self.skips(Lies::Held, self.parent(path)?);
        }
        self.linked.borrow_mut().remove(path);
        self.loses(path)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.files.rename(from, to)?;
        self.renames(from, to);
        self.loses(from)?;
        self.moves(to)
    }
    fn chmod(&self, path: &str, mode: u32) -> Result<()> {
        if self.lies != Lies::Modes {
            return self.files.chmod(path, mode);
        }
        self.modes.borrow_mut().insert(self.files.stat(path)?.inode, mode);
        Ok(())
    }
    fn mode(&self, path: &str) -> Result<u32> {
        let known = self.modes.borrow().get(&self.files.stat(path)?.inode).copied();
        known.map_or_else(|| self.files.mode(path), Ok)
    }
    fn setxattr(&self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        if self.lies != Lies::Xattrs {
            return self.files.setxattr(path, name, value);
        }
        self.change_attributes(path, |all| drop(all.insert(name.to_owned(), value.to_owned())))
    }
    fn removexattr(&self, path: &str, name: &str) -> Result<()> {
        if self.lies != Lies::Xattrs {
            return self.files.removexattr(path, name);
        }
        self.change_attributes(path, |all| drop(all.remove(name)))
    }
    fn xattrs(&self, path: &str) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(self.attributes(path)?.into_iter().collect())
    }
    fn rename_with(&self, from: &str, to: &str, how: Renaming) -> Result<()> {
        self.files.rename_with(from, to, how)?;
        let other = self.linked.borrow().contains(to);
        self.renames(from, to);
        if how == Renaming::Exchange {
            self.linked.borrow_mut().extend(other.then(|| from.to_owned()));
            self.skips(Lies::Exchanged, self.parent(to)?);
            return Ok(());
        }
        self.loses(from)?;
        self.moves(to)
    }
    fn open_unnamed(&self, directory: &str) -> Result<Fd> {
        let fd = self.files.open_unnamed(directory)?;
        self.skips_file(Lies::Unnamed, fd)?;
        Ok(fd)
    }
    fn link_open(&self, fd: Fd, to: &str) -> Result<()> {
        self.files.link_open(fd, to)
    }
    fn fallocate(&self, fd: Fd, how: Fallocate, offset: u64, len: u64) -> Result<()> {
        self.files.fallocate(fd, how, offset, len)?;
        match how {
            Fallocate::PunchHole => self.skips_file(Lies::Holes, fd),
            Fallocate::CollapseRange | Fallocate::InsertRange => self.skips_file(Lies::Shifted, fd),
            _ => Ok(()),
        }
    }
    fn clone_file(&self, from: Fd, to: Fd) -> Result<()> {
        self.files.clone_file(from, to)?;
        self.skips_file(Lies::Clones, to)
    }
    fn copy_range(&self, from: Fd, to: Fd, offset: u64, len: u64) -> Result<()> {
        self.files.copy_range(from, to, offset, len)?;
        self.skips_file(Lies::Copies, to)
    }
}
