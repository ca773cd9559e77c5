//! Code that decides by the text of a message is reported, and other code is not.

use crate::check::Findings;

use super::small;

/// Returns the problems if the room `low` has this text.
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
        "fn f(one: &One) -> bool { one.error.starts_with(\"lost\") }",
        "fn f(text: &str) -> bool { text.contains(\"errors\") }",
        "fn f(guest: &Guest) -> bool { guest.console().contains(\"Oops\") }",
        "fn f(ran: &Output) -> bool { ran.stderr.ends_with(TAIL) || true }",
        "fn f(stderr: &[u8]) -> bool { stderr == NOTHING }",
        "fn f(complaints: &Complaints) -> bool { complaints.ends_with(\"No space\") }",
        "fn f(one: &One) -> Option<(&str, &str)> { one.signature.split_once('/') }",
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
        "fn f(error: Errno) -> bool { error == Errno::ENOENT }",
        "fn f(one: &One) -> bool { one.signature == other.signature }",
    ] {
        assert!(problems_in_low(text).is_empty(), "{text}");
    }
}

/// An exception is for one name in one file, and must be needed.
#[test]
fn exceptions() {
    let of = |text: &str| {
        let root = super::SMALL[1].1.replace("low", "console");
        let mut files =
            small(&[("src/lib.rs", &root), ("src/console.rs", ""), ("src/guest/console.rs", text)]);
        files.insert(
            "src/console.rs".to_owned(),
            "#[path = \"guest/console.rs\"] mod guest;".to_owned(),
        );
        Findings::new(&files).problems
    };
    let looks = "fn f(console: &str) -> bool { console.contains(\"Oops\") }";
    assert_eq!(of(looks), [""; 0]);
    let wrong = "src/guest/console.rs:1: this decides by the text of a message: give it a type";
    assert_eq!(of(&format!("fn g(why: &str) -> bool {{ why.contains(\"x\") }} {looks}")), [wrong]);
    let stale = "src/guest/console.rs: `console` is no exception any more: delete it in \
                 tests/tidy/messages.rs";
    assert_eq!(of(""), [stale]);
}
