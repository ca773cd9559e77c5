//! What `explode matrix` asks of each file system.

use explode_runtime::run::{Bounds, Options, Question};

use super::{failures, sync};

/// Crashes during recovery are a question of their own.
const BOUNDS: Bounds = Bounds { depth: 2, limit: 200, samples: 40, crash_depth: 0 };

/// The columns, in order.
pub(crate) fn questions() -> Vec<Question> {
    let question = |name, about, checker, bounds| Question {
        name,
        about,
        checker,
        options: Options::none(),
        set: Vec::new(),
        bounds,
        way: false,
    };
    let shallow = Bounds { depth: 1, ..BOUNDS };
    vec![
        question("synced", "what was synced is there after every crash", sync::DEF.name, BOUNDS),
        question(
            "recovery",
            "the same after crashes during recovery",
            sync::DEF.name,
            Bounds { crash_depth: 1, ..shallow },
        ),
        Question {
            set: vec![("fail", "slab,request".into())],
            ..question("failed-calls", "a call that fails has no effect", failures::DEF.name, shallow)
        },
    ]
}
