//! Two public types with the same name are reported.

use super::files;
use crate::types::problems;

#[test]
fn two_public_types_have_one_name() {
    let found = problems(&files(&[
        ("a/src/lib.rs", "pub struct Disk;\n\npub enum Kind { Disk }"),
        ("b/src/lib.rs", "\npub trait Kind {}"),
        ("c/src/lib.rs", "pub type Kind = u8;"),
    ]));
    assert_eq!(
        found,
        ["a/src/lib.rs:3: type Kind: also in b/src/lib.rs:2, c/src/lib.rs:1; rename one of them"]
    );
}

#[test]
fn private_types_and_those_of_tests_may_share_a_name() {
    let found = problems(&files(&[
        ("a/src/lib.rs", "pub struct Disk;\npub type Result<T> = Result<T, Disk>;"),
        (
            "b/src/lib.rs",
            "struct Disk;\npub(crate) enum Kind {}\npub(super) struct Kind;\n\
             pub type Result<T> = Result<T, ()>;\n// pub struct Disk;\n\
             #[cfg(test)]\nmod tests { pub struct Disk; }",
        ),
    ]));
    assert_eq!(found, [""; 0]);
}
