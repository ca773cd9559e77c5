//! The crates of a workspace as trees of modules. The files are a map from path to text, so that a
//! test can invent a workspace.

use std::collections::BTreeMap;

use crate::manifest::manifest;
use crate::production::production;
use crate::scope::{Child, Scope, scope};
use crate::tokens::tokens;

/// Texts by path from the workspace's root.
pub type Files = BTreeMap<String, String>;

/// Main files that Kbuild compiles: the name of each module and its path.
pub const KBUILD: [(&str, &str); 2] = [("ekm", "ekm-kmod/ekm.rs"), ("rdd", "ramdisk/kmod/rdd.rs")];

/// All crates and their modules.
#[derive(Debug, Default)]
pub struct Workspace<'a> {
    pub crates: Vec<Crate>,
    pub modules: Vec<Module<'a>>,
}

/// A library, or a kernel module.
#[derive(Debug)]
pub struct Crate {
    /// The name of its package.
    pub name: String,
    /// The path of `lib.rs`, or of the main file in its place.
    pub main: String,
    /// The index of its root module.
    pub root: usize,
    /// The packages that it depends on outside tests.
    pub depends: Vec<String>,
    /// The number of lines with code outside tests.
    pub lines: usize,
}

/// A module with its text.
#[derive(Debug)]
pub struct Module<'a> {
    /// The index of its crate.
    pub of: usize,
    pub parent: Option<usize>,
    pub name: &'a str,
    pub file: String,
    /// The line that declares it.
    pub line: usize,
    pub children: BTreeMap<&'a str, usize>,
    pub scope: Scope<'a>,
}

impl Crate {
    /// The folder of its main file, with a slash.
    pub fn folder(&self) -> &str {
        &self.main[..self.main.rfind('/').map_or(0, |slash| slash + 1)]
    }

    /// Returns its name in code.
    pub fn in_code(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Returns a file's name in messages and lists.
    pub fn shown<'f>(&self, file: &'f str) -> &'f str {
        file.strip_prefix(self.folder()).unwrap_or(file)
    }
}

impl<'a> Workspace<'a> {
    /// Reads the manifests and follows each crate's `mod` lines.
    pub fn new(files: &'a Files) -> Self {
        let mut workspace = Workspace::default();
        let text = |path: &str| files.get(path).map_or("", String::as_str);
        let mut folders = vec![String::new()];
        folders
            .extend(manifest(text("Cargo.toml")).members.iter().map(|member| format!("{member}/")));
        for folder in folders {
            let manifest = manifest(text(&format!("{folder}Cargo.toml")));
            if !manifest.name.is_empty() {
                let library = format!("{folder}src/lib.rs");
                let is_library = files.contains_key(&library);
                let main = if is_library { library } else { format!("{folder}src/main.rs") };
                workspace.add(files, manifest.name, main, manifest.depends);
            }
        }
        for (name, main) in KBUILD.into_iter().filter(|(_, main)| files.contains_key(*main)) {
            workspace.add(files, name.to_owned(), main.to_owned(), Vec::new());
        }
        workspace
    }

    fn add(&mut self, files: &'a Files, name: String, main: String, depends: Vec<String>) {
        let root = self.modules.len();
        self.crates.push(Crate { name, main: main.clone(), root, depends, lines: 0 });
        let module = Module {
            of: self.crates.len() - 1,
            parent: None,
            name: "crate",
            file: main,
            line: 1,
            children: BTreeMap::new(),
            scope: Scope::default(),
        };
        self.read(files, module, true);
    }

    /// Adds a module with the text of its file, and the modules in it. Returns its index.
    fn read(&mut self, files: &'a Files, mut module: Module<'a>, is_root: bool) -> usize {
        let text = files.get(&module.file).map_or("", String::as_str);
        let production = production(&tokens(text));
        let mut lines: Vec<usize> = production.iter().map(|token| token.line).collect();
        lines.dedup();
        self.crates[module.of].lines += lines.len();
        module.scope = scope(&production);
        let (folder, name) = split(&module.file);
        let stem = name.trim_end_matches(".rs");
        let folder =
            if is_root || stem == "mod" { folder.to_owned() } else { format!("{folder}{stem}/") };
        self.place(files, module, &folder)
    }

    /// Adds a module whose text is known. The files of its modules are in a folder.
    fn place(&mut self, files: &'a Files, mut module: Module<'a>, folder: &str) -> usize {
        let number = self.modules.len();
        let (of, file) = (module.of, module.file.clone());
        let children = std::mem::take(&mut module.scope.modules);
        self.modules.push(module);
        for Child { name, line, path, inside } in children {
            let is_inside = inside.is_some();
            let child = Module {
                of,
                parent: Some(number),
                name,
                file: if is_inside {
                    file.clone()
                } else {
                    child_file(files, &file, folder, name, path)
                },
                line,
                children: BTreeMap::new(),
                scope: inside.unwrap_or_default(),
            };
            let child = if is_inside {
                self.place(files, child, &format!("{folder}{name}/"))
            } else {
                // As in rustc, the modules of a file with a `#[path]` are in the same folder.
                self.read(files, child, path.is_some())
            };
            self.modules[number].children.insert(name, child);
        }
        number
    }

    /// Returns the room that a module is in. `None` for the crate's root.
    pub fn room(&self, mut module: usize) -> Option<&'a str> {
        loop {
            let parent = self.modules[module].parent?;
            if self.modules[parent].parent.is_none() {
                return Some(self.modules[module].name);
            }
            module = parent;
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

/// Returns the file of `mod name;`. A file that a build makes does not exist and has no text.
fn child_file(files: &Files, parent: &str, folder: &str, name: &str, path: Option<&str>) -> String {
    if let Some(path) = path {
        return normal(&format!("{}{path}", split(parent).0));
    }
    let file = format!("{folder}{name}.rs");
    let module = format!("{folder}{name}/mod.rs");
    if files.contains_key(&module) { module } else { file }
}

/// Returns a path without `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
