//! The options by which a caller can change the builds.

use std::collections::BTreeMap;
use std::env;

use crate::base::{Result, VmError};
use crate::packages::{Package, recipes};

/// The variable that selects other versions of packages, in case the archive drops one.
pub const PACKAGES_VARIABLE: &str = "EXPLODE_PACKAGES";

/// The options of all builds.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    versions: BTreeMap<String, String>,
}

impl BuildOptions {
    /// Reads the options from the environment: `EXPLODE_PACKAGES="NAME=VERSION NAME=VERSION"`.
    ///
    /// # Errors
    /// The errors of [`BuildOptions::with_packages`].
    pub fn of_environment() -> Result<Self> {
        Self::default().with_packages(&env::var(PACKAGES_VARIABLE).unwrap_or_default())
    }

    /// Selects other versions of packages than the recipes name. `list` is `NAME=VERSION`,
    /// separated by blanks or commas.
    ///
    /// # Errors
    /// [`VmError::Usage`] for a malformed list, and for a package that no recipe names.
    pub fn with_packages(mut self, list: &str) -> Result<Self> {
        let known = recipes::package_names();
        for word in list.split([' ', ',', '\n']).filter(|word| !word.is_empty()) {
            let (name, version) = word
                .split_once('=')
                .filter(|(name, version)| !name.is_empty() && !version.is_empty())
                .ok_or_else(|| {
                    VmError::Usage(format!("`{word}` is not NAME=VERSION of a package"))
                })?;
            if !known.iter().any(|known| known == name) {
                let known = known.join(", ");
                return Err(VmError::Usage(format!(
                    "explode does not use the package {name}; it uses {known}"
                )));
            }
            self.versions.insert(name.to_owned(), version.to_owned());
        }
        Ok(self)
    }

    /// Returns the version that the caller selected. Without a selection, the recipe's.
    pub(crate) fn version<'a>(&'a self, name: &str, recipe: &'a str) -> &'a str {
        self.versions.get(name).map_or(recipe, String::as_str)
    }

    /// Applies the selected versions to packages whose version the archive decides.
    pub(crate) fn apply(&self, packages: &mut [Package]) {
        for package in packages {
            if let Some(version) = self.versions.get(&package.name) {
                package.version.clone_from(version);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_can_get_other_versions() {
        let options =
            BuildOptions::default().with_packages("rustc-web=9, busybox-static=1:2").unwrap();
        assert_eq!(options.version("rustc-web", "1"), "9");
        assert_eq!(options.version("busybox-static", "1"), "1:2");
        assert_eq!(options.version("libc6", "1"), "1");
        for wrong in ["rustc-web", "=1", "rustc-web=", "no-such-package=1"] {
            assert!(BuildOptions::default().with_packages(wrong).is_err(), "{wrong}");
        }
    }
}
