//! Keys of checks on their way: 16 bytes each.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Some keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyList(pub Vec<u128>);

impl Serialize for KeyList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|key| key.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for KeyList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeyList, D::Error> {
        let bytes = bytes::Bytes::deserialize(deserializer)?;
        let (keys, rest) = bytes.as_chunks::<16>();
        if !rest.is_empty() {
            return Err(D::Error::custom("a key of a check has 16 bytes"));
        }
        Ok(KeyList(keys.iter().map(|key| u128::from_le_bytes(*key)).collect()))
    }
}

/// The checks that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownChecks {
    /// All but the next.
    pub seen: KeyList,
    /// Those of crashes during recovery, which are counted apart.
    pub crash_crash: KeyList,
    /// Those that have shown an error.
    pub errors: KeyList,
}

impl KnownChecks {
    /// Some more.
    pub fn extend(&mut self, more: &KnownChecks) {
        self.seen.0.extend(&more.seen.0);
        self.crash_crash.0.extend(&more.crash_crash.0);
        self.errors.0.extend(&more.errors.0);
    }

    /// The same in parts of at most so many keys of a kind.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = KnownChecks> {
        let kinds = || [&self.seen.0, &self.crash_crash.0, &self.errors.0];
        let parts = kinds().map(|keys| keys.len().div_ceil(most)).into_iter().max().unwrap_or(0);
        (0..parts).map(move |part| {
            let [seen, crash_crash, errors] = kinds()
                .map(|keys| KeyList(keys.iter().skip(part * most).take(most).copied().collect()));
            KnownChecks { seen, crash_crash, errors }
        })
    }
}
