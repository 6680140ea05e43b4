//! One turn of an agent: call the model, run the tools it asks for, until it has nothing more to ask.

use epitome::{Compact, Input, Reply, Session};
use serde_json::json;

use crate::claude::{Claude, Refused};
use crate::tools::Tools;

/// What can go wrong in an agent is of many kinds.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SYSTEM: &str = "You help with the files in this folder. Look before you answer.";

/// Takes what the user says, and shows what the model says as it comes.
pub(crate) async fn turn(
    session: &Session,
    claude: &Claude,
    tools: &Tools,
    said: &str,
    show: &mut dyn FnMut(&str),
) -> Result<()> {
    if said == "/compact" {
        let report = session.compact(Compact::now()).await?.report;
        show(&format!("{} → {} tokens", report.tokens_before, report.tokens_after));
        return Ok(());
    }
    session.beside(SYSTEM, &tools.definitions().to_string());
    session.append(said).await?;
    let mut refused = 0;
    loop {
        let context = session.context().await?;
        let system = context.system_with(SYSTEM);
        let answer = match claude.ask(&system, &tools.definitions(), &context.to_json(), show).await {
            Err(Refused::TooLong) if refused < 3 => {
                refused += 1;
                session.compact(Compact::after_overflow(refused)).await?;
                continue;
            }
            answer => answer?,
        };
        session.reply(Reply::json(answer.message).billed(answer.usage)).await?;
        if answer.calls.is_empty() {
            return Ok(());
        }
        let results: Vec<_> = answer.calls.iter().map(|call| tools.run(call)).collect();
        session.append(Input::json(json!({"role": "user", "content": results}).to_string())).await?;
    }
}
