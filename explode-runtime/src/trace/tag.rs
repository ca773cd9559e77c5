//! Tags: keyed hashes that distinguish files written by this user's explode from those of others.
//!
//! A tag is HMAC-SHA-256, under a secret of the user, of a word for the kind of value and of its
//! JSON with the keys in order. So a tag covers everything that determines a run, and a tag of one
//! kind is not valid for another.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;

/// The secret of a user.
#[derive(Clone)]
pub struct Secret([u8; Secret::BYTES]);

/// The kind of value that a tag is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagged {
    /// A trace, without its tag.
    Trace,
    /// The plan of a run folder.
    Run,
    /// The grid of a matrix, without its tag.
    Matrix,
}

impl Secret {
    /// The length of a secret.
    pub const BYTES: usize = 32;

    /// Returns the secret of these bytes, which must be random.
    pub fn new(bytes: [u8; Secret::BYTES]) -> Secret {
        Secret(bytes)
    }

    /// Returns the tag of a value, in 64 hexadecimal digits.
    pub fn tag(&self, kind: Tagged, value: &impl Serialize) -> String {
        let tag = self.mac(kind, value).finalize().into_bytes();
        tag.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns true if `tag` is the tag of this value. The time does not depend on where they
    /// differ.
    pub fn verifies(&self, kind: Tagged, value: &impl Serialize, tag: &str) -> bool {
        bytes(tag).is_some_and(|tag| self.mac(kind, value).verify_slice(&tag).is_ok())
    }

    fn mac(&self, kind: Tagged, value: &impl Serialize) -> Hmac<Sha256> {
        let kind = match kind {
            Tagged::Trace => "explode trace\n",
            Tagged::Run => "explode run\n",
            Tagged::Matrix => "explode matrix\n",
        };
        let mut mac = Hmac::new_from_slice(&self.0).expect("a key of any length will do");
        mac.update(kind.as_bytes());
        // A map of `serde_json` has its keys in order, so the order of the fields in the code does
        // not matter.
        let value = serde_json::to_value(value).expect("what is tagged is plain data");
        mac.update(value.to_string().as_bytes());
        mac
    }
}

/// Returns the bytes of 64 hexadecimal digits. `None` for any other text.
fn bytes(tag: &str) -> Option<Vec<u8>> {
    let digits = tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = digits.then(|| (0..64).step_by(2))?;
    pairs.map(|at| u8::from_str_radix(&tag[at..at + 2], 16).ok()).collect()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Value {
        z: u32,
        a: &'static str,
    }

    #[test]
    fn a_tag_holds_for_one_value_kind_and_secret() {
        let (secret, other) = (Secret::new([7; 32]), Secret::new([8; 32]));
        let value = Value { z: 1, a: "b" };
        let tag = secret.tag(Tagged::Trace, &value);
        // The keys are in order, whatever their order in the code:
        // `printf 'explode trace\n{"a":"b","z":1}'`, with openssl dgst -sha256 -mac HMAC -macopt
        // hexkey:0707...
        assert_eq!(tag, "1c848db872f0052a1a7cae2e48ddef466b6c3ca2e3646c5ffbc2c5df6801c465");
        assert!(secret.verifies(Tagged::Trace, &json!({ "z": 1, "a": "b" }), &tag));
        assert!(!secret.verifies(Tagged::Trace, &json!({ "z": 2, "a": "b" }), &tag));
        assert!(!secret.verifies(Tagged::Run, &value, &tag));
        assert!(!other.verifies(Tagged::Trace, &value, &tag));
        for wrong in ["", &tag[1..], &tag.replace(&tag[..2], "zz"), "é".repeat(32).as_str()] {
            assert!(!secret.verifies(Tagged::Trace, &value, wrong), "{wrong}");
        }
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
