//! The pages: each page of `docs/` is in its summary, and each relative link has a target.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The index of the book, which links each page.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The text of each page, by its path from the root.
pub type Pages = BTreeMap<String, String>;

/// Reads the pages of the root, `docs/` and `bugs/`.
pub fn read(root: &Path) -> Pages {
    let mut pages = Pages::new();
    let mut left =
        ["README.md", "CONTRIBUTING.md", "docs", "bugs"].map(|path| root.join(path)).to_vec();
    left.iter().for_each(|path| assert!(path.exists(), "{} is missing", path.display()));
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) if path.extension().is_some_and(|extension| extension == "md") => {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                pages.insert(name, fs::read_to_string(&path).unwrap());
            }
            Err(_) => {}
        }
    }
    pages
}

/// Returns the pages that the summary omits, and the links without a target. `exists` returns true
/// if there is a file or folder with this path.
pub fn problems(pages: &Pages, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    let mut summarised = Vec::new();
    for (page, text) in pages {
        for (line, target) in links(text) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { page.clone() } else { beside(page, path) };
            if !exists(&path) {
                problems.push(format!("{page}:{line}: {target}: there is no {path}"));
            } else if !anchor.is_empty() {
                let is_there = pages.get(&path).is_some_and(|text| has_anchor(text, anchor));
                if !is_there {
                    problems.push(format!("{page}:{line}: {target}: {path} has no such heading"));
                }
            }
            if page == SUMMARY {
                summarised.push(path);
            }
        }
    }
    let is_of_the_book = |page: &&String| page.starts_with("docs/") && *page != SUMMARY;
    for page in pages.keys().filter(is_of_the_book) {
        if !summarised.contains(page) {
            problems.push(format!("{page}: {SUMMARY} does not have it"));
        }
    }
    problems
}

/// Returns the relative links of a page, each with its line. Skips code, which may continue in the
/// next line of its paragraph.
fn links(text: &str) -> Vec<(usize, &str)> {
    let (mut links, mut in_code) = (Vec::new(), false);
    for (number, line) in prose(text) {
        in_code &= !line.trim().is_empty();
        for (at, part) in line.split('`').enumerate() {
            in_code ^= at > 0;
            if in_code {
                continue;
            }
            let targets = part.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            let targets = targets.map(|(target, _)| target);
            let relative = targets.filter(|target| !target.contains(':'));
            links.extend(relative.map(|target| (number, target)));
        }
    }
    links
}

/// Returns the lines of a page outside blocks of code, each with its number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    });
    lines.map(|(at, line)| (at + 1, line))
}

/// Returns the path of a link's target, from the root.
fn beside(page: &str, target: &str) -> String {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(folders.pop()),
            part => folders.push(part),
        }
    }
    folders.join("/")
}

/// Returns true if a heading of the page has this anchor. Repeated headings have a number at the
/// end.
fn has_anchor(text: &str, anchor: &str) -> bool {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| slug(line.trim_start_matches('#').trim())).any(|slug| {
        let before = seen.entry(slug.clone()).or_default();
        let own = if *before == 0 { slug } else { format!("{slug}-{before}") };
        *before += 1;
        own == anchor
    })
}

fn slug(heading: &str) -> String {
    let letters = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
    });
    letters.collect()
}
