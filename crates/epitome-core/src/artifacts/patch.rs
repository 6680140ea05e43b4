//! Which files a patch touches: the headers of `apply_patch` and of unified diffs.

use super::{Deed, Effect};

/// The effects of applying a patch.
pub(super) fn effects(patch: &str) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut old = "";
    for line in patch.lines() {
        if let Some(header) = line.strip_prefix("*** ") {
            if let Some(target) = header.strip_prefix("Move to: ") {
                // The file whose update stands above goes, under its old name.
                if let Some(moved) = effects.last_mut() {
                    moved.deed = Deed::Delete;
                }
                effects.extend(Effect::new(Deed::Write, target));
            } else {
                effects.extend(section(header));
            }
        } else if let Some(name) = line.strip_prefix("--- ") {
            old = diff_name(name);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            effects.extend(unified(old, diff_name(name)));
        }
    }
    effects
}

fn section(header: &str) -> Option<Effect> {
    let (deed, file) = header.split_once(" File: ")?;
    let deed = match deed {
        "Add" => Deed::Create,
        "Update" => Deed::Modify,
        "Delete" => Deed::Delete,
        _ => return None,
    };
    Effect::new(deed, file)
}

fn unified(old: &str, new: &str) -> Option<Effect> {
    match (old, new) {
        ("/dev/null", new) => Effect::new(Deed::Create, strip_side(new)),
        (old, "/dev/null") => Effect::new(Deed::Delete, strip_side(old)),
        (_, new) => Effect::new(Deed::Modify, strip_side(new)),
    }
}

// A time may follow the name after a tab.
fn diff_name(written: &str) -> &str {
    written.split('\t').next().unwrap_or(written).trim()
}

// git writes `a/` and `b/` in front of names.
fn strip_side(name: &str) -> &str {
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_tell_the_files() {
        let patch = "*** Begin Patch\n*** Add File: src/new.rs\n+fn a() {}\n*** Update File: src/old.rs\n*** Move to: src/moved.rs\n@@\n-a\n+b\n*** Delete File: src/gone.rs\n*** End Patch";
        let found: Vec<_> = effects(patch).into_iter().map(|effect| (effect.deed, effect.file)).collect();
        let expected = [
            (Deed::Create, "src/new.rs"),
            (Deed::Delete, "src/old.rs"),
            (Deed::Write, "src/moved.rs"),
            (Deed::Delete, "src/gone.rs"),
        ];
        assert_eq!(found, expected.map(|(deed, file)| (deed, file.to_owned())));
        let diff = "diff --git a/x.py b/x.py\n--- a/x.py\t2026-01-01\n+++ b/x.py\t2026-01-02\n@@ -1 +1 @@\n--- /dev/null\n+++ b/y.py\n--- a/z.py\n+++ /dev/null\n";
        let found: Vec<_> = effects(diff).into_iter().map(|effect| (effect.deed, effect.file)).collect();
        let expected = [(Deed::Modify, "x.py"), (Deed::Create, "y.py"), (Deed::Delete, "z.py")];
        assert_eq!(found, expected.map(|(deed, file)| (deed, file.to_owned())));
        assert!(effects("nothing of the kind\n*** Hello").is_empty());
    }
}
