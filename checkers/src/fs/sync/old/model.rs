//! The model: the tree as it is, and for each name and each file what of it is *stable*, certainly
//! on disk, and what is *volatile*, there or not.

use std::collections::BTreeMap;

use crate::fs::model::SyncCall as Call;
use crate::fs::model::file::File;
use crate::fs::model::promise::{Promise, What};

/// A node, by its place in the model: never used twice.
type Id = usize;

const ROOT: Id = 0;

/// Files and directories, those included that have lost their name.
#[derive(Clone, Debug)]
pub struct Model {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    body: Body,
    /// It has lost its name, so that nothing is promised about its contents: its blocks and its
    /// inode may be used again, even before the change of the directory is on disk.
    gone: bool,
}

#[derive(Clone, Debug)]
enum Body {
    File(File),
    Directory(Directory),
}

#[derive(Clone, Debug, Default)]
struct Directory {
    names: BTreeMap<String, Name>,
    /// Was it ever synced itself? Before, a name that leads to it may lead nowhere.
    synced: bool,
}

/// A name in a directory.
#[derive(Clone, Debug, Default)]
struct Name {
    now: Option<Id>,
    /// What else it may lead to on disk: all that it has led to since its directory was synced,
    /// oldest first.
    before: Vec<Option<Id>>,
    /// The call that has made it durable, if any has.
    by: Option<Call>,
}

impl Model {
    /// An empty root, durable as it is.
    pub fn new() -> Model {
        let root = Directory { synced: true, ..Directory::default() };
        Model { nodes: vec![Node { body: Body::Directory(root), gone: false }] }
    }

    pub fn is_there(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The file at a path, if there is one.
    pub fn file(&self, path: &str) -> Option<&File> {
        match &self.nodes[self.find(path)?].body {
            Body::File(file) => Some(file),
            Body::Directory(_) => None,
        }
    }

    /// The file at a path, made if there is none.
    pub fn file_or_new(&mut self, path: &str) -> &mut File {
        let id = self.find(path).unwrap_or_else(|| self.add(path, Body::File(File::default())));
        match &mut self.nodes[id].body {
            Body::File(file) => file,
            Body::Directory(_) => panic!("{path} is a directory"),
        }
    }

    pub fn mkdir(&mut self, path: &str) {
        self.add(path, Body::Directory(Directory::default()));
    }

    /// Takes away a file's only name, or an empty directory.
    pub fn remove(&mut self, path: &str) {
        let id = self.find(path).expect("it is there");
        self.nodes[id].gone = true;
        self.point(path, None);
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        let id = self.find(from);
        if let Some(replaced) = self.find(to) {
            self.nodes[replaced].gone = true;
        }
        self.point(to, id);
        self.point(from, None);
    }

    pub fn sync_file(&mut self, path: &str, by: Call) {
        self.file_or_new(path).sync(by);
    }

    pub fn sync_directory(&mut self, path: &str) {
        let id = self.find(path).expect("it is there");
        self.directory_mut(id).sync(Call::FsyncOfDirectory);
    }

    pub fn sync_all(&mut self) {
        for node in &mut self.nodes {
            match &mut node.body {
                Body::File(file) => file.sync(Call::Sync),
                Body::Directory(directory) => directory.sync(Call::Sync),
            }
        }
    }

    /// Can no crash change what a directory's names lead to?
    pub fn names_are_synced(&self, path: &str) -> bool {
        self.find(path).is_some_and(|id| self.directory(id).is_synced())
    }

    /// Would a sync find nothing to do?
    pub fn is_synced(&self) -> bool {
        self.nodes.iter().filter(|node| !node.gone).all(|node| match &node.body {
            Body::File(file) => file.is_synced(),
            Body::Directory(directory) => directory.is_synced(),
        })
    }

    /// All that a crash must leave, in the order of the paths.
    pub fn promises(&self) -> Vec<Promise> {
        let mut promises = Vec::new();
        self.promises_in(ROOT, "", &mut promises);
        promises
    }

    fn promises_in(&self, id: Id, parent: &str, promises: &mut Vec<Promise>) {
        for (name, at) in &self.directory(id).names {
            let path = format!("{parent}/{name}");
            let word = at.by.map(Call::synced);
            let what = match (at.is_synced(), at.now, word) {
                (false, ..) => self.perhaps(at),
                (true, None, word) => word.map(What::Nothing),
                (true, Some(id), Some(word)) => match &self.nodes[id].body {
                    Body::File(file) => file.promised(true).map(|contents| {
                        What::File(if contents.whole { word } else { contents.promise }, contents)
                    }),
                    Body::Directory(directory) => directory.synced.then_some(What::Directory(word)),
                },
                (true, Some(_), None) => None,
            };
            let Some(what) = what else { continue };
            let inside = at.now.filter(|_| matches!(what, What::Directory(_)));
            promises.push(Promise { path: path.clone(), what });
            if let Some(id) = inside {
                self.promises_in(id, &path, promises);
            }
        }
    }

    /// What a name leads to if it leads anywhere; nothing is said if one of its files was never
    /// synced, or is gone.
    fn perhaps(&self, name: &Name) -> Option<What> {
        let mut ids: Vec<Id> =
            [name.now].iter().chain(name.before.iter().rev()).copied().flatten().collect();
        let mut seen = Vec::new();
        ids.retain(|id| {
            !seen.contains(id) && {
                seen.push(*id);
                true
            }
        });
        let promised = |id: &Id| match &self.nodes[*id] {
            Node { body: Body::File(file), gone: false } => file.promised(false),
            _ => None,
        };
        let contents = ids.iter().map(promised).collect::<Option<Vec<_>>>()?;
        (!contents.is_empty()).then_some(What::Perhaps(contents))
    }

    /// The parent and the name of a path that is not the root.
    fn place<'p>(&self, path: &'p str) -> (Id, &'p str) {
        let (parent, name) = path.rsplit_once('/').expect("a path begins with a slash");
        (self.find(parent).expect("its directory is there"), name)
    }

    fn find(&self, path: &str) -> Option<Id> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(ROOT, |at, name| self.directory(at).names.get(name)?.now)
    }

    fn add(&mut self, path: &str, body: Body) -> Id {
        self.nodes.push(Node { body, gone: false });
        let id = self.nodes.len() - 1;
        self.point(path, Some(id));
        id
    }

    fn point(&mut self, path: &str, to: Option<Id>) {
        let (parent, name) = self.place(path);
        let name = self.directory_mut(parent).names.entry(name.to_owned()).or_default();
        name.before.push(std::mem::replace(&mut name.now, to));
    }

    fn directory(&self, id: Id) -> &Directory {
        match &self.nodes[id].body {
            Body::Directory(directory) => directory,
            Body::File(_) => panic!("node {id} is a file"),
        }
    }

    fn directory_mut(&mut self, id: Id) -> &mut Directory {
        match &mut self.nodes[id].body {
            Body::Directory(directory) => directory,
            Body::File(_) => panic!("node {id} is a file"),
        }
    }
}

impl Directory {
    fn sync(&mut self, by: Call) {
        self.synced = true;
        for name in self.names.values_mut() {
            let before = name.by.filter(|_| name.before.is_empty());
            name.by = before.max(Some(by));
            name.before.clear();
        }
    }

    fn is_synced(&self) -> bool {
        self.synced && self.names.values().all(Name::is_synced)
    }
}

impl Name {
    /// Can it lead to one thing only, crash or not?
    fn is_synced(&self) -> bool {
        self.before.iter().all(|before| *before == self.now)
    }
}
