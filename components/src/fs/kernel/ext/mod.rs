//! The ext family. This file has the parts that ext2, ext3 and ext4 share. Each has a file for the
//! rest.

mod e2fsck;
pub mod ext2;
pub mod ext3;
pub mod ext4;
mod journal;

use explode_runtime::base::{OptionDef, Options, UsageError};

use crate::tool::Tool;
use e2fsck::E2FSCK;

const BLOCK_SIZE: OptionDef = OptionDef {
    name: "block_size",
    about: "block size in bytes: 1024, 2048, 4096",
    default: "4096",
};

/// The fixed options, so that two runs of mke2fs make the same disk.
const SAME: &str = "-q -F -m 0 -U 12345678-1234-1234-1234-123456789abc \
     -E \
     nodiscard,lazy_itable_init=0,lazy_journal_init=0,\
     hash_seed=12345678-1234-1234-1234-123456789abc";

/// Returns the command that makes a file system with these options.
fn mke2fs(options: &str) -> Tool {
    Tool::new("mke2fs", format!("{options} {SAME}"))
}

fn block_size(options: &Options) -> Result<u64, UsageError> {
    match options.int(BLOCK_SIZE.name, 4096)? {
        bytes @ (1024 | 2048 | 4096) => Ok(bytes),
        other => Err(UsageError(format!("a block_size of {other}; use 1024, 2048 or 4096"))),
    }
}
