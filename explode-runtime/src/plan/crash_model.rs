//! The models of simulated files, each as a variant of one plan (`docs/model/file-models.md`).

use std::fmt;

use explode_ramdisk::files::FileModel;

use super::plan::Plan;
use super::registry::Registry;
use crate::base::UsageError;
use crate::stack::{Layer, simfiles};

/// The rules by which a crash keeps or loses changes of simulated files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashModel {
    /// The promises of POSIX, or the order of a file system.
    Files(FileModel),
    /// Everything in order: a crash loses the last changes only.
    Strict,
}

impl CrashModel {
    /// All models, those that lose most first.
    pub const ALL: [CrashModel; 5] = [
        CrashModel::Files(FileModel::Posix),
        CrashModel::Files(FileModel::Ext4),
        CrashModel::Files(FileModel::Xfs),
        CrashModel::Files(FileModel::Btrfs),
        CrashModel::Strict,
    ];

    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            CrashModel::Files(model) => model.as_str(),
            CrashModel::Strict => "strict",
        }
    }
}

impl fmt::Display for CrashModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Plan {
    /// Returns the plan under a model.
    ///
    /// # Errors
    /// The stack has no simulated files with models, or its crashes are soft ones already.
    pub fn under(&self, registry: &Registry, model: CrashModel) -> Result<Plan, UsageError> {
        if self.settings.soft {
            let text = "soft crashes are the model strict already; omit --soft";
            return Err(UsageError(text.to_owned()));
        }
        let mut plan = self.clone();
        let mut is_any = false;
        for layer in plan.stack.0.iter_mut().filter(|layer| has_models(registry, layer)) {
            is_any = true;
            let files = if let CrashModel::Files(files) = model { files } else { FileModel::Posix };
            let options = std::mem::take(&mut layer.options);
            layer.options = options.with(simfiles::MODEL.name, files.as_str());
        }
        if model == CrashModel::Strict {
            (plan.settings.soft, plan.settings.crash_depth) = (true, 0);
        }
        let text =
            format!("{}: the stack has no simulated files, so it has no models", self.target);
        if is_any { Ok(plan) } else { Err(UsageError(text)) }
    }
}

impl Plan {
    /// Returns true if a command of the stack recovers, and its crashes are wanted.
    pub fn crashes_recovery_commands(&self) -> bool {
        let recovers = |layer: &Layer| layer.options.contains("recover");
        self.settings.crash_depth > 0 && self.stack.0.iter().any(recovers)
    }
}

/// Returns true for simulated files whose model is an option.
fn has_models(registry: &Registry, layer: &Layer) -> bool {
    let def = registry.component(&layer.component);
    let is_model =
        |name: &str, about: &str| (name, about) == (simfiles::MODEL.name, simfiles::MODEL.about);
    def.is_ok_and(|def| def.options.iter().any(|option| is_model(option.name, option.about)))
}
