//! Numbers of disks: a machine's number where it is large enough, which is nearly always.

use num_bigint::BigUint;

/// A number of any size; equal ones are equal, and small ones come before large ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Number {
    Small(u64),
    /// One that is not small.
    Large(BigUint),
}

impl From<BigUint> for Number {
    fn from(number: BigUint) -> Number {
        u64::try_from(&number).map_or(Number::Large(number), Number::Small)
    }
}

impl From<Number> for BigUint {
    fn from(number: Number) -> BigUint {
        match number {
            Number::Small(number) => number.into(),
            Number::Large(number) => number,
        }
    }
}

impl Number {
    /// The last digit in a place that counts up to `base`; the number loses it.
    pub fn take_digit(&mut self, base: &Number) -> Number {
        let (rest, digit) = match (&*self, base) {
            (Number::Small(number), Number::Small(base)) => {
                (Number::Small(number / base), Number::Small(number % base))
            }
            (Number::Small(number), Number::Large(_)) => (Number::Small(0), Number::Small(*number)),
            (Number::Large(number), base) => {
                let base = BigUint::from(base.clone());
                (Number::from(number / &base), Number::from(number % &base))
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
            let mut rest = Number::from(number.clone());
            let digits: Vec<BigUint> = bases
                .iter()
                .map(|base| rest.take_digit(&Number::from(base.clone())).into())
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
