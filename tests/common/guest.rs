//! Tests that need a guest: whether they can run here.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::unsupported::unsupported;
use super::{explode, of_type, program};

/// Does this machine have what a guest needs? A test that needs one returns if it does not; in CI
/// it fails. Asks once a test program; what was never built is built then, kernel and all, for
/// longer than a test may take.
pub fn required() -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(missing).as_deref();
    missing.into_iter().for_each(unsupported);
    missing.is_none()
}

/// What `explode doctor` misses.
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
