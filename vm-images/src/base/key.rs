//! The inputs of a cache entry, as readable text and as a hash that names the entry.

use std::fmt::Display;

use xxhash_rust::xxh3::xxh3_128;

/// The inputs of an entry, in order. Equal inputs give the same entry.
#[derive(Clone, Debug, Default)]
pub struct CacheKey {
    inputs: String,
}

impl CacheKey {
    /// Makes a key with its first input, the version of the recipe. The version must be raised when
    /// the way of building changes.
    #[must_use]
    pub fn new(recipe: u32) -> Self {
        Self::default().with("recipe", recipe)
    }

    /// Adds an input that is short enough to be stored as text.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        let value = value.to_string().replace('\\', "\\\\").replace('\n', "\\n");
        self.inputs.push_str(&format!("{name}: {value}\n"));
        self
    }

    /// Adds an input by its hash.
    #[must_use]
    pub fn with_bytes(self, name: &str, bytes: &[u8]) -> Self {
        self.with(name, format_args!("{:032x}", xxh3_128(bytes)))
    }

    /// Returns the name of the entry, 32 hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        format!("{:032x}", xxh3_128(self.inputs.as_bytes()))
    }

    /// Returns all inputs, one a line.
    #[must_use]
    pub fn inputs(&self) -> &str {
        &self.inputs
    }
}
