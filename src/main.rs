//! The program `explode`.

use std::process::ExitCode;

fn main() -> ExitCode {
    explode::main(&explode::registry())
}
