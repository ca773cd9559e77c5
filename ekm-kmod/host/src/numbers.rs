//! The kinds of choices in the kernel, and their numbers in EKM's calls.

use explode_ekm_abi::wire;
use explode_runtime::choose::ChoiceKind;

const NUMBERS: [(ChoiceKind, u32); 9] = [
    (ChoiceKind::SlabFailure, wire::FAIL_SLAB),
    (ChoiceKind::PageFailure, wire::FAIL_PAGE),
    (ChoiceKind::CopyFailure, wire::FAIL_COPY),
    (ChoiceKind::BufferFailure, wire::FAIL_BUFFER),
    (ChoiceKind::CacheFailure, wire::FAIL_CACHE),
    (ChoiceKind::RequestFailure, wire::FAIL_REQUEST),
    (ChoiceKind::ModuleChoice, wire::FAIL_MODULE),
    (ChoiceKind::ProbeFailure, wire::FAIL_PROBE),
    (ChoiceKind::LateCompletion, wire::LATE),
];

/// Returns the number of a kind. `None` for a kind that is not the kernel's.
pub(crate) fn number(kind: ChoiceKind) -> Option<u32> {
    NUMBERS.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number)
}

/// Returns the kind of a number, and its word.
pub(crate) fn kind(number: u32) -> Option<(ChoiceKind, &'static str)> {
    let (kind, _) = NUMBERS.iter().find(|(_, known)| *known == number)?;
    ChoiceKind::of_kernel().find(|(known, _)| known == kind)
}

/// Returns a mask of the numbers of some kinds.
pub(crate) fn mask(kinds: impl Iterator<Item = ChoiceKind>) -> u32 {
    kinds.filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_kernel_has_a_number_of_its_own() {
        for (known, word) in ChoiceKind::of_kernel() {
            let number = number(known).expect("EKM knows it");
            assert_eq!(kind(number), Some((known, word)));
        }
        assert_eq!(mask(ChoiceKind::of_kernel().map(|(kind, _)| kind)), 511);
        assert_eq!(number(ChoiceKind::Action), None);
    }
}
