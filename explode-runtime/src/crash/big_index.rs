//! Numbers of disks: a machine's number if the number fits, which is the usual case.

use num_bigint::BigUint;

/// A number of any size. Each number has one form, and small ones come before large ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BigIndex {
    Small(u64),
    /// A number that does not fit into a `Small`.
    Large(BigUint),
}

impl From<BigUint> for BigIndex {
    fn from(number: BigUint) -> BigIndex {
        u64::try_from(&number).map_or(BigIndex::Large(number), BigIndex::Small)
    }
}

impl From<BigIndex> for BigUint {
    fn from(number: BigIndex) -> BigUint {
        match number {
            BigIndex::Small(number) => number.into(),
            BigIndex::Large(number) => number,
        }
    }
}

impl BigIndex {
    /// Returns the product of the two numbers.
    pub fn times(self, other: &BigIndex) -> BigIndex {
        match (&self, other) {
            (BigIndex::Small(one), BigIndex::Small(two)) => match one.checked_mul(*two) {
                Some(product) => BigIndex::Small(product),
                None => BigIndex::Large(BigUint::from(*one) * two),
            },
            _ => BigIndex::from(BigUint::from(self) * BigUint::from(other.clone())),
        }
    }

    /// Removes the last digit in base `base`, and returns it.
    pub fn take_digit(&mut self, base: &BigIndex) -> BigIndex {
        let (rest, digit) = match (&*self, base) {
            (BigIndex::Small(number), BigIndex::Small(base)) => {
                (BigIndex::Small(number / base), BigIndex::Small(number % base))
            }
            (BigIndex::Small(number), BigIndex::Large(_)) => {
                (BigIndex::Small(0), BigIndex::Small(*number))
            }
            (BigIndex::Large(number), base) => {
                let base = BigUint::from(base.clone());
                (BigIndex::from(number / &base), BigIndex::from(number % &base))
            }
        };
        *self = rest;
        digit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_that_fits_is_small() {
        let powers: Vec<BigIndex> = [0u32, 1, 31, 32, 33, 63, 64, 70]
            .map(|bits| (BigUint::from(1u32) << bits).into())
            .into();
        for one in &powers {
            for two in &powers {
                let product = BigUint::from(one.clone()) * BigUint::from(two.clone());
                assert_eq!(one.clone().times(two), BigIndex::from(product), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn digits_of_any_size_make_up_the_number() {
        let large = |bits: u32| BigUint::from(1u32) << bits;
        let bases = [
            2u32.into(),
            large(70),
            3u32.into(),
            large(130),
            7u32.into(),
            large(3),
            large(64) - 1u32,
        ];
        for number in
            [0u32.into(), 41u32.into(), large(63), large(127), large(128), large(200) + 12_345u32]
        {
            let mut rest = BigIndex::from(number.clone());
            let digits: Vec<BigUint> = bases
                .iter()
                .map(|base| rest.take_digit(&BigIndex::from(base.clone())).into())
                .collect();
            assert!(digits.iter().zip(&bases).all(|(digit, base)| digit < base));
            let sum = digits
                .iter()
                .zip(&bases)
                .rev()
                .fold(BigUint::from(rest), |sum, (digit, base)| sum * base + digit);
            assert_eq!(sum, number);
        }
    }
}
