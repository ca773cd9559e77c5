//! A copy of the engine with its property test, to be changed, built and run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The number of cases. With a third of them each mutant is found by several parts of the property
/// test, also with other seeds.
const CASES: &str = "256";
/// The manifest of the copy. `lto` would optimise across the parts of a crate, and so take twice
/// the time for each mutant.
const WORKSPACE: &str = r#"
[workspace]
members = ["ramdisk", "explode-runtime"]
resolver = "3"

[profile.dev]
opt-level = 1
debug = false
lto = "off"

"#;
/// The modules of the engine that make crash disks of events. The others would be built again with
/// each mutant, and are not tested here.
const MODULES: [&str; 3] = ["crash", "events", "writeset"];
/// The text of the property test when engine and simulation differ.
const DIFFERENCE: &str = "engine and simulation";

/// A copy of the crates `explode-ramdisk` and `explode-runtime`. The latter has only [`MODULES`]
/// and the test `device_model`.
pub struct EngineCopy {
    root: PathBuf,
    target: PathBuf,
    /// The lock on the copy while it is in use. Another run waits.
    _lock: File,
}

/// The outcome of the property test on the copy.
#[derive(Debug)]
pub enum Outcome {
    Passes,
    /// This number of tests fail, some of them because engine and simulation differ.
    Differs {
        tests: usize,
    },
    FailsOtherwise(String),
    NotBuilt(String),
}

impl EngineCopy {
    /// Makes the copy, or updates that of an earlier run.
    pub fn make() -> EngineCopy {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
        fs::create_dir_all(&folder).expect("a folder below the target directory");
        let lock = File::create(folder.join("lock")).expect("a file to lock");
        lock.lock().expect("the lock of the copy");
        let copy =
            EngineCopy { root: folder.join("crates"), target: folder.join("target"), _lock: lock };
        let wanted = wanted();
        let mut there = BTreeMap::new();
        read_folder(&copy.root, Path::new(""), &mut there);
        for path in there.keys().filter(|path| !wanted.contains_key(*path)) {
            fs::remove_file(copy.root.join(path)).expect("an old file of the copy");
        }
        // A file that has not changed keeps its time, so that cargo keeps what it has built of it.
        for (path, bytes) in wanted.iter().filter(|(path, bytes)| there.get(*path) != Some(bytes)) {
            let path = copy.root.join(path);
            fs::create_dir_all(path.parent().expect("the copy's folder"))
                .expect("a folder of the copy");
            fs::write(path, bytes).expect("a file of the copy");
        }
        copy
    }

    /// Returns the text of a file below `explode-runtime/src`.
    pub fn source(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).expect(file)
    }

    /// Replaces the text of a file below `explode-runtime/src`.
    pub fn set_source(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).expect(file);
    }

    /// Builds the property test and runs it.
    pub fn outcome(&self) -> Outcome {
        let built = self.cargo_test(&["--no-run", "--quiet"]);
        if !built.status.success() {
            return Outcome::NotBuilt(beginning(&String::from_utf8_lossy(&built.stderr)));
        }
        let ran = self.cargo_test(&[]);
        let said = String::from_utf8_lossy(&ran.stdout);
        match ran.status.code() {
            Some(0) => Outcome::Passes,
            Some(101) if said.contains("Test failed: ") && said.contains(DIFFERENCE) => {
                Outcome::Differs { tests: said.matches(" ... FAILED\n").count() }
            }
            _ => {
                let said =
                    format!("{}\n{said}{}", ran.status, String::from_utf8_lossy(&ran.stderr));
                Outcome::FailsOtherwise(beginning(&said))
            }
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.join("explode-runtime/src").join(file)
    }

    /// Runs `cargo test` on the copy, from the workspace so that its configuration counts. The logs
    /// are always the same, and there is no shrinking, because any difference is enough.
    fn cargo_test(&self, more: &[&str]) -> Output {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut command = Command::new(cargo);
        command.current_dir(workspace()).args([
            "test",
            "--offline",
            "--package",
            "explode-runtime",
        ]);
        command.args(["--test", "device_model"]).args(more);
        command.arg("--manifest-path").arg(self.root.join("Cargo.toml"));
        command.arg("--target-dir").arg(&self.target);
        let set = [
            ("CARGO_INCREMENTAL", "1"),
            ("PROPTEST_CASES", CASES),
            ("PROPTEST_MAX_SHRINK_ITERS", "0"),
        ];
        command.envs(set);
        command.env_remove("PROPTEST_RNG_SEED").env_remove("RUST_BACKTRACE");
        command.output().expect("cargo")
    }
}

/// Returns the files of the copy.
fn wanted() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for module in MODULES {
        let folder = format!("explode-runtime/src/{module}");
        read_folder(workspace(), Path::new(&folder), &mut files);
    }
    let names: String = files.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    for folder in ["ramdisk/kmod", "ramdisk/src", "explode-runtime/tests/device_model"] {
        read_folder(workspace(), Path::new(folder), &mut files);
    }
    let text = |path: &str| fs::read_to_string(workspace().join(path)).expect(path);
    let mut add = |path: &str, text: String| files.insert(path.into(), text.into_bytes());
    for path in ["explode-runtime/tests/device_model.rs", "Cargo.lock"] {
        add(path, text(path));
    }
    let modules = MODULES.map(|module| format!("pub mod {module};\n"));
    add("explode-runtime/src/lib.rs", modules.concat());
    // Benches are omitted with what only they need, and so is what only the other modules need.
    let not_benches = |path: &str| sections(&text(path), |header| header != "[[bench]]");
    let without = |manifest: &str, unwanted: &dyn Fn(&str) -> bool| {
        manifest.lines().filter(|line| !unwanted(line)).map(with_end).collect::<String>()
    };
    let is_for_benches = |line: &str| line.starts_with("criterion");
    add("ramdisk/Cargo.toml", without(&not_benches("ramdisk/Cargo.toml"), &is_for_benches));
    let manifest = not_benches("explode-runtime/Cargo.toml");
    let (used, tests) = manifest.split_once("[dev-dependencies]").expect("what its tests need");
    let is_for_others = |line: &str| {
        let name = line.split(['.', ' ']).next().unwrap_or_default().replace('-', "_");
        used.find("[dependencies]") < used.find(line)
            && !line.is_empty()
            && !names.contains(&format!("{name}::"))
    };
    let manifest = format!(
        "{}[dev-dependencies]{}",
        without(used, &is_for_others),
        without(tests, &is_for_benches)
    );
    add("explode-runtime/Cargo.toml", manifest);
    let common = sections(&text("Cargo.toml"), |header| header.starts_with("[workspace."));
    add("Cargo.toml", format!("{WORKSPACE}{common}"));
    files
}

/// Returns the sections of a manifest whose header is wanted.
fn sections(manifest: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut in_wanted = false;
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_wanted = wanted(line.trim_end());
        }
        if in_wanted {
            kept.push_str(&with_end(line));
        }
    }
    kept
}

fn with_end(line: &str) -> String {
    format!("{line}\n")
}

/// Adds the files of a folder, if it exists, by their paths from `root`.
fn read_folder(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let entry = entry.expect("an entry of the folder");
        let path = folder.join(entry.file_name());
        if entry.file_type().expect("its type").is_dir() {
            read_folder(root, &path, files);
        } else {
            files.insert(path, fs::read(entry.path()).expect("a file of the folder"));
        }
    }
}

/// Returns the first lines, which fit on a screen.
fn beginning(said: &str) -> String {
    said.lines().take(40).collect::<Vec<_>>().join("\n")
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}
