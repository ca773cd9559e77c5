//! e2fsck, which repairs the file systems of the ext family, and checks them with the option
//! `strict`.

use std::path::Path;
use std::sync::LazyLock;

use explode_runtime::base::{OptionDef, Options, UsageError};

use super::super::{KernelFsSpec, Repair, STRICT};
use crate::tool::Tool;

pub(super) const E2FSCK: OptionDef = OptionDef {
    name: "e2fsck",
    about: "e2fsck to use: static (if installed), shared",
    default: "static",
};

impl KernelFsSpec {
    /// Adds e2fsck as the repair, if `repaired` is set, and as the strict check, if the option is
    /// set. The repair is forced and fixes all that it can.
    pub(super) fn checked(
        self,
        options: &Options,
        repaired: bool,
    ) -> Result<KernelFsSpec, UsageError> {
        // 1: errors corrected; 2: corrected, and the system should be rebooted (e2fsck(8)).
        let repair = |program| Repair { tool: Tool::new(program, "-f -y"), repaired: &[1, 2, 3] };
        let program = program(options)?;
        let strict = options.bool(STRICT.name, false)?.then(|| Tool::new("e2fsck", "-f -n"));
        Ok(KernelFsSpec { repair: repaired.then(|| repair(program)), strict, ..self })
    }
}

/// Returns the e2fsck that repairs. The static one starts faster.
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
