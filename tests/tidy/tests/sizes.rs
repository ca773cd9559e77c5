//! Exceeded sizes are found, and nothing else.

use crate::size::{COLUMNS, FILE_LINES, FUNCTION_LINES, problems};
use crate::workspace::Files;

fn found(text: &str) -> Vec<String> {
    problems(&Files::from([("src/a.rs".to_owned(), text.to_owned())]))
}

#[test]
fn a_line_may_have_a_hundred_columns() {
    let line = |columns: usize| format!("// {}\n", "a".repeat(columns - 3));
    assert_eq!(found(&line(COLUMNS)), [""; 0]);
    assert_eq!(
        found(&line(COLUMNS + 1)),
        ["src/a.rs:1: 101 columns: break the line, it may have 100"]
    );
    let wide = "a".repeat(COLUMNS);
    let free = format!("//! | {wide} |\n// https://{wide}\nconst A: &str = r#\"\n{wide} a\n\"#;\n");
    assert_eq!(found(&free), [""; 0]);
    let code = format!("const A: &str = \"{wide}\";\n");
    assert_eq!(found(&code).len(), 1);
}

#[test]
fn a_function_may_have_seventy_lines() {
    let function = |lines: usize| {
        let body = "    step();\n".repeat(lines - 2);
        format!("trait A {{\n    fn declared(&self, at: [u8; 2]);\n}}\nfn long() {{\n{body}}}\n")
    };
    assert_eq!(found(&function(FUNCTION_LINES)), [""; 0]);
    let problems = found(&function(FUNCTION_LINES + 1));
    assert_eq!(problems, ["src/a.rs:4: long has 71 lines: split it, it may have 70"]);
}

#[test]
fn a_file_may_have_six_hundred_lines() {
    assert_eq!(found(&"// a\n".repeat(FILE_LINES)), [""; 0]);
    let problems = found(&"// a\n".repeat(FILE_LINES + 1));
    assert_eq!(problems, ["src/a.rs: 601 lines: split the file, it may have 600 at most"]);
}
