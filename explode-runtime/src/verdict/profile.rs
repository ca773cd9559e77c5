//! Guarantee profiles: the promises of a system, each line with its source.
//!
//! A checker judges by the strictest reading. The profile then decides whether the system promised
//! that at all. A result that the profile excludes keeps its verdict, is counted as "by design",
//! and is not a finding (EX-104). Two rules limit the effect of an exclusion:
//!
//! * An exclusion hides no other error. If a disk breaks several promises, a checker with promises
//!   that may be excluded reports one that is not excluded, if there is one ([`ExcludedPromises`]).
//! * A check without promises does not count as a pass. A run of a checker that declares its
//!   promises ([`CheckerFacts::about`](crate::check::CheckerFacts::promises)) is refused if all of
//!   them are excluded ([`Profile::excludes_all`]).

use std::collections::BTreeSet;
use std::fmt;

/// The promises of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name of the system, with the settings that matter.
    pub system: String,
    /// The lines of the profile. A promise without a line must be kept.
    pub promises: Vec<Promise>,
}

/// One line of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The name of the promise, as checkers use it
    /// ([`Violation::promise`](super::Violation::promise)).
    pub name: &'static str,
    /// True if the system makes the promise. Otherwise breaking it is by design.
    pub kept: bool,
    /// The words of the system's documentation.
    pub quote: &'static str,
    /// The place of these words.
    pub source: &'static str,
}

impl Profile {
    /// Returns the line by which breaking this promise is by design. `None` without such a line.
    pub fn excludes(&self, promise: &str) -> Option<&Promise> {
        self.promises.iter().find(|line| line.name == promise && !line.kept)
    }

    /// Returns the line that excludes the first of these promises, if all are excluded. `None`
    /// otherwise, and if there are no promises.
    pub fn excludes_all(&self, promises: &[&str]) -> Option<&Promise> {
        let excluded: Option<Vec<&Promise>> =
            promises.iter().map(|promise| self.excludes(promise)).collect();
        excluded?.first().copied()
    }

    /// Returns the profile of this system on another one. It keeps a promise only if the other
    /// does: a promise that `below` excludes is excluded, with the words of `below`.
    #[must_use = "this returns the profile of both"]
    pub fn on(self, below: &Profile) -> Profile {
        let excluded = ExcludedPromises::by(Some(&self));
        let excluded_below = ExcludedPromises::by(Some(below));
        let own = self
            .promises
            .into_iter()
            .filter(|line| !line.kept || !excluded_below.contains(line.name));
        let others =
            below.promises.iter().filter(|line| !line.kept && !excluded.contains(line.name));
        let promises = own.chain(others.copied()).collect();
        Profile { system: format!("{} on {}", self.system, below.system), promises }
    }

    /// Returns a line for a person, with its system, words and source.
    pub fn cite(&self, line: &Promise) -> String {
        format!("{}: {line}", self.system)
    }
}

/// Shows the words and their source.
impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" ({})", self.quote, self.source)
    }
}

/// The promises that a stack's profile excludes, which a checker keeps from its `init` on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedPromises(BTreeSet<&'static str>);

impl ExcludedPromises {
    /// Returns the excluded promises of a profile.
    pub fn by(profile: Option<&Profile>) -> ExcludedPromises {
        let lines = profile.into_iter().flat_map(|profile| &profile.promises);
        ExcludedPromises(lines.filter(|line| !line.kept).map(|line| line.name).collect())
    }

    /// Returns true if breaking this promise is by design.
    pub fn contains(&self, promise: &str) -> bool {
        self.0.contains(promise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let line = |name, kept| Promise { name, kept, quote: "may be lost", source: "a test" };
        let promises = vec![line("weak", false), line("weaker", false), line("strong", true)];
        Profile { system: "a system".to_owned(), promises }
    }

    #[test]
    fn a_promise_without_a_line_is_kept() {
        let excluded = ExcludedPromises::by(Some(&profile()));
        assert!(excluded.contains("weak") && excluded.contains("weaker"));
        assert!(!excluded.contains("strong") && !excluded.contains("without a line"));
        assert!(!ExcludedPromises::by(None).contains("weak"));
    }

    #[test]
    fn a_promise_is_empty_only_if_all_of_it_is_excluded() {
        let profile = profile();
        let name = |promises: &[&str]| profile.excludes_all(promises).map(|line| line.name);
        assert_eq!(name(&["weak"]), Some("weak"));
        assert_eq!(name(&["weaker", "weak"]), Some("weaker"));
        assert_eq!(name(&["weak", "strong"]), None);
        assert_eq!(name(&["weak", "without a line"]), None);
        assert_eq!(name(&[]), None, "a checker that says nothing");
    }

    #[test]
    fn an_exclusion_of_the_layer_below_is_cited_from_there() {
        let line = |name, kept, source| Promise { name, kept, quote: "as it is", source };
        let above = ["strong", "weak", "strong"].map(|name| line(name, name == "strong", "above"));
        let below = [("strong", false), ("weak", false), ("other", false), ("kept", true)];
        let profile = |system: &str, promises: &[Promise]| Profile {
            system: system.to_owned(),
            promises: promises.to_vec(),
        };
        let below = profile("below", &below.map(|(name, kept)| line(name, kept, "below")));
        let both = profile("above", &above).on(&below);
        let excluded = [("weak", "above"), ("strong", "below"), ("other", "below")];
        assert_eq!(
            both,
            profile("above on below", &excluded.map(|(name, from)| line(name, false, from)))
        );
        let nothing = profile("nothing", &[]);
        assert_eq!(profile("above", &above).on(&nothing).promises, above);
    }
}
