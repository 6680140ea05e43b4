//! The words with which people end a topic and begin another, in the languages they do it in.
//!
//! Only the tables are here, each a list parted by `|`; what counts as saying them is decided in [`super::explicit`].

/// What may follow a phrase for it to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Nothing but a sign: "new topic: …", but not "new topic partitions".
    Alone,
    /// Anything: "on a different note …".
    Anything,
    /// Nothing, a sign, or the next subject, unless that is only the next piece of the same work:
    /// "let's move on to dinner", but not "let's move on to the next file".
    Onward,
    /// A comma or a dash, at the very start of a message, unless it goes on about the same: "anyway, …".
    Aside,
}

use Follow::{Alone, Anything, Aside, Onward};

/// Phrases by language, in lower case, parted by `|`.
pub(crate) const PHRASES: &[(Follow, &str)] = &[
    // English.
    (
        Alone,
        "new topic|next topic|different topic|another topic|completely different topic|\
         totally different topic|new subject|next subject|different subject|another subject|change of topic|\
         change of subject|topic change|subject change|change topic|change the topic|change the subject|\
         change subject|changing topic|changing the topic|changing the subject|changing subjects|\
         switch the topic|start a new topic|begin a new topic|open a new topic|new question|\
         different question|separate question|completely different question|totally different question|\
         unrelated|completely unrelated|totally unrelated|off topic|off-topic|slightly off topic|\
         totally off topic|something completely different|something totally different|\
         something entirely different|enough about that|enough of that|leave it at that|put that aside|\
         that's all on this topic|that's it for this topic|new conversation|seal this topic|close this topic",
    ),
    (
        Anything,
        "now for something completely different|and now for something completely different|\
         on to something else|onto something else|on to something different|on to the next topic|\
         on a different note|on another note|on an unrelated note|on a separate note|\
         on a completely different note|on a totally different note|on a different topic|\
         on a different subject|on another topic|on another subject|to change the subject|to change topics|\
         to switch topics|to switch gears|unrelated question|quick unrelated question|\
         completely unrelated question|totally unrelated question|unrelated to this|unrelated to that|\
         unrelated to the above|unrelated, but|unrelated but|this is unrelated|this is off topic|\
         i have an unrelated question|i have a different question|i have a completely different question|\
         i have a question about something else|i have a question on something else|talk about something else|\
         talk about something different|talk about another topic|talk about a different topic|\
         discuss something else|discuss something different|discuss another topic|discuss a different topic|\
         work on something else|work on something different|work on something completely different|\
         turn to something else|start on something else|start something new|switch gears|switching gears|\
         shift gears|shifting gears",
    ),
    (
        Onward,
        "move on|moving on|change topics|changing topics|switch topics|switching topics|switch subjects|\
         switching subjects",
    ),
    (Aside, "anyway|anyways|anyhow"),
    // German.
    (
        Alone,
        "neues thema|nächstes thema|anderes thema|ein anderes thema|ganz anderes thema|themenwechsel|\
         thema wechseln|das thema wechseln|andere frage|eine andere frage|ganz andere frage|\
         völlig andere frage",
    ),
    (
        Anything,
        "mal was anderes|mal etwas anderes|nun zu etwas anderem|jetzt zu etwas anderem|zu etwas ganz anderem|\
         kommen wir zu etwas anderem|kommen wir zum nächsten thema|reden wir über etwas anderes|\
         sprechen wir über etwas anderes|wechseln wir das thema|lass uns das thema wechseln|\
         lassen sie uns das thema wechseln|lass uns über etwas anderes|lassen sie uns über etwas anderes|\
         lass uns über was anderes|um das thema zu wechseln",
    ),
    (Aside, "wie dem auch sei"),
    // French.
    (
        Alone,
        "nouveau sujet|autre sujet|un autre sujet|sujet suivant|prochain sujet|changement de sujet|\
         question différente|rien à voir|ça n'a rien à voir|sans rapport|hors sujet",
    ),
    (
        Anything,
        "changeons de sujet|on change de sujet|pour changer de sujet|passons à autre chose|\
         passons au sujet suivant|passons à un autre sujet|parlons d'autre chose|rien à voir, mais|\
         rien à voir mais",
    ),
    (Aside, "bref"),
    // Spanish.
    (
        Alone,
        "nuevo tema|tema nuevo|otro tema|siguiente tema|próximo tema|cambio de tema|pregunta diferente|\
         fuera de tema",
    ),
    (
        Anything,
        "cambiemos de tema|cambiando de tema|vamos a cambiar de tema|para cambiar de tema|pasemos a otra cosa|\
         pasemos a otro tema|pasemos al siguiente tema|hablemos de otra cosa|hablemos de otro tema|\
         en otro orden de cosas",
    ),
    (Aside, "en fin"),
    // Italian.
    (
        Alone,
        "nuovo argomento|altro argomento|un altro argomento|prossimo argomento|cambio argomento|\
         cambio di argomento|passiamo oltre|fuori tema",
    ),
    (
        Anything,
        "cambiamo argomento|cambiando argomento|cambiamo discorso|cambiando discorso|per cambiare argomento|\
         passiamo ad altro|passiamo a un altro argomento|parliamo d'altro|parliamo di altro|\
         parliamo di qualcos'altro",
    ),
    (Aside, "comunque"),
    // Portuguese.
    (
        Alone,
        "novo assunto|outro assunto|próximo assunto|novo tópico|novo tema|mudança de assunto|fora do assunto",
    ),
    (
        Anything,
        "mudando de assunto|mudemos de assunto|vamos mudar de assunto|para mudar de assunto|\
         vamos falar de outra coisa|vamos falar sobre outra coisa|passemos a outro assunto|\
         vamos passar para outro assunto",
    ),
    (Aside, "enfim"),
    // Dutch, Polish, Turkish.
    (
        Alone,
        "nieuw onderwerp|ander onderwerp|een ander onderwerp|iets anders|nowy temat|inny temat|zmiana tematu|\
         yeni konu|başka bir konu|konu değişikliği",
    ),
    (
        Anything,
        "even iets anders|laten we van onderwerp veranderen|laten we het over iets anders hebben|\
         zmieńmy temat|zmieniając temat|przejdźmy do innego tematu|konuyu değiştirelim",
    ),
    // Russian, Arabic, Hindi.
    (Alone, "новая тема|другая тема|смена темы|موضوع جديد|موضوع آخر|नया विषय"),
    (
        Anything,
        "сменим тему|давай сменим тему|давайте сменим тему|давай поговорим о другом|\
         давайте поговорим о другом|перейдём к другой теме|перейдем к другой теме|لنغير الموضوع|\
         دعنا نغير الموضوع|لننتقل إلى موضوع آخر|चलो विषय बदलते हैं|विषय बदलते हैं",
    ),
    // Chinese, in both scripts.
    (
        Alone,
        "新话题|新的话题|下一个话题|另一个话题|换话题|题外话|新話題|新的話題|下一個話題|另一個話題|換話題|題外話",
    ),
    (
        Anything,
        "换个话题|换一个话题|我们换个话题|咱们换个话题|说点别的|聊点别的|我们聊点别的|換個話題|換一個話題|我們換個話題|說點別的|聊點別的|我們聊點別的",
    ),
    // Japanese.
    (Alone, "新しい話題|別の話題|次の話題|別件|別の質問"),
    (
        Anything,
        "話題を変え|話題は変わ|話題変え|話を変え|話は変わ|話変わ|別件ですが|別件なんですが|別の質問ですが|全然違う話|全く別の話",
    ),
    (Aside, "ところで"),
    // Korean.
    (Alone, "새로운 주제|새 주제|다른 주제|다음 주제|다른 질문"),
    (
        Anything,
        "주제를 바꾸|주제를 바꿔|화제를 바꾸|화제를 바꿔|다른 이야기를 하|다른 이야기 하|다른 얘기를 하|다른 얘기 하",
    ),
    (Aside, "그건 그렇고"),
];

/// What people say before they come to the point.
pub(crate) const FILLERS: &str = "ok|okay|k|alright|all right|right|so|well|now|great|good|perfect|cool|nice|awesome|thanks|thank you|\
    thx|hey|hi|hello|please|and|but|then|yes|yeah|yep|no|sure|fine|done|got it|anyway|anyhow|let's|lets|\
    let us|can we|could we|shall we|should we|we can|we could|we should|i want to|i'd like to|\
    i would like to|i wanna|i think|i guess|time to|it's time to|ready to|just|ok so|gut|also|danke|nun|\
    jetzt|bon|bien|d'accord|merci|alors|maintenant|bueno|vale|gracias|ahora|pues|bene|allora|grazie|\
    va bene|bom|então|obrigado|obrigada|agora|goed|dobra|хорошо|ладно|ок|спасибо|好的|好了|好|嗯|那么|那|谢谢|謝謝|では|\
    じゃあ|それでは|さて|はい|なるほど|ありがとう|そういえば|좋아|네|그럼|자";

/// What may follow a phrase that stands alone.
pub(crate) const TRAILERS: &str = "please|now|then|here|for a moment|for a minute|for a second|for a sec|for a bit|a bit|completely|\
    entirely|quickly|if you don't mind|if that's ok|again|from here|for now|to something else|bitte|\
    s'il te plaît|s'il vous plaît|por favor|per favore|吧|了|啊|です|ですが|なんですが|だけど|で|に移りましょう|입니다|이야|인데|\
    으로 넘어가자";

/// Pieces of one piece of work: moving on to the next of them is no new topic.
pub(crate) const PIECES: &str = "file|files|step|steps|test|tests|function|functions|method|methods|line|lines|page|pages|item|items|\
    one|ones|part|parts|section|sections|chapter|task|tasks|bug|bugs|issue|issues|module|modules|phase|\
    point|points|commit|row|column|class|classes|error|errors|failure|case|cases|question|questions|\
    example|exercise|stage|iteration|ticket|component|components|slide|paragraph|field|entry|record|\
    branch|change|changes|fix|batch|round|level|problem|todo|option|them|it|that";

/// With these an aside goes on about the same.
pub(crate) const SAME: &str = "it|it's|its|that|that's|this|these|those|they|he|she|the same|still|as i said|thanks|thank|yes|no|\
    the error|the problem|the bug|back to|let's continue|let's keep|continue|keep|go on|carry on|\
    please continue|i fixed|i tried";
