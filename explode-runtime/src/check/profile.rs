//! Guarantee profiles: what a system promises, each line with its source.
//!
//! A checker judges by the strictest reading; the profile then says whether that was promised at all. What it excludes keeps
//! its verdict, is counted as "by design", and is no finding (EX-104).

/// What a system promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The system, with the settings that matter.
    pub system: String,
    /// The lines; a promise without a line is held to.
    pub promises: Vec<Promise>,
}

/// One line of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Which promise: the word that checkers use ([`Violation::promise`](super::Violation::promise)).
    pub name: &'static str,
    /// Is it promised? If not, breaking it is by design.
    pub kept: bool,
    /// The system's own words.
    pub quote: &'static str,
    /// Where they stand.
    pub source: &'static str,
}

impl Profile {
    /// The line that says that breaking this promise is by design.
    pub fn excludes(&self, promise: &str) -> Option<&Promise> {
        self.promises.iter().find(|line| line.name == promise && !line.kept)
    }
}
