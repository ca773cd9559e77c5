//! The progress of a long build: a bar on a terminal, else a line for each step.

use std::io::{IsTerminal as _, stderr};
use std::sync::Mutex;
use std::time::Duration;

use explode_vm::BuildProgress;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows the steps of a build on standard error.
#[derive(Debug, Default)]
pub struct Bar(Mutex<Option<ProgressBar>>);

impl BuildProgress for Bar {
    fn step(&self, text: &str) {
        let mut bar = self.0.lock().expect("no thread panics with this lock");
        if stderr().is_terminal() {
            let new = ProgressBar::new_spinner();
            new.set_style(
                ProgressStyle::with_template("{spinner} {msg} [{elapsed}]")
                    .expect("a sound template"),
            );
            new.set_message(text.to_owned());
            new.enable_steady_tick(Duration::from_millis(200));
            if let Some(old) = bar.replace(new) {
                old.finish_and_clear();
            }
        } else {
            crate::output::note(&format!("{text} ..."));
        }
    }

    fn tick(&self, done: u64, total: u64) {
        let bar = self.0.lock().expect("no thread panics with this lock");
        if let Some(bar) = &*bar {
            if bar.length().is_none() {
                let style = "{spinner} {msg} [{elapsed}] {wide_bar} {percent}%";
                bar.set_style(ProgressStyle::with_template(style).expect("a sound template"));
            }
            bar.set_length(total.max(done));
            bar.set_position(done);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.get_mut().ok().and_then(Option::take) {
            bar.finish_and_clear();
        }
    }
}
