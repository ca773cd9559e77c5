//! The rule about pages finds a page that is not in the summary, and each kind of broken link.

use crate::pages::{Pages, problems};

const SUMMARY: &str = "- [A](guide/a.md)\n- [B](guide/b.md)\n";
const A: &str = "# A\n\n## One `x`, two: three\n\n## One `x`, two: three\n";

fn found(summary: &str, a: &str, b: &str) -> Vec<String> {
    let pages = [("docs/SUMMARY.md", summary), ("docs/guide/a.md", a), ("docs/guide/b.md", b)];
    let pages: Pages = pages.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    problems(&pages, |path| pages.contains_key(path) || path == "bugs")
}

#[test]
fn links_that_lead_somewhere_are_no_problem() {
    let b = "[A](a.md), [there](../guide/a.md#one-x-two-three-1), [here](#b), [bugs](../../bugs/),\n\
             [far](https://example.org/x#y), `[code](no.md)\n\
             [more](no.md)` `x`\n# B\n```sh\n[x](no.md)\n# No\n```\n";
    assert_eq!(found(SUMMARY, A, b), [""; 0]);
}

#[test]
fn a_broken_link_is_a_problem() {
    for (link, problem) in [
        ("../a.md", "docs/guide/b.md:2: ../a.md: there is no docs/a.md"),
        ("a.md#one", "docs/guide/b.md:2: a.md#one: docs/guide/a.md has no such heading"),
        (
            "a.md#one-x-two-three-2",
            "docs/guide/b.md:2: a.md#one-x-two-three-2: docs/guide/a.md has no such heading",
        ),
        ("no.md", "docs/guide/b.md:2: no.md: there is no docs/guide/no.md"),
        ("#c", "docs/guide/b.md:2: #c: docs/guide/b.md has no such heading"),
        ("../../bugs#b", "docs/guide/b.md:2: ../../bugs#b: bugs has no such heading"),
    ] {
        assert_eq!(found(SUMMARY, A, &format!("# `B\n B`, see [`it`]({link}).\n")), [problem]);
    }
}

#[test]
fn a_page_that_the_summary_omits_is_a_problem() {
    let omitted = "docs/guide/b.md: docs/SUMMARY.md does not have it";
    assert_eq!(found("- [A](guide/a.md)\n", A, "# B\n"), [omitted]);
}
