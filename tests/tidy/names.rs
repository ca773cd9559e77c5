//! Resolves paths: the modules that a path goes through, including re-exports, and the modules that
//! define its items.

use std::collections::HashMap;

use crate::imports::Import;
use crate::workspace::Workspace;

/// A resolved path. A name may stand for several items, such as a module and a function.
#[derive(Debug, Default)]
pub struct Found {
    /// The modules that the path goes through.
    pub passed: Vec<usize>,
    /// The modules in which its items are defined.
    pub defined: Vec<usize>,
    /// The modules that the path itself names.
    pub ends: Vec<usize>,
}

/// The names of all modules.
pub struct Names<'w, 'a> {
    workspace: &'w Workspace<'a>,
    /// The roots of crates, by their names in code.
    crates: HashMap<String, usize>,
    /// The imports, by module and name.
    imports: HashMap<(usize, &'a str), Vec<&'w Import<'a>>>,
    globs: HashMap<usize, Vec<&'w Import<'a>>>,
    /// By module and name: whether a path can continue after the item.
    items: HashMap<(usize, &'a str), bool>,
    /// By crate and name: the modules that define a macro, and whether the root exports it.
    macros: HashMap<(usize, &'a str), Vec<(usize, bool)>>,
}

/// The most re-exports of re-exports that are followed.
const MOST_STEPS: usize = 16;

impl<'w, 'a> Names<'w, 'a> {
    pub fn new(workspace: &'w Workspace<'a>) -> Self {
        let mut names = Names {
            workspace,
            crates: workspace.crates.iter().map(|of| (of.in_code(), of.root)).collect(),
            imports: HashMap::new(),
            globs: HashMap::new(),
            items: HashMap::new(),
            macros: HashMap::new(),
        };
        for (number, module) in workspace.modules.iter().enumerate() {
            for import in &module.scope.imports {
                match import.name {
                    Some(name) => names.imports.entry((number, name)).or_default().push(import),
                    None if import.is_glob => names.globs.entry(number).or_default().push(import),
                    None => {}
                }
            }
            for (item, is_type) in &module.scope.items {
                *names.items.entry((number, item)).or_default() |= is_type;
            }
            for (name, exported) in &module.scope.macros {
                names.items.entry((number, name)).or_default();
                names.macros.entry((module.of, name)).or_default().push((number, *exported));
            }
        }
        names
    }

    /// Resolves a path in a module.
    pub fn path(&self, module: usize, path: &[&str]) -> Found {
        let mut found = Found::default();
        self.follow(module, path, MOST_STEPS, &mut found);
        found
    }

    /// Resolves the bare name of a macro. Textual order decides between macros of the same name, so
    /// all of the crate's count.
    pub fn bare_macro(&self, module: usize, name: &str) -> Found {
        if self.items.contains_key(&(module, name)) || self.imports.contains_key(&(module, name)) {
            return self.path(module, &[name]);
        }
        let of = self.workspace.modules[module].of;
        let places = self.macros.get(&(of, name)).map_or(&[][..], Vec::as_slice);
        Found { defined: places.iter().map(|(place, _)| *place).collect(), ..Found::default() }
    }

    /// Returns true if a module re-exports this name, or may import it with a glob.
    pub fn is_brought_in(&self, module: usize, name: &str) -> bool {
        let doors = self.imports.get(&(module, name));
        doors.is_some_and(|imports| imports.iter().any(|import| import.is_door))
            || self.globs.contains_key(&module)
                && !self.items.contains_key(&(module, name))
                && doors.is_none()
    }

    /// Follows a path to its end. Returns true if its first part is known.
    fn follow(&self, from: usize, path: &[&str], steps: usize, found: &mut Found) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        let modules = &self.workspace.modules;
        let root = self.workspace.crates[modules[from].of].root;
        let (mut at, mut rest) = (from, path);
        match path[0] {
            "crate" => (at, rest) = (root, &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while let ["super", behind @ ..] = rest {
                    at = modules[at].parent.unwrap_or(root);
                    rest = behind;
                }
            }
            name => {
                if self.look(from, path, steps, found) {
                    return true;
                }
                let Some(other) = self.crates.get(name) else { return false };
                (at, rest) = (*other, &path[1..]);
            }
        }
        found.passed.push(at);
        self.enter(at, rest, steps, found);
        true
    }

    /// Follows the rest of a path in a module.
    fn enter(&self, module: usize, rest: &[&str], steps: usize, found: &mut Found) {
        if rest.is_empty() {
            found.ends.push(module);
        } else if !self.look(module, rest, steps, found)
            && self.workspace.modules[module].parent.is_some()
        {
            // A macro of that module defines the item. At the root that is the kernel's `module!`.
            found.defined.push(module);
        }
    }

    /// Looks up a path whose first part is a name in a module. Returns false if the module has no
    /// such name.
    fn look(&self, module: usize, path: &[&str], steps: usize, found: &mut Found) -> bool {
        let (name, rest) = (path[0], &path[1..]);
        let here = &self.workspace.modules[module];
        let mut known = false;
        if let Some(child) = here.children.get(name) {
            found.passed.push(*child);
            self.enter(*child, rest, steps, found);
            if !rest.is_empty() {
                return true;
            }
            known = true;
        }
        if self.items.get(&(module, name)).is_some_and(|is_type| *is_type || rest.is_empty()) {
            found.defined.push(module);
            known = true;
        }
        for import in self.imports.get(&(module, name)).into_iter().flatten() {
            known = true;
            if import.path != [name] {
                let path: Vec<_> = import.path.iter().chain(rest).copied().collect();
                self.follow(module, &path, steps, found);
            } else if let Some(root) = self.crates.get(name) {
                // `pub use other_crate;`
                self.enter(*root, rest, steps, found);
            }
        }
        if here.parent.is_none() {
            let macros = self.macros.get(&(here.of, name)).into_iter().flatten();
            let exported = macros.filter(|(_, exported)| *exported).map(|(place, _)| *place);
            let before = found.defined.len();
            found.defined.extend(exported);
            known |= found.defined.len() > before;
        }
        known || self.look_in_globs(module, path, steps, found)
    }

    fn look_in_globs(&self, module: usize, path: &[&str], steps: usize, found: &mut Found) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        let mut known = false;
        for glob in self.globs.get(&module).into_iter().flatten() {
            let mut way = Found::default();
            self.follow(module, &glob.path, steps, &mut way);
            for end in way.ends {
                let mut inside = Found::default();
                if end != module && self.look(end, path, steps, &mut inside) {
                    found.passed.extend([module, end]);
                    found.passed.extend(inside.passed);
                    found.defined.extend(inside.defined);
                    found.ends.extend(inside.ends);
                    known = true;
                }
            }
        }
        known
    }
}
