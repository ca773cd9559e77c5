//! `[guest]`: the packages that the guest has besides explode's own programs, or the archive in
//! which the commands run.

use std::path::Path;

use explode_runtime::base::UsageError;
use explode_runtime::plan::{GuestPackages, RootfsArchive};

use super::document::Table;

/// Reads the table of the stack file `path`.
///
/// # Errors
/// An unknown key, a value of another type, `without` without `packages`, `packages` with `rootfs`,
/// or an archive that cannot be read.
pub fn packages(table: &Table<'_>, path: &Path) -> Result<GuestPackages, UsageError> {
    table.only(["packages", "without", "rootfs"])?;
    let texts = |key: &str| -> Result<Vec<String>, UsageError> {
        let Some(value) = table.get(key) else { return Ok(Vec::new()) };
        value.list()?.map(|text| Ok(text.text()?.to_owned())).collect()
    };
    let (packages, without) = (texts("packages")?, texts("without")?);
    let rootfs =
        table.text("rootfs")?.map(|file| archive(table, path, file)).transpose()?.map(Box::new);
    if rootfs.is_some() && !packages.is_empty() {
        let text = "a guest has 'packages' or a 'rootfs', and this one has both; omit one";
        return Err(table.key_error("rootfs", text));
    }
    let packages = GuestPackages { packages, without, rootfs };
    if packages.packages.is_empty() && !packages.without.is_empty() {
        let text = "'without' leaves out what packages depend on, and there are no 'packages'";
        return Err(table.key_error("without", text));
    }
    Ok(packages)
}

/// Returns the archive of this name. It is relative to the folder of the stack file.
fn archive(table: &Table<'_>, path: &Path, file: &str) -> Result<RootfsArchive, UsageError> {
    let unread = |error: &dyn std::fmt::Display| {
        let text = format!("the archive '{file}' cannot be read: {error}; make one: docker export");
        table.key_error("rootfs", text)
    };
    let place = path.parent().unwrap_or(Path::new("")).join(file);
    let place = place.canonicalize().map_err(|error| unread(&error))?;
    let hash = explode_vm::archive_hash(&place).map_err(|error| unread(&error))?;
    let file = place.to_str().ok_or_else(|| unread(&"its path is not UTF-8"))?.to_owned();
    Ok(RootfsArchive { file, hash })
}
