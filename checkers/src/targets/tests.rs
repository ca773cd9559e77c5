//! Tests of the tables: each is read, and an error names the wrong key.

use std::collections::BTreeSet;
use std::path::Path;

use explode_runtime::plan::{Plan, Registry, TargetList};

use super::{TABLES, add};

fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    crate::register(&mut registry);
    registry
}

/// Reads a table and returns its error.
fn error_of(text: &str) -> String {
    add(&mut TargetList::default(), "t.toml", text).unwrap_err().0
}

/// Returns the start of a table whose entries need only a name.
fn common(more: &str) -> String {
    format!(
        "family = \"F\"\nreal = true\n{more}\n[common]\nabout = \"what it shows\"\n\
         stack = [{{ use = \"simfiles\" }}]\nchecker = {{ use = \"fs-sync\", hole = 4096 }}\n\
         bounds = {{ depth = 1, limit = 2, samples = 2, crash_depth = 0 }}\nexpect = \"clean\"\n"
    )
}

/// Reads a table whose entries need only a name.
fn added(entries: &str) -> TargetList {
    let mut list = TargetList::default();
    add(&mut list, "t.toml", &(common("") + entries)).unwrap();
    list
}

#[test]
fn each_file_of_the_folder_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        format!("checkers/targets/{}", entry.unwrap().file_name().to_str().unwrap())
    };
    let present: BTreeSet<String> = folder.read_dir().unwrap().map(name).collect();
    assert_eq!(present, TABLES.iter().map(|(path, _)| (*path).to_owned()).collect());
}

/// The components, checkers and options of each target exist, and the options accept the values.
#[test]
fn each_target_can_be_run() {
    let known = registry();
    for (path, text) in TABLES {
        let mut read = TargetList::default();
        add(&mut read, path, text).unwrap();
        for target in &read.targets {
            let which = format!("{path}: target '{}'", target.name);
            let plan = Plan::of(&known, target).unwrap_or_else(|error| panic!("{which}: {error}"));
            plan.check(&known).unwrap_or_else(|error| panic!("{which}: {error}"));
        }
    }
}

#[test]
fn each_target_has_a_name_and_a_family() {
    let registry = registry();
    let list = registry.targets.list();
    let names: BTreeSet<&str> = list.targets.iter().map(|target| &*target.name).collect();
    assert_eq!(names.len(), list.targets.len());
    let listed = list.families.iter().flat_map(|family| &family.targets);
    assert_eq!(listed.clone().count(), names.len());
    assert_eq!(listed.map(|name| &**name).collect::<BTreeSet<&str>>(), names);
}

/// A twin has the same checker, no bug, and the same family.
#[test]
fn each_twin_is_the_system_without_the_bug() {
    let registry = registry();
    let list = registry.targets.list();
    for (name, twin) in &list.twins {
        let bug = registry.target(name).unwrap();
        let twin = registry.target(twin).unwrap();
        assert!(bug.seeded && !twin.seeded, "{name}");
        assert_eq!(bug.checker, twin.checker, "{name}");
        assert_ne!(bug.stack, twin.stack, "{name}");
        let heading = |name| list.families.iter().position(|all| all.targets.contains(name));
        assert_eq!(heading(&bug.name), heading(&twin.name), "{name}");
    }
    let without: Vec<&str> = list
        .targets
        .iter()
        .filter(|target| target.seeded && !list.twins.contains_key(&target.name))
        .map(|target| &*target.name)
        .collect();
    let expected =
        ["toyfs-reasonable+rename-loop", "simfiles-moved+two-names", "ext4+cut-then-write"];
    assert_eq!(without, expected);
}

/// A template makes one target per row, each followed by its bugs.
#[test]
fn templates_have_a_target_for_each_row() {
    let list = added(
        "[[target]]\n\
         name = \"{system}{number}\"\n\
         bounds = { depth = \"{depth}\" }\n\
         columns = [\"system\", \"number\", \"depth\"]\n\
         rows = [[\"a\", 1, 3], [\"b\", 2, 4]]\n\
         [[target.bugs]]\n\
         name = \"{system}+{bug}\"\n\
         about = \"{system} on {disk}\"\n\
         stack = [{ use = \"{disk}\" }, { use = \"{system}\", bug = \"{bug}\" }]\n\
         words = { disk = \"ramdisk\" }\n\
         columns = [\"bug\", \"expect\"]\n\
         rows = [[\"x\", \"lost\"], [\"y\", \"corrupt\"]]\n",
    );
    let shown = |target: &explode_runtime::plan::Target| {
        let twin = list.twins.get(&target.name).map_or("-", |twin| &**twin);
        let layers: Vec<String> = target.stack.0.iter().map(|layer| layer.shown()).collect();
        format!(
            "{} {twin} {} {} {} {} {}",
            target.name,
            target.seeded,
            target.bounds.depth,
            target.bounds.limit,
            target.expect,
            layers.join("<")
        )
    };
    assert_eq!(
        list.targets.iter().map(shown).collect::<Vec<_>>(),
        [
            "a1 - false 3 2 clean simfiles",
            "a+x a1 true 3 2 lost ramdisk<a(bug=x)",
            "a+y a1 true 3 2 corrupt ramdisk<a(bug=y)",
            "b2 - false 4 2 clean simfiles",
            "b+x b2 true 4 2 lost ramdisk<b(bug=x)",
            "b+y b2 true 4 2 corrupt ramdisk<b(bug=y)",
        ]
    );
}

/// An entry replaces the keys of `[common]`.
#[test]
fn an_entry_replaces_common_values() {
    let list = added(
        "[[target]]\nname = \"a\"\nchecker = { far = 1 }\n\
         [[target]]\nname = \"b\"\nchecker = { use = \"fs-basic\" }\n\
         stack = [{ use = \"d\", name = \"d0\" }, { use = \"d\", children = [] }, \
         { use = \"m\", children = [\"d0\", \"d\"] }, { use = \"f\" }]\n",
    );
    let [a, b] = list.targets.as_slice() else { panic!() };
    let options = |target: &explode_runtime::plan::Target| {
        target.checker_options.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((&*a.checker, options(a)), ("fs-sync", vec!["far".into(), "hole".into()]));
    assert_eq!((&*b.checker, options(b)), ("fs-basic", Vec::new()));
    let children: Vec<_> = b.stack.0.iter().map(|layer| layer.children.join(",")).collect();
    assert_eq!(children, ["", "", "d0,d", "m"]);
}

#[test]
fn a_feature_that_is_off_has_no_targets() {
    let mut list = TargetList::default();
    let text = common("feature = \"engines\"") + "[[target]]\nname = \"a\"\n";
    add(&mut list, "t.toml", &text).unwrap();
    assert_eq!(list.targets.len(), usize::from(cfg!(feature = "engines")));
}

/// The text of an error names the file, the entry and the key.
#[test]
fn errors_name_the_file_the_entry_and_the_key() {
    let wrong = |entry: &str, expected: &[&str]| {
        let error = error_of(&(common("") + "[[target]]\n" + entry));
        assert!(error.starts_with("t.toml: target "), "{error}");
        assert!(!error.contains('\n'), "{error}");
        expected.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
    };
    wrong("name = \"a\"\nabuot = \"x\"", &["target 'a'", "unknown field `abuot`", "`about`"]);
    wrong("about = \"a\"", &["target number 1", "missing field `name`"]);
    wrong("name = \"a\"\nexpect = \"lots\"", &["target 'a'", "`lots`", "`lost`", "`expect`"]);
    wrong("name = \"a\"\nbounds = { deep = 3 }", &["target 'a'", "`deep`", "`depth`", "`bounds`"]);
    wrong("name = \"a\"\nbounds = 3", &["target 'a'", "bounds: expected a table, found integer"]);
    wrong("name = \"a\"\nstack = [{ on = 1 }]", &["target 'a'", "missing field `use`", "stack"]);
    wrong("name = \"a\"\nseeded = 3", &["target 'a'", "seeded is true, false or the name"]);
    wrong("name = \"a\"\nstack = [{ use = \"x\", size = 1.5 }]", &["target 'a'", "true or false"]);
    wrong(
        "name = \"{b}\"\nwords = { bug = \"x\" }",
        &["'{b}'", "name: unknown column or word 'b'"],
    );
    wrong("name = \"{bug\"\n", &["name: ", "without a '}'"]);
    wrong("name = \"a\"\ncolumns = [\"b\"]", &["'columns' and 'rows' go together"]);
    wrong("name = \"a\"\ncolumns = [\"b\"]\nrows = [[1, 2]]", &["row 1 has 2 cells for 1 columns"]);
    wrong("name = \"a\"\n[[target.bugs]]\nname = \"b\"", &["bug 'b': missing field `about`"]);
}

#[test]
fn errors_outside_the_entries_name_the_file() {
    let unread = error_of("family = \"F\"\nreal = 1\ntarget = []\n");
    assert!(unread.starts_with("t.toml: ") && unread.contains("line 2"), "{unread}");
    let unknown = error_of(&common("features = \"engines\""));
    assert!(unknown.contains("unknown field `features`"), "{unknown}");
    let feature = error_of(&common("feature = \"motors\""));
    assert!(feature.contains("unknown variant `motors`"), "{feature}");
}
