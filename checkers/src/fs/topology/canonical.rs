//! The canonical form of an abstract file system (EX-99). Two file systems have the same form if
//! and only if one becomes the other by renaming. Of a file, its size and the written places count,
//! and not the data, because every write has other data. Of the names of one file only counts that
//! they lead to the same file. Modes, extended attributes and the targets of symbolic links count
//! as they are.

use itertools::Itertools as _;

use crate::fs::model::Attributes;
use crate::fs::model::{Abstract, Id, ModelNode};

/// Returns the canonical form.
pub fn signature(fs: &Abstract) -> Vec<u8> {
    form(fs, CanonicalForm::ALL)
}

/// The properties that the form includes. Without one of them different topologies have one form,
/// or one topology has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct CanonicalForm {
    /// True if the form includes which names lead to the same file.
    pub links: bool,
    /// True if the form includes the contents of files.
    pub contents: bool,
    /// True if the order of siblings does not count.
    pub unordered: bool,
    /// True if the order of files that have several names does not count.
    pub renumbered: bool,
    /// True if the form includes modes and extended attributes.
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
    // Once the files with several names are numbered, the form of a tree is that of its sorted
    // children. So the least form of all numberings is the same for all trees that differ only in
    // names. There are few such files.
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

/// Returns the attributes of a node that differ from those of a new node.
fn changed(fs: &Abstract, id: Id) -> String {
    let attributes = fs.attributes(id);
    let new = Attributes::new(fs.is_directory(id));
    let mode = (attributes.mode != new.mode).then(|| format!("m{:o}", attributes.mode));
    let xattrs =
        attributes.xattrs.iter().map(|(name, value)| format!("x{name}={}", value.escape_ascii()));
    mode.into_iter().chain(xattrs).collect()
}

/// Returns the places at which a file changes between zeroes and written data, up to its end.
fn runs(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for run in bytes.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
        at += run.len();
        text += &format!("{}{at}", if run[0] == 0 { 'z' } else { 'w' });
    }
    text
}
