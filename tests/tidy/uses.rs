//! The uses that a module's code makes of other rooms and files.

use std::collections::BTreeSet;

use crate::names::{Found, Names};
use crate::scope::UNKNOWN;
use crate::workspace::Workspace;

/// A use: its place, and the modules and files that it needs.
#[derive(Debug)]
pub struct Use<'w> {
    /// The module with the use.
    pub from: usize,
    pub line: usize,
    /// The path as written, without braces.
    pub text: String,
    /// The modules that the path goes through or ends in.
    pub modules: BTreeSet<usize>,
    /// The other files of its crate that define the items it names.
    pub files: BTreeSet<&'w str>,
}

/// Returns the uses of all modules, in the order of their text.
pub fn uses<'w>(workspace: &'w Workspace<'_>) -> Vec<Use<'w>> {
    let names = Names::new(workspace);
    let mut uses = Vec::new();
    for from in 0..workspace.modules.len() {
        let place = Place { workspace, names: &names, from };
        place.imports(&mut uses);
        place.mentions(&mut uses);
    }
    uses
}

/// A module whose uses are collected.
struct Place<'w, 'n, 'a> {
    workspace: &'w Workspace<'a>,
    names: &'n Names<'w, 'a>,
    from: usize,
}

impl<'w> Place<'w, '_, '_> {
    fn imports(&self, uses: &mut Vec<Use<'w>>) {
        for import in &self.workspace.modules[self.from].scope.imports {
            let found = self.names.path(self.from, &import.path);
            let (end, door) =
                (if import.is_glob { "::*" } else { "" }, if import.is_door { "pub " } else { "" });
            let text = format!("{door}use {}{end}", import.path.join("::"));
            // A re-export offers a file to others. The file with the re-export need not use that
            // file.
            self.push(uses, import.line, text, found, !import.is_door);
        }
    }

    fn mentions(&self, uses: &mut Vec<Use<'w>>) {
        for mention in &self.workspace.modules[self.from].scope.mentions {
            let name = mention.path[0];
            let found = match mention.path.len() {
                1 if mention.is_macro => self.names.bare_macro(self.from, name),
                // The import of this name already counts.
                1 if !self.names.is_brought_in(self.from, name) => continue,
                _ => self.names.path(self.from, &mention.path),
            };
            if !found.passed.is_empty() || !found.defined.is_empty() {
                let text = mention.path.join("::").replace(UNKNOWN, "...");
                self.push(uses, mention.line, text, found, true);
            }
        }
    }

    fn push(
        &self,
        uses: &mut Vec<Use<'w>>,
        line: usize,
        text: String,
        found: Found,
        with_files: bool,
    ) {
        let modules = &self.workspace.modules;
        let here = &modules[self.from];
        let is_other = |module: &&usize| {
            modules[**module].of == here.of && modules[**module].file != here.file
        };
        let files =
            found.defined.iter().filter(is_other).map(|module| modules[*module].file.as_str());
        let files = if with_files { files.collect() } else { BTreeSet::new() };
        // Every path goes through the root of a crate. The root counts only if it defines the item
        // itself.
        let passed = found.passed.into_iter().filter(|module| modules[*module].parent.is_some());
        let modules = passed.chain(found.defined).collect();
        uses.push(Use { from: self.from, line, text, modules, files });
    }
}
