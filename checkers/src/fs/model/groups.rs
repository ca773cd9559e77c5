//! The groups of system calls that a checker may use (option `calls`), each with a word.

use std::ops::BitAnd;

use explode_runtime::base::{OptionDef, Options, UsageError};

pub const CALLS: OptionDef = OptionDef {
    name: "calls",
    about: "available system calls: all (the eight of the paper), names (without ftruncate and \
            pwrite), more; or these, with commas between \
            them: contents, symlink, chmod, xattr, exchange, noreplace, fallocate, allocate, \
            punch, zero, shift, tmpfile, held, mmap, reflink; and those that more lacks: \
            truncate, append, direct, o-sync, copy, extend",
    default: "all",
};

/// A group of calls that are available together or not at all. The calls that change names (creat,
/// mkdir, unlink, rmdir, link, rename) are always available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The calls ftruncate and pwrite.
    Contents,
    /// The call symlink.
    Symlink,
    /// The call chmod.
    Chmod,
    /// The calls setxattr and removexattr.
    Xattr,
    /// The call renameat2 with `RENAME_EXCHANGE`.
    Exchange,
    /// The call renameat2 with `RENAME_NOREPLACE`.
    NoReplace,
    /// The call fallocate, with `FALLOC_FL_KEEP_SIZE` and without flags.
    Allocate,
    /// The call fallocate with `FALLOC_FL_PUNCH_HOLE`.
    Punch,
    /// The call fallocate with `FALLOC_FL_ZERO_RANGE`.
    Zero,
    /// The call fallocate with `FALLOC_FL_COLLAPSE_RANGE` and `FALLOC_FL_INSERT_RANGE`.
    Shift,
    /// A file that is made without a name (`O_TMPFILE`), written, and linked.
    Tmpfile,
    /// The unlink of an open file, which is then written and closed.
    Held,
    /// A store through a shared mapping, and msync.
    Mmap,
    /// The ioctl `FICLONE`.
    Reflink,
    /// open(2) with `O_TRUNC`.
    Truncate,
    /// A write through `O_APPEND`.
    Append,
    /// A write through `O_DIRECT`.
    Direct,
    /// A write through `O_SYNC` or `O_DSYNC`.
    OSync,
    /// The call copy_file_range.
    Copy,
    /// The call ftruncate with a size that no file has, which lengthens the file.
    Extend,
}

impl Group {
    /// All groups with their words.
    pub const ALL: [(&'static str, Group); 20] = [
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
        ("truncate", Group::Truncate),
        ("append", Group::Append),
        ("direct", Group::Direct),
        ("o-sync", Group::OSync),
        ("copy", Group::Copy),
        ("extend", Group::Extend),
    ];
}

/// The words that name several groups.
const SEVERAL: [(&str, Groups); 4] = [
    ("all", Groups::of(&[Group::Contents])),
    ("names", Groups::NONE),
    ("fallocate", Groups::of(&[Group::Allocate, Group::Punch, Group::Zero, Group::Shift])),
    ("more", Groups((1 << Group::Truncate as u32) - 1)),
];

/// A set of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups(u32);

impl Groups {
    pub const NONE: Groups = Groups(0);
    pub const EVERY: Groups = Groups((1 << Group::ALL.len()) - 1);

    pub const fn of(groups: &[Group]) -> Groups {
        let (mut bits, mut at) = (0, 0);
        while at < groups.len() {
            bits |= 1 << groups[at] as u32;
            at += 1;
        }
        Groups(bits)
    }

    /// Returns the groups that the option [`CALLS`] names, separated by commas.
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
        self.0 & 1 << group as u32 != 0
    }

    /// Returns true if one of the groups changes modes or extended attributes.
    pub fn are_of_attributes(self) -> bool {
        self.has(Group::Chmod) || self.has(Group::Xattr)
    }

    /// Returns true if some file systems do not support one of the groups.
    pub fn need_a_probe(self) -> bool {
        self.0 & !Groups::of(&[Group::Contents]).0 != 0
    }

    /// Returns the groups of the set with their words.
    pub fn each(self) -> impl Iterator<Item = (&'static str, Group)> {
        Group::ALL.into_iter().filter(move |(_, group)| self.has(*group))
    }

    /// Returns the set without the group of this word.
    #[must_use = "this returns the others"]
    pub fn without(self, word: &str) -> Groups {
        let gone = Group::ALL.iter().find(|(name, _)| *name == word);
        gone.map_or(self, |(_, group)| Groups(self.0 & !(1 << *group as u32)))
    }

    /// Returns the set without the groups of these words.
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
        assert_eq!(words("more"), Group::ALL.map(|(word, _)| word)[..14]);
        assert_eq!(
            words("more,truncate,append,direct,o-sync,copy,extend"),
            Group::ALL.map(|(word, _)| word)
        );
        assert_eq!(given("all").unwrap().without("contents"), Groups::NONE);
        let error = given("names,xatr").unwrap_err().to_string();
        assert!(error.contains("'xatr'") && error.contains("did you mean 'xattr'?"), "{error}");
    }
}
