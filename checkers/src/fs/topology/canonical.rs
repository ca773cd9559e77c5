//! The canonical form of an abstract file system (EX-99): two have the same one if and only if one
//! becomes the other by giving other names. Of a file count its size and where it has been written,
//! not what: every write writes something of its own. Of names that lead to one file counts that
//! they do. Modes and extended attributes count as they are, and what a symbolic link holds.

use itertools::Itertools as _;

use crate::fs::model::Attributes;
use crate::fs::model::{Abstract, Id, ModelNode};

/// The canonical form.
pub fn signature(fs: &Abstract) -> Vec<u8> {
    form(fs, CanonicalForm::ALL)
}

/// What the form regards; without one of them topologies that differ are taken for one, or one for
/// several.
#[derive(Clone, Copy, Debug)]
pub(super) struct CanonicalForm {
    /// Which names lead to the same file.
    pub links: bool,
    /// What files hold.
    pub contents: bool,
    /// Siblings have no order.
    pub unordered: bool,
    /// Files that have several names have no order either.
    pub renumbered: bool,
    /// Modes and extended attributes.
    pub attributes: bool,
}

impl CanonicalForm {
    pub const ALL: CanonicalForm = CanonicalForm {
        links: true,
        contents: true,
        unordered: true,
        renumbered: true,
        attributes: true,
    };
}

pub(super) fn form(fs: &Abstract, regard: CanonicalForm) -> Vec<u8> {
    let mut several: Vec<Id> = Vec::new();
    let paths = fs.paths();
    for (_, id) in &paths {
        let again = paths.iter().filter(|(_, other)| other == id).count() > 1;
        if regard.links && again && !several.contains(id) {
            several.push(*id);
        }
    }
    // Once files with several names are numbered, the form of a tree is that of its sorted
    // children; so the least form of all numberings is the same for all trees that differ in names.
    // There are few such files.
    let form = |order: &[Id]| form_of(fs, Abstract::ROOT, order, regard);
    if !regard.renumbered {
        return form(&several);
    }
    let count = several.len();
    several.into_iter().permutations(count).map(|order| form(&order)).min().unwrap_or_default()
}

fn form_of(fs: &Abstract, id: Id, several: &[Id], regard: CanonicalForm) -> Vec<u8> {
    let number = several.iter().position(|other| *other == id);
    let number = number.map_or_else(String::new, |number| format!("#{number}"));
    let attributes = if regard.attributes { changed(fs, id) } else { String::new() };
    match fs.node(id) {
        ModelNode::Symlink(target) => format!("l{number}{target};").into_bytes(),
        ModelNode::File(bytes) => {
            let contents = if regard.contents { runs(bytes) } else { String::new() };
            format!("f{number}{contents}{attributes};").into_bytes()
        }
        ModelNode::Directory(_) => {
            let mut children: Vec<Vec<u8>> =
                fs.names(id).map(|(_, child)| form_of(fs, child, several, regard)).collect();
            if regard.unordered {
                children.sort_unstable();
            }
            [b"(".as_slice(), &children.concat(), attributes.as_bytes(), b")"].concat()
        }
    }
}

/// What a node has that a new one has not.
fn changed(fs: &Abstract, id: Id) -> String {
    let attributes = fs.attributes(id);
    let new = Attributes::new(fs.is_directory(id));
    let mode = (attributes.mode != new.mode).then(|| format!("m{:o}", attributes.mode));
    let xattrs =
        attributes.xattrs.iter().map(|(name, value)| format!("x{name}={}", value.escape_ascii()));
    mode.into_iter().chain(xattrs).collect()
}

/// Where a file changes between zeroes and what was written, up to its end.
fn runs(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for run in bytes.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
        at += run.len();
        text += &format!("{}{at}", if run[0] == 0 { 'z' } else { 'w' });
    }
    text
}
