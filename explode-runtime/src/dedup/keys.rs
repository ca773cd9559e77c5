//! Lists of check keys for messages and journals, in 16 bytes for each key.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A list of keys, serialised as bytes.
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

/// The keys of checks that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownChecks {
    /// The keys of all checks that are not after a crash during recovery.
    pub seen: KeyList,
    /// The keys of checks after crashes during recovery, which are counted separately.
    pub crash_crash: KeyList,
    /// The [numbers](super::nested_key) of checks whose crashes during recovery were followed by a
    /// unit that [checks these alone](crate::explore::UnitDisks::Nested).
    pub followed: KeyList,
    /// The keys of checks that have shown an error.
    pub errors: KeyList,
}

impl KnownChecks {
    /// Adds more keys.
    pub fn extend(&mut self, more: &KnownChecks) {
        self.seen.0.extend(&more.seen.0);
        self.crash_crash.0.extend(&more.crash_crash.0);
        self.followed.0.extend(&more.followed.0);
        self.errors.0.extend(&more.errors.0);
    }

    /// Splits the keys into parts of at most `most` keys of each kind.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = KnownChecks> {
        let kinds =
            || [&self.seen, &self.crash_crash, &self.followed, &self.errors].map(|keys| &keys.0);
        let parts = kinds().map(|keys| keys.len().div_ceil(most)).into_iter().max().unwrap_or(0);
        (0..parts).map(move |part| {
            let [seen, crash_crash, followed, errors] = kinds()
                .map(|keys| KeyList(keys.iter().skip(part * most).take(most).copied().collect()));
            KnownChecks { seen, crash_crash, followed, errors }
        })
    }
}
