//! `docs/reference/promises.md`: every line of `explode list profiles`, grouped by system, and the
//! missing tools.
//!
//! `EXPLODE_WRITE_PAGES=1 cargo test --test pages profiles` writes it again after a line has
//! changed.

use std::path::Path;

use serde_json::Value;

use crate::common::explode;

const PAGE: &str = include_str!("../../docs/reference/promises.md");
/// The heading of the lines. The text before it is written by hand.
const HEAD: &str = "## The lines\n";

/// A quotation, its systems and its promises.
struct Said {
    line: [String; 3],
    of: Vec<String>,
    words: Vec<String>,
}

/// Returns the tools that Debian lacks and users would need after a crash, with their systems.
fn lacking(lines: &[Value]) -> String {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        let system = line["system"].as_str().unwrap();
        if let Some((_, lacks)) =
            system.strip_suffix(')').and_then(|system| system.split_once(" ("))
        {
            let text = format!("- {}: {lacks}\n", line["of"].as_str().unwrap());
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    format!("\n## What is lacking\n\n{}", all.concat())
}

/// Returns the quotations in order. Promises of the same systems with the same quotation are
/// joined.
fn said(lines: &[Value]) -> Vec<Said> {
    let mut words: Vec<Said> = Vec::new();
    for line in lines {
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        let kept = if line["kept"] == true { "kept" } else { "excluded" };
        let same = [kept.to_owned(), text("quote"), text("source")];
        let (of, name) = (text("of"), vec![text("name")]);
        match words.iter_mut().find(|said| said.line == same && said.words == name) {
            Some(said) => said.of.push(of),
            None => words.push(Said { line: same, of: vec![of], words: name }),
        }
    }
    let mut all: Vec<Said> = Vec::new();
    for word in words {
        match all.iter_mut().find(|said| said.line == word.line && said.of == word.of) {
            Some(said) => said.words.extend(word.words),
            None => all.push(word),
        }
    }
    all
}

/// Returns the tables: the promises of all systems first, then the others.
fn page(lines: &[Value]) -> String {
    let said = said(lines);
    let everybody = said.iter().map(|said| said.of.len()).max().unwrap();
    let mut owners: Vec<&[String]> = said.iter().map(|said| said.of.as_slice()).collect();
    owners.sort_by_key(|of| std::cmp::Reverse(of.len()));
    let mut seen: Vec<&[String]> = Vec::new();
    let mut text = HEAD.to_owned();
    for of in owners {
        if seen.contains(&of) {
            continue;
        }
        seen.push(of);
        let name =
            if of.len() == everybody { "Every file system".to_owned() } else { of.join(", ") };
        text +=
            &format!("\n### {name}\n\n| promise | | words | where |\n| --- | --- | --- | --- |\n");
        for Said { line: [kept, quote, source], words, .. } in
            said.iter().filter(|said| said.of == of)
        {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            text += &format!("| {} | {kept} | \"{quote}\" | {source} |\n", words.join(", "));
        }
    }
    text + &lacking(lines)
}

#[test]
fn the_page_has_each_line_and_no_other() {
    let page = page(&explode(["list", "profiles", "--format", "jsonl"]).expect(0).json());
    let by_hand = PAGE.split(HEAD).next().unwrap();
    let whole = format!("{by_hand}{page}");
    if std::env::var_os("EXPLODE_WRITE_PAGES").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/promises.md");
        std::fs::write(path, &whole).unwrap();
    }
    assert_eq!(PAGE, whole, "EXPLODE_WRITE_PAGES=1 writes the page anew");
}
