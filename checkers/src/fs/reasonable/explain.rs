//! Explains why a tree cannot be built: finds the first name, from the root on, that cannot be as
//! it was found.

use std::collections::{BTreeSet, VecDeque};

use explode_runtime::verdict::{Verdict, Violation};

use super::contents;
use super::search::{StateSearch, is_set_aside};
use super::tree::{FoundNode, FoundTree};
use super::words::{CREATED_NAME, DELETED_NAME, FLUSHED_NAME, KIND, LINK_COUNT, ONE_SEQUENCE};
use crate::fs::model::{Abstract, Id};

/// Explains why the search has found no way to build the tree. A name that may lead to several
/// inodes is wrong with each of them. The violation is that of the newest inode, or of the first
/// one whose promise satisfies `first`.
pub fn why(search: &mut StateSearch<'_>, first: &dyn Fn(&str) -> bool) -> Violation {
    let mut seen = BTreeSet::new();
    let mut waiting = VecDeque::from([(String::new(), search.tree.root, Abstract::ROOT)]);
    while let Some((path, inode, id)) = waiting.pop_front() {
        if !seen.insert((inode, id)) {
            continue;
        }
        match in_directory(search, first, &path, inode, id) {
            Ok(below) => waiting.extend(below),
            Err(violation) => return violation,
        }
    }
    let text = "each name can be as it is, and not all at once: names of one file lead to two, \
                names of two to one, or one is missing \
                whose file is there by another";
    Violation::new(Verdict::Corrupt, ONE_SEQUENCE, text)
}

/// Returns the directories below one, each with the first inode that it can be, or the violation in
/// it.
fn in_directory(
    search: &mut StateSearch<'_>,
    first: &dyn Fn(&str) -> bool,
    parent: &str,
    inode: u32,
    id: Id,
) -> Result<Vec<(String, u32, Id)>, Violation> {
    let (history, tree) = (search.history, search.tree);
    let Some(FoundNode::Directory(found)) = tree.nodes.get(&inode) else { return Ok(Vec::new()) };
    let wrong = |verdict, promise, text: String| Err(Violation::new(verdict, promise, text));
    for name in history.names(id).filter(|name| !found.contains_key(*name)) {
        if search.missing(id, name).is_none() {
            return wrong(
                Verdict::Lost,
                FLUSHED_NAME,
                format!("{parent}/{name} was forced, and is gone"),
            );
        }
    }
    let mut below = Vec::new();
    for (name, inode) in found.iter().filter(|(name, _)| !is_set_aside(history, id, name)) {
        let path = format!("{parent}/{name}");
        let leads = history.leads(id, name);
        let may_be: Vec<Id> = leads.iter().copied().flatten().collect();
        if leads.is_empty() {
            let text = format!("{path} was never created, and is there");
            return wrong(Verdict::Resurrected, CREATED_NAME, text);
        }
        if may_be.is_empty() {
            let text = format!("{path} was deleted for good, and is there");
            return wrong(Verdict::Resurrected, DELETED_NAME, text);
        }
        if may_be.iter().any(|id| search.is_gone(*id)) {
            continue;
        }
        match may_be.iter().find(|id| search.fits(*inode, **id)) {
            Some(id) => below.push((path, *inode, *id)),
            None => {
                let mut reasons = may_be.iter().map(|id| misfit(search, &path, *inode, *id));
                let violation = reasons
                    .clone()
                    .find(|reason| first(&reason.promise))
                    .or_else(|| reasons.next());
                return Err(violation.expect("it may be something"));
            }
        }
    }
    Ok(below)
}

/// Returns the violation that the found inode would be if it were this one.
fn misfit(search: &StateSearch<'_>, path: &str, inode: u32, id: Id) -> Violation {
    let written = search.history.file(id);
    let kind = |text: &str| Violation::new(Verdict::Corrupt, KIND, text);
    let attributes_or =
        |text: &str| search.attributes(inode, id).err().unwrap_or_else(|| kind(text));
    let violation = match (search.tree.nodes.get(&inode), written) {
        (Some(FoundNode::File { bytes, .. }), Some(written)) => {
            match contents::judge(written, bytes, search.garbage) {
                Err(violation) => violation,
                Ok(()) => attributes_or("is a file"),
            }
        }
        (Some(FoundNode::Symlink { target, .. }), _) => {
            search.target(id, target).err().unwrap_or_else(|| kind("is a symbolic link"))
        }
        (Some(FoundNode::Directory(_)), _) if search.fs.is_directory(id) => {
            attributes_or("is a directory")
        }
        (Some(FoundNode::Directory(_)), _) => kind("is a directory"),
        _ => kind("is a file"),
    };
    Violation { message: format!("{path} {}", violation.message), ..violation }
}

/// Returns the violation of a tree that is legal only if this promise is excluded, and in which no
/// single name breaks it.
pub fn excluded(word: &str) -> Violation {
    let condition = if word == contents::UNSYNCED {
        "unsynced contents are longer than they were, or neither zeroes nor what was written there"
    } else {
        "unsynced attributes are none that there ever were"
    };
    Violation::new(
        Verdict::Corrupt,
        word,
        format!("all that is there at once can only be if {condition}"),
    )
}

/// Returns the violation of a file whose link count differs from its number of names.
pub fn links(tree: &FoundTree) -> Option<Violation> {
    tree.nodes.values().find_map(|node| match node {
        FoundNode::File { path, links, names, .. }
        | FoundNode::Symlink { path, links, names, .. }
            if links != names =>
        {
            let text = format!("{path} has {names} names, and says {links}");
            Some(Violation::new(Verdict::Corrupt, LINK_COUNT, text))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn links_are_counted() {
        let file =
            |links, names| FoundNode::File { path: "/a".into(), links, names, bytes: Vec::new() };
        let tree = |node| FoundTree {
            root: 0,
            nodes: BTreeMap::from([(1, node)]),
            attributes: BTreeMap::new(),
        };
        assert_eq!(links(&tree(file(2, 2))), None);
        let found = links(&tree(file(2, 1))).unwrap();
        assert_eq!(
            (found.promise.as_str(), found.message.as_str()),
            ("link-count", "/a has 1 names, and says 2")
        );
    }
}
