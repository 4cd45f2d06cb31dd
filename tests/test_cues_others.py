"""What the tables of Spanish, French, Italian, Portuguese and Dutch find; no other language is read by them."""

from __future__ import annotations

import pytest

from skillopt_git.cues import built_in
from skillopt_git.imperatives import wish_of
from skillopt_git.languages import Reader, reader
from skillopt_git.wishes import Voice, voices

ANSWER = "Done: I added the command and ran `npm test`."


@pytest.fixture(scope="module")
def tables() -> Reader:
    return reader()


def heard(typed: str, tables: Reader) -> tuple[str | None, list[str]]:
    """The language a prompt is told to be in, and the rules in it that count by themselves."""
    grammar = tables.language(typed)
    if grammar is None:
        return None, []
    return grammar.language, [voice.wish.text for voice in _firm(voices(typed, grammar, answer=ANSWER))]


def _firm(found: list[Voice]) -> list[Voice]:
    return [voice for voice in found if voice.meant]


# Typed after an answer, and the rules in it.
SPANISH = [
    ("No, usa pnpm, no npm", ["Usa pnpm, no npm"]),
    ("no, usa uv en vez de pip, que si no el lock no se actualiza", ["Usa uv en vez de pip"]),
    ("por favor no uses npm para instalar las dependencias", ["No uses npm para instalar las dependencias"]),
    ("no pongas comentarios en el código por favor", ["No pongas comentarios en el código"]),
    ("No toques los tests", ["No toques los tests"]),
    ("y deja de poner emojis", ["Deja de poner emojis"]),
    ("nunca hagas push a main", ["Nunca hagas push a main"]),
    ("a partir de ahora responde en español", ["Siempre responde en español"]),
    ("se te olvidó actualizar el changelog", ["Siempre actualizar el changelog"]),
    ("acuerdate de actualizar el changelog", ["Siempre actualizar el changelog"]),
    ("ya te dije que uses tabs, no espacios", ["Uses tabs, no espacios"]),
    ("aquí usamos vitest, no jest", ["Usamos vitest, no jest"]),
    ("nada de comentarios", ["Nada de comentarios"]),
    ("vale, pero sin emojis", ["Sin emojis"]),
    ("no debes usar npm", ["No usar npm"]),
    ("usa siempre pnpm", ["Usa siempre pnpm"]),
    ("no quiero comentarios en el código", ["Sin comentarios en el código"]),
]
FRENCH = [
    ("Non, utilise yarn, pas npm.", ["Utilise yarn, pas npm"]),
    ("non, utilise plutôt yarn au lieu de npm", ["Utilise plutôt yarn au lieu de npm"]),
    ("arrête d’ajouter des commentaires partout", ["Arrête d'ajouter des commentaires partout"]),
    ("arrête de mettre des emojis stp", ["Arrête de mettre des emojis"]),
    ("n'utilise pas npm", ["N'utilise pas npm"]),
    ("ne pousse jamais sur main", ["Ne pousse jamais sur main"]),
    ("et pas de commentaires dans le code", ["Pas de commentaires dans le code"]),
    ("chez nous on utilise vitest, pas jest", ["Utilise vitest, pas jest"]),
    ("bonne idée, mais il faut utiliser yarn au lieu de npm", ["Utiliser yarn au lieu de npm"]),
    ("il ne faut pas utiliser npm", ["Ne pas utiliser npm"]),
    ("tu as encore oublié de mettre à jour le changelog", ["Désormais mettre à jour le changelog"]),
    ("n'oublie pas de mettre à jour le changelog", ["Désormais mettre à jour le changelog"]),
    ("utilise toujours pnpm", ["Utilise toujours pnpm"]),
    ("évite les mocks", ["Évite les mocks"]),
]
ITALIAN = [
    ("No, usa gradle, non maven", ["Usa gradle, non maven"]),
    ("no, usa gradle invece di maven", ["Usa gradle invece di maven"]),
    ("si usa gradle, non maven", ["Usa gradle, non maven"]),
    ("non usare npm", ["Non usare npm"]),
    ("Non mettere commenti nel codice, per favore", ["Non mettere commenti nel codice"]),
    ("non toccare i test", ["Non toccare i test"]),
    ("mai pushare su main", ["Mai pushare su main"]),
    ("d'ora in poi rispondi in italiano", ["D'ora in poi rispondi in italiano"]),
    ("ti sei dimenticato di aggiornare il changelog", ["D'ora in poi aggiornare il changelog"]),
    ("ti ho detto di usare i tab, non gli spazi", ["Usare i tab, non gli spazi"]),
    ("basta con questi riassunti lunghi alla fine", ["Basta con questi riassunti lunghi alla fine"]),
    ("ok, ma niente emoji nei messaggi", ["Niente emoji nei messaggi"]),
    ("non devi usare npm", ["Non usare npm"]),
    ("usa sempre pnpm", ["Usa sempre pnpm"]),
]
PORTUGUESE = [
    ("não, use bun, não npm", ["Use bun, não npm"]),
    ("não, aqui a gente usa bun em vez de npm", ["Usa bun em vez de npm"]),
    ("nao use npm", ["Nao use npm"]),
    ("não coloque comentários no código", ["Não coloque comentários no código"]),
    ("não mexa nos testes", ["Não mexa nos testes"]),
    ("e nunca use any no typescript", ["Nunca use any no typescript"]),
    ("ainda tem um any ali no map. pare de usar any", ["Pare de usar any"]),
    ("sempre rode os testes antes de terminar", ["Sempre rode os testes antes de terminar"]),
    ("a partir de agora responda em português", ["Sempre responda em português"]),
    ("você esqueceu de atualizar o changelog", ["Sempre atualizar o changelog"]),
    ("já falei pra usar tabs, não espaços", ["Usar tabs, não espaços"]),
    ("beleza, mas sem emojis nas mensagens", ["Sem emojis nas mensagens"]),
    ("você não deve usar npm", ["Não usar npm"]),
    ("use sempre pnpm", ["Use sempre pnpm"]),
]
DUTCH = [
    ("Nee, gebruik podman in plaats van docker", ["Gebruik podman in plaats van docker"]),
    ("we gebruiken vitest, geen jest", ["Gebruiken vitest, geen jest"]),
    ("gebruik geen npm", ["Gebruik geen npm"]),
    ("niet pushen naar main", ["Niet pushen naar main"]),
    ("nooit direct naar main pushen", ["Nooit direct naar main pushen"]),
    ("geen commentaar in de code aub", ["Geen commentaar in de code"]),
    ("ok, maar geen emoji's in de berichten", ["Geen emoji's in de berichten"]),
    ("altijd eerst de tests draaien", ["Altijd eerst de tests draaien"]),
    ("voortaan altijd spaties, geen tabs", ["Altijd spaties, geen tabs"]),
    ("voortaan in het Nederlands antwoorden", ["Altijd in het Nederlands antwoorden"]),
    ("ik zei toch: gebruik tabs, geen spaties", ["Gebruik tabs, geen spaties"]),
    ("je mag niet naar main pushen", ["Niet naar main pushen"]),
    ("gebruik altijd pnpm", ["Gebruik altijd pnpm"]),
    ("stop met emoji's toevoegen", ["Stop met emoji's toevoegen"]),
]
WISHES = {"es": SPANISH, "fr": FRENCH, "it": ITALIAN, "pt": PORTUGUESE, "nl": DUTCH}

# Typed after an answer, without any rule.
NONE = {
    "es": [
        "no hay problema, sigue",
        "no, gracias",
        "no funciona",
        "no usa el índice, sigue igual de lento",
        "no añade nada a la lista",
        "no está mal, ya arranca. cambia el título de la página",
        "no entiendo por qué no arranca, nunca me había pasado esto",
        "siempre falla en CI",
        "no, el build no pasa",
        "no sé si es mejor así",
        "por qué no usas pnpm?",
        "¿usamos pnpm en vez de npm?",
        "hay que arreglar el login",
        "perfecto, gracias",
        "quizás nunca uses esto",
    ],
    "fr": [
        "pas de souci, continue avec la page suivante",
        "non merci, ça ira",
        "ça marche toujours pas, plus jamais je touche au css un vendredi",
        "ne s'affiche pas sur mobile",
        "toujours la même erreur",
        "pas de réponse du serveur",
        "Non, le bouton n'apparaît pas",
        "pourquoi tu n'utilises pas pnpm ?",
        "on n'a pas de serveur de staging",
        "il faut corriger le login",
        "je ne sais pas si c'est mieux",
        "parfait merci",
        "pour l'instant ne touche pas aux tests",
    ],
    "it": [
        "nessun problema, vai pure",
        "no, va bene così",
        "non funziona",
        "non usa l'indice",
        "non trova il modulo",
        "fallisce sempre in CI",
        "niente, era un mio errore",
        "no, il pulsante non appare",
        "perché non usi pnpm?",
        "test non passa",
        "forse non serve usare npm",
        "bisogna correggere il login",
        "perfetto, grazie",
    ],
    "pt": [
        "sem problema, pode continuar",
        "não precisa, obrigado",
        "não funciona",
        "não usa o índice",
        "não encontra o módulo",
        "no mapa o motorista aparece sempre no lugar errado, não sei se é o fuso",
        "não, o botão não aparece",
        "ainda não funciona o login",
        "por que você não usa pnpm?",
        "tem que corrigir o login",
        "talvez nunca use isso",
        "show, valeu!",
    ],
    "nl": [
        "geen probleem, ga je gang",
        "nee, hoeft niet",
        "werkt niet",
        "het werkt nog steeds niet op mijn laptop",
        "de planning staat altijd een uur verkeerd en nooit op maandag, hoe kan dat",
        "nee ik bedoelde monday.py",
        "altijd dezelfde fout",
        "doe dat voortaan niet meer",
        "geen idee waarom dat faalt",
        "geen verschil gezien",
        "we hebben geen staging server",
        "waarom gebruik je geen pnpm?",
        "nee, de knop verschijnt niet",
        "top, dankjewel",
    ],
}

OTHERS = {
    "Swedish": [
        "Nej, vi kör pnpm här, inte npm. Använd alltid pnpm.",
        "sluta lägga till kommentarer överallt",
        "kom ihåg att alltid uppdatera ändringsloggen, och inga emojis",
    ],
    "Danish": [
        "Nej, brug pnpm i stedet for npm",
        "brug aldrig npm her, vi bruger altid pnpm",
        "ingen kommentarer i koden, og husk at opdatere changelog fra nu af",
    ],
    "Polish": [
        "nie, zawsze używaj pnpm zamiast npm",
        "no dobrze, ale bez komentarzy w kodzie",
        "nigdy nie wypychaj zmian na main, od teraz zawsze przez pull request",
    ],
    "Turkish": [
        "hayır, npm değil pnpm kullan",
        "bundan sonra hata mesajları her zaman Türkçe olsun, not ekleme",
        "koda asla yorum yazma lütfen",
    ],
    "Czech": [
        "ne, používej pnpm, ne npm",
        "nikdy nepushuj na main, vždy přes pull request",
        "a prosím žádné komentáře do kódu",
    ],
    "Romanian": [
        "nu, folosește pnpm în loc de npm",
        "nu mai adăuga comentarii în cod, te rog",
        "de acum înainte răspunde mereu în română",
    ],
    "Catalan": [
        "no, fes servir pnpm en comptes de npm",
        "no posis mai comentaris al codi, si us plau",
        "a partir d'ara respon sempre en català",
    ],
    "Japanese": [
        "いや、npm じゃなくて pnpm を使って",
        "コメントは必ず日本語で書いてください",
        "no-cache は使わないで。note: 今後は必ずテストを実行して",
    ],
}


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(
    ("typed", "rules"), [case for cases in WISHES.values() for case in cases], ids=lambda value: str(value)[:40]
)
def test_a_wish_is_found_in_the_users_own_words(typed: str, rules: list[str], tables: Reader) -> None:
    """Without what opens and closes it, in any spelling that people type."""
    assert heard(typed, tables)[1] == rules


@pytest.mark.parametrize("typed", [typed for prompts in NONE.values() for typed in prompts])
def test_what_only_sounds_like_a_wish_gives_no_rule(typed: str, tables: Reader) -> None:
    """Consent, questions, facts, reports of what does not work, and what holds for now."""
    assert heard(typed, tables)[1] == []


@pytest.mark.parametrize("language", WISHES)
def test_most_prompts_are_told_to_be_in_their_own_language(language: str, tables: Reader) -> None:
    """Short ones may be told for those of a sister language that has the same words."""
    typed = [*(typed for typed, _ in WISHES[language]), *NONE[language]]
    told = [heard(prompt, tables)[0] for prompt in typed]

    assert told.count(language) >= 0.9 * len(told)


@pytest.mark.parametrize(("language", "typed"), [(name, typed) for name, typed_ in OTHERS.items() for typed in typed_])
def test_a_language_without_a_table_gives_nothing(language: str, typed: str, tables: Reader) -> None:
    """However much its words look like those of another one."""
    assert heard(typed, tables)[1] == [], language


@pytest.mark.parametrize("language", WISHES)
def test_a_table_names_each_phrase_once(language: str) -> None:
    """In lower case, so that the lists can be read and compared."""
    (cues,) = [item for item in built_in() if item.language == language]
    lists = [cues.common, cues.verbs, cues.stop, cues.asking, cues.openers, cues.consents, cues.praises, cues.stops]

    assert all(len(set(phrases)) == len(phrases) for phrases in lists)
    assert all(phrase == phrase.casefold() for phrases in lists for phrase in phrases)


@pytest.mark.parametrize(
    ("typed", "banned"),
    [
        ("escribe los mensajes sin emojis", "no pongas emojis"),
        ("écris les messages sans emojis", "arrête de mettre des emojis"),
        ("scrivi i messaggi senza emoji", "niente emoji nei messaggi"),
        ("escreva as mensagens sem emojis", "não coloque emojis"),
        ("schrijf de berichten zonder emojis", "gebruik geen emojis"),
    ],
)
def test_doing_without_a_thing_bans_it(typed: str, banned: str, tables: Reader) -> None:
    """Such a wish is of the same kind as one that forbids the thing."""
    assert wish_of(typed, tables.grammars).forbids
    assert wish_of(banned, tables.grammars).forbids
