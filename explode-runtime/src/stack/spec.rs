//! The description of a stack: its components, bottom first, and their options. It is part of the
//! plan and of every trace.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::base::{Options, UsageError};

/// One component of a stack, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LayerText", into = "LayerText")]
pub struct Layer {
    /// The name of the layer in this stack.
    pub name: String,
    /// The name of the component.
    pub component: String,
    /// The names of the layers directly below.
    pub children: Vec<String>,
    /// The options of the component.
    pub options: Options,
}

/// A layer as it is serialised, in traces as well.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    name: String,
    #[serde(rename = "use")]
    component: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<String>,
    /// The options that were given.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    options: Options,
    /// The effective values of the other options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    defaults: Options,
}

impl From<LayerText> for Layer {
    fn from(written: LayerText) -> Layer {
        let LayerText { name, component, children, options, defaults } = written;
        Layer { name, component, children, options: options.with_defaults(defaults) }
    }
}

impl From<Layer> for LayerText {
    fn from(layer: Layer) -> LayerText {
        let Layer { name, component, children, options } = layer;
        let defaults = options.defaults();
        LayerText { name, component, children, options, defaults }
    }
}

/// The component of a layer that is made of shell commands. The name is part of the format of stack
/// files and traces.
pub const COMMANDS: &str = "commands";

/// The number of bytes above which an option's text is shown as `...`.
const LONG: usize = 32;

impl Layer {
    /// Returns true if the layer is made of shell commands.
    pub fn has_commands(&self) -> bool {
        self.component == COMMANDS
    }

    /// Returns an error if the name, which is part of paths, could lead out of a folder.
    pub(crate) fn check_name(&self) -> Result<(), UsageError> {
        let name = &self.name;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            let text = format!(
                "'{name}' cannot be the name of a layer; use letters, digits, '-', '_' and '+'"
            );
            return Err(UsageError(text));
        }
        Ok(())
    }

    /// Returns the name and the options for a person to read. Long texts are shown as `...`. A
    /// layer made of commands shows its name only, because the stack file and each trace contain
    /// the commands.
    pub fn shown(&self) -> String {
        if self.has_commands() || self.options.is_empty() {
            return self.name.clone();
        }
        let short = |text: String| if text.len() > LONG { "...".to_owned() } else { text };
        let options: Vec<String> = self
            .options
            .iter()
            .map(|(name, value)| format!("{name}={}", short(value.to_string())))
            .collect();
        format!("{}({})", self.name, options.join(", "))
    }
}

/// A stack's description, bottom first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StackSpec(pub Vec<Layer>);

impl StackSpec {
    /// Puts a component on top of the stack.
    #[must_use = "this returns the taller stack"]
    pub fn plug(mut self, component: &str, options: Options) -> StackSpec {
        let children = self.0.last().map(|below| below.name.clone()).into_iter().collect();
        let component = component.to_owned();
        self.0.push(Layer { name: component.clone(), component, children, options });
        self
    }

    /// Returns the stack without a layer. What stood on it stands on its first child, and layers on
    /// which nothing stands any more are left out.
    ///
    /// # Errors
    /// There is no such layer, or it has no child.
    pub fn without(&self, name: &str) -> Result<StackSpec, UsageError> {
        let left_out = self.0.iter().find(|layer| layer.name == name);
        let left_out = left_out.ok_or_else(|| UsageError::unknown("layer", name, self.names()))?;
        let child = left_out.children.first().ok_or_else(|| {
            let text = format!("'{name}' is at the bottom of the stack; name a layer above it");
            UsageError(text)
        })?;
        let mut layers: Vec<Layer> =
            self.0.iter().filter(|layer| layer.name != name).cloned().collect();
        let children = layers.iter_mut().flat_map(|layer| &mut layer.children);
        children.filter(|below| *below == name).for_each(|below| below.clone_from(child));
        let top = self.0.last().map(|top| if top.name == name { child } else { &top.name });
        let mut used: BTreeSet<String> = top.into_iter().cloned().collect();
        for layer in layers.iter().rev() {
            if used.contains(&layer.name) {
                used.extend(layer.children.iter().cloned());
            }
        }
        layers.retain(|layer| used.contains(&layer.name));
        Ok(StackSpec(layers))
    }

    /// Returns the numbers of the layers directly below this one. They precede it.
    pub(crate) fn children_of(&self, at: usize) -> Result<Vec<usize>, UsageError> {
        let place = |child: &String| {
            let found = self.0[..at].iter().position(|layer| layer.name == *child);
            found.ok_or_else(|| UsageError::unknown("layer", child, self.names()))
        };
        self.0[at].children.iter().map(place).collect()
    }

    /// Returns the names of the layers, bottom first.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|layer| layer.name.as_str()).collect()
    }

    /// Returns the names of the components, bottom first.
    pub fn components(&self) -> Vec<&str> {
        self.0.iter().map(|layer| layer.component.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a stack of layers, each with its children.
    fn stack(layers: &[(&str, &[&str])]) -> StackSpec {
        let layer = |(name, children): &(&str, &[&str])| Layer {
            name: (*name).to_owned(),
            component: "test".to_owned(),
            children: children.iter().map(|child| (*child).to_owned()).collect(),
            options: Options::none(),
        };
        StackSpec(layers.iter().map(layer).collect())
    }

    #[test]
    fn a_layer_is_left_out() {
        let disks: [(&str, &[&str]); 3] = [("d0", &[]), ("d1", &[]), ("array", &["d0", "d1"])];
        let tall = stack(&[&disks[..], &[("fs", &["array"]), ("db", &["fs"])]].concat());
        let without = |name| tall.without(name).unwrap();
        assert_eq!(without("array"), stack(&[("d0", &[]), ("fs", &["d0"]), ("db", &["fs"])]));
        assert_eq!(without("db"), stack(&[&disks[..], &[("fs", &["array"])]].concat()));
        assert_eq!(without("fs"), stack(&[&disks[..], &[("db", &["array"])]].concat()));
        // The disk below the top layer becomes the top, also if it is not the last one.
        assert_eq!(stack(&disks).without("array").unwrap(), stack(&[("d0", &[])]));
        // A journal on a second disk stays, if another layer stands on it.
        let journal = stack(&[("d0", &[]), ("d1", &[]), ("top", &["d0"]), ("fs", &["top", "d1"])]);
        let expected = stack(&[("d0", &[]), ("d1", &[]), ("fs", &["d0", "d1"])]);
        assert_eq!(journal.without("top").unwrap(), expected);
        let refused = |name| tall.without(name).unwrap_err().0;
        assert_eq!(refused("d1"), "'d1' is at the bottom of the stack; name a layer above it");
        assert_eq!(refused("arrays"), "unknown layer 'arrays'; did you mean 'array'?");
    }

    #[test]
    fn a_layer_is_shown_with_its_short_options() {
        let layer = |component: &str, options: Options| Layer {
            name: "db".to_owned(),
            component: component.to_owned(),
            children: Vec::new(),
            options,
        };
        assert_eq!(layer("sqlite", Options::none()).shown(), "db");
        let (long, short) = ("x".repeat(33), "x".repeat(32));
        let options = Options::none().with("schema", long.as_str()).with("mode", short.as_str());
        assert_eq!(
            layer("sqlite", options.clone()).shown(),
            format!("db(mode={short}, schema=...)")
        );
        assert_eq!(layer(COMMANDS, options).shown(), "db");
    }
}
