//! Reads the tables of targets: `checkers/targets/*.toml`, one file per family.
//!
//! A target is an entry with these keys:
//!
//! ```toml
//! [[target]]
//! name = "fs-sync-ext2"
//! about = "synced data survives a crash, on ext2"         # what it shows, one line
//! stack = [{ use = "ramdisk" }, { use = "ext2" }]     # the keys of a stack file's [[component]]
//! checker = { use = "fs-sync", hole = 8192 }             # the keys of a stack file's [checker]
//! bounds = { depth = 2, limit = 200, samples = 40, crash_depth = 1 }
//! expect = "lost"                                        # `clean`, or the verdict a run must find
//! seeded = "fs-sync-ext2-by-ext4"                     # the twin without the bug; `true`: none
//! ```
//!
//! - `[common]` has keys that apply to all entries of the file. A key of an entry replaces the
//!   common key. `checker`, `bounds` and `words` are replaced key by key. A `checker` with another
//!   `use` inherits no options.
//! - An entry with `columns` and `rows` is a template: it makes one target per row. `{column}` in a
//!   text is replaced by the cell of the row, and a text that is only `{column}` becomes the cell
//!   itself. A column with the name of a key sets that key. `words` are the same for all rows.
//! - `[[target.bugs]]` is the preceding target with a bug. It inherits all keys of that target
//!   except `name`, `about` and `expect`, and that target is its twin. The bugs of a template
//!   follow each of its rows.
//! - A file has a heading, `family`. `real = false` means that its systems are part of explode and
//!   exist for their bugs. `feature` names the cargo feature that the systems need.

mod entry;
mod table;
#[cfg(test)]
mod tests;
mod words;

use explode_runtime::base::UsageError;
use explode_runtime::plan::{Family, TargetList};

use table::Table;

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        &[$((
            concat!("checkers/targets/", $name, ".toml"),
            include_str!(concat!("../../targets/", $name, ".toml")),
        )),*]
    };
}

/// The files with their texts, in the order in which targets are listed.
const TABLES: &[(&str, &str)] = tables![
    "sqlite",
    "key-value-stores",
    "fs-basic",
    "fs-sync",
    "fs-failures",
    "fs-ways",
    "fs-reasonable",
    "fs-workloads",
    "fs-replaced",
    "fs-moved",
    "fs-more",
    "toyfs",
    "arrays",
    "merge",
    "linux",
    "littlefs",
    "fatfs",
    "flash-maps",
    "redb",
];

/// Adds the targets of all tables of this build.
pub(crate) fn read(list: &mut TargetList) {
    for (path, text) in TABLES {
        let added = add(list, path, text);
        added.expect("the tables are compiled in, and a test reads each of them");
    }
}

/// Adds the targets of a table, if this build has the systems of the table.
///
/// # Errors
/// Returns an error if the table is wrong. The text names the file, the entry and the key.
fn add(list: &mut TargetList, path: &str, text: &str) -> Result<(), UsageError> {
    let Table { name, real, is_built, listed } = Table::read(path, text)?;
    if !is_built {
        return Ok(());
    }
    let at = list.families.iter().position(|family| family.name == name).unwrap_or_else(|| {
        list.families.push(Family { name: name.into(), real, targets: Vec::new() });
        list.families.len() - 1
    });
    for (target, twin) in listed {
        list.families[at].targets.push(target.name.clone());
        if let Some(twin) = twin {
            list.twins.insert(target.name.clone(), twin.into());
        }
        list.targets.push(target);
    }
    Ok(())
}
