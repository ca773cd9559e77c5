//! One abstract file system for all checkers of file systems: what is there, what of it is durable,
//! and what a crash may leave.
//!
//! A checker has steps, which are [`FsCall`](explode_ramdisk::files::FsCall)s, and promises, which
//! it reads from here.
//!
//! | | |
//! | --- | --- |
//! | [`Abstract`] | the tree as it is: inodes, names, contents, attributes; [`Abstract::apply`] is the effect of each call |
//! | [`History`] | what of the tree is *stable*, certainly on disk, and what is *volatile*, on disk or not |
//! | [`file::File`] | the same of the contents of one file, byte by byte |
//! | [`AttributeHistory`] | the same of its mode and extended attributes |
//! | [`Whereabouts`] | where a node may be that is moved, if a rename is one change |
//! | [`Moments`] | two of a kind: while the last call was made, and since it has returned |
//! | [`make()`] | makes the calls of a step |
//! | [`promise`] | what a path must lead to after a crash |
//!
//! # Rules of what a crash may leave
//!
//! 1. A change is volatile from the moment its call begins: it may be on disk while the call is
//!    made (*during*) as well as afterwards (*now*).
//! 2. What a call makes durable is stable once it has returned without an error, and not before: a
//!    crash during it may leave what was volatile.
//! 3. A name leads where its newest operation on disk has led it. Each volatile operation is on
//!    disk or not, independently of those on other names.
//! 4. fsync(2) of a directory makes its names stable, and nothing below them. A name leads
//!    somewhere only if the inode was made, which fsync(2) of the inode makes stable.
//! 5. fsync(2) of a file makes its contents and its size stable, and no name of it; fdatasync(2)
//!    the contents, and as much of the size as reading them needs.
//! 6. A rename is two operations, one on each name, and a third where it replaces a name, which may
//!    be gone before. Where a checker asks for more, a rename is one change ([`Whereabouts`]).
//! 7. sync(2) makes everything stable that has a name.

mod attributes;
mod change;
mod effect;
pub mod file;
pub mod groups;
mod history;
mod make;
mod moments;
mod past;
pub mod pattern;
pub mod promise;
mod sync_call;
mod tree;
mod whereabouts;

pub use attributes::{Attributes, Seen};
pub use groups::{CALLS, Group, Groups};
pub use history::{History, NamePlace, WrittenFile};
pub use make::make;
pub use moments::Moments;
pub use past::{AttributeHistory, FLUSHED as FLUSHED_ATTRIBUTES, UNSYNCED as UNSYNCED_ATTRIBUTES};
pub use sync_call::SyncCall;
pub use tree::{Abstract, Id, ModelNode, split};
pub use whereabouts::Whereabouts;
