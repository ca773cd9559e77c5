//! Reads a `Cargo.toml`: the package's name, the members of the workspace, and the dependencies
//! outside tests.

/// One `Cargo.toml`.
#[derive(Debug, Default)]
pub struct Manifest {
    /// The name of the package. Empty without a package.
    pub name: String,
    pub members: Vec<String>,
    /// The normal and build dependencies.
    pub depends: Vec<String>,
}

/// Reads the relevant lines. A list of members may have several lines.
pub fn manifest(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    let mut section = "";
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            section = name;
            // `[dependencies.explode-runtime]`
            if let Some((kind, name)) =
                name.rsplit_once('.').filter(|(kind, _)| is_production(kind))
            {
                section = kind;
                manifest.depends.push(unquoted(name));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        if section == "package" && key == "name" {
            manifest.name = unquoted(value);
        } else if section == "workspace" && key == "members" {
            let mut list = value.to_owned();
            while !list.contains(']') {
                list.push_str(lines.next().unwrap_or("]"));
            }
            manifest.members = strings(&list);
        } else if is_production(section) {
            manifest.depends.push(dependency(key, value));
        }
    }
    manifest
}

/// Returns true for sections such as `target.'cfg(unix)'.build-dependencies`.
fn is_production(section: &str) -> bool {
    let kind = section.rsplit('.').next().unwrap_or(section);
    matches!(kind, "dependencies" | "build-dependencies") && !section.starts_with("workspace")
}

/// Returns the package that a line names: `x = "1"`, `x.workspace = true`, `y = { package = "x" }`.
fn dependency(key: &str, value: &str) -> String {
    let renamed = value.split_once("package").and_then(|(_, rest)| rest.trim().strip_prefix('='));
    match renamed.map(strings) {
        Some(names) if !names.is_empty() => names[0].clone(),
        _ => unquoted(key.split('.').next().unwrap_or(key)),
    }
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

fn strings(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
