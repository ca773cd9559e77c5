//! The origin of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::{Options, as_json};
use crate::stack::StackSpec;

/// The things that a run starts from besides its plan: versions, pristine disks, and the values of
/// options that were not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The versions of the checked systems and of this program, by name.
    pub versions: BTreeMap<String, String>,
    /// The identity of the pristine disks.
    pub pristine: String,
    /// The stack, with the effective values of the options that were not given.
    #[serde(with = "as_json")]
    pub stack: StackSpec,
    /// The checker's options that were not given, with their effective values.
    #[serde(with = "as_json")]
    pub checker_defaults: Options,
}

impl RunOrigin {
    /// Returns the differences to the origin `now`, in words.
    pub fn changes(&self, now: &RunOrigin) -> Vec<String> {
        let names: BTreeSet<&String> = self.versions.keys().chain(now.versions.keys()).collect();
        let version = |origin: &RunOrigin, name| {
            origin.versions.get(name).map_or_else(|| "not there".to_owned(), Clone::clone)
        };
        let versions = names.into_iter().filter_map(|name| {
            let (was, is) = (version(self, name), version(now, name));
            (was != is).then(|| format!("{name} was {was}, and is {is}"))
        });
        let layers = self.stack.0.iter().zip(&now.stack.0);
        let layers = layers.filter(|(then, now)| then != now);
        let layers = layers.map(|(then, _)| format!("the defaults of {} were others", then.name));
        let checker = self.checker_defaults != now.checker_defaults;
        let disks = self.pristine != now.pristine;
        let others = [(checker, "the checker's defaults"), (disks, "the pristine disks")];
        let others = others.into_iter().filter(|(differ, _)| *differ);
        versions
            .chain(layers)
            .chain(others.map(|(_, parts)| format!("{parts} were others")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_the_origin_are_named() {
        let origin = |linux: &str, size: &str, pristine: &str| RunOrigin {
            versions: [("linux", linux), ("explode", "1")]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .into(),
            pristine: pristine.to_owned(),
            stack: StackSpec::default()
                .plug("disk", Options::none().with_defaults(Options::none().with("size", size))),
            checker_defaults: Options::none(),
        };
        let then = origin("6.12", "1MiB", "a");
        assert!(then.changes(&then.clone()).is_empty());
        assert_eq!(then.changes(&origin("6.13", "1MiB", "a")), ["linux was 6.12, and is 6.13"]);
        assert_eq!(
            then.changes(&origin("6.12", "2MiB", "b")),
            ["the defaults of disk were others", "the pristine disks were others"]
        );
        let mut more = then.clone();
        more.versions.insert("image".to_owned(), "c".to_owned());
        more.checker_defaults = Options::none().with("files", 2_u64);
        assert_eq!(
            then.changes(&more),
            ["image was not there, and is c", "the checker's defaults were others"]
        );
    }
}
