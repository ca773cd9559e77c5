//! Code that decides by the text of a message is reported, and other code is not.

use crate::check::Findings;

use super::small;

/// The problems if the room `low` has this text.
fn problems_in_low(low: &str) -> Vec<String> {
    Findings::new(&small(&[("src/low.rs", low)])).problems
}

#[test]
fn decisions_by_text() {
    for text in [
        "fn f(why: &str) -> bool { why.starts_with(\"unsupported: \") }",
        "fn f(one: &One) -> bool { one.message.contains(\"diverged\") }",
        "fn f(one: &One) -> bool { one.message() == \"diverged\" }",
        "fn f(one: &One, text: &str) -> bool { text == one.message }",
        "fn f(one: &One, text: &str) -> bool { if text != *one.why { g() } }",
        "fn f(why: &str) -> bool { why != WORDS }",
        "fn f(what: &str) -> bool { what.contains(CAUSES) }",
        "fn f(all: &[One]) -> bool { all.iter().any(|why| why.ends_with(TAIL)) }",
        "fn f(error: Error) -> bool { error.to_string().contains(\"not empty\") }",
        "fn f(message: &str) -> Option<&str> { message.strip_prefix(\"error: \") }",
    ] {
        let problems = problems_in_low(text);
        let problem = "src/low.rs:1: this decides by the text of a message: give it a type";
        assert_eq!(problems, [problem], "{text}");
    }
}

#[test]
fn other_code() {
    for text in [
        "fn f(why: &str) { tell(why) }",
        "fn f(one: &One) -> bool { one.reason == Reason::Died && one.what != What::Map }",
        "fn f(one: One) -> Two { let message = one.message; Two { message } }",
        "fn f(one: &One) -> bool { one.kind == message::Kind::One }",
        "fn f(line: &str) -> bool { line.starts_with(\"MemAvailable:\") }",
        "fn f(one: &One) -> bool { one.id.to_string() == one.other }",
        "#[cfg(test)] mod tests { fn f(why: &str) -> bool { why.contains(\"x\") } }",
        "// why.contains(\"x\")",
        "fn f() -> &'static str { \"why.contains(x)\" }",
        "fn f(one: &mut One) { one.message += more; one.why = other; }",
    ] {
        assert!(problems_in_low(text).is_empty(), "{text}");
    }
}
