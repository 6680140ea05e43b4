//! An agent that never overflows, never forgets and goes on where it was:
//! `ANTHROPIC_API_KEY=… cargo run -p epitome --example agent`, with `-- --run` to let it run commands.
//!
//! It takes a line at a time; `/compact` compacts at once. What it needs of the engine is in `turn.rs`.

mod claude;
mod tools;
mod turn;

use std::env;
use std::io::{self, BufRead, Write};

use epitome::Engine;

use self::claude::Claude;
use self::tools::Tools;

const MODEL: &str = "claude-sonnet-4-5";

#[tokio::main(flavor = "current_thread")]
async fn main() -> turn::Result<()> {
    let base = env::var("ANTHROPIC_BASE_URL").unwrap_or_else(|_| "https://api.anthropic.com".to_owned());
    let key = env::var("ANTHROPIC_API_KEY").unwrap_or_default();
    let claude = Claude { base, key, model: MODEL.to_owned() };
    let tools = Tools { may_run: env::args().any(|argument| argument == "--run") };

    let engine = Engine::builder().file("agent.db").agent("example").model(MODEL).build().await?;
    let session = engine.session("example").await?;
    for line in io::stdin().lock().lines() {
        let mut show = |text: &str| {
            let mut out = io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        };
        turn::turn(&session, &claude, &tools, line?.trim(), &mut show).await?;
        println!();
    }
    engine.close().await;
    Ok(())
}
