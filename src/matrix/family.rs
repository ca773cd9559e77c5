//! Families of rows: ready stacks that `explode matrix --family NAME` runs. They are data, in the
//! format of stack files (`families/*.toml`).

use std::path::Path;

use explode_runtime::base::UsageError;
use explode_runtime::plan::{GuestPackages, Registry};

use super::row::Row;
use crate::stack_file::{self, NamedStack};

/// The families: name, file and text.
const FAMILIES: [(&str, &str, &str); 1] =
    [("raid", "src/matrix/families/raid.toml", include_str!("families/raid.toml"))];

/// Returns the rows of a family.
///
/// # Errors
/// The name is unknown.
pub fn rows(registry: &Registry, family: &str) -> Result<Vec<Row>, UsageError> {
    let known = FAMILIES.iter().map(|(name, ..)| *name);
    let found = FAMILIES.iter().find(|(name, ..)| *name == family);
    let (_, path, text) =
        found.ok_or_else(|| UsageError::unknown("family of rows", family, known))?;
    let stacks = stack_file::named_stacks(registry, Path::new(path), text)?;
    Ok(stacks.into_iter().map(|named| row(registry, named)).collect())
}

/// Returns the stacks of all families, each with the name of its family.
pub fn families(registry: &Registry) -> Result<Vec<(&'static str, NamedStack)>, UsageError> {
    let mut all = Vec::new();
    for (family, path, text) in FAMILIES {
        let stacks = stack_file::named_stacks(registry, Path::new(path), text)?;
        all.extend(stacks.into_iter().map(|named| (family, named)));
    }
    Ok(all)
}

/// Returns the row of this name, of any family. `None` if there is none.
pub fn row_named(registry: &Registry, name: &str) -> Result<Option<Row>, UsageError> {
    let found = families(registry)?.into_iter().find(|(_, named)| named.name == name);
    Ok(found.map(|(_, named)| row(registry, named)))
}

/// The driver of the row is that of its top layer.
fn row(registry: &Registry, NamedStack { name, stack, .. }: NamedStack) -> Row {
    let top = stack.0.last().map_or("", |top| top.component.as_str());
    let driver = registry.rows.iter().find(|row| row.name == top).map_or(top, |row| row.driver);
    Row { name, driver: driver.to_owned(), stack, guest: GuestPackages::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use explode_runtime::base::Mode;

    use super::*;

    #[test]
    fn rows_of_families_have_names_of_their_own() {
        let registry = crate::registry();
        let rows = rows(&registry, "raid").unwrap();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        for row in &rows {
            assert!(registry.stack_of(&row.name).is_err(), "{} has two meanings", row.name);
            assert_eq!(registry.mode_of(&row.stack).unwrap(), Mode::Vm);
            assert!(row.stack.components().contains(&"md"), "{}", row.name);
            let named = Row::named(&registry, &row.name).unwrap();
            assert_eq!((&named.stack, &named.driver), (&row.stack, &row.driver));
        }
    }

    #[test]
    fn an_unknown_family_is_refused_with_the_known_ones() {
        let text = rows(&crate::registry(), "rade").unwrap_err().0;
        assert!(text.contains("'rade'") && text.contains("raid"), "{text}");
    }
}
