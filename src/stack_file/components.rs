//! `[[component]]`: the layers of the stack.

use explode_components::command::{CommandOwner, KEYS, PROVIDES, check_placeholders};
use explode_runtime::base::{OptionValue, Options, UsageError};
use explode_runtime::plan::Registry;
use explode_runtime::stack::{COMMANDS, ComponentDef, Layer, StackSpec};

use super::document::{Table, Value};

/// The keys of every component.
const COMMON: [&str; 3] = ["use", "name", "children"];
/// The key that goes with the command `recover`.
const RECOVER_OK: &str = "recover_ok";

/// Returns the stack, bottom first.
pub fn stack(registry: &Registry, document: &Table<'_>) -> Result<StackSpec, UsageError> {
    let missing =
        || document.error("there is no [[component]]; name the layers of the stack, bottom first");
    let mut stack = StackSpec::default();
    for value in document.get("component").ok_or_else(missing)?.list()? {
        let table = value.table()?;
        let layer = layer(registry, &table, &stack)?;
        if stack.names().contains(&layer.name.as_str()) {
            let text =
                format!("there is a layer '{}' already; give this one another name", layer.name);
            return Err(if table.get("name").is_some() {
                table.key_error("name", text)
            } else {
                table.error(text)
            });
        }
        stack.0.push(layer);
    }
    if stack.0.is_empty() { Err(missing()) } else { Ok(stack) }
}

fn layer(registry: &Registry, table: &Table<'_>, below: &StackSpec) -> Result<Layer, UsageError> {
    let Some(used) = table.get("use") else { return commands(table, below) };
    let known = registry.components.iter().map(|def| &*def.name);
    let named = used.text()?;
    let found = registry.components.iter().find(|def| def.name == named);
    let def =
        found.ok_or_else(|| used.error(registry.components.unknown("component", named, known)))?;
    if let Some(command) =
        KEYS.iter().chain([&RECOVER_OK, &PROVIDES]).find(|key| is_strange(table, def, key))
    {
        let text = format!(
            "a component has 'use' or shell commands, and this one has 'use' and '{command}'"
        );
        return Err(table.key_error(command, text));
    }
    table.only(COMMON.into_iter().chain(def.options.iter().map(|option| option.name)))?;
    let options = used_options(table, &COMMON, |options| def.make(options).map(drop))?;
    let leaf = def.make(&options).is_ok_and(|component| component.facts().devices > 0);
    let children = children(table, below)?;
    let children = match (leaf, children) {
        (true, Some(children)) if !children.is_empty() => {
            return Err(table.key_error(
                "children",
                format!("'{named}' takes no children: it stands at the bottom"),
            ));
        }
        (true, _) => Vec::new(),
        (false, children) => children.unwrap_or_else(|| before(below)),
    };
    if children.is_empty()
        && let Some(on) = &def.on
    {
        return Err(table.error(format!(
            "'{named}' stands on something: put a component below it, such as '{on}'"
        )));
    }
    Ok(Layer { name: name(table, Some(named))?, component: named.to_owned(), children, options })
}

/// Returns true if the table has the key, and the component has no option of this name.
fn is_strange(table: &Table<'_>, def: &ComponentDef, key: &str) -> bool {
    table.get(key).is_some() && !def.options.iter().any(|option| option.name == key)
}

/// Returns a layer made of shell commands.
fn commands(table: &Table<'_>, below: &StackSpec) -> Result<Layer, UsageError> {
    table.only(COMMON.into_iter().chain(KEYS).chain([RECOVER_OK, PROVIDES]))?;
    let name = name(table, None)?;
    let children = children(table, below)?.unwrap_or_else(|| before(below));
    let mut options = Options::none();
    for key in KEYS {
        if let Some(value) = table.get(key) {
            options = options.with(key, command(&value, CommandOwner::Component(children.len()))?);
        }
    }
    if let Some(value) = table.get(RECOVER_OK) {
        if table.get("recover").is_none() {
            return Err(table.key_error(
                RECOVER_OK,
                "'recover_ok' without 'recover': write the command that it is for",
            ));
        }
        let code = |value: Value<'_>| match value.number()? {
            code @ 0..=255 => Ok(OptionValue::Int(code)),
            code => Err(value.error(format!("{code} is no exit code; use 0 to 255"))),
        };
        options = options.with(
            RECOVER_OK,
            OptionValue::List(value.list()?.map(code).collect::<Result<_, _>>()?),
        );
    }
    if let Some(value) = table.get(PROVIDES) {
        if table.get("mount").is_none() {
            return Err(table.key_error(
                PROVIDES,
                "'provides' without 'mount': write the command that makes it ready",
            ));
        }
        let provided = value.text()?;
        if !["device", "files"].contains(&provided) {
            let text = format!("a layer cannot provide '{provided}'; use \"device\" or \"files\"");
            return Err(value.error(text));
        }
        options = options.with(PROVIDES, provided);
    }
    Ok(Layer { name, component: COMMANDS.to_owned(), children, options })
}

/// Returns a shell command as an option.
pub fn command(value: &Value<'_>, context: CommandOwner) -> Result<OptionValue, UsageError> {
    let text = value.text()?;
    if text.trim().is_empty() {
        return Err(value.error("an empty command; omit the key"));
    }
    check_placeholders(text, context).map_err(|error| value.error(error))?;
    Ok(text.into())
}

/// Returns the options except these keys. `make` checks them.
pub fn used_options(
    table: &Table<'_>,
    keys: &[&str],
    make: impl Fn(&Options) -> Result<(), UsageError>,
) -> Result<Options, UsageError> {
    let mut options = Options::none();
    for key in table.keys().filter(|key| !keys.contains(key)) {
        let value = table.get(key).expect("it is one of the keys");
        let option = value.option()?;
        // Each option is checked alone first, so that its error has its place.
        make(&Options::none().with(key, option.clone())).map_err(|error| value.error(error))?;
        options = options.with(key, option);
    }
    make(&options).map_err(|error| table.error(error))?;
    Ok(options)
}

/// Returns the name of a layer or checker. It becomes part of paths and signatures.
pub fn name(table: &Table<'_>, default: Option<&str>) -> Result<String, UsageError> {
    let name = match (table.get("name"), default) {
        (Some(_), _) => table.required("name")?,
        (None, Some(default)) => default,
        (None, None) => {
            let text = "'use' names a component or checker of explode; one that is made of shell \
                        commands needs a 'name'";
            return Err(table.error(text));
        }
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(table.key_error(
            "name",
            format!("the name '{name}': use letters, digits, '-', '_' and '+'"),
        ));
    }
    Ok(name.to_owned())
}

/// Returns the children that the table lists. `None` without a list.
fn children(table: &Table<'_>, below: &StackSpec) -> Result<Option<Vec<String>>, UsageError> {
    let child = |value: Value<'_>| {
        let name = value.text()?;
        let unknown = || UsageError::unknown("layer below", name, below.names());
        below.names().contains(&name).then(|| name.to_owned()).ok_or_else(|| value.error(unknown()))
    };
    table.get("children").map(|value| value.list()?.map(child).collect()).transpose()
}

/// Returns the layer before, if there is one.
fn before(below: &StackSpec) -> Vec<String> {
    below.0.last().map(|layer| layer.name.clone()).into_iter().collect()
}
