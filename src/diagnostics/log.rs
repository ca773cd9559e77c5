//! The selection and the format of log lines.

use std::io::Write;

use explode_runtime::base::UsageError;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::{self, MakeWriter, time};
use tracing_subscriber::registry::LookupSpan;

/// The variable that selects the log lines.
pub const VARIABLE: &str = "RUST_LOG";

/// Returns the directives that `-v`, given `verbose` times, and `RUST_LOG` ask for. Empty without
/// both.
///
/// # Errors
/// `RUST_LOG` cannot be parsed.
pub fn directives(verbose: u8) -> Result<String, UsageError> {
    let level = match verbose {
        0 => None,
        1 => Some("info".to_owned()),
        _ => Some("debug".to_owned()),
    };
    let variable = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty());
    let directives: Vec<String> = level.into_iter().chain(variable).collect();
    let directives = directives.join(",");
    parse(&directives).map(|_| directives).map_err(|why| {
        UsageError(format!(
            "{VARIABLE}: {why}; name a level (info, debug, trace), or one for a crate, as in \
             explode_runtime=debug"
        ))
    })
}

fn parse(directives: &str) -> Result<Targets, String> {
    directives.parse().map_err(|error| format!("{error}"))
}

/// Returns the layer that writes a line for each span that closes and for each event. `None`
/// without directives.
pub fn layer<S, W>(directives: &str, to: W) -> Option<impl Layer<S> + use<S, W>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let targets = parse(directives).ok().filter(|_| !directives.is_empty())?;
    let lines = fmt::layer().with_writer(to).with_timer(time::uptime());
    let lines = lines.with_target(false).with_span_events(FmtSpan::CLOSE);
    Some(lines.with_filter(targets))
}

/// Passes each line to this function.
#[derive(Clone, Copy, Debug)]
pub struct Above(pub fn(&[u8]));

impl Write for Above {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        (self.0)(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Above {
    type Writer = Above;

    fn make_writer(&self) -> Above {
        *self
    }
}
