//! Everything of ours that can be named.

use explode_runtime::plan::Registry;

/// All our components, checkers and targets.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    registry
}
