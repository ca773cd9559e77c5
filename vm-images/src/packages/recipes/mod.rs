//! The recipes, which name packages.

pub(crate) mod image;
pub(crate) mod tools;
pub(crate) mod userland;

/// Returns the names of all packages of Debian that a recipe names.
pub(crate) fn package_names() -> Vec<String> {
    let of_image = image::lines();
    let of_image = of_image.iter().filter_map(image::RecipeLine::package).map(str::to_owned);
    tools::package_names().into_iter().chain(of_image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_tools_and_image_are_known() {
        let names = package_names();
        assert!(
            ["rustc-web", "libc6"].iter().all(|known| names.iter().any(|name| name == known)),
            "{names:?}"
        );
    }
}
