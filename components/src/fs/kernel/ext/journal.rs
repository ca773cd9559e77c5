//! The journal of ext3 and ext4, by ext4's driver: its options and the promises under each.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::ComponentMaker;
use explode_runtime::verdict::Promise;

use super::super::profiles::{journalled_data, writeback};
use super::super::{BackgroundAction, BackgroundWork, KernelFs, KernelFsSpec, SecondDevice};
use super::{block_size, mke2fs};
use crate::tool::Tool;

pub(super) const DATA: OptionDef = OptionDef {
    name: "data",
    about: "data mode of the journal: ordered, journal, writeback",
    default: "ordered",
};

pub(super) const FSCK: OptionDef = OptionDef {
    name: "fsck",
    about: "repair with e2fsck before each mount after a crash: true, false",
    default: "false",
};

/// The fixed options for a journal on a second device.
const OTHER: &str = "-U 12345678-1234-1234-1234-123456789abd \
     -E nodiscard,hash_seed=12345678-1234-1234-1234-123456789abc";

/// The inode of the journal.
const JOURNAL: u32 = 8;

/// Makes ext3 or ext4. They differ in their names, in the state that the log does not show, and in
/// their promises by default.
pub(super) fn journalled(
    kind: &'static str,
    unobserved: &'static str,
    ordered: fn() -> Vec<Promise>,
    options: &Options,
) -> Result<ComponentMaker, UsageError> {
    let data = options.one_of(
        DATA.name,
        &[("ordered", "ordered"), ("journal", "journal"), ("writeback", "writeback")],
    )?;
    let bytes = block_size(options)?;
    let make = move || mke2fs(&format!("-t {kind} -b {bytes} -J size={}", bytes.div_ceil(1024)));
    let promises = match data {
        "journal" => journalled_data,
        "writeback" => writeback,
        _ => ordered,
    };
    let system = KernelFsSpec {
        // No commit happens unless a call requests it.
        options: format!("data={data},commit=100000,noinit_itable"),
        unobserved: Some(unobserved),
        between: BackgroundWork::of(
            options,
            &[
                BackgroundAction::Writeback,
                BackgroundAction::File,
                BackgroundAction::Commit,
                BackgroundAction::Reclaim,
            ],
        )?,
        threads: |device| vec![format!("jbd2/{device}-{JOURNAL}")],
        second: Some(SecondDevice {
            prepare: Some(Tool::new("mke2fs", format!("-q -F -O journal_dev -b {bytes} {OTHER}"))),
            of_make: "-J device=",
            of_check: Some("-j "),
            of_mount: Some("journal_path="),
            is_stored: false,
        }),
        ..KernelFsSpec::new(kind, promises, options, make)?
    };
    Ok(KernelFs::maker(system.checked(options, options.bool(FSCK.name, false)?)?))
}
