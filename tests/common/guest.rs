//! The requirements of tests that need a guest.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::unsupported::unsupported;
use super::{explode, of_type, program};

/// Returns true if this machine has everything that a guest needs. A test that needs a guest
/// returns otherwise; in CI this panics. Asks once per test program. Builds the missing parts, the
/// kernel included, which may take longer than a test.
pub fn required() -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(missing).as_deref();
    missing.into_iter().for_each(unsupported);
    missing.is_none()
}

/// Returns what `explode doctor` reports as missing.
fn missing() -> Option<String> {
    let ran = explode(["doctor", "--format", "jsonl"]);
    let checks = ran.json();
    let are = |state: &'static str| {
        of_type(&checks, "check").into_iter().filter(move |check| check["state"] == state)
    };
    match ran.code {
        0 => {
            if are("later").next().is_some() {
                let built = Command::new(program()).args(["vm", "build"]).status().unwrap();
                assert!(built.success(), "explode vm build: {built}");
            }
            None
        }
        3 => {
            let word =
                |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
            let words = are("MISSING")
                .map(|check| format!("{}: {}; ", word(check, "name"), word(check, "detail")));
            Some(words.collect::<String>() + "see explode doctor")
        }
        _ => panic!("{ran:#?}"),
    }
}
