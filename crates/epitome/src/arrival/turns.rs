//! Messages as the turns that record them: what goes into a call, and what came out.

use epitome_core::Role;
use epitome_core::turn::is_framed;
use epitome_ledger::model::{NewMessage, NewReply, NewTurn, TurnId};
use epitome_wire::decode_message;

use crate::engine::Inner;
use crate::session::Draft;

/// So many characters of what is said first are the label of a session.
const LABEL: usize = 80;

/// Turns to be recorded.
pub(super) struct Turns {
    pub(super) all: Vec<NewTurn>,
    label: Option<String>,
}

impl Turns {
    pub(super) fn of(drafts: &[Draft], inner: &Inner) -> Self {
        let model = Some(inner.model.id.to_string()).filter(|model| !model.is_empty());
        let mut all: Vec<NewTurn> = Vec::new();
        for group in drafts.chunk_by(|left, right| is_reply(left) == is_reply(right)) {
            let messages: Vec<NewMessage> =
                group.iter().map(|draft| draft.new_message(inner.dialect)).collect();
            if group.first().is_some_and(is_reply) {
                let reply = NewReply {
                    messages,
                    tool_calls: group.iter().map(Draft::calls).sum(),
                    ..NewReply::default()
                };
                match all.last_mut() {
                    Some(turn) => turn.reply = Some(reply),
                    None => all.push(NewTurn { reply: Some(reply), ..NewTurn::of(Vec::new()) }),
                }
            } else {
                all.push(NewTurn { model: model.clone(), ..NewTurn::of(messages) });
            }
        }
        let label = label(drafts, inner);
        Self { all, label }
    }

    /// The turn of the last call.
    pub(super) fn last(&self) -> Option<TurnId> {
        self.all.last().map(|turn| turn.id)
    }

    /// What people may call a session that begins with them.
    pub(super) fn label(&self) -> Option<String> {
        self.label.clone()
    }

    /// Takes the reply that they begin with: the answer to a call that is recorded.
    pub(super) fn take_leading_reply(&mut self) -> Option<NewReply> {
        let first = self.all.first().filter(|turn| turn.input.is_empty())?;
        let reply = first.reply.clone();
        self.all.remove(0);
        reply
    }
}

fn is_reply(draft: &Draft) -> bool {
    draft.role() == Role::Assistant
}

// How the user begins; what programs say in the user's name counts only where nothing else is said.
fn label(drafts: &[Draft], inner: &Inner) -> Option<String> {
    let opening =
        drafts.iter().take_while(|draft| !is_reply(draft)).filter(|draft| draft.role() == Role::User);
    let mut texts: Vec<String> = Vec::new();
    for draft in opening {
        let (message, _) = decode_message(inner.dialect, &draft.json).ok()?;
        texts.extend(message.blocks.into_iter().filter_map(|block| match block {
            epitome_core::Block::Text(text) => Some(text.text),
            _ => None,
        }));
    }
    let said = texts.iter().find(|text| !is_framed(text)).or(texts.first())?;
    let label: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LABEL).collect();
    (!label.is_empty()).then_some(label)
}
