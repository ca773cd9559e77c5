//! The ext family: what ext2, ext3 and ext4 share. One file each says the rest.

pub mod ext2;
pub mod ext3;
pub mod ext4;
mod journal;

use std::path::Path;
use std::sync::LazyLock;

use explode_runtime::run::{OptionDef, Options, UsageError};

use super::tool::Tool;
use super::{Repair, System};

const BLOCK_SIZE: OptionDef =
    OptionDef { name: "block_size", about: "bytes of a block: 1024, 2048, 4096", default: "4096" };

const E2FSCK: OptionDef = OptionDef {
    name: "e2fsck",
    about: "which e2fsck: static, where there is one; shared",
    default: "static",
};

/// What is fixed in each, so that making it twice gives the same disk.
const SAME: &str = "-q -F -m 0 -U 12345678-1234-1234-1234-123456789abc \
     -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,hash_seed=12345678-1234-1234-1234-123456789abc";

/// Makes one with these options.
fn mke2fs(options: &str) -> Tool {
    Tool::new("mke2fs", format!("{options} {SAME}"))
}

fn block_size(options: &Options) -> Result<u64, UsageError> {
    match options.int(BLOCK_SIZE.name, 4096)? {
        bytes @ (1024 | 2048 | 4096) => Ok(bytes),
        other => Err(UsageError(format!("a block_size of {other}; use 1024, 2048 or 4096"))),
    }
}

impl System {
    /// Checked by e2fsck: where it repairs, even what looks clean, and all that it can; and to be `strict`.
    fn checked(self, options: &Options, repaired: bool) -> Result<System, UsageError> {
        // 1: errors corrected; 2: corrected, and the system should be rebooted (e2fsck(8)).
        let repair = |program| Repair { tool: Tool::new(program, "-f -y"), repaired: &[1, 2, 3] };
        let program = program(options)?;
        let strict = options.bool("strict", false)?.then(|| Tool::new("e2fsck", "-f -n"));
        Ok(System { repair: repaired.then(|| repair(program)), strict, ..self })
    }
}

/// Which e2fsck repairs. The static one starts faster.
fn program(options: &Options) -> Result<&'static str, UsageError> {
    static QUICK: LazyLock<&str> = LazyLock::new(|| {
        let quick = ["/sbin/e2fsck.static", "/usr/sbin/e2fsck.static"];
        quick.into_iter().find(|path| Path::new(path).exists()).unwrap_or("e2fsck")
    });
    options.one_of(E2FSCK.name, &[("static", true), ("shared", false)]).map(|quick| match quick {
        true => *QUICK,
        false => "e2fsck",
    })
}
