//! Which system calls there are (`calls`): groups of them, each by a word.

use std::ops::BitAnd;

use explode_runtime::base::{OptionDef, Options, UsageError};

pub const CALLS: OptionDef = OptionDef {
    name: "calls",
    about: "which system calls: all (the eight of the paper), names (without ftruncate and \
            pwrite), more; or these, with commas between \
            them: contents, symlink, chmod, xattr, exchange, noreplace, fallocate, allocate, \
            punch, zero, shift, tmpfile, held, mmap, \
            reflink",
    default: "all",
};

/// Calls that are there together or not at all. Those that change names (creat, mkdir, unlink,
/// rmdir, link, rename) always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// ftruncate, pwrite.
    Contents,
    /// symlink.
    Symlink,
    /// chmod.
    Chmod,
    /// setxattr, removexattr.
    Xattr,
    /// renameat2 with `RENAME_EXCHANGE`.
    Exchange,
    /// renameat2 with `RENAME_NOREPLACE`.
    NoReplace,
    /// fallocate, with `FALLOC_FL_KEEP_SIZE` and without.
    Allocate,
    /// fallocate with `FALLOC_FL_PUNCH_HOLE`.
    Punch,
    /// fallocate with `FALLOC_FL_ZERO_RANGE`.
    Zero,
    /// fallocate with `FALLOC_FL_COLLAPSE_RANGE` and `FALLOC_FL_INSERT_RANGE`.
    Shift,
    /// A file that is made without a name (`O_TMPFILE`), written, and linked.
    Tmpfile,
    /// unlink of a file that is open, is written then, and closed.
    Held,
    /// A store through a shared mapping, and msync.
    Mmap,
    /// `FICLONE`.
    Reflink,
}

impl Group {
    /// With their words.
    pub const ALL: [(&'static str, Group); 14] = [
        ("contents", Group::Contents),
        ("symlink", Group::Symlink),
        ("chmod", Group::Chmod),
        ("xattr", Group::Xattr),
        ("exchange", Group::Exchange),
        ("noreplace", Group::NoReplace),
        ("allocate", Group::Allocate),
        ("punch", Group::Punch),
        ("zero", Group::Zero),
        ("shift", Group::Shift),
        ("tmpfile", Group::Tmpfile),
        ("held", Group::Held),
        ("mmap", Group::Mmap),
        ("reflink", Group::Reflink),
    ];
}

/// Words for several groups.
const SEVERAL: [(&str, Groups); 4] = [
    ("all", Groups::of(&[Group::Contents])),
    ("names", Groups::NONE),
    ("fallocate", Groups::of(&[Group::Allocate, Group::Punch, Group::Zero, Group::Shift])),
    ("more", Groups((1 << Group::ALL.len()) - 1)),
];

/// Some groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups(u16);

impl Groups {
    pub const NONE: Groups = Groups(0);

    pub const fn of(groups: &[Group]) -> Groups {
        let (mut bits, mut at) = (0, 0);
        while at < groups.len() {
            bits |= 1 << groups[at] as u16;
            at += 1;
        }
        Groups(bits)
    }

    /// What [`CALLS`] says: words, with commas between them.
    pub fn given(options: &Options) -> Result<Groups, UsageError> {
        let mut bits = 0;
        for word in options.text(CALLS.name, CALLS.default)?.split(',') {
            let several = SEVERAL.iter().find(|(name, _)| *name == word).map(|(_, groups)| *groups);
            let one = || Group::ALL.iter().find(|(name, _)| *name == word);
            let groups = several.or_else(|| one().map(|(_, group)| Groups::of(&[*group])));
            let names =
                SEVERAL.iter().map(|(name, _)| *name).chain(Group::ALL.map(|(name, _)| name));
            let unknown = || UsageError::unknown(&format!("{} setting", CALLS.name), word, names);
            bits |= groups.ok_or_else(unknown)?.0;
        }
        Ok(Groups(bits))
    }

    pub fn has(self, group: Group) -> bool {
        self.0 & 1 << group as u16 != 0
    }

    /// Does one of them change modes or extended attributes?
    pub fn are_of_attributes(self) -> bool {
        self.has(Group::Chmod) || self.has(Group::Xattr)
    }

    /// Is there one that not every file system has?
    pub fn need_a_probe(self) -> bool {
        self.0 & !Groups::of(&[Group::Contents]).0 != 0
    }

    /// All of them, with their words.
    pub fn each(self) -> impl Iterator<Item = (&'static str, Group)> {
        Group::ALL.into_iter().filter(move |(_, group)| self.has(*group))
    }

    /// Without the one that has this word.
    #[must_use = "this returns the others"]
    pub fn without(self, word: &str) -> Groups {
        let gone = Group::ALL.iter().find(|(name, _)| *name == word);
        gone.map_or(self, |(_, group)| Groups(self.0 & !(1 << *group as u16)))
    }

    /// Without those that have these words.
    #[must_use = "this returns the others"]
    pub fn without_all(self, words: &[String]) -> Groups {
        words.iter().fold(self, |groups, word| groups.without(word))
    }
}

impl BitAnd for Groups {
    type Output = Groups;

    fn bitand(self, other: Groups) -> Groups {
        Groups(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_put_together() {
        let given = |words: &str| Groups::given(&Options::none().with("calls", words));
        let words =
            |text: &str| given(text).unwrap().each().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(words("all"), ["contents"]);
        assert_eq!(words("names"), [""; 0]);
        assert_eq!(words("names,xattr,chmod"), ["chmod", "xattr"]);
        assert_eq!(words("fallocate,contents"), ["contents", "allocate", "punch", "zero", "shift"]);
        assert_eq!(words("more"), Group::ALL.map(|(word, _)| word));
        assert_eq!(given("all").unwrap().without("contents"), Groups::NONE);
        let error = given("names,xatr").unwrap_err().to_string();
        assert!(error.contains("'xatr'") && error.contains("did you mean 'xattr'?"), "{error}");
    }
}
