//! Drops test code: `#[cfg(test)]` items, files and statements, and `#[test]` functions.

use crate::tokens::{Token, after_closing};

/// Returns the tokens that are compiled outside tests.
pub fn production<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    if begins_with(tokens, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
        return Vec::new();
    }
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let after = after_attributes(tokens, at);
        if after == at {
            kept.push(tokens[at]);
            at += 1;
        } else if is_test(&tokens[at..after]) {
            at = after_item(tokens, after);
        } else {
            kept.extend_from_slice(&tokens[at..after]);
            at = after;
        }
    }
    kept
}

fn begins_with(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len()
        && tokens[0].text == texts[0]
        && tokens.iter().zip(texts).all(|(token, text)| token.text == *text)
}

/// Returns the place after the outer attributes at `at`.
fn after_attributes(tokens: &[Token<'_>], mut at: usize) -> usize {
    while begins_with(&tokens[at..], &["#", "["]) {
        at = after_closing(tokens, at + 1);
    }
    at
}

/// Returns true if one of the attributes limits the item to tests.
fn is_test(attributes: &[Token<'_>]) -> bool {
    (0..attributes.len()).any(|at| {
        let rest = &attributes[at..];
        if begins_with(rest, &["#", "[", "cfg", "(", "all", "("]) {
            let inside = &rest[5..after_closing(rest, 5)];
            let choices = inside.iter().any(|token| matches!(token.text, "not" | "any"));
            return !choices && inside.iter().any(|token| token.text == "test");
        }
        begins_with(rest, &["#", "[", "cfg", "(", "test", ")"])
            || begins_with(rest, &["#", "[", "test", "]"])
    })
}

/// Returns the place after the item, statement, field or arm at `at`.
fn after_item(tokens: &[Token<'_>], mut at: usize) -> usize {
    if begins_with(&tokens[at..], &["pub", "("]) {
        at = after_closing(tokens, at + 1);
    } else if begins_with(&tokens[at..], &["pub"]) {
        at += 1;
    }
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let is_function = text(at) == "const" && matches!(text(at + 1), "fn" | "unsafe" | "extern");
    let is_statement = matches!(text(at), "use" | "let" | "static" | "const" | "type");
    let is_part = !is_statement
        && !matches!(
            text(at),
            "fn" | "impl"
                | "mod"
                | "struct"
                | "enum"
                | "trait"
                | "union"
                | "macro_rules"
                | "unsafe"
                | "async"
                | "extern"
        );
    while at < tokens.len() {
        match text(at) {
            ";" => return at + 1,
            "," if is_part => return at + 1,
            ")" | "]" | "}" => return at,
            "{" => {
                at = after_closing(tokens, at);
                if is_part && text(at) == "," {
                    return at + 1;
                }
                if !is_statement || is_function {
                    return at;
                }
            }
            "(" | "[" => at = after_closing(tokens, at),
            _ => at += 1,
        }
    }
    at
}
