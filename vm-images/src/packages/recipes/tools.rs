//! The packages from which the tools and the kernel are made. `kernel/tools.txt` explains its
//! sections.

/// The packages and their versions.
const TEXT: &str = include_str!("../../../kernel/tools.txt");

/// Returns the names of all Debian packages in the recipe.
pub(crate) fn package_names() -> Vec<String> {
    ["source", "rust", "libraries"].into_iter().flat_map(lines).map(|(name, _)| name).collect()
}

/// Returns the lines of one section: names and versions.
pub(crate) fn lines(section: &str) -> Vec<(String, String)> {
    let mut current = "";
    let mut found = Vec::new();
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']');
        } else if let Some((name, version)) = line.split_once(' ')
            && current == section
        {
            found.push((name.to_owned(), version.trim().to_owned()));
        }
    }
    found
}
