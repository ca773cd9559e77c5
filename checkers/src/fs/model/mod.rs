//! The abstract file system that all checkers of file systems share: the tree, its durable part,
//! and the states that a crash may leave.
//!
//! A checker has steps, which consist of [`FsCall`](explode_ramdisk::files::FsCall)s, and promises,
//! which it reads from this model.
//!
//! | | |
//! | --- | --- |
//! | [`Abstract`] | the tree as it is: inodes, names, contents, attributes; [`Abstract::apply`] is the effect of each call |
//! | [`History`] | the *stable* part of the tree, which is on disk, and the *volatile* part, which is on disk or not |
//! | [`file::File`] | the stable part of the contents of one file, byte by byte |
//! | [`AttributeHistory`] | the stable and the volatile modes and extended attributes of one inode |
//! | [`Whereabouts`] | the possible places of a node that is moved, if a rename is one change |
//! | [`Moments`] | two values: one during the last step, one since it has returned |
//! | [`make()`] | makes the calls of a step |
//! | [`promise`] | the object that a path must lead to after a crash |
//!
//! # Rules for what a crash may leave
//!
//! 1. A change is volatile from the start of its call: it may be on disk during the call (*during*)
//!    as well as afterwards (*now*).
//! 2. A sync makes changes stable when it has returned without an error, and not before. A crash
//!    during the sync may leave any volatile state.
//! 3. A name leads where its newest operation on disk has led it. Each volatile operation is on
//!    disk or not, independently of operations on other names.
//! 4. fsync(2) of a directory makes its names stable, and nothing below them. A name leads
//!    somewhere only if the inode was made, which fsync(2) of the inode makes stable.
//! 5. fsync(2) of a file makes its contents and its size stable, and none of its names.
//!    fdatasync(2) makes the contents stable, and as much of the size as is needed to read them.
//! 6. A rename is two operations, one on each name. If it replaces a name there is a third, because
//!    the replaced name may be gone first. A stricter checker treats a rename as one change
//!    ([`Whereabouts`]).
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
