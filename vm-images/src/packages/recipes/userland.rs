//! The files that packages would get from their scripts. `image/userland.txt` explains its lines.

use super::image::{RecipeLine, parse};

/// The text of the recipe.
pub(crate) const TEXT: &str = include_str!("../../../image/userland.txt");

/// Returns the lines for a package.
pub(crate) fn lines_of(package: &str) -> Vec<RecipeLine<'static>> {
    let mut is_of_package = false;
    let lines = parse(TEXT).expect("the recipe is part of this library and tested").into_iter();
    lines
        .filter(|line| {
            if let RecipeLine::Package { name, .. } = line {
                is_of_package = *name == package;
                return false;
            }
            is_of_package
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_its_lines() {
        let link = RecipeLine::Link { path: "/usr/bin/awk", target: "gawk" };
        assert_eq!(lines_of("gawk"), [link]);
        assert_eq!(lines_of("redis-server").len(), 2);
        assert_eq!(lines_of("no-such-package"), []);
    }
}
