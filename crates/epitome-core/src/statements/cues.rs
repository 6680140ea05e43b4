//! The words that statements are made with. Only the tables are here, each a list parted by `|`, in lower case; how they
//! are looked for is decided in [`super::judge`].

use super::Kind;

/// What a cue asks of what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// Nothing.
    Free,
    /// That nobody speaks of himself: "never touch it", but not "I never touched it".
    Order,
    /// That it is no question turned around: "it should", but not "should I".
    Upright,
    /// That the sentence, or a part of it, begins with it: "use tabs", but not "we use tabs".
    Opening,
}

use Guard::{Free, Opening, Order, Upright};
use Kind::{Constraint, Decision, Preference};

/// Cues of languages that part words by spaces. They begin where a word begins; a blank at their end asks for the end
/// of one.
pub(super) const CUES: &[(Kind, Guard, &str)] = &[
    // English.
    (
        Constraint,
        Free,
        "make sure|be sure to|ensure |must not|mustn't|must never|cannot be |can't be |no longer |at most |at least |\
         no more than|no less than|not allowed|forbidden|prohibited|required to|is required|are required|requirement|\
         mandatory|have to be|has to be|needs to |need to be|under no circumstances|unless i |only if |only when |\
         only after |only use|is critical|critical:|important:|note:|rule:|keep in mind|i don't want|i do not want|\
         we don't want|we do not want|don't you |without changing|without breaking|without touching|without using|\
         without adding|as long as |the budget is|deadline|not more than|not exceed",
    ),
    (Constraint, Order, "never |always |don't |do not |dont |only |avoid |refrain|stop |leave |keep "),
    (Constraint, Upright, "must |should |shouldn't|shall |ought to"),
    (Constraint, Opening, "no |remember to|remember that|remember:|just |not "),
    (
        Decision,
        Free,
        "decided|decision|let's go with|lets go with|go with |going with|we'll use|we will use|we'll go|i'll use|\
         i will use|i'll go with|let's use|lets use|agreed|the plan is|settled on|settle on|i chose|we chose|\
         i've chosen|opted |instead of|rather than|switch to|switched to|switching to|stick with|sticking with|\
         we're using|we are using|final answer|approved|confirmed",
    ),
    (
        Preference,
        Free,
        "i prefer|prefer |preferably|preference|i'd like|i would like|i want|i'd rather|i would rather|i'd love|\
         i need|i like |i'm looking for|i am looking for|please |would be nice|would be great|ideally|i wish|\
         if possible|my favourite|my favorite|call me |would prefer|could you|can you|want you to|need you to",
    ),
    // German.
    (
        Constraint,
        Free,
        "muss |müssen |musst |müsst |darf |dürfen |darfst |dürft |soll |sollen |sollst |sollte |sollten |niemals|\
         auf keinen fall|unbedingt|höchstens|mindestens|stelle sicher|stell sicher|achte darauf|achten sie darauf|\
         verboten|zwingend|ausschließlich|vermeide|vermeiden|nicht mehr als|ohne dass|wichtig:|keinesfalls",
    ),
    (Constraint, Order, "nie |immer |nur |bitte nicht|bitte keine|kein |keine |keinen "),
    (
        Decision,
        Free,
        "entschieden|entscheidung|wir nehmen|wir verwenden|wir benutzen|nehmen wir|verwenden wir|statt |anstatt|\
         anstelle|wir bleiben bei|beschlossen|einigen uns|einverstanden|ich nehme",
    ),
    (
        Preference,
        Free,
        "ich bevorzuge|bevorzugt|lieber |am liebsten|ich möchte|ich hätte gern|ich will|wir wollen|bitte |\
         ich brauche|wäre schön|wenn möglich|kannst du|können sie|könntest du|könnten sie",
    ),
    // French.
    (
        Constraint,
        Free,
        "doit |doivent |dois |devez |devrait |il faut|ne jamais|jamais |toujours |assure-toi|assurez-vous|\
         veille à|veillez à|interdit|obligatoire|au plus|au moins|uniquement|seulement|évite|évitez|n'utilise|\
         n'utilisez|ne touche|ne touchez|ne modifie|ne modifiez|ne change|ne changez|ne supprime|ne supprimez|\
         ne pas |sans modifier|sans changer|important :",
    ),
    (
        Decision,
        Free,
        "décidé|décision|on prend|nous prenons|on utilise|nous utilisons|utilisons |au lieu d|plutôt que|choisi|\
         d'accord|on garde|nous gardons|optons pour",
    ),
    (
        Preference,
        Free,
        "je préfère|de préférence|je veux|je voudrais|j'aimerais|s'il te plaît|s'il vous plaît|veuillez|\
         j'ai besoin|si possible|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|merci de",
    ),
    // Spanish.
    (
        Constraint,
        Free,
        "debe |deben |debes |debería|tiene que|tienen que|tienes que|hay que|nunca |siempre |jamás|asegúrate|\
         asegúrese|prohibido|obligatorio|como máximo|al menos|por lo menos|solamente|únicamente|evita |evite |\
         no uses|no use |no toques|no toque |no cambies|no cambie |no modifiques|no modifique |no borres|\
         no elimines|sin cambiar|sin modificar|importante:",
    ),
    (
        Decision,
        Free,
        "decidido|decidimos|decisión|vamos con|vamos a usar|usaremos|usemos|en lugar de|en vez de|elegimos|\
         elegido|de acuerdo|nos quedamos con|optamos",
    ),
    (
        Preference,
        Free,
        "prefiero|preferiblemente|quiero|quisiera|me gustaría|por favor|necesito|si es posible|puedes |puede usted|\
         podrías|podría ",
    ),
];

/// Cues of languages that part no words; they count wherever they stand.
pub(super) const UNSPACED: &[(Kind, &str)] = &[
    (
        Constraint,
        "必须|必須|不要|不能|不得|不可|不许|请勿|請勿|务必|務必|禁止|只能|只用|一定要|绝不|絕不|应该|應該|应当|需要|避免|确保|確保|\
         切勿|至少|最多|必ず|ないで|てはいけ|てはなら|てはだめ|てはダメ|なければ|べき|べからず|のみ|だけに|限り|絶対|常に|決して|\
         避けて|注意して",
    ),
    (
        Decision,
        "决定|決定|改用|就用|我们用|我們用|我们使用|选择|選擇|采用|採用|而不是|代替|確定|确定|にします|ことにし|決め|選び|の代わりに|\
         でいきま|で行きま",
    ),
    (
        Preference,
        "希望|我想|我要|最好|偏好|喜欢|喜歡|请|請|麻烦|能不能|可以帮|ほしい|欲しい|たいです|ください|下さい|お願い|好み|できれば",
    ),
];
