//! Agents whose program speaks to the model, too: in the user's name, and in instructions between the turns.

use epitome::{Input, Reply};

use crate::support::{Place, assert_sendable, on_both, prose};

on_both!(what_a_program_tells_the_model_stays_where_it_may_stand);

const TASK: &str = "Count the crates of the depot. Never touch the folder vault, and sign with HERON-4417.";

async fn what_a_program_tells_the_model_stays_where_it_may_stand(place: Place) {
    let engine = place.builder().model("claude-sonnet-4-5").build().await.unwrap();
    let session = engine.session("harness").await.unwrap();
    let opening = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":"<system-reminder>\nBe brief, always.\n</system-reminder>"}},{{"type":"text","text":"{TASK}"}}]}}"#
    );
    let environment = format!(r##"{{"role":"system","content":"# Environment\n{}"}}"##, prose(7, 900));
    session.append(Input::json(opening).and(Input::json(environment.as_str()))).await.unwrap();
    let mut compactions = 0;
    for number in 0..60 {
        let context = session.context().await.unwrap();
        assert_sendable(&context, 32_000);
        let messages: Vec<String> = context.messages().map(|message| message.json.to_string()).collect();
        assert!(messages[0].contains(TASK) && messages[1] == environment, "{number}: {messages:#?}");
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{number}","name":"look","input":{{"hall":{number}}}}}]}}"#
        );
        session.reply(Reply::json(call)).await.unwrap();
        let result = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"{}"}}]}}"#,
            prose(number, 1_500)
        );
        let left = format!(
            r#"{{"role":"system","content":"<total_tokens>{} left</total_tokens>"}}"#,
            90_000 - number
        );
        session.append(Input::json(result).and(Input::json(left.as_str()))).await.unwrap();
        compactions = session.info().await.unwrap().compactions;
        let last = session.context().await.unwrap().messages().last().unwrap();
        assert_eq!(last.json.as_ref(), left, "the newest instructions are not left out");
    }
    assert!(compactions > 2, "{compactions}");
    engine.close().await;
}
