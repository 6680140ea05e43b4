//! What a session is called: the first line that the user said.

use epitome_core::{Block, Message, Role};

/// Characters of a label.
const LABEL: usize = 60;
/// What tools put before the words of the user, other than in angle brackets.
const SURROUNDINGS: [&str; 2] = ["# AGENTS.md instructions", "Caveat: The messages below were generated"];

/// What a session would be called after this message.
pub(super) fn label(message: &Message) -> Option<String> {
    let texts = message.blocks.iter().filter(|_| message.role == Role::User);
    let texts =
        texts.filter_map(|block| if let Block::Text(text) = block { Some(text.text.as_str()) } else { None });
    let line = texts.filter_map(first_line).next()?;
    let mut label: String = line.chars().filter(|letter| !letter.is_control()).take(LABEL).collect();
    if line.chars().nth(LABEL).is_some() {
        label.push('…');
    }
    Some(label)
}

fn first_line(text: &str) -> Option<&str> {
    let said = behind_tags(text);
    if SURROUNDINGS.iter().any(|surroundings| said.starts_with(surroundings)) {
        return None;
    }
    said.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('<'))
}

// Tools put words of their own in front of the user's, each between a tag and its end.
fn behind_tags(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(opened) = rest.strip_prefix('<') {
        let name = opened.split(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter))).next();
        let end = name.filter(|name| !name.is_empty()).map(|name| format!("</{name}>"));
        let Some(behind) = end.and_then(|end| opened.split_once(&end)).map(|(_, behind)| behind) else {
            break;
        };
        rest = behind.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_names_a_session() {
        let cases = [
            ("Mend the pump", Some("Mend the pump")),
            ("\n  Mend it\nsoon", Some("Mend it")),
            ("<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>", None),
            ("<user_instructions>\nAlways test.\n</user_instructions>", None),
            ("<ide_opened_file>a.rs</ide_opened_file>\nWhat is it?", Some("What is it?")),
            ("<b> is bold", None),
            ("# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>", None),
        ];
        for (text, expected) in cases {
            assert_eq!(label(&Message::text(Role::User, text)).as_deref(), expected, "{text}");
        }
        assert_eq!(label(&Message::text(Role::Assistant, "Mend the pump")), None);
    }
}
