//! The recipes of `scripts/known-bugs`: each can be read, and what it replaces is once in Debian's
//! source of the kernel, where that is on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::Table;

const KEYS: [&str; 7] = ["name", "title", "filesystem", "fixed-in", "file", "function", "about"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn recipes() -> Vec<Table> {
    let folder = fs::read_dir(root().join("scripts/known-bugs")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut recipes = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let recipe: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), text(&recipe, "name"));
        recipes.push(recipe);
    }
    recipes
}

/// Returns the text of a key that must be there.
fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    let text = table.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    assert!(!text.trim().is_empty(), "no {key} in {table}");
    text
}

fn edits(recipe: &Table) -> Vec<&Table> {
    let edits = recipe.get("edit").and_then(|value| value.as_array());
    edits.into_iter().flatten().map(|edit| edit.as_table().unwrap()).collect()
}

/// Returns the package of the kernel's source and its version.
fn source() -> (String, String) {
    let tools = fs::read_to_string(root().join("vm-images/kernel/tools.txt")).unwrap();
    let line = tools.lines().find(|line| line.starts_with("linux-source-")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap())
}

/// Returns the archive with the kernel's source, if it is installed or `scripts/known-bugs/apply`
/// has downloaded it.
fn archive() -> Option<PathBuf> {
    let (package, version) = source();
    let installed = PathBuf::from(format!("/usr/src/{package}.tar.xz"));
    let home = |below: &str| Some(PathBuf::from(std::env::var_os("HOME")?).join(below));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| home(".cache"))?;
    let downloaded = cache.join(format!("explode/known-bugs/source-{version}/usr/src"));
    let downloaded = downloaded.join(format!("{package}.tar.xz"));
    let shown = Command::new("dpkg-query").args(["-W", "-f", "${Version}", &package]).output();
    let is_ours = shown.is_ok_and(|shown| shown.stdout == version.as_bytes());
    let candidates = [installed].into_iter().filter(|_| is_ours).chain([downloaded]);
    candidates.into_iter().find(|path| path.exists())
}

#[test]
fn each_recipe_is_whole() {
    let recipes = recipes();
    let (_, version) = source();
    let of =
        |system: &str| recipes.iter().filter(|recipe| text(recipe, "filesystem") == system).count();
    assert!(recipes.len() >= 12);
    for (system, least) in [("btrfs", 4), ("ext4", 3), ("xfs", 2), ("f2fs", 2)] {
        assert!(of(system) >= least, "{system}: {}", of(system));
    }
    for recipe in &recipes {
        let known: BTreeSet<&str> = KEYS.into_iter().chain(["present", "edit"]).collect();
        assert!(recipe.keys().all(|key| known.contains(key.as_str())), "{recipe}");
        KEYS.iter().for_each(|key| assert!(!text(recipe, key).is_empty()));
        assert!(text(recipe, "about").lines().all(|line| line.len() <= 110), "{recipe}");
        for edit in edits(recipe) {
            let known = ["file", "find", "replace"];
            assert!(edit.keys().all(|key| known.contains(&key.as_str())), "{recipe}");
            assert_ne!(text(edit, "find"), edit["replace"].as_str().unwrap());
        }
        // A bug that is there already has nothing to edit.
        if edits(recipe).is_empty() {
            assert!(version.starts_with(text(recipe, "present")), "{recipe}");
        }
    }
}

#[test]
fn what_is_replaced_is_there_once() {
    let Some(archive) = archive() else { return };
    let (package, _) = source();
    let recipes = recipes();
    let of = |recipe: &Table, edit: &Table| {
        let file = edit.get("file").and_then(|value| value.as_str());
        file.unwrap_or_else(|| text(recipe, "file")).to_owned()
    };
    let named = recipes.iter().map(|recipe| text(recipe, "file").to_owned());
    let edited = recipes
        .iter()
        .flat_map(|recipe| edits(recipe).into_iter().map(move |edit| of(recipe, edit)));
    let files: BTreeSet<String> = named.chain(edited).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(folder.path());
    tar.args(files.iter().map(|file| format!("{package}/{file}")));
    assert!(tar.status().unwrap().success());
    for recipe in &recipes {
        let read =
            |file: &str| fs::read_to_string(folder.path().join(&package).join(file)).unwrap();
        assert!(read(text(recipe, "file")).contains(text(recipe, "function")), "{recipe}");
        let mut sources = BTreeMap::new();
        for edit in edits(recipe) {
            let file = of(recipe, edit);
            let source: &mut String = sources.entry(file.clone()).or_insert_with(|| read(&file));
            let find = text(edit, "find");
            assert_eq!(source.matches(find).count(), 1, "{}: {find}", text(recipe, "name"));
            *source = source.replace(find, edit["replace"].as_str().unwrap());
        }
    }
}
