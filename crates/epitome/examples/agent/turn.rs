//! One turn of an agent: call the model, run the tools it asks for, until it has nothing more to ask.

use epitome::{Compact, Input, Reply, Session};

use crate::claude::{Claude, Refused};
use crate::tools::Tools;

const SYSTEM: &str = "You help with the files in this folder. Look before you answer.";

/// Takes what the user says; the model's words are shown as they come.
pub(crate) async fn turn(session: &Session, claude: &Claude, tools: &Tools, said: &str) -> crate::Result<()> {
    if said == "/compact" {
        let report = session.compact(Compact::now()).await?.report;
        (claude.show)(&format!("{} → {} tokens", report.tokens_before, report.tokens_after));
        return Ok(());
    }
    session.beside(SYSTEM, &tools.definitions().to_string());
    session.append(said).await?;
    let mut context = session.context().await?;
    loop {
        let system = context.system_with(SYSTEM);
        let answer = match claude.ask(&system, &tools.definitions(), &context.to_json()).await {
            Err(Refused::Failed(failure)) => {
                context = session.context_after(&failure).await?.ok_or(failure)?;
                continue;
            }
            answer => answer?,
        };
        session.reply(Reply::json(answer.message).billed(answer.usage)).await?;
        if answer.calls.is_empty() {
            return Ok(());
        }
        session.append(Input::json(tools.results(&answer.calls))).await?;
        context = session.context().await?;
    }
}
