//! Modes and extended attributes: all values that each may have on disk.
//!
//! The mode and each extended attribute are independent of each other (inode(7), xattr(7)). Once
//! the file or directory is forced, the newest value is on disk (fsync(2): "flushes the metadata
//! information associated with the file"). Before that, any value since the last time may be on
//! disk.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::verdict::{Verdict, Violation};
use itertools::Itertools as _;

use super::attributes::{Attributes, Seen};

/// The promise that forced attributes are there.
pub const FLUSHED: &str = "flushed-attributes";
/// The promise that attributes have only values that they had at some time.
pub const UNSYNCED: &str = "unsynced-attributes";

/// The possible values of one attribute.
#[derive(Clone, Debug, Hash)]
struct Versions<T> {
    /// The value that the stable changes have left.
    stable: T,
    /// The values of the volatile changes, oldest first.
    volatile: Vec<T>,
}

impl<T: Clone + PartialEq> Versions<T> {
    fn of(stable: T) -> Versions<T> {
        Versions { stable, volatile: Vec::new() }
    }

    fn force(&mut self) {
        if let Some(last) = self.volatile.drain(..).next_back() {
            self.stable = last;
        }
    }

    fn may_be(&self, found: &T) -> bool {
        self.stable == *found || self.volatile.contains(found)
    }

    /// Returns a text that is equal for two sets of versions only if no check, now or later,
    /// distinguishes them.
    fn form(&self, text: &dyn Fn(&T) -> String) -> String {
        let Some(now) = self.volatile.last() else { return format!("={}", text(&self.stable)) };
        let all: BTreeSet<String> = self.volatile.iter().chain([&self.stable]).map(text).collect();
        format!("~{}{all:?}", text(now))
    }

    /// Returns the promise that a wrong value breaks. `made` is true if the file or directory was
    /// ever forced.
    fn promise(&self, made: bool) -> &'static str {
        if made && self.volatile.is_empty() { FLUSHED } else { UNSYNCED }
    }
}

/// The possible modes and extended attributes of one file or directory.
#[derive(Clone, Debug, Hash)]
pub struct AttributeHistory {
    mode: Versions<u32>,
    xattrs: BTreeMap<String, Versions<Option<Vec<u8>>>>,
}

impl AttributeHistory {
    /// Returns the history of a new file or directory.
    pub fn new(is_directory: bool) -> AttributeHistory {
        AttributeHistory {
            mode: Versions::of(Attributes::new(is_directory).mode),
            xattrs: BTreeMap::new(),
        }
    }

    /// Returns a text that is equal for two histories only if no check, now or later, distinguishes
    /// them.
    pub fn form(&self) -> String {
        let value = |value: &Option<Vec<u8>>| {
            value
                .as_ref()
                .map_or_else(|| "none".to_owned(), |bytes| bytes.escape_ascii().to_string())
        };
        let mode = self.mode.form(&|mode| format!("{mode:o}"));
        let xattrs =
            self.xattrs.iter().map(|(name, versions)| format!("{name}{}", versions.form(&value)));
        [mode].into_iter().chain(xattrs).join(",")
    }

    /// Adds the changes that led to the current attributes.
    pub fn follow(&mut self, now: &Attributes) {
        if self.mode.volatile.last().unwrap_or(&self.mode.stable) != &now.mode {
            self.mode.volatile.push(now.mode);
        }
        for name in now.xattrs.keys() {
            self.xattrs.entry(name.clone()).or_insert_with(|| Versions::of(None));
        }
        for (name, versions) in &mut self.xattrs {
            let value = now.xattrs.get(name).cloned();
            if *versions.volatile.last().unwrap_or(&versions.stable) != value {
                versions.volatile.push(value);
            }
        }
    }

    /// Makes the current attributes stable.
    pub fn force(&mut self) {
        self.mode.force();
        self.xattrs.values_mut().for_each(Versions::force);
    }

    pub fn is_forced(&self) -> bool {
        self.mode.volatile.is_empty()
            && self.xattrs.values().all(|versions| versions.volatile.is_empty())
    }

    /// Checks that an inode may have these attributes. `made` is true if the inode was ever forced.
    /// Attributes that are not forced count only if `unsynced` is true.
    ///
    /// # Errors
    /// Returns the violation as a text that follows the path.
    pub fn judge(&self, found: &Seen, made: bool, unsynced: bool) -> Result<(), Violation> {
        let counts = |promise| unsynced || promise != UNSYNCED;
        let wrong_mode = |mode: &u32| !self.mode.may_be(mode) && counts(self.mode.promise(made));
        if let Some(mode) = found.mode.filter(wrong_mode) {
            let text = format!("has mode {mode:o}, not {:o}", self.mode.stable);
            return Err(Violation::new(Verdict::Lost, self.mode.promise(made), text));
        }
        let Some(found) = &found.xattrs else { return Ok(()) };
        let unknown = found.keys().find(|name| !self.xattrs.contains_key(*name));
        if let Some(name) = unknown.filter(|_| unsynced) {
            let text = format!("has the extended attribute {name}, which was never set");
            return Err(Violation::new(Verdict::Resurrected, UNSYNCED, text));
        }
        let wrong = self.xattrs.iter().find(|(name, versions)| {
            !versions.may_be(&found.get(*name).cloned()) && counts(versions.promise(made))
        });
        let Some((name, versions)) = wrong else { return Ok(()) };
        let (verdict, text) = match (found.get(name), &versions.stable) {
            (None, _) => (Verdict::Lost, format!("has no extended attribute {name}")),
            (Some(_), None) if versions.volatile.is_empty() => (
                Verdict::Resurrected,
                format!("has the extended attribute {name}, which was removed"),
            ),
            (Some(value), _) => (
                Verdict::Corrupt,
                format!("has a value of {name}, {} bytes, that is not its own", value.len()),
            ),
        };
        Err(Violation::new(verdict, versions.promise(made), text))
    }
}
