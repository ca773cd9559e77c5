//! `[guest]`: the packages that the guest has besides explode's own programs.

use explode_runtime::base::UsageError;
use explode_runtime::plan::GuestPackages;

use super::document::Table;

/// Reads the table.
///
/// # Errors
/// An unknown key, a value that is no list of texts, or `without` without `packages`.
pub fn packages(table: &Table<'_>) -> Result<GuestPackages, UsageError> {
    table.only(["packages", "without"])?;
    let texts = |key: &str| -> Result<Vec<String>, UsageError> {
        let Some(value) = table.get(key) else { return Ok(Vec::new()) };
        value.list()?.map(|text| Ok(text.text()?.to_owned())).collect()
    };
    let packages = GuestPackages { packages: texts("packages")?, without: texts("without")? };
    if packages.is_empty() && !packages.without.is_empty() {
        let text = "'without' leaves out what packages depend on, and there are no 'packages'";
        return Err(table.key_error("without", text));
    }
    Ok(packages)
}
