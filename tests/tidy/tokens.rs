//! Rust source as tokens, without comments. A string is one token.

/// A token and the line on which it begins.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

impl Token<'_> {
    /// Returns true for names and keywords.
    pub fn is_name(&self) -> bool {
        self.text.bytes().next().is_some_and(begins_name)
    }
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit()
}

/// Returns the tokens of a file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1, tokens: Vec::new() };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.tokens
}

/// Returns the place after the bracket that closes the one at `open`.
pub fn after_closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl Lexer<'_> {
    fn step(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest[0] {
            byte if byte.is_ascii_whitespace() => self.whitespace(),
            b'/' if rest.starts_with(b"//") => self.line_comment(),
            b'/' if rest.starts_with(b"/*") => self.block_comment(),
            b'"' => self.string(string_end(rest, 0)),
            b'\'' => self.push(quote_end(self.text, self.at)),
            byte if byte.is_ascii_digit() => self.push(number_end(rest)),
            byte if begins_name(byte) => self.name(),
            b':' if rest.starts_with(b"::") => self.push(2),
            _ => self.push(1),
        }
    }

    /// Adds a token of this many bytes.
    fn push(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.text.len());
        let text = &self.text[self.at..end];
        self.tokens.push(Token { text, line: self.line });
        self.at = end;
    }

    /// Adds a token that may have several lines.
    fn string(&mut self, bytes: usize) {
        self.push(bytes);
        let text = self.tokens.last().map_or("", |token| token.text);
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
    }

    fn whitespace(&mut self) {
        while let Some(byte) = self.bytes.get(self.at)
            && byte.is_ascii_whitespace()
        {
            self.line += usize::from(*byte == b'\n');
            self.at += 1;
        }
    }

    fn line_comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// Skips a block comment. These nest.
    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"/*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                self.at += 2;
            } else {
                self.line += usize::from(rest[0] == b'\n');
                self.at += 1;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads a name, or a literal that begins with letters: `r"..."`, `b'x'`, `c"..."`,
    /// `br#"..."#`.
    fn name(&mut self) {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| !continues_name(*byte)).unwrap_or(rest.len());
        let next = rest.get(len).copied();
        match (&rest[..len], next) {
            (b"b" | b"c", Some(b'"')) => self.string(string_end(rest, len)),
            (b"b", Some(b'\'')) => self.push(len + quote_end(self.text, self.at + len)),
            (b"r" | b"br" | b"cr", Some(b'"' | b'#')) => {
                match raw_string_end(self.text, self.at + len) {
                    Some(end) => self.string(len + end),
                    // A raw name such as `r#type`. Its first two characters are not part of it.
                    None => self.at += len + 1,
                }
            }
            _ => self.push(len),
        }
    }
}

/// Returns the length of a string with escapes whose first quote is at `quote`.
fn string_end(rest: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the length of a raw string that begins at its hashes. `None` if none begins there.
fn raw_string_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let hashes = rest.bytes().take_while(|byte| *byte == b'#').count();
    let inside = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", &rest[..hashes]);
    Some(hashes + 1 + inside.find(&end)? + end.len())
}

/// Returns the length of a character, or of a lifetime.
fn quote_end(text: &str, at: usize) -> usize {
    let mut inside = text[at + 1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), Some(escaped)) => {
            let skipped = 2 + escaped.len_utf8();
            let rest = &text[at + skipped..];
            skipped + rest.find('\'').map_or(rest.len(), |end| end + 1)
        }
        (Some(character), Some('\'')) => 2 + character.len_utf8(),
        _ => 1 + text[at + 1..].bytes().take_while(|byte| continues_name(*byte)).count(),
    }
}

fn number_end(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        let is_point = byte == b'.' && rest.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !is_point && !continues_name(byte) {
            break;
        }
        at += 1;
    }
    at
}
