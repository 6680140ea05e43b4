//! An agent that never overflows, never forgets and goes on where it was:
//! `ANTHROPIC_API_KEY=… cargo run -p epitome --example agent`, with `-- --run` to let it run commands.
//!
//! It takes a line at a time; `/compact` compacts at once. What it needs of the engine is here and in `turn.rs`; the model is called
//! in `claude.rs`, the tools are in `tools.rs`.

mod claude;
mod tools;
mod turn;

use epitome::Engine;

/// What can go wrong in an agent is of many kinds.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let claude = claude::Claude::from_env("claude-sonnet-4-5")?;
    let tools = tools::Tools { may_run: std::env::args().any(|argument| argument == "--run") };
    let engine = Engine::builder().file("agent.db").agent("example").model(claude.model.as_str());
    let engine = engine.build().await?;
    let session = engine.session("example").await?;
    for line in std::io::stdin().lines() {
        match line?.trim() {
            "" => {}
            said => match turn::turn(&session, &claude, &tools, said).await {
                Ok(()) => println!(),
                Err(error) => eprintln!("{error}"),
            },
        }
    }
    engine.close().await;
    Ok(())
}
