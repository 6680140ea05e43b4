//! What clients send that no specification has: it is recorded, counted and compacted around, and its bytes stay as they are.

use epitome::Dialect;
use serde_json::{Value, json};

use crate::house::{House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Upstream};

/// A conversation as bytes, for what no library would write.
struct Writer {
    dialect: Dialect,
    messages: Vec<String>,
}

impl Writer {
    fn path(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "/v1/messages",
            Dialect::Chat => "/v1/chat/completions",
            _ => "/v1/responses",
        }
    }

    fn body(&self) -> String {
        let list = self.messages.join(",");
        match self.dialect {
            Dialect::Responses => format!(r#"{{"model":"m","store":false,"input":[{list}]}}"#),
            _ => format!(r#"{{"model":"m","max_tokens":9,"messages":[{list}]}}"#),
        }
    }

    fn heard(&mut self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        match self.dialect {
            Dialect::Anthropic => {
                self.messages.push(json!({"role": "assistant", "content": answer["content"]}).to_string());
            }
            Dialect::Chat => self.messages.push(answer["choices"][0]["message"].to_string()),
            _ => self.messages.extend(answer["output"].as_array().unwrap().iter().map(Value::to_string)),
        }
    }
}

#[test]
fn halves_of_characters_strangers_and_unknown_blocks_are_kept_and_compacted_around() {
    run(async {
        let odd: [(Dialect, &str, &str); 9] = [
            (Dialect::Anthropic, "half", r#"{"role":"user","content":"half \ud83d of it"}"#),
            (Dialect::Chat, "half", r#"{"role":"user","content":"\udc00 the other half"}"#),
            (
                Dialect::Responses,
                "half",
                r#"{"role":"user","content":[{"type":"input_text","text":"\ud83d\ud83d"}]}"#,
            ),
            (Dialect::Anthropic, "role", r#"{"role":"oracle","content":"I see"}"#),
            (Dialect::Chat, "role", r#"{"role":"critic","content":"too long"}"#),
            (Dialect::Responses, "role", r#"{"type":"message","role":"critic","content":"too long"}"#),
            (
                Dialect::Anthropic,
                "block",
                r#"{"role":"user","content":[{"type":"hologram","depth":1e400},{"type":"text","text":"see"}]}"#,
            ),
            (Dialect::Chat, "block", r#"{"role":"user","content":[{"type":"smell","of":"tar"}]}"#),
            (Dialect::Responses, "item", r#"{"type":"weather_call","id":"w","sky":"grey"}"#),
        ];
        for (dialect, what, message) in odd {
            let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
            let mut writer = Writer { dialect, messages: vec![] };
            writer.messages.push(r#"{"role":"user","content":"Never touch secrets.toml."}"#.to_owned());
            let mut ids = Vec::new();
            for number in 0..40 {
                if number == 1 {
                    writer.messages.push(message.to_owned());
                } else if number > 0 {
                    let text = json!(format!("Step {number}. {}", prose(number, 1_200)));
                    writer.messages.push(format!(r#"{{"role":"user","content":{text}}}"#));
                }
                // An item that the model might have said is followed by what the user says.
                if number == 1 && what == "item" {
                    writer.messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
                }
                let (headers, status, answer) = house.post(writer.path(), &writer.body()).await;
                assert_eq!(
                    (status, header(&headers, "x-epitome-error")),
                    (200, ""),
                    "{dialect} {what} {number}"
                );
                ids.push(header(&headers, "x-epitome-session").to_owned());
                if number == 1 {
                    let sent = house.upstream.requests().pop().unwrap();
                    assert_eq!(sent.text, writer.body(), "{dialect} {what}");
                }
                writer.heard(&answer);
            }
            ids.dedup();
            assert_eq!(ids.len(), 1, "{dialect} {what}: {ids:?}");
            let last = house.upstream.requests().pop().unwrap();
            assert!(last.text.len() / 4 < 32_000, "{dialect} {what}: it was compacted");
            let recorded = house.recorded().await;
            assert_eq!(recorded.len(), 1, "{dialect} {what}");
        }
    });
}
