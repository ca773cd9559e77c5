//! The registry of explode's own parts.

use explode_runtime::plan::Registry;

/// Returns a registry with all components, checkers and targets of explode.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    explode_checkers::register(&mut registry);
    explode_cluster::register(&mut registry);
    registry
}
