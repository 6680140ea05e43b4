//! What is being worked on.

use crate::checkpoint::Checkpoint;
use crate::compact::is_summary;
use crate::message::{Block, Message, Role};
use crate::secrets::masked;

/// So many characters say what a task is.
const LONGEST: usize = 600;
/// What is shorter and has only such words goes on with what was asked before.
const GOING_ON: &str = "ok okay yes yeah yep yup sure go on ahead continue please thanks thank you great good nice perfect cool do it \
    that's right fine next proceed and so much very well done awesome k y lgtm looks ja weiter mach bitte danke gut super \
    genau passt all of them oui continue merci d'accord parfait sí si sigue gracias vale perfecto adelante 好 好的 继续 谢谢 はい 続けて \
    ありがとう";

/// The last request of the user that is more than "go on"; without one, what a checkpoint says is in progress, or was
/// asked for last.
///
/// `messages` are those that the checkpoint does not cover. Secrets are masked.
pub fn current_task(messages: &[Message], checkpoint: Option<&Checkpoint>) -> Option<String> {
    let asked = messages.iter().rev().filter(|message| is_spoken(message)).find_map(|message| {
        let text = said(message);
        // What stands in brackets alone was put in by a program.
        let put_in = text.starts_with('[') && text.ends_with(']') && !text.contains('\n');
        (!goes_on(&text) && !put_in).then_some(text)
    });
    let recorded = || {
        let checkpoint = checkpoint?;
        let progress = checkpoint.in_progress.last().map(|item| item.text().to_owned());
        let request = || checkpoint.request.as_ref().map(|request| request.text().to_owned());
        let goal = || checkpoint.goal.as_ref().map(|item| item.text().to_owned());
        progress.or_else(request).or_else(goal)
    };
    asked.or_else(recorded).map(|task| clipped(&masked(task.trim())))
}

// A person says it: no summary, and no message that only carries the results of tools.
fn is_spoken(message: &Message) -> bool {
    let carries = message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
    message.role == Role::User && !carries && !is_summary(message)
}

fn said(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.trim()),
        _ => None,
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn goes_on(text: &str) -> bool {
    let low = text.to_lowercase().replace('’', "'");
    let mut words =
        low.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').filter(|word| !word.is_empty());
    words.all(|word| GOING_ON.split_ascii_whitespace().any(|known| known == word))
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            let word = kept.rfind(char::is_whitespace).filter(|at| *at > LONGEST / 2).unwrap_or(end);
            format!("{}…", kept.get(..word).unwrap_or(kept).trim_end())
        }
    }
}
