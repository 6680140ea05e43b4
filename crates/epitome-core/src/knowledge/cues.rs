//! The words that knowledge is told with, and those that say that something is none. Lists are parted by `|`, in lower
//! case; what the cues mean together is decided where facts, decisions and preferences are judged.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::said::{Hit, Word, is_unspaced};

/// What words do in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cue {
    /// The speaker is not sure.
    Unsure,
    /// It speaks of what could or ought to be.
    Conditional,
    /// It holds for the moment only, or is about to be done.
    Passing,
    /// It points at something that only the conversation shows.
    Pointing,
    /// It says why something happened.
    Cause,
    /// It asks to remember.
    Memory,
    /// What stands before it is the case; see [`super::relation`].
    Relation(Relation),
    /// Somebody decided.
    Decided,
    /// Somebody chooses; a decision if there is a reason or if the user says so.
    Chosen,
    /// A reason follows.
    Reason,
    /// It holds from now on, or always.
    Standing,
    /// The user likes or dislikes.
    Wish,
    /// The user forbids, where a part of a sentence begins with it.
    Refusal,
    /// The user asks for a way of doing things, where the sentence begins with it.
    Manner,
    /// It is not as it was before.
    Changed,
    /// What was before follows.
    InsteadOf,
    /// What is said is denied.
    Negation,
}

/// How what stands behind a verb belongs to what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Relation {
    /// It is the same.
    Equals,
    /// It is its place.
    Located,
    /// It is where it can be reached.
    Served,
    /// It is its name, or whose it is.
    Named,
    /// It is its value.
    Set,
    /// It is what it is made with.
    Uses,
}

use Cue::*;

const SPACED: &[(Cue, &str)] = &[
    (
        Unsure,
        "maybe|perhaps|probably|possibly|might|seems|seem|seemed|appears|appear|looks like|look like|i think|i guess|\
         i assume|assume|assuming|suppose|supposedly|i believe|i suspect|likely|not sure|unsure|could be|may be|vielleicht|\
         wahrscheinlich|vermutlich|wohl|scheint|peut-être|probablement|semble|quizás|tal vez|probablemente|parece",
    ),
    (
        Conditional,
        "if|unless|whether|may|could|would|should|suggest|suggests|propose|either|let me know|e.g|for example|\
         for instance|könnte|falls|ob|sollte|wenn|zum beispiel|si|pourrait|devrait|par exemple|podría|debería|\
         por ejemplo",
    ),
    (
        Passing,
        "now|currently|right now|at the moment|for now|still|yet|just|already|let me|i'll|i will|we'll|i'm|i am|going to|about to|will|\
         try|trying|tried|need to|needs to|want to|todo|wip|first|next|then|finally|again|today|tonight|tomorrow|\
         yesterday|so far|until|soon|jetzt|gerade|derzeit|momentan|noch|heute|gleich|maintenant|actuellement|encore|\
         en ce moment|ahora|actualmente|todavía|aún|hoy",
    ),
    (
        Pointing,
        "this|that|these|those|it|following|above|below|here|there|everything|something|anything|nothing|dies|das hier|\
         folgende|folgenden|ceci|cela|esto|eso",
    ),
    (
        Cause,
        "the root cause|the cause|is caused by|was caused by|are caused by|were caused by|the problem is that|the problem was that|\
         the issue is that|the issue was that|the bug is that|the bug was that|the problem was|the bug is in|\
         the bug was in|turns out|turned out|happens because|happened because|fails because|fail because|failed because|failing because|\
         the reason is|the reason was|the culprit is|the culprit was|ursache ist|ursache war|\
         die ursache|liegt daran|lag daran|la cause est|la cause était|est causé par|est dû à|vient du fait|\
         la causa es|la causa era|se debe a|causado por",
    ),
    (
        Memory,
        "remember that|remember|keep in mind|keep in mind that|bear in mind|note that|for the record|fyi|\
         for your information|be aware that|merk dir|merke dir|denk daran|zur info|beachte dass|souviens-toi|\
         rappelle-toi|note que|pour info|recuerda que|ten en cuenta que|recuerda",
    ),
    (
        Relation(self::Relation::Located),
        "lives in|lives at|lives under|live in|live under|is in|are in|is located in|is located at|are located in|\
         is stored in|are stored in|is stored at|is kept in|are kept in|resides in|is under|are under|is found in|\
         is defined in|are defined in|is implemented in|is configured in|is documented in|sits in|can be found in|\
         can be found at|can be found under|is at|are at|liegt in|liegt unter|liegen in|liegen unter|steht in|\
         stehen in|befindet sich in|befindet sich unter|se trouve dans|se trouvent dans|est dans|sont dans|\
         se encuentra en|está en|están en",
    ),
    (
        Relation(self::Relation::Served),
        "listens on|listens at|is listening on|runs on|is running on|runs at|binds to|is served on|is served at|\
         is served from|is available at|is reachable at|is hosted at|is hosted on|is deployed at|is deployed to|\
         is deployed on|is exposed on|läuft auf|lauscht auf|hört auf|ist erreichbar unter|écoute sur|tourne sur|\
         est accessible sur|escucha en|corre en|está disponible en",
    ),
    (
        Relation(self::Relation::Named),
        "is called|are called|is named|is known as|stands for|is short for|is owned by|is maintained by|belongs to|\
         heißt|heisst|gehört|s'appelle|appartient à|se llama|pertenece a",
    ),
    (
        Relation(self::Relation::Set),
        "is set to|are set to|defaults to|default to|is pinned to|is fixed at|is limited to|is capped at|points to|\
         points at|expires on|expires at|is due on|is due|equals|is configured to|was changed to|changed to|\
         has changed to|is now|are now|lautet|beträgt|ist auf|zeigt auf|steht auf|ist jetzt|est fixé à|\
         pointe vers|est maintenant|apunta a|es ahora|vence el",
    ),
    (Relation(self::Relation::Equals), "is|are|ist|sind|est|sont|es|son"),
    (
        Relation(self::Relation::Uses),
        "uses|use|runs|is written in|is built with|is built on|is based on|depends on|requires|targets|supports|\
         verwendet|nutzt|benutzt|ist geschrieben in|basiert auf|utilise|est écrit en|repose sur|usa|utiliza|\
         está escrito en|se basa en",
    ),
    (
        Decided,
        "decided|we decide|the decision is|decision|final decision|let's go with|lets go with|we'll go with|\
         we will go with|i'll go with|we go with|going with|settled on|we settle on|we chose|i chose|i've chosen|\
         we've chosen|opted for|opted to|opted against|agreed on|agreed to|we agreed|we'll stick with|\
         let's stick with|lets stick with|we stick with|sticking with|we no longer use|entschieden|\
         beschlossen|entscheidung|\
         wir bleiben bei|wir einigen uns auf|avons décidé|a décidé|ai décidé|décision|avons choisi|ai choisi|\
         optons pour|on reste sur|hemos decidido|he decidido|se decidió|decidimos|decisión|elegimos|\
         nos quedamos con|optamos por",
    ),
    (
        Chosen,
        "we'll use|we will use|we're using|we are using|we're going to use|let's use|lets use|let's keep|lets keep|\
         we'll keep|i'll use|i will use|switch to|switched to|switching to|we're switching to|\
         move to|moving to|we're moving to|we moved to|wir nehmen|nehmen wir|wir verwenden|verwenden wir|\
         wir benutzen|wir nutzen|wir wechseln zu|wir steigen um|on prend|nous prenons|on utilise|nous utilisons|\
         utilisons|on garde|nous gardons|on passe à|nous passons à|vamos con|vamos a usar|usaremos|usemos|\
         cambiamos a|pasamos a",
    ),
    (
        Reason,
        "because|since|so that|so we|so it|due to|as it|as this|as that|as we|in order to|the reason|reason|rationale|\
         that way|this way|otherwise|weil|da|damit|denn|sonst|parce que|car|puisque|afin de|sinon|porque|ya que|\
         para que|puesto que|así",
    ),
    (
        Standing,
        "always|never|from now on|from here on|in future|going forward|whenever you|every time you|each time you|\
         before you|after you|as a rule|under no circumstances|ab jetzt|ab sofort|immer|nie|niemals|künftig|\
         in zukunft|toujours|ne jamais|jamais|désormais|dorénavant|à l'avenir|siempre|nunca|de ahora en adelante|\
         en adelante|a partir de ahora",
    ),
    (
        Wish,
        "i prefer|i'd prefer|i would prefer|i much prefer|we prefer|i'd rather|i would rather|i like|i love|i hate|i dislike|\
         i don't like|i do not like|i don't want you to|i do not want you to|i don't want any|i do not want any|\
         i want you to|call me|my preference|my favourite|my favorite|ich bevorzuge|ich mag|ich hätte lieber|lieber|\
         am liebsten|nenn mich|ich will keine|je préfère|j'aime|je n'aime|appelle-moi|appelez-moi|prefiero|\
         preferimos|me gusta|me gustan|no me gusta|no me gustan|llámame",
    ),
    (
        Refusal,
        "don't|do not|dont|no|avoid|refrain from|stop|no more|kein|keine|keinen|vermeide|vermeiden sie|verwende kein|\
         verwende keine|benutze kein|benutze keine|n'utilise|n'utilisez|n'ajoute|n'ajoutez|ne modifie|ne modifiez|\
         ne touche|ne touchez|évite|évitez|pas de|no uses|no use|no añadas|no toques|no cambies|no modifiques|\
         evita|evite|nada de",
    ),
    (
        Manner,
        "use|prefer|stick to|keep to|answer in|reply in|respond in|answer with|respond with|write in|be concise|\
         be brief|keep it short|keep answers|keep your answers|address me as|speak|verwende|benutze|nutze|antworte|\
         antworten sie|schreib|schreibe|utilise|utilisez|réponds|répondez|écris|usa|utiliza|responde|contesta|\
         escribe",
    ),
    (
        Changed,
        "instead|no longer|not anymore|anymore|any more|from now on|actually|correction|is now|are now|has changed|\
         changed to|was changed|moved to|switch|switched|switching|we no longer|rather than|on second thought|\
         changed my mind|forget what i said|nicht mehr|ab jetzt|ab sofort|stattdessen|doch lieber|ist jetzt|\
         korrektur|désormais|finalement|en fait|ne plus|plutôt|ya no|de ahora en adelante|a partir de ahora|\
         en realidad|mejor",
    ),
    (
        InsteadOf,
        "instead of|rather than|no longer|over|statt|anstatt|anstelle von|au lieu de|plutôt que|en lugar de|en vez de|ya no",
    ),
    (
        Negation,
        "not|no|never|don't|dont|isn't|aren't|doesn't|won't|can't|cannot|without|avoid|stop|refrain|no longer|nicht|\
         kein|keine|keinen|nie|niemals|ohne|vermeide|pas|jamais|plus|sans|évite|évitez|nunca|jamás|sin|evita",
    ),
];

/// Cues of languages that part no words; they count wherever they stand.
const UNSPACED: &[(Cue, &str)] = &[
    (Unsure, "可能|也许|或许|大概|应该是|かもしれ|たぶん|と思い|でしょう"),
    (Conditional, "如果|要是|もし"),
    (Passing, "现在|目前|正在|暂时|刚刚|今天|今は|現在|ところです|ています|今日"),
    (Cause, "原因是|根本原因|是因为|原因は|が原因|のせい"),
    (Memory, "记住|请注意|覚えて|覚えておいて"),
    (Decided, "决定|決定し|决策|ことにし|に決め|ことに決|選択し|选定"),
    (Chosen, "改用|就用|我们用|我們用|采用|採用|にします|に変更し|に切り替え"),
    (Reason, "因为|由于|以便|ので|からです|ため"),
    (Standing, "总是|始终|永远|从现在开始|从现在起|以后都|今後|これから|常に|必ず|決して|绝不"),
    (Wish, "我喜欢|我更喜欢|我偏好|叫我|が好き|の方がいい|ほうがいい|と呼んで"),
    (Refusal, "不要|请勿|切勿|别用|ないでください|しないで|使わないで"),
    (Manner, "请用|请使用|で答えて|で返事|を使ってください"),
    (Changed, "改为|改成|改用|不再|而不是|代わりに|もう使わ|に変更|に変わ"),
    (Negation, "不|没|勿|ない|ません"),
];

struct Cues {
    /// By their first word.
    spaced: HashMap<&'static str, Vec<(Cue, Vec<&'static str>)>>,
}

static CUES: LazyLock<Cues> = LazyLock::new(|| {
    let mut spaced: HashMap<&str, Vec<(Cue, Vec<&str>)>> = HashMap::new();
    for (cue, list) in SPACED {
        for phrase in list.split('|') {
            let words: Vec<&str> = phrase.split(' ').collect();
            if let Some(first) = words.first().copied() {
                spaced.entry(first).or_default().push((*cue, words));
            }
        }
    }
    Cues { spaced }
});

/// The cues of a sentence, in the order in which they begin. Of one cue in one place only the longest counts.
pub(super) fn hits(text: &str, words: &[Word]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for (cue, phrase) in CUES.spaced.get(word.low.as_str()).into_iter().flatten() {
            let end = at + phrase.len();
            let said = words.get(at..end).unwrap_or_default();
            let is_there =
                said.len() == phrase.len() && said.iter().zip(phrase).all(|(word, cue)| word.low == *cue);
            if !is_there {
                continue;
            }
            match hits.iter_mut().find(|hit| hit.cue == *cue && hit.words.start == at) {
                Some(hit) => hit.words.end = hit.words.end.max(end),
                None => hits.push(Hit { cue: *cue, words: at..end }),
            }
        }
    }
    if text.chars().any(is_unspaced) {
        let found = UNSPACED.iter().filter(|(_, list)| list.split('|').any(|cue| text.contains(cue)));
        hits.extend(found.map(|(cue, _)| Hit { cue: *cue, words: 0..0 }));
    }
    hits
}
