//! ReiserFS, whose journal mounting replays. The driver was removed in Linux 6.13.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, STRICT, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "reiserfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "ReiserFS, whose journal mounting replays; its disk has 64 MiB or more",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![
        OptionDef {
            name: "data",
            about: "data mode of the journal: ordered, journal, writeback",
            default: "ordered",
        },
        OptionDef {
            name: "tails",
            about: "pack the ends of files into the tree: true, false",
            default: "true"
        },
        STRICT,
    ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let data = options.one_of(
        "data",
        &[("ordered", "ordered"), ("journal", "journal"), ("writeback", "writeback")],
    )?;
    let tails = if options.bool("tails", true)? { "" } else { ",notail" };
    let make =
        || Tool::new("mkreiserfs", "-q -f -f -u 12345678-1234-1234-1234-123456789abc").still();
    Ok(KernelFs::maker(KernelFsSpec {
        // No commit happens unless a call requests it.
        options: format!("commit=100000,data={data}{tails}"),
        strict: options.bool("strict", false)?.then(|| Tool::new("reiserfsck", "--check -q -y")),
        unobserved: Some("buffers that the journal owns"),
        ..KernelFsSpec::new(NAME, profiles::reiserfs, options, make)?
    }))
}
