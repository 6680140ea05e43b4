//! A summary that is asked for behind what was sent is served from the provider's cache: its request begins with the same bytes.

use epitome::core::cost::{Part, PromptCache, Tariff};
use epitome::core::models::ModelTable;
use epitome::core::pressure::Level;
use epitome::wire::Body;
use epitome::{Dialect, Input, Reply, Time, Tokens};

use crate::models::{HandClock, SUMMARY};
use crate::support::Place;
use crate::upstream::{Act, Upstream};

/// What stands in a request beside the conversation, in bytes that nobody would write twice by chance.
struct Form {
    dialect: Dialect,
    api: &'static str,
    list: &'static str,
    fields: &'static str,
    /// Messages of the operator before the conversation.
    leading: &'static [&'static str],
}

const FORMS: [Form; 4] = [
    Form {
        dialect: Dialect::Anthropic,
        api: "anthropic",
        list: "messages",
        fields: r#""system": "You tell \u0073tories.", "tools":[ {"name" : "look","input_schema":{"type":"object"}} ],
            "thinking":{ "type":"enabled", "budget_tokens":2048 }, "tool_choice":{"type" : "auto"}"#,
        leading: &[],
    },
    Form {
        dialect: Dialect::Anthropic,
        api: "anthropic",
        list: "messages",
        fields: r#""system":[ {"type":"text","text":"You tell stories.","cache_control":{"type":"ephemeral"}} ]"#,
        leading: &[],
    },
    Form {
        dialect: Dialect::Chat,
        api: "openai",
        list: "messages",
        fields: r#""tools": [ {"type":"function","function":{"name":"look"}} ],"tool_choice":"auto","prompt_cache_key":"mine""#,
        leading: &[
            r#"{ "role":"system","content":"You tell \u0073tories."}"#,
            r#"{"role":"developer", "content":[{"type":"text","text":"Be brief."}]}"#,
        ],
    },
    Form {
        dialect: Dialect::Responses,
        api: "responses",
        list: "input",
        fields: r#""instructions": "You tell \u0073tories.","tools":[{"type":"function", "name":"look"}],"reasoning":{ "effort":"low"}"#,
        leading: &[r#"{"type":"message", "role":"developer","content":"Be brief."}"#],
    },
];

impl Form {
    fn user(&self, text: &str) -> String {
        match self.dialect {
            Dialect::Responses => format!(r#"{{"type":"message", "role":"user","content":"{text}"}}"#),
            _ => format!(r#"{{ "role":"user", "content":"{text}"}}"#),
        }
    }

    fn model(&self, text: &str) -> String {
        match self.dialect {
            Dialect::Responses => format!(
                r#"{{"type":"message","role":"assistant", "content":[{{"type":"output_text","text":"{text}"}}]}}"#
            ),
            Dialect::Chat => format!(r#"{{"role":"assistant", "content":"{text}"}}"#),
            _ => format!(r#"{{"role":"assistant", "content":[{{"type":"text", "text":"{text}"}}]}}"#),
        }
    }

    fn body(&self, messages: &[String]) -> String {
        let leading = self.leading.iter().map(|json| (*json).to_owned());
        let all: Vec<String> = leading.chain(messages.iter().cloned()).collect();
        format!(r#"{{"model":"some-model",{},"{}":[{}]}}"#, self.fields, self.list, all.join(","))
    }
}

/// The parts of a request in the order in which a provider reads them.
fn parts<'b>(body: &Body<'b>) -> Vec<Part<'b>> {
    let messages = (0..body.messages().len()).map(|at| body.message(at));
    let texts = body.tools_text().into_iter().chain(body.system_text()).chain(messages);
    texts.map(|text| Part { bytes: text.as_bytes(), tokens: Tokens(text.len() as u64 / 3) }).collect()
}

async fn is_served_from_the_cache(place: &Place, form: &Form) {
    let upstream = Upstream::new(vec![Act::say(SUMMARY)]);
    let mut settings = epitome::Settings::default();
    settings.summary.summary_behind_prefix = true;
    let model = format!("{}:some-model@{}", form.api, upstream.url());
    let builder = place.builder().settings(settings).dialect(form.dialect).model("some-model");
    let engine = builder.summaries_by([model.as_str()]).waits(HandClock::new()).build().await.unwrap();
    let session = engine.session("behind").await.unwrap();
    let (mut said, empty) = (Vec::new(), form.body(&[form.user("Hello.")]));
    session.beside_of(&Body::scan(form.dialect, &empty).unwrap(), form.leading.len());
    let told = "The lantern shines over the harbour, and the river runs past the meadow. ".repeat(20);
    loop {
        let question = form.user("Please tell me more about the old harbour and its lantern.");
        session.append(Input::json(question.as_str())).await.unwrap();
        said.push(question);
        if session.peek().await.unwrap().pressure.level >= Level::Soft {
            break;
        }
        let answer = form.model(&told);
        session.reply(Reply::json(answer.as_str())).await.unwrap();
        said.push(answer);
    }
    let context = session.context().await.unwrap();
    assert!(context.messages().map(|message| message.json.to_string()).eq(said.iter().cloned()));
    assert!(session.prepared().await);

    let (sent, asked) = (form.body(&said), upstream.requests().remove(0).text);
    let sent = Body::scan(form.dialect, &sent).unwrap();
    let asked = Body::scan(form.dialect, &asked).unwrap();
    assert_eq!((asked.system_text(), asked.tools_text()), (sent.system_text(), sent.tools_text()));
    assert!(asked.cache_fields().eq(sent.cache_fields()), "{}", asked.text());
    let messages = |body: &Body<'_>| -> Vec<String> {
        (0..sent.messages().len()).map(|at| body.message(at).to_owned()).collect()
    };
    assert_eq!(messages(&asked), messages(&sent));
    assert!(asked.messages().len() > sent.messages().len(), "and behind it the question");

    let tariff = Tariff::of(&ModelTable::default().get("claude-haiku-4-5").model);
    let mut cache = PromptCache::new(&tariff, 300_000);
    let all = cache.send(Time(0), parts(&sent)).total_input();
    let usage = cache.send(Time(1_000), parts(&asked));
    assert_eq!(usage.cache_read, all, "{:?}: {usage:?}", form.dialect);
    assert!(all > Tokens(5_000) && usage.total_input() > all);
    engine.close().await;
}

#[test]
fn what_was_sent_is_served_from_the_cache_in_every_dialect() {
    crate::support::run(async {
        for form in &FORMS {
            is_served_from_the_cache(&Place::sqlite(), form).await;
        }
    });
}
