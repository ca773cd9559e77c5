//! Tests of tidy itself, on invented workspaces.

mod circles;
mod doc_comments;
mod lists;
mod messages;
mod pages;
mod promises;
mod silent;
mod sizes;
mod types;
mod upward;
mod words;

use crate::check::Findings;
use crate::workspace::Files;

/// A crate whose room `door` re-exports an item of the room `up`, as the root does with another
/// item.
const SMALL: [(&str, &str); 6] = [
    ("Cargo.toml", "[package]\nname = \"small\"\n"),
    (
        "src/lib.rs",
        "//! A small crate.
//!
//! # Rooms, bottom first
//!
//! - [`base`]: what all need
//! - [`low`]: where the tests write
//! - [`up`]: what stands above
//! - [`door`]: what hands on

pub mod base;
pub mod low;
pub mod up;
pub mod door;
pub use up::Shown;
",
    ),
    ("src/base.rs", "pub struct Base;"),
    ("src/low.rs", ""),
    (
        "src/up.rs",
        "pub struct X;
pub struct Shown;
pub enum Kind { One }
pub fn x() {}
pub mod deep { pub struct Y; }
#[macro_export]
macro_rules! note { () => {} }
",
    ),
    ("src/door.rs", "pub use crate::up::X;\npub use crate::up::deep as lent;"),
];

/// Returns a workspace of these files.
fn files(parts: &[(&str, &str)]) -> Files {
    parts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Returns the small crate with these files of the room `low`, or others.
fn small(parts: &[(&str, &str)]) -> Files {
    let mut small = files(&SMALL);
    small.extend(files(parts));
    small
}

/// Returns the uses that run upwards if the room `low` has this text.
fn upward_in_low(low: &str) -> Vec<String> {
    Findings::new(&small(&[("src/low.rs", low)])).order.into_keys().collect()
}
