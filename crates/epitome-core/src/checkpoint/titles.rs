//! The headings that people and models write, in several languages, and the sections they mean.

use super::entry::without_number;
use super::model::Section;

/// What a heading announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Title {
    /// A section of the checkpoint.
    Section(Section),
    /// Done and in progress.
    Progress,
    /// Files, whatever was done to them.
    Files,
    /// The summary as a whole.
    Document,
}

/// The section that a heading announces, where it is a section.
pub(crate) fn section_of(heading: &str) -> Option<Section> {
    match Title::of(heading)? {
        Title::Section(section) => Some(section),
        _ => None,
    }
}

impl Title {
    /// What a heading means; `None` where it is none that we know.
    pub(super) fn of(heading: &str) -> Option<Self> {
        // No title in the table is nearly as long; text that is must not cost.
        const LONGEST: usize = 100;
        if heading.len() > LONGEST {
            return None;
        }
        let key = key(heading);
        lookup(&key).or_else(|| {
            // Longer than that it is a sentence.
            const MOST_WORDS: usize = 6;
            if key.split(' ').count() > MOST_WORDS {
                return None;
            }
            // "Next Steps (in order)", "Goal / Objective", "Decisions and Rationale"
            let first = [" (", "（", " / ", "/", ", ", " and ", " und ", " et ", " y ", "と", "和", "与"]
                .iter()
                .filter_map(|end| key.split_once(end))
                .map(|(first, _)| first.trim())
                .min_by_key(|first| first.len())?;
            lookup(first)
        })
    }
}

// Lower case, without number, decoration and article, `&` in words.
fn key(heading: &str) -> String {
    let decoration = |c: char| !c.is_alphanumeric();
    let start = heading.trim_start_matches(decoration);
    let bare = without_number(start).trim_start_matches(decoration);
    let bare = bare.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '）'));
    let bare = if bare.contains(['(', '（']) { bare } else { bare.trim_end_matches(decoration) };
    let lower =
        bare.to_lowercase().replace(['_', '-', '*', '`'], " ").replace('&', " and ").replace('’', "'");
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.join(" ")
}

fn lookup(key: &str) -> Option<Title> {
    let mut rest = key;
    loop {
        if let Some((_, title)) = TITLES.iter().find(|(names, _)| names.split('|').any(|name| name == rest)) {
            return Some(*title);
        }
        let (first, after) = rest.split_once(' ')?;
        rest = QUALIFIERS.split('|').any(|word| word == first).then_some(after)?;
    }
}

// Words before a title that do not change what it means.
const QUALIFIERS: &str = "the|user|user's|users|main|primary|overall|current|key|important|updated|remaining|\
    project|session|high|level|relevant|technical|new|all|active|latest|immediate|major|our|\
    task|essential|other|critical|known|optional|wichtige|les|los";

const TITLES: [(&str, Title); 20] = [
    (
        "goal|goals|objective|objectives|aim|aims|purpose|mission|intent|user intent|task|\
         request and intent|primary request and intent|original request|initial request|\
         what the user wants|task description|task overview|problem statement|ziel|ziele|aufgabe|\
         zielsetzung|objectif|objectifs|but|objetivo|objetivos|meta|目标|目的|任务|任务目标|\
         用户目标|目標|ゴール",
        Title::Section(Section::Goal),
    ),
    (
        "constraints and preferences|constraints|preferences|requirements|rules|instructions|\
         user instructions|user preferences|requirements and constraints|guidelines|\
         standing rules|criteria|acceptance criteria|einschränkungen und präferenzen|\
         einschränkungen|randbedingungen|vorgaben|anforderungen|präferenzen|rahmenbedingungen|\
         contraintes et préférences|contraintes|préférences|exigences|\
         restricciones y preferencias|restricciones|preferencias|requisitos|约束和偏好|\
         约束与偏好|约束|约束条件|偏好|要求|限制|制約と好み|制約|制約条件|要件|制約と設定|好み",
        Title::Section(Section::Constraints),
    ),
    (
        "progress|status|state|current state|current status|progress so far|work log|\
         progress summary|fortschritt|stand|aktueller stand|progrès|avancement|état|progreso|\
         avance|estado|进展|进度|状态|当前状态|進捗|進捗状況|現状|状況",
        Title::Progress,
    ),
    (
        "done|completed|complete|finished|accomplished|accomplishments|completed work|\
         completed tasks|completed steps|completed items|work completed|what was done|\
         what has been done|recent actions|actions taken|achievements|work done|erledigt|\
         abgeschlossen|fertig|terminé|fait|accompli|terminado|completado|hecho|\
         tareas completadas|tâches terminées|已完成|完成|完了|完了した作業|完了済み|実施済み",
        Title::Section(Section::Done),
    ),
    (
        "in progress|current work|ongoing|ongoing work|work in progress|wip|doing|\
         currently working on|blocked|blockers|active work|partially done|in arbeit|laufend|\
         en cours|travail en cours|en curso|en progreso|en proceso|进行中|正在进行|进行中的工作|\
         進行中|作業中|進行中の作業",
        Title::Section(Section::InProgress),
    ),
    (
        "key decisions|decisions|decisions made|decision log|design decisions|\
         decisions and rationale|architecture decisions|choices|approach|solution approach|\
         wichtige entscheidungen|entscheidungen|zentrale entscheidungen|décisions clés|décisions|\
         décisions importantes|decisiones clave|decisiones|关键决策|决策|重要决策|主要决策|\
         決定事項|重要な決定|主要な決定|主な決定事項|决定",
        Title::Section(Section::Decisions),
    ),
    (
        "conversation dynamics|dynamics|tone|communication style|user tone|rapport|user feedback|\
         feedback|open questions|unresolved questions|questions|outstanding questions|\
         unresolved issues|interaction style|conversation tone|gesprächsdynamik|tonfall|\
         offene fragen|dynamique de la conversation|ton|questions ouvertes|\
         dinámica de la conversación|tono|preguntas abiertas|对话动态|对话氛围|沟通风格|\
         未解决的问题|会話の流れ|会話のダイナミクス|会話の雰囲気|未解決の質問|未解決の問題",
        Title::Section(Section::Dynamics),
    ),
    (
        "next steps|next step|next|next actions|todo|todos|to do|to dos|todo list|pending|\
         pending tasks|pending work|pending items|plan|tasks|work|steps|action items|what's next|\
         remaining work|remaining tasks|upcoming|backlog|current plan|nächste schritte|\
         offene punkte|offene aufgaben|prochaines étapes|étapes suivantes|à faire|próximos pasos|\
         siguientes pasos|pendiente|pendientes|下一步|后续步骤|接下来的步骤|待办|待办事项|\
         次のステップ|今後の予定|残タスク|今後のステップ",
        Title::Section(Section::NextSteps),
    ),
    (
        "critical context|context|facts|key facts|key knowledge|knowledge|background|details|\
         technical details|technical context|concepts|key technical concepts|key information|\
         information|findings|key findings|discoveries|learnings|key points|insights|environment|\
         references|key context|data points|important details|kritischer kontext|\
         wichtiger kontext|kontext|fakten|contexte critique|contexte|contexte important|faits|\
         contexto crítico|contexto|contexto importante|datos clave|关键上下文|关键信息|\
         重要上下文|上下文|背景|重要なコンテキスト|重要な文脈|コンテキスト|重要な情報|重要情報",
        Title::Section(Section::Context),
    ),
    (
        "excerpts|excerpt|verbatim excerpts|auszüge|extraits|extractos|摘录|原文摘录|抜粋",
        Title::Section(Section::Excerpts),
    ),
    (
        "names|identifiers|namen|bezeichner|noms|identifiants|nombres|identificadores|名称|标识符|\
         名前|識別子",
        Title::Section(Section::Names),
    ),
    (
        "files|artifacts|artefacts|files and code|files and code sections|file operations|\
         files / directories|code|file system state|files touched|code sections|dateien|fichiers|\
         archivos|ficheros|文件|相关文件|ファイル|関連ファイル",
        Title::Files,
    ),
    (
        "created|files created|created files|new files|added|files added|neue dateien|erstellt",
        Title::Section(Section::Created),
    ),
    (
        "modified|files modified|modified files|files changed|changed files|changes|edited files|\
         files edited|updated files|files updated|code changes|geändert|geänderte dateien|\
         fichiers modifiés|archivos modificados|修改的文件|変更したファイル",
        Title::Section(Section::Modified),
    ),
    (
        "deleted|files deleted|deleted files|removed|removed files|files removed|gelöscht",
        Title::Section(Section::Deleted),
    ),
    (
        "read|files read|read files|files reviewed|files examined|files viewed|gelesen",
        Title::Section(Section::Read),
    ),
    (
        "failed attempts|failures|errors|errors and fixes|errors encountered|what didn't work|\
         what did not work|dead ends|failed approaches|failed|tried and failed|problems|issues|\
         issues encountered|mistakes|fehlgeschlagene versuche|fehler|fehlversuche|échecs|\
         tentatives échouées|erreurs|intentos fallidos|errores|失败的尝试|错误|失敗した試み|\
         エラー|失敗",
        Title::Section(Section::Failed),
    ),
    (
        "latest user request|latest request|last user request|last request|last user message|\
         latest user message|most recent request|most recent user request|current request|\
         user request|letzte anfrage|letzte benutzeranfrage|dernière demande|última solicitud|\
         última petición|最新用户请求|最新请求|用户最新请求|最新のユーザーリクエスト|最新の依頼",
        Title::Section(Section::Request),
    ),
    (
        "summary|conversation summary|session summary|context summary|checkpoint|\
         conversation checkpoint|structured summary|checkpoint summary|\
         previous conversation summary|summary of conversation|summary of the conversation|\
         conversation so far|handoff|handoff summary|format|existing summary|\
         previous conversation|conversation|zusammenfassung|résumé|resumen|\
         resumen de la conversación|résumé de la conversation|zusammenfassung des gesprächs|摘要|\
         对话摘要|总结|要約|会話の要約|まとめ|サマリー",
        Title::Document,
    ),
    // Said of the summary itself where a model thinks aloud before it.
    ("analysis", Title::Document),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_understood() {
        let section = |section| Some(Title::Section(section));
        let cases = [
            ("Goal", section(Section::Goal)),
            ("🎯 **User's Main Goal:**", section(Section::Goal)),
            ("1. Primary Request and Intent:", section(Section::Goal)),
            ("Constraints & Preferences", section(Section::Constraints)),
            ("Next Steps (in order)", section(Section::NextSteps)),
            ("TODO", section(Section::NextSteps)),
            ("Key Technical Decisions", section(Section::Decisions)),
            ("Decisions / Rationale", section(Section::Decisions)),
            ("Files Touched", Some(Title::Files)),
            ("modified-files", section(Section::Modified)),
            ("overall_goal", section(Section::Goal)),
            ("Current Status and Next Steps", Some(Title::Progress)),
            ("Nächste Schritte", section(Section::NextSteps)),
            ("下一步：", section(Section::NextSteps)),
            ("決定事項", section(Section::Decisions)),
            ("Summary", Some(Title::Document)),
            ("The weather in Bergen", None),
            ("", None),
            ("***", None),
        ];
        for (heading, expected) in cases {
            assert_eq!(Title::of(heading), expected, "{heading:?}");
        }
    }

    #[test]
    fn no_title_is_listed_twice() {
        let mut names: Vec<&str> = TITLES.iter().flat_map(|(names, _)| names.split('|')).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
