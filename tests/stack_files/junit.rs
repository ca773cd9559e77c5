//! `--junit`.

use std::fs;

use crate::{Desk, checked};

fn report(check: &str, code: i32) -> String {
    let desk = Desk::new();
    let mutate = r#"mutate = [ { name = "a", steps = [ { sh = "true" } ] } ]"#;
    desk.write(&checked(1, &format!("{mutate}\ncheck = '{check}'")));
    desk.explode("run test.toml --junit report.xml").expect(code);
    let report = fs::read_to_string(desk.path().join("report.xml")).unwrap();
    report.replace(desk.path().to_str().unwrap(), "HERE")
}

#[test]
fn a_case_for_each_finding_or_one_that_passed() {
    let passed = report("true", 0);
    assert!(
        passed.contains(r#"<testsuite name="test" tests="1" skipped="0" errors="0" failures="0""#),
        "{passed}"
    );
    assert!(passed.contains(r#"<testcase name="test" classname="test"/>"#), "{passed}");
    let failed = report("echo a < b; exit 1", 1);
    assert!(failed.contains(r#"tests="1" skipped="0" errors="0" failures="1""#), "{failed}");
    let broken = report("echo no; exit 2", 4);
    assert!(broken.contains(r#"tests="1" skipped="0" errors="1" failures="0""#), "{broken}");
    assert!(broken.contains("ended with 2: no"), "{broken}");
}

#[test]
fn a_finding_has_its_verdict_message_and_replay() {
    let failed = report("echo \"1 & 2 are gone\"; exit 1", 1);
    assert!(
        failed.contains(r##"name="test/check-failed/#-&amp;-#-are-gone" classname="test""##),
        "{failed}"
    );
    assert!(failed.contains(r#"message="1 &amp; 2 are gone" type="check-failed""#), "{failed}");
    assert!(
        failed.contains("epoch soft, shown by 1 check")
            && failed.contains("cd HERE &amp;&amp; ")
            && failed.contains("explode replay HERE/explode-runs/test-1/traces/"),
        "{failed}"
    );
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let desk = Desk::new();
    desk.write(&checked(1, "mutate = [ { name = \"a\", steps = [] } ]\ncheck = 'true'"));
    let ran = desk.explode("run test.toml --junit no/such/folder.xml").expect(2);
    assert!(ran.err.contains("no/such/folder.xml") && ran.err.contains("--junit"), "{ran:?}");
}
