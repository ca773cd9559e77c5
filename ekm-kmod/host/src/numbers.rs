//! The kinds of choices that the kernel makes, with their numbers in EKM's calls.

use explode_ekm_abi::wire;
use explode_runtime::choose::Kind;

const NUMBERS: [(Kind, u32); 9] = [
    (Kind::SlabFailure, wire::FAIL_SLAB),
    (Kind::PageFailure, wire::FAIL_PAGE),
    (Kind::CopyFailure, wire::FAIL_COPY),
    (Kind::BufferFailure, wire::FAIL_BUFFER),
    (Kind::CacheFailure, wire::FAIL_CACHE),
    (Kind::RequestFailure, wire::FAIL_REQUEST),
    (Kind::ModuleChoice, wire::FAIL_MODULE),
    (Kind::ProbeFailure, wire::FAIL_PROBE),
    (Kind::LateCompletion, wire::LATE),
];

/// The number of a kind; none of a kind that is not the kernel's.
pub(crate) fn number(kind: Kind) -> Option<u32> {
    NUMBERS.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number)
}

/// The kind of a number, and its word.
pub(crate) fn kind(number: u32) -> Option<(Kind, &'static str)> {
    let (kind, _) = NUMBERS.iter().find(|(_, known)| *known == number)?;
    Kind::of_kernel().find(|(known, _)| known == kind)
}

/// The numbers of some kinds together, as a mask.
pub(crate) fn mask(kinds: impl Iterator<Item = Kind>) -> u32 {
    kinds.filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_kernel_has_a_number_of_its_own() {
        for (known, word) in Kind::of_kernel() {
            let number = number(known).expect("EKM knows it");
            assert_eq!(kind(number), Some((known, word)));
        }
        assert_eq!(mask(Kind::of_kernel().map(|(kind, _)| kind)), 511);
        assert_eq!(number(Kind::Action), None);
    }
}
