//! The description of a stack: which components it is made of, bottom first, with which options. It
//! stands in the plan, and in every trace.

use serde::{Deserialize, Serialize};

use crate::base::{Options, UsageError};

/// One component of a stack, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LayerText", into = "LayerText")]
pub struct Layer {
    /// Its name in this stack.
    pub name: String,
    /// Which component it is.
    pub component: String,
    /// The names of the layers that it stands on.
    pub children: Vec<String>,
    /// Its options.
    pub options: Options,
}

/// The same as it is written, in traces too.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    name: String,
    #[serde(rename = "use")]
    component: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<String>,
    /// Those that were given.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    options: Options,
    /// What holds for the others.
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

/// Of an option whose text has more bytes a line shows only that it is there.
const LONG: usize = 32;

impl Layer {
    /// Returns true if it is made of shell commands.
    pub fn has_commands(&self) -> bool {
        self.component == COMMANDS
    }

    /// Returns an error if its name, which is part of paths, leads out of a folder.
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

    /// Its name with its options, for a line that a person reads: of long texts only that they are
    /// there, and of a layer made of commands the name alone, for they stand in the stack file, and
    /// in each trace.
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
    /// Puts a component on top of what is there.
    #[must_use = "this returns the taller stack"]
    pub fn plug(mut self, component: &str, options: Options) -> StackSpec {
        let children = self.0.last().map(|below| below.name.clone()).into_iter().collect();
        let component = component.to_owned();
        self.0.push(Layer { name: component.clone(), component, children, options });
        self
    }

    /// The numbers of the layers that this one stands on: they are before it.
    pub(crate) fn children_of(&self, at: usize) -> Result<Vec<usize>, UsageError> {
        let place = |child: &String| {
            let found = self.0[..at].iter().position(|layer| layer.name == *child);
            found.ok_or_else(|| UsageError::unknown("layer", child, self.names()))
        };
        self.0[at].children.iter().map(place).collect()
    }

    /// The names of the layers, bottom first.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|layer| layer.name.as_str()).collect()
    }

    /// Which components they are, bottom first.
    pub fn components(&self) -> Vec<&str> {
        self.0.iter().map(|layer| layer.component.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
