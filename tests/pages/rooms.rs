//! The rooms of the engine in `docs/internals/architecture.md`.

use crate::table;

const PAGE: &str = include_str!("../../docs/internals/architecture.md");
const HEAD: &str = include_str!("../../explode-runtime/src/lib.rs");

#[test]
fn the_page_has_the_rooms_of_the_head_in_their_order() {
    let rooms: Vec<Vec<String>> = HEAD
        .lines()
        .filter_map(|line| line.strip_prefix("//! - ")?.split_once(": "))
        .map(|(room, about)| vec![room.trim_matches(['[', ']']).to_owned(), about.to_owned()])
        .collect();
    assert!(!rooms.is_empty());
    assert_eq!(table(PAGE, "| room | what it is |"), rooms);
}
