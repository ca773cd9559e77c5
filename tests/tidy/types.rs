//! Names of public types: each is unique in the workspace.

use std::collections::BTreeMap;

use crate::production::production;
use crate::tokens::{Token, tokens};
use crate::workspace::Files;

/// The words that declare a type.
const DECLARING: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// A name that every crate may use: an alias of the standard library's type with the crate's own
/// error.
const SHARED: &str = "Result";

/// Returns a line of text for each name that several public types have.
pub fn problems(files: &Files) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        for token in public_types(&production(&tokens(text))) {
            let place = format!("{path}:{}", token.line);
            places.entry(token.text.to_owned()).or_default().push(place);
        }
    }
    let shared = places.into_iter().filter(|(name, places)| name != SHARED && places.len() > 1);
    shared
        .map(|(name, places)| {
            let [first, others @ ..] = &*places else { unreachable!("there are several") };
            format!("{first}: type {name}: also in {}; rename one of them", others.join(", "))
        })
        .collect()
}

fn public_types<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let declared = tokens.windows(3).filter(|three| {
        three[0].text == "pub" && DECLARING.contains(&three[1].text) && three[2].is_name()
    });
    declared.map(|three| three[2]).collect()
}
