//! `use` trees: each name that they import, with its path.

use crate::tokens::Token;

/// One name that a `use` imports, or one glob.
#[derive(Clone, Debug)]
pub struct Import<'a> {
    pub path: Vec<&'a str>,
    /// The name in this module. `None` for globs and for `as _`.
    pub name: Option<&'a str>,
    pub is_glob: bool,
    /// True for `pub use` and similar re-exports.
    pub is_door: bool,
    pub line: usize,
}

/// Reads the tree at `at`, the place after `use`. Returns the place after the tree.
pub fn read<'a>(
    tokens: &[Token<'a>],
    at: usize,
    is_door: bool,
    imports: &mut Vec<Import<'a>>,
) -> usize {
    Reader { tokens, at, is_door, imports }.tree(Vec::new())
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    is_door: bool,
    imports: &'t mut Vec<Import<'a>>,
}

impl<'a> Reader<'_, 'a> {
    fn text(&self) -> &'a str {
        self.tokens.get(self.at).map_or(";", |token| token.text)
    }

    /// Reads a tree below a path, up to the token that ends it.
    fn tree(&mut self, mut path: Vec<&'a str>) -> usize {
        let above = path.len();
        loop {
            match self.text() {
                "{" => return self.group(&path),
                "*" => {
                    self.push(path, None, true);
                    self.at += 1;
                    return self.at;
                }
                "::" | "$" => self.at += 1,
                _ if self.tokens.get(self.at).is_some_and(Token::is_name) => {
                    if self.text() == "as" {
                        break;
                    }
                    path.push(self.text());
                    self.at += 1;
                }
                _ => break,
            }
        }
        self.leaf(path, above)
    }

    /// Ends a path, with its alias if it has one.
    fn leaf(&mut self, mut path: Vec<&'a str>, above: usize) -> usize {
        if path.len() > above.max(1) && path.last() == Some(&"self") {
            path.pop();
        }
        let mut name = path.last().copied();
        if self.text() == "as" {
            name = Some(self.tokens[self.at + 1].text).filter(|name| *name != "_");
            self.at += 2;
        }
        if !path.is_empty() {
            self.push(path, name, false);
        }
        self.at
    }

    fn group(&mut self, path: &[&'a str]) -> usize {
        self.at += 1;
        while !matches!(self.text(), "}" | ";") {
            let before = self.at;
            self.tree(path.to_vec());
            // A comma, or a token that begins no tree.
            if self.text() == "," || self.at == before {
                self.at += 1;
            }
        }
        self.at += 1;
        self.at
    }

    fn push(&mut self, path: Vec<&'a str>, name: Option<&'a str>, is_glob: bool) {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.line);
        self.imports.push(Import { path, name, is_glob, is_door: self.is_door, line });
    }
}
