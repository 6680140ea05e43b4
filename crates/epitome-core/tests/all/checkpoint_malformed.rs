//! Summaries as models write them, and what is understood of them.
//!
//! What was understood is told in a short notation, one line an entry: the section, the text, and a decision's
//! rationale after `=>`. Line breaks inside a text are written `/`.

use epitome_core::checkpoint::Checkpoint;

fn told(checkpoint: &Checkpoint) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |section: &str, text: &str| lines.push(format!("{section}: {}", text.replace('\n', "/")));
    checkpoint.goal.iter().for_each(|item| add("goal", item.text()));
    let before = [
        ("constraint", &checkpoint.constraints),
        ("done", &checkpoint.done),
        ("doing", &checkpoint.in_progress),
    ];
    before.iter().for_each(|(name, items)| items.iter().for_each(|item| add(name, item.text())));
    for decision in &checkpoint.decisions {
        add("decision", format!("{} => {}", decision.subject(), decision.rationale()).trim_end());
    }
    let after = [
        ("dynamics", &checkpoint.dynamics),
        ("next", &checkpoint.next_steps),
        ("context", &checkpoint.context),
        ("created", &checkpoint.files.created),
        ("modified", &checkpoint.files.modified),
        ("deleted", &checkpoint.files.deleted),
        ("read", &checkpoint.files.read),
        ("failed", &checkpoint.failed),
    ];
    after.iter().for_each(|(name, items)| items.iter().for_each(|item| add(name, item.text())));
    for section in &checkpoint.other {
        section.items.iter().for_each(|item| add(&format!("other {}", section.title()), item.text()));
    }
    checkpoint.request.iter().for_each(|request| add("request", request.text()));
    lines.join("\n")
}

#[test]
fn malformed_summaries_are_understood() {
    let mut failures = Vec::new();
    for (name, text, expected) in CASES {
        let parsed = Checkpoint::parse(text);
        let understood = told(&parsed.checkpoint);
        if understood != expected.trim() {
            failures.push(format!("== {name}\n{understood}\n-- expected\n{}", expected.trim()));
        }
        let again = Checkpoint::parse(&parsed.checkpoint.render()).checkpoint;
        assert_eq!(again, parsed.checkpoint, "{name}: what was understood survives");
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), CASES.len(), failures.join("\n\n"));
    assert!(CASES.len() >= 35, "{}", CASES.len());
}

#[test]
fn what_is_left_out_is_reported() {
    let parsed = Checkpoint::parse(
        "Sure! Here is the summary:\n\n## Goal\nShip it\n\n## Next Steps\n1. Test\n\nLet me know if you need more.",
    );
    assert_eq!(parsed.ignored, ["Sure! Here is the summary:", "Let me know if you need more."]);
    assert_eq!(parsed.known_headings, 2);
    let thoughts =
        Checkpoint::parse("<analysis>hm, what to say</analysis>\n<summary>\n## Goal\nShip it\n</summary>");
    assert_eq!(thoughts.ignored, ["<analysis>hm, what to say</analysis>"]);
}

#[test]
fn hostile_texts_cost_no_more_than_their_length() {
    let texts = [
        "```\n".repeat(20_000) + "~~~~",
        "- ".repeat(50_000),
        "<summary>".repeat(20_000),
        "#".repeat(100_000),
        "> ".repeat(50_000),
        "**a".repeat(30_000),
        "{".repeat(100_000),
        "- a\n".repeat(30_000),
        "### Excerpts\n".to_owned() + &"#1 user\n# a\n".repeat(20_000) + &"#".repeat(50_000),
        "### Names\n".to_owned() + &" a b, c\n".repeat(30_000) + &"a.b ".repeat(30_000),
        (3..300).map(|length| "`".repeat(600 - length) + "x\n").collect(),
    ];
    for text in texts {
        let parsed = Checkpoint::parse(&text).checkpoint;
        assert_eq!(Checkpoint::parse(&parsed.render()).checkpoint, parsed);
    }
}

const CASES: [(&str, &str, &str); 48] = [
    (
        "top-level headings",
        "# Goal\nMove the shop to the new payment API.\n# Constraints & Preferences\n- Keep the old webhooks\n# Progress\n## Done\n- [x] Sandbox account\n## In Progress\n- [ ] Refund flow\n# Next Steps\n1. Run the contract tests\n",
        "goal: Move the shop to the new payment API.
constraint: Keep the old webhooks
done: Sandbox account
doing: Refund flow
next: Run the contract tests",
    ),
    (
        "deep headings",
        "#### Goal\nFix the login.\n##### Key Decisions\n- **Sessions**: cookies, not tokens\n",
        "goal: Fix the login.\ndecision: Sessions => cookies, not tokens",
    ),
    (
        "no space after the hashes",
        "##Goal\nFix it\n##Next Steps\n1.Test\n- Ship\n",
        "goal: Fix it\nnext: 1.Test\nnext: Ship",
    ),
    (
        "bold headings",
        "**Goal**\nFix the login.\n\n**Constraints & Preferences:**\n- No new tables\n\n**Next Steps**\n1. Deploy\n",
        "goal: Fix the login.\nconstraint: No new tables\nnext: Deploy",
    ),
    (
        "bold headings with text behind them",
        "**Goal:** Fix the login.\n**Critical Context:** port 8443 is taken\n**Next Steps:**\n- Deploy\n",
        "goal: Fix the login.\nnext: Deploy\ncontext: port 8443 is taken",
    ),
    (
        "setext headings",
        "Goal\n====\nFix the login.\n\nNext Steps\n----------\n1. Deploy\n\nGlossary\n========\n- IdP: identity provider\n",
        "goal: Fix the login.\nnext: Deploy\nother Glossary: IdP: identity provider",
    ),
    (
        "numbered headings",
        "## 1. Goal\nFix the login.\n## 2. Progress\n### 2.1 Done\n- found the bug\n### 2.2 In Progress\n- the fix\n## 3) Next Steps\n1. Deploy\n",
        "goal: Fix the login.\ndone: found the bug\ndoing: the fix\nnext: Deploy",
    ),
    (
        "a numbered list of sections",
        "1. Primary Request and Intent:\n   The user wants a dark theme.\n2. Key Technical Concepts:\n   - CSS variables\n   - prefers-color-scheme\n3. Files and Code Sections:\n   - theme.css (created)\n   - index.html: modified the head\n4. Errors and fixes:\n   - Flash of white on load: inline script\n5. Pending Tasks:\n   - Toggle button\n6. Current Work:\n   Contrast of links.\n",
        "goal: The user wants a dark theme.
doing: Contrast of links.
next: Toggle button
context: CSS variables
context: prefers-color-scheme
created: theme.css (created)
modified: index.html: modified the head
failed: Flash of white on load: inline script",
    ),
    (
        "emoji headings and marks",
        "## 🎯 Goal\nDark theme\n## ✅ Completed\n✅ Variables\n✔️ Toggle\n## 🚧 In Progress\n🔄 Contrast\n## ⏭️ Next Steps\n➤ Ship\n",
        "goal: Dark theme\ndone: Variables\ndone: Toggle\ndoing: Contrast\nnext: Ship",
    ),
    (
        "capitals and colons",
        "## GOAL:\nDark theme\n## KEY DECISIONS:\n- Variables: because themes are data\n## CRITICAL CONTEXT:\n- line 40 of theme.css\n",
        "goal: Dark theme\ndecision: Variables => because themes are data\ncontext: line 40 of theme.css",
    ),
    (
        "only some sections",
        "## Critical Context\n- The key is in vault/prod\n",
        "context: The key is in vault/prod",
    ),
    (
        "extra sections are kept",
        "## Goal\nDark theme\n## Team\n- Ana owns CSS\n- Ben owns tests\n## Risks of delay\nThe campaign starts in May.\n",
        "goal: Dark theme\nother Team: Ana owns CSS\nother Team: Ben owns tests\nother Risks of delay: The campaign starts in May.",
    ),
    (
        "all kinds of bullets",
        "## Constraints\n- dash\n* star\n+ plus\n• dot\n– en dash\n— em dash\n· middle dot\n▪ square\n1. one\n2) two\n(3) three\n→ arrow\n",
        "constraint: dash\nconstraint: star\nconstraint: plus\nconstraint: dot\nconstraint: en dash\nconstraint: em dash\nconstraint: middle dot\nconstraint: square\nconstraint: one\nconstraint: two\nconstraint: three\nconstraint: arrow",
    ),
    (
        "nested bullets stay with their item",
        "## Progress\n### Done\n- [x] Migrated the tables\n  - users\n  - orders\n    * with indexes\n- [x] Seeded data\n",
        "done: Migrated the tables/- users/- orders/  * with indexes\ndone: Seeded data",
    ),
    (
        "bullets indented under their heading",
        "## Next Steps\n   - first\n   - second\n     more of it\n",
        "next: first\nnext: second/more of it",
    ),
    ("tabs", "## Next Steps\n-\tfirst\n\t- detail\n-\tsecond\n", "next: first/- detail\nnext: second"),
    (
        "prose instead of bullets",
        "## Goal\nThe user wants to\nmove to Postgres.\n\nIt should be done by May.\n\n## Progress\nThe schema is ported. The data is not.\n\n## Key Decisions\nUse logical replication because downtime is not an option.\n",
        "goal: The user wants to/move to Postgres./It should be done by May.\ndone: The schema is ported. The data is not.\ndecision: Use logical replication => downtime is not an option.",
    ),
    (
        "a code fence around the whole",
        "```markdown\n## Goal\nMove to Postgres\n\n## Critical Context\n- run it with:\n  ```sh\n  make db\n  ```\n```\n",
        "goal: Move to Postgres\ncontext: run it with:/```sh/make db/```",
    ),
    (
        "a fence that is never closed",
        "Here you go:\n```\n## Goal\nMove to Postgres\n## Next Steps\n- dump\n",
        "goal: Move to Postgres\nnext: dump",
    ),
    (
        "preamble and closing words",
        "Here is the structured summary of our conversation:\n\n## Goal\nMove to Postgres\n\n## Next Steps\n1. Dump\n2. Restore\n\nI hope this helps! Let me know if you want more detail.\n",
        "goal: Move to Postgres\nnext: Dump\nnext: Restore",
    ),
    (
        "closing words after a line",
        "## Goal\nMove to Postgres\n\n---\n\nWould you like me to continue with the dump?",
        "goal: Move to Postgres",
    ),
    (
        "a preamble that says something",
        "The database server is db7 and must not be restarted.\n\n## Goal\nMove to Postgres\n",
        "goal: Move to Postgres\ncontext: The database server is db7 and must not be restarted.",
    ),
    (
        "a title over the whole",
        "# Conversation Summary\n\n## Goal\nMove to Postgres\n## Next Steps\n- dump\n",
        "goal: Move to Postgres\nnext: dump",
    ),
    (
        "a title of its own over the whole",
        "# Postgres migration\n\n## Goal\nMove\n\n## Team\n- Ana\n",
        "goal: Move\nother Team: Ana",
    ),
    (
        "summary tags and thoughts",
        "<analysis>\nThe user asked a lot. ## Goal is unclear?\n</analysis>\n\n<summary>\n## Goal\nMove to Postgres\n\n## Progress\n### Done\n- [x] dump\n</summary>\n\nDone!",
        "goal: Move to Postgres\ndone: dump",
    ),
    (
        "a summary tag that is never closed",
        "<summary>\n## Goal\nMove to Postgres\n## Critical Context\n- db7",
        "goal: Move to Postgres\ncontext: db7",
    ),
    (
        "tags for sections",
        "<state_snapshot>\n  <overall_goal>\n    Move to Postgres\n  </overall_goal>\n  <key_knowledge>\n    - db7 is the server\n    - port 5433\n  </key_knowledge>\n  <recent_actions>\n    - dumped orders\n  </recent_actions>\n  <current_plan>\n    1. [DONE] dump\n    2. restore\n  </current_plan>\n</state_snapshot>",
        "goal: Move to Postgres\ndone: dumped orders\ndone: dump\nnext: restore\ncontext: db7 is the server\ncontext: port 5433",
    ),
    (
        "tagged file lists at the end",
        "## Goal\nMove\n\n<read-files>\nsrc/db.rs\nsrc/main.rs\n</read-files>\n\n<modified-files>\nsrc/pool.rs\n</modified-files>\n",
        "goal: Move\nmodified: src/pool.rs\nread: src/db.rs\nread: src/main.rs",
    ),
    (
        "JSON",
        "{\"goal\": \"Move to Postgres\", \"constraints\": [\"no downtime\"], \"progress\": {\"done\": [\"dump\"], \"in_progress\": [\"restore\"]}, \"key_decisions\": [{\"decision\": \"Replication\", \"rationale\": \"no downtime\"}], \"next_steps\": [], \"critical_context\": \"db7\", \"latest_user_request\": \"go on\\n## Goal\"}",
        "goal: Move to Postgres\nconstraint: no downtime\ndone: dump\ndoing: restore\ndecision: Replication => no downtime\ncontext: db7\nrequest: go on/## Goal",
    ),
    (
        "JSON in a fence with tasks that say how far they are",
        "```json\n{\n  \"summary\": {\n    \"objective\": \"Move to Postgres\",\n    \"tasks\": [{\"task\": \"dump\", \"status\": \"completed\"}, {\"task\": \"restore\", \"status\": \"pending\"}],\n    \"files\": [{\"path\": \"pool.rs\", \"action\": \"modified\"}],\n    \"owner\": \"Ana\"\n  }\n}\n```",
        "goal: Move to Postgres\ndone: dump\nnext: restore\nmodified: pool.rs: modified\nother owner: Ana",
    ),
    (
        "Markdown in JSON",
        "{\"summary\": \"## Goal\\nMove to Postgres\\n\\n## Next Steps\\n1. dump\"}",
        "goal: Move to Postgres\nnext: dump",
    ),
    (
        "Markdown as a JSON string",
        "\"## Goal\\nMove to Postgres\\n\\n## Next Steps\\n1. dump\"",
        "goal: Move to Postgres\nnext: dump",
    ),
    (
        "Windows line ends",
        "## Goal\r\nMove to Postgres\r\n\r\n## Progress\r\n### Done\r\n- [X] dump\r\n",
        "goal: Move to Postgres\ndone: dump",
    ),
    (
        "German",
        "## Ziel\nUmzug nach Postgres\n## Einschränkungen & Präferenzen\n- keine Ausfallzeit\n## Fortschritt\n### Erledigt\n- [x] Dump\n### In Arbeit\n- [ ] Restore\n## Wichtige Entscheidungen\n- **Replikation**: keine Ausfallzeit\n## Gesprächsdynamik\n- duzt\n## Nächste Schritte\n1. Testen\n## Kritischer Kontext\n- db7\n## Fehlgeschlagene Versuche\nKeine.\n",
        "goal: Umzug nach Postgres\nconstraint: keine Ausfallzeit\ndone: Dump\ndoing: Restore\ndecision: Replikation => keine Ausfallzeit\ndynamics: duzt\nnext: Testen\ncontext: db7",
    ),
    (
        "French",
        "## Objectif\nPasser à Postgres\n## Contraintes et préférences\n- sans arrêt\n## Avancement\n### Terminé\n- export\n### En cours\n- import\n## Décisions clés\n- **Réplication** : sans arrêt\n## Prochaines étapes\n1. tester\n## Contexte critique\n- db7\n",
        "goal: Passer à Postgres\nconstraint: sans arrêt\ndone: export\ndoing: import\ndecision: Réplication => sans arrêt\nnext: tester\ncontext: db7",
    ),
    (
        "Spanish",
        "## Objetivo\nMigrar a Postgres\n## Restricciones y preferencias\n- sin parar\n## Progreso\n### Completado\n- copia\n### En curso\n- carga\n## Decisiones clave\n- **Réplica**: sin parar\n## Próximos pasos\n1. probar\n## Contexto crítico\n- db7\n## Archivos\n- pool.rs (modified)\n",
        "goal: Migrar a Postgres\nconstraint: sin parar\ndone: copia\ndoing: carga\ndecision: Réplica => sin parar\nnext: probar\ncontext: db7\nmodified: pool.rs (modified)",
    ),
    (
        "Chinese",
        "## 目标\n迁移到 Postgres\n## 约束与偏好\n- 不能停机\n## 进展\n### 已完成\n- [x] 导出\n### 进行中\n- [ ] 导入\n## 关键决策\n- **复制**：不能停机\n## 下一步\n1、测试\n## 关键上下文\n• db7\n",
        "goal: 迁移到 Postgres\nconstraint: 不能停机\ndone: 导出\ndoing: 导入\ndecision: 复制 => 不能停机\nnext: 测试\ncontext: db7",
    ),
    (
        "Japanese",
        "## 目標\nPostgres への移行\n## 制約\n- 停止不可\n## 進捗\n### 完了\n- エクスポート\n### 進行中\n- インポート\n## 決定事項\n- **レプリケーション**：停止不可\n## 次のステップ\n1. テスト\n## 重要なコンテキスト\n- db7\n## 失敗した試み\n- なし\n",
        "goal: Postgres への移行\nconstraint: 停止不可\ndone: エクスポート\ndoing: インポート\ndecision: レプリケーション => 停止不可\nnext: テスト\ncontext: db7",
    ),
    (
        "synonyms",
        "## Objectives\n- Move to Postgres\n- Keep the API\n## User Preferences\n- short answers\n## Accomplished\n- dump\n## TODO\n- [ ] restore\n## Open Questions\n- which port?\n## Files Touched\n- Modified: pool.rs\n- old.rs (deleted)\n- schema.sql\n## Key Facts\n- db7\n## What didn't work\n- pg_upgrade\n",
        "goal: Move to Postgres/Keep the API\nconstraint: short answers\ndone: dump\ndynamics: which port?\nnext: restore\ncontext: db7\nmodified: pool.rs\ndeleted: old.rs (deleted)\nread: schema.sql\nfailed: pg_upgrade",
    ),
    (
        "bold names under progress",
        "## Progress\n**Done:**\n- dump\n- check\n\n**In Progress:** restore\n\n## Next Steps\n- switch\n",
        "done: dump\ndone: check\ndoing: restore\nnext: switch",
    ),
    (
        "bullets as headings under progress",
        "## Progress\n- Done:\n  - dump\n  - check\n- **In Progress**: restore\n## Next Steps\n- switch\n",
        "done: dump\ndone: check\ndoing: restore\nnext: switch",
    ),
    (
        "marks decide where no heading does, or the wrong one",
        "## Progress\n- [x] dump\n- [ ] restore\n- check\n- ❌ pg_upgrade\n### Done\n- [ ] switch\n## Next Steps\n- [x] order coffee\n- announce\n",
        "done: dump\ndone: check\ndone: order coffee\ndoing: restore\ndoing: switch\nnext: announce\nfailed: pg_upgrade",
    ),
    (
        "a list of bold titles",
        "- **Goal**: Move to Postgres\n- **Constraints**: no downtime\n- **Decisions**:\n  - **Replication**: no downtime\n  - Use db7\n- **Next steps**: restore\n",
        "goal: Move to Postgres\nconstraint: no downtime\ndecision: Replication => no downtime\ndecision: Use db7 =>\nnext: restore",
    ),
    (
        "plain titles",
        "Goal: Move to Postgres\n\nProgress:\nDone:\n- dump\nIn progress:\n- restore\n\nNext steps:\n1. switch\n",
        "goal: Move to Postgres\ndone: dump\ndoing: restore\nnext: switch",
    ),
    (
        "decisions in all shapes",
        "## Key Decisions\n- **[Replication]**: no downtime\n- **Port:** 5433, 5432 is taken\n- **Pool** - ten connections\n- **Cache** — none\n- Keep sqlx because it works\n- Timeouts: 5 s\n- **Decision**: Use UTC — logs are in UTC\n1. *Naming*: snake case\n- No ORM\n",
        "decision: Replication => no downtime\ndecision: Port => 5433, 5432 is taken\ndecision: Pool => ten connections\ndecision: Cache => none\ndecision: Keep sqlx => it works\ndecision: Timeouts => 5 s\ndecision: Use UTC => logs are in UTC\ndecision: *Naming* => snake case\ndecision: No ORM =>",
    ),
    (
        "a table",
        "## Key Decisions\n| Decision | Rationale |\n|---|---|\n| Replication | no downtime |\n| Port 5433 | 5432 is taken |\n\n## Files\n| File | Change |\n| :--- | ---: |\n| pool.rs | modified |\n",
        "decision: Replication => no downtime\ndecision: Port 5433 => 5432 is taken\nmodified: pool.rs: modified",
    ),
    (
        "code with headings in it",
        "## Goal\nWrite the README\n## Critical Context\nIts text so far:\n```md\n# Title\n## Goal\n- [x] not an item\n```\n- and a port: 8080\n## Next Steps\n- finish\n",
        "goal: Write the README\nnext: finish\ncontext: Its text so far:/```md/# Title/## Goal/- [x] not an item/```\ncontext: and a port: 8080",
    ),
    (
        "subheadings, placeholders and a quoted request",
        "## Goal\n[None]\n## Constraints & Preferences\n- None\n## Progress\n### Done\n(none yet)\n### In Progress\nN/A\n## Critical Context\n### API\n- POST /v1/pay\n### Build\n- make all\n## Latest User Request\n> fix it\n>\n> ## please\n",
        "context: API: POST /v1/pay\ncontext: Build: make all\nrequest: fix it//## please",
    ),
];
