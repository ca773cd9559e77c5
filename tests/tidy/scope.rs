//! Reads the text of one module: its items, child modules and imports, and the paths that its code
//! mentions.

use crate::imports::{self, Import};
use crate::tokens::{Token, after_closing};

/// The parts of one module, without those of its child modules.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    /// The names of its items, and whether a path can continue after them, as after an enum.
    pub items: Vec<(&'a str, bool)>,
    /// The names of its macros, and whether the crate's root exports each.
    pub macros: Vec<(&'a str, bool)>,
    pub modules: Vec<Child<'a>>,
    pub imports: Vec<Import<'a>>,
    pub mentions: Vec<Mention<'a>>,
}

/// A `mod` item.
#[derive(Debug)]
pub struct Child<'a> {
    pub name: &'a str,
    pub line: usize,
    /// The value of its `#[path]`.
    pub path: Option<&'a str>,
    /// Its contents, if they are inline.
    pub inside: Option<Scope<'a>>,
}

/// A path in code, or a single name that may be that of an item.
#[derive(Debug)]
pub struct Mention<'a> {
    pub path: Vec<&'a str>,
    pub is_macro: bool,
    pub line: usize,
}

/// The last part of a path that ends in a macro's variable.
pub const UNKNOWN: &str = "$";

/// Reads the tokens of a module.
pub fn scope<'a>(tokens: &[Token<'a>]) -> Scope<'a> {
    let mut reader =
        Reader { tokens, at: 0, depth: 0, path: None, exported: false, scope: Scope::default() };
    while reader.at < tokens.len() {
        reader.step();
    }
    reader.scope
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// The number of open brackets. Items are outside all brackets.
    depth: usize,
    /// The value of `#[path]` before the next item.
    path: Option<&'a str>,
    exported: bool,
    scope: Scope<'a>,
}

impl<'a> Reader<'_, 'a> {
    /// Returns the text of the token this many places ahead.
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn is_name(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(Token::is_name)
    }

    fn step(&mut self) {
        match self.text(0) {
            "(" | "[" | "{" => {
                self.depth += 1;
                self.at += 1;
            }
            ")" | "]" | "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.at += 1;
            }
            "#" if self.text(1) == "[" => self.attribute(),
            "pub" => self.visibility(),
            "use" if self.text(1) != "<" => self.import(false),
            "mod" if self.depth == 0 && self.is_name(1) => self.module(),
            "macro_rules" if self.text(1) == "!" => {
                self.scope.macros.push((self.text(2), self.exported));
                self.exported = false;
                self.at += 3;
            }
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static"
                if self.depth == 0 && self.is_name(1) =>
            {
                self.item();
            }
            "fn" if self.is_name(1) => self.at += 2,
            _ if self.is_name(0) => self.mention(),
            _ => self.at += 1,
        }
    }

    /// Reads the relevant attributes. Their tokens are also read as code.
    fn attribute(&mut self) {
        match (self.text(2), self.text(3)) {
            ("path", "=") => self.path = Some(self.text(4).trim_matches('"')),
            ("macro_export", _) => self.exported = true,
            _ => {}
        }
        self.at += 1;
    }

    fn visibility(&mut self) {
        self.at += 1;
        if self.text(0) == "(" && matches!(self.text(1), "crate" | "super" | "self" | "in") {
            self.at = after_closing(self.tokens, self.at);
        }
        if self.text(0) == "use" {
            self.import(true);
        }
    }

    fn import(&mut self, is_door: bool) {
        self.at = imports::read(self.tokens, self.at + 1, is_door, &mut self.scope.imports);
    }

    fn item(&mut self) {
        if !matches!(self.text(1), "fn" | "unsafe" | "async" | "extern" | "mut") {
            let is_type = !matches!(self.text(0), "fn" | "const" | "static");
            self.scope.items.push((self.text(1), is_type));
            self.at += 1;
        }
        self.path = None;
        self.at += 1;
    }

    fn module(&mut self) {
        let (name, line) = (self.text(1), self.tokens[self.at].line);
        let path = self.path.take();
        self.at += 2;
        let mut inside = None;
        if self.text(0) == "{" {
            let end = after_closing(self.tokens, self.at);
            inside = Some(scope(&self.tokens[self.at + 1..end - 1]));
            self.at = end;
        }
        self.scope.modules.push(Child { name, line, path, inside });
    }

    /// Reads a path. A name after a dot, a `>::` or a `$` does not begin one.
    fn mention(&mut self) {
        let before = |back: usize| {
            self.at
                .checked_sub(back)
                .and_then(|at| self.tokens.get(at))
                .map_or("", |token| token.text)
        };
        let is_field = before(1) == "." && before(2) != ".";
        let is_variable = before(1) == "$" && self.text(0) != "crate";
        let name_before =
            before(2).ends_with(|end: char| end == '>' || end == '_' || end.is_alphanumeric());
        let is_part = is_variable || before(1) == "::" && name_before;
        let line = self.tokens[self.at].line;
        let mut path = vec![self.text(0)];
        self.at += 1;
        while self.text(0) == "::" && self.is_name(1) {
            path.push(self.text(1));
            self.at += 2;
        }
        if is_field || is_part {
            return;
        }
        if self.text(0) == "::" && self.text(1) == "$" {
            path.push(UNKNOWN);
        }
        let is_macro = self.text(0) == "!" && matches!(self.text(1), "(" | "[" | "{");
        let is_item = is_macro
            || self.text(0) == "("
            || path.len() > 1
            || path[0].bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
        if is_item {
            self.scope.mentions.push(Mention { path, is_macro, line });
        }
    }
}
