//! Checks that [`noting`](super::noting) covers every method of the trait.

use explode_ramdisk::files::Files;

use super::noting::{Noting, calls};

const TRAIT: &str = include_str!("../../src/files/mod.rs");

/// Returns the names of the trait's methods from its source.
fn methods() -> Vec<&'static str> {
    let (_, body) = TRAIT.split_once("\npub trait Files {\n").expect("the trait is there");
    let (body, _) = body.split_once("\n}\n").expect("it ends");
    let name = |line: &'static str| Some(line.strip_prefix("    fn ")?.split_once('(')?.0);
    body.lines().filter_map(name).collect()
}

#[test]
fn every_method_of_the_trait_is_called() {
    let called: Vec<&str> = calls().iter().map(|call| call.name).collect();
    assert_eq!(called, methods());
    let noting = Noting::default();
    for call in calls() {
        assert_eq!((call.make)(&noting as &dyn Files), call.answer);
        assert_eq!(noting.take(), [call.noted]);
    }
}
