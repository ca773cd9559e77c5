//! Exact counts.

use num_bigint::BigUint;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An exact count. In JSON it is an integer up to 2^53, and a decimal string above. `Display` is
/// for people and rounds a long count.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExactCount(pub BigUint);

impl ExactCount {
    /// Returns true if the count is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == BigUint::ZERO
    }
}

impl std::ops::AddAssign<u64> for ExactCount {
    fn add_assign(&mut self, more: u64) {
        self.0 += more;
    }
}

impl std::ops::AddAssign<BigUint> for ExactCount {
    fn add_assign(&mut self, more: BigUint) {
        self.0 += more;
    }
}

impl From<u64> for ExactCount {
    fn from(count: u64) -> ExactCount {
        ExactCount(count.into())
    }
}

/// The number of digits up to which people see the exact count.
const EXACT_DIGITS: usize = 15;

/// Shows the exact count up to 15 digits, and a rounded one such as `about 3.2 x 10^149` above.
impl std::fmt::Display for ExactCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.0.to_string();
        if digits.len() <= EXACT_DIGITS {
            return f.pad(&digits);
        }
        // Two digits, rounded by the third: 9.96 becomes 10.
        let leading: u32 = digits[..3].parse().map_err(|_| std::fmt::Error)?;
        let (tenths, power) = match (leading + 5) / 10 {
            100 => (10, digits.len()),
            tenths => (tenths, digits.len() - 1),
        };
        f.pad(&format!("about {}.{} x 10^{power}", tenths / 10, tenths % 10))
    }
}

impl Serialize for ExactCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(&self.0) {
            Ok(count) if count <= 1 << 53 => serializer.serialize_u64(count),
            _ => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for ExactCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExactCount, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(count) => Ok(count.into()),
            Written::Text(digits) => {
                digits.parse().map(ExactCount).map_err(serde::de::Error::custom)
            }
        }
    }
}

/// Returns a count with its word, in the singular or the plural.
pub(crate) fn plural(count: &(impl ToString + ?Sized), word: &str) -> String {
    let count = count.to_string();
    let end = if count == "1" { "" } else { "s" };
    format!("{count} {word}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(digits: &str) -> ExactCount {
        ExactCount(digits.parse().unwrap())
    }

    #[test]
    fn long_counts_are_powers_of_ten_for_people_and_exact_in_json() {
        for (digits, shown) in [
            ("0", "0"),
            ("999999999999999", "999999999999999"),
            ("1000000000000000", "about 1.0 x 10^15"),
            ("36893488147419103232", "about 3.7 x 10^19"),
            ("9949999999999999", "about 9.9 x 10^15"),
            ("9950000000000000", "about 1.0 x 10^16"),
            (&format!("32{}", "7".repeat(148)), "about 3.3 x 10^149"),
        ] {
            assert_eq!(count(digits).to_string(), shown);
        }
        let long = "7".repeat(150);
        assert_eq!(serde_json::to_string(&count(&long)).unwrap(), format!("\"{long}\""));
        assert_eq!(
            serde_json::from_str::<ExactCount>(&format!("\"{long}\"")).unwrap(),
            count(&long)
        );
    }
}
