//! `explode show` on the traces of `bugs/`: each output fits one screen and ends with a command to
//! paste.
//!
//! These are the traces that run in process. `tests/guest` tests the others.

use std::path::{Path, PathBuf};

use explode_runtime::base::Mode;
use explode_runtime::trace::Trace;

use crate::common::{explode, files};

/// The number of lines of a screen.
const SCREEN: usize = 40;

#[test]
fn every_trace_that_needs_no_guest_fits_one_screen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs");
    let mut seen = 0;
    for path in traces(&folder) {
        let trace = Trace::from_json(&std::fs::read(&path).unwrap()).unwrap();
        if trace.mode != Mode::Mem {
            continue;
        }
        seen += 1;
        let path = path.display().to_string();
        let shown = explode(["show", &path]).expect(0).out;
        assert!(!shown.contains("NOT RUN"), "{shown}");
        assert!(shown.lines().count() <= SCREEN, "{path}: {shown}");
        let last = shown.lines().last().unwrap();
        assert!(last.starts_with("      Replay ") && last.ends_with(&format!(" replay {path}")));
    }
    assert_eq!(seen, 3);
}

fn traces(folder: &Path) -> Vec<PathBuf> {
    let bugs = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_bug = |bug: PathBuf| files(&bug).into_iter().map(move |name| bug.join(name));
    let files = bugs.filter(|path| path.is_dir()).flat_map(of_bug);
    files.filter(|path| path.extension().is_some_and(|word| word == "json")).collect()
}
