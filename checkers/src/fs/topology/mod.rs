//! The generic core of the file-system checkers (EX-95 to EX-99): from an empty file system (or what [`begin`] finds), call by call,
//! to every topology of files and directories up to a number of each.
//!
//! | | |
//! | --- | --- |
//! | [`Abstract`] | the abstract file system: what the calls have made, which the real one must equal |
//! | [`Call`] | the system calls on each node of it; the same tree has the same ones, in the same order |
//! | [`Groups`] | which ones there are; [`probe`] leaves out what a file system does not have |
//! | [`signature`] | its canonical form: two that differ in names only have the same |
//! | [`is_as_expected`] | compares a real one with it |

mod abstract_fs;
mod apply;
mod attributes;
mod call;
mod canonical;
mod change;
mod found;
mod groups;
mod possible;
mod probe;
#[cfg(test)]
mod tests;

use explode_ramdisk::files::Files;
use explode_runtime::base::{Blame, Fault, OptionDef, Options, UsageError};
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{Failure, Verdict, Violation};

pub use abstract_fs::{Abstract, Id, Node, split};
pub use attributes::{Attributes, Seen};
pub use call::{Call, Write};
pub use canonical::signature;
pub use found::Found;
pub use groups::{Group, Groups};
pub use possible::first_letter;
pub use probe::probe;

/// How large a topology grows, and where its files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most names of files: a second name of a file counts.
    pub files: usize,
    /// Most directories below the root.
    pub dirs: usize,
    /// The byte that a write behind a hole begins at.
    pub far: usize,
    /// Which calls there are besides those that change names.
    pub calls: Groups,
}

/// What is written at a time: a block, as file systems have them.
pub const BLOCK: usize = 4096;
/// The contents of files are kept in memory, too.
const FARTHEST: u64 = 64 << 20;

pub const FILES: OptionDef =
    OptionDef { name: "files", about: "most names of files, second names of a file included", default: "2" };
pub const DIRS: OptionDef =
    OptionDef { name: "dirs", about: "most directories below the root", default: "2" };
pub const FAR: OptionDef = OptionDef {
    name: "far",
    about: "the byte that a write behind a hole begins at, a multiple of 4096; enough for indirect blocks",
    default: "307200",
};
pub const CALLS: OptionDef = OptionDef {
    name: "calls",
    about: "which system calls: all (the eight of the paper), names (without ftruncate and pwrite), more; or these, with commas between \
            them: contents, symlink, chmod, xattr, exchange, noreplace, fallocate, allocate, punch, zero, shift, tmpfile, held, mmap, \
            reflink",
    default: "all",
};

impl Limits {
    /// What [`FILES`], [`DIRS`], [`FAR`] and [`CALLS`] say.
    pub fn of(options: &Options) -> Result<Limits, UsageError> {
        let number = |def: OptionDef| options.int(def.name, def.default.parse().unwrap_or_default());
        let (files, dirs, far) = (number(FILES)?, number(DIRS)?, number(FAR)?);
        if files + dirs == 0 || files > 20 || dirs > 20 {
            let text = format!("{files} files and {dirs} dirs; use up to 20 of each, and not none of both");
            return Err(UsageError(text));
        }
        if far == 0 || far > FARTHEST || !far.is_multiple_of(BLOCK as u64) {
            return Err(UsageError(format!("far is {far}; use a multiple of {BLOCK}, up to {FARTHEST}")));
        }
        let calls = Groups::given(options)?;
        Ok(Limits { files: files as usize, dirs: dirs as usize, far: far as usize, calls })
    }
}

/// The tree that a stack's files begin with, without an empty `lost+found`. Empty if the first start left no files.
pub fn begin(stack: &Stack, calls: Groups) -> Result<Abstract, Fault> {
    if !stack.begins_with_files() {
        return Ok(Abstract::new());
    }
    let found = Found::of(stack.files()?.as_ref(), calls);
    found.map(Found::into_abstract).map_err(|unreadable| Fault::new(unreadable).blame(Blame::Tool))
}

/// Is a file system like the abstract one (EX-98), when a call has just succeeded? If not, that is a broken promise,
/// `call-has-its-effect`.
pub fn is_as_expected(files: &dyn Files, fs: &Abstract, call: &Call, calls: Groups) -> Result<(), Failure> {
    let difference = match Found::of(files, calls) {
        Ok(found) => found.difference(&Found::expected(fs, calls)),
        Err(unreadable) => Some(unreadable),
    };
    difference.map_or(Ok(()), |difference| {
        let message = format!("{} succeeded, and {difference}", call.name());
        Err(Violation::new(Verdict::Corrupt, "call-has-its-effect", message).into())
    })
}
