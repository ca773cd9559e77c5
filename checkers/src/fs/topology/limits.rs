//! The limits of a topology, and the options that set them.

use explode_runtime::base::{OptionDef, Options, UsageError};

use crate::fs::model::groups::Groups;

/// The limits of the size of a topology, and the places at which its files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of names of files. A second name of a file counts.
    pub files: usize,
    /// The largest number of directories below the root.
    pub dirs: usize,
    /// The offset of a write after a hole, in bytes.
    pub far: usize,
    /// The available calls besides those that change names.
    pub calls: Groups,
}

/// The number of bytes of one write: a block of common file systems.
pub const BLOCK: usize = 4096;
/// The largest offset of a write. It is limited because the contents of files are also kept in
/// memory.
const FARTHEST: u64 = 64 << 20;

pub const FILES: OptionDef = OptionDef {
    name: "files",
    about: "maximum number of names of files, second names included",
    default: "2",
};
pub const DIRS: OptionDef =
    OptionDef { name: "dirs", about: "maximum number of directories below the root", default: "2" };
pub const FAR: OptionDef = OptionDef {
    name: "far",
    about: "offset of a write behind a hole in bytes, a multiple of 4096; the default needs \
            indirect blocks",
    default: "307200",
};
impl Limits {
    /// Reads the options [`FILES`], [`DIRS`], [`FAR`] and
    /// [`CALLS`](crate::fs::model::groups::CALLS).
    pub fn of(options: &Options) -> Result<Limits, UsageError> {
        let number =
            |def: OptionDef| options.int(def.name, def.default.parse().unwrap_or_default());
        let (files, dirs, far) = (number(FILES)?, number(DIRS)?, number(FAR)?);
        if files + dirs == 0 || files > 20 || dirs > 20 {
            let text = format!(
                "{files} files and {dirs} dirs; use up to 20 of each, and not none of both"
            );
            return Err(UsageError(text));
        }
        if far == 0 || far > FARTHEST || !far.is_multiple_of(BLOCK as u64) {
            return Err(UsageError(format!(
                "far is {far}; use a multiple of {BLOCK}, up to {FARTHEST}"
            )));
        }
        let calls = Groups::given(options)?;
        Ok(Limits { files: files as usize, dirs: dirs as usize, far: far as usize, calls })
    }
}
