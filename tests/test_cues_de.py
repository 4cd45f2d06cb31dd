from __future__ import annotations

import pytest

from skillopt_git.clauses import satisfied
from skillopt_git.grammar import Grammar
from skillopt_git.languages import reader
from skillopt_git.wishes import voices

READER = reader()
DONE = "Erledigt, die Tests sind grün."


def german() -> Grammar:
    return next(grammar for grammar in READER.grammars if grammar.language == "de")


def rules(typed: str, answer: str = DONE) -> list[str]:
    """What is firmly wished for."""
    return [voice.wish.text for voice in voices(typed, german(), answer=answer) if voice.meant]


# What was typed after an answer, and the rules in it.
WISHES = [
    ("nein, nimm pnpm, nicht npm", ["Nimm pnpm, nicht npm"]),
    ("nein nimm pnpm nicht npm", ["Nimm pnpm nicht npm"]),
    ("Nein. Wir verwenden pnpm, nicht npm.", ["Verwenden pnpm, nicht npm"]),
    ("NEIN, BITTE PNPM STATT NPM", ["Verwende pnpm, nicht npm"]),
    ("ne, nimm `pnpm`", ["Nimm `pnpm`"]),
    ("nutze `pnpm`, nicht `npm`", ["Nutze `pnpm`, nicht `npm`"]),
    ("hier nutzen wir pnpm, nicht npm", ["Verwende pnpm, nicht npm"]),
    ("nee nimm pnpm", ["Nimm pnpm"]),
    ("Nein, verwenden Sie bitte pathlib anstatt os.path", ["Verwenden Sie bitte pathlib anstatt os.path"]),
    ("ich hab doch gesagt: nimm pnpm statt npm", ["Nimm pnpm statt npm"]),
    ("Ich habe dir doch gesagt, nimm pnpm", ["Nimm pnpm"]),
    ("Wie gesagt, nimm pnpm", ["Nimm pnpm"]),
    ("So nicht. Nimm pytest.", ["Nimm pytest"]),
    ("Das ist falsch, verwende pytest", ["Verwende pytest"]),
    ("Super, aber nimm pytest", ["Nimm pytest"]),
    ("Nein, schreib die Ticketnummer in den Branchnamen", ["Schreib die Ticketnummer in den Branchnamen"]),
    ("nein, Fehlermeldungen auf Deutsch schreiben", ["Fehlermeldungen auf Deutsch schreiben"]),
    ("Nein, antworte auf Deutsch", ["Antworte auf Deutsch"]),
    ("In diesem Projekt immer pnpm verwenden", ["Immer pnpm verwenden"]),
    ("immer zuerst ruff laufen lassen", ["Immer zuerst ruff laufen lassen"]),
    (
        "- immer zuerst ruff laufen lassen\n- nie auf main pushen",
        ["Immer zuerst ruff laufen lassen", "Nie auf main pushen"],
    ),
    ("du solltest immer erst ruff laufen lassen!", ["Immer erst ruff laufen lassen"]),
    ("Achte bitte darauf, immer die Tests laufen zu lassen", ["Immer die Tests laufen zu lassen"]),
    ("fuer tabellen immer pandas nehmen", ["Fuer tabellen immer pandas nehmen"]),
    ("ok aber nie direkt auf main pushen", ["Nie direkt auf main pushen"]),
    ("niemals `git add -A` verwenden", ["Niemals `git add -A` verwenden"]),
    ("auf keinen Fall Zugangsdaten committen", ["Auf keinen Fall Zugangsdaten committen"]),
    ("Nicht direkt auf main committen", ["Nicht direkt auf main committen"]),
    ("bitte nicht auf main pushen", ["Nicht auf main pushen"]),
    ("du sollst nicht auf main pushen", ["Nicht auf main pushen"]),
    ("Sie dürfen nicht auf main pushen", ["Nicht auf main pushen"]),
    ("du darfst hier nicht auf main pushen", ["Nicht auf main pushen"]),
    ("du sollst doch keine Kommentare schreiben", ["Keine Kommentare schreiben"]),
    ("bitte keine Kommentare mehr im Code", ["Keine Kommentare mehr im Code"]),
    ("keine Emojis in Commit-Messages", ["Keine Emojis in Commit-Messages"]),
    ("Keine Abkürzungen in Variablennamen verwenden, danke", ["Keine Abkürzungen in Variablennamen verwenden"]),
    ("ok. und bitte keine Abkuerzungen mehr", ["Keine Abkuerzungen mehr"]),
    ("grundsätzlich keine Abkürzungen", ["Keine Abkürzungen"]),
    ("Vermeide Mocks", ["Vermeide Mocks"]),
    ("Vermeiden Sie bitte globale Variablen", ["Vermeiden Sie bitte globale Variablen"]),
    ("ab jetzt auf Deutsch antworten", ["Auf Deutsch antworten"]),
    ("Auf Deutsch antworten ab sofort bitte", ["Auf Deutsch antworten"]),
    ("In Zukunft bitte das Changelog aktualisieren", ["Das Changelog aktualisieren"]),
    ("kuenftig bitte das changelog aktualisieren", ["Das changelog aktualisieren"]),
    ("beim nächsten Mal bitte die Tests laufen lassen", ["Die Tests laufen lassen"]),
    ("Schreib keine Kommentare", ["Schreib keine Kommentare"]),
    ("Füge keine neuen Abhängigkeiten hinzu", ["Füge keine neuen Abhängigkeiten hinzu"]),
    ("Benutze niemals `any`", ["Benutze niemals `any`"]),
    ("Ändern Sie nie die generierten Dateien", ["Ändern Sie nie die generierten Dateien"]),
    ("Push nicht direkt auf main", ["Push nicht direkt auf main"]),
    ("die Snapshots nicht von Hand ändern", ["Die Snapshots nicht von Hand ändern"]),
    ("npm nicht mehr benutzen", ["Npm nicht mehr benutzen"]),
    ("bloß nicht auf main pushen", ["Bloß nicht auf main pushen"]),
    ("die Migrationen nie anfassen", ["Die Migrationen nie anfassen"]),
    ("nirgends console.log im Code lassen", ["Nirgends console.log im Code lassen"]),
    ("ich will keine Emojis in der README", ["Keine Emojis in der README"]),
    ("Vor jedem Commit die Tests laufen lassen", ["Vor jedem Commit die Tests laufen lassen"]),
    (
        "wenn du eine neue Route anlegst, auch die Doku ergänzen",
        ["Wenn du eine neue Route anlegst, auch die Doku ergänzen"],
    ),
    ("Kunden duzen wir nie", ["Kunden nie duzen"]),
    ("Kommentare bitte immer auf Deutsch", ["Kommentare bitte immer auf Deutsch"]),
    ("Wie oft noch: fass dich kurz", ["Fass dich kurz"]),
    ("Antworten bitte kürzer fassen", ["Antworten bitte kürzer fassen"]),
    ("Nein, halte dich an den Styleguide", ["Halte dich an den Styleguide"]),
    ("merk dir noch: commit messages auf Englisch", ["Commit messages auf Englisch"]),
    ("Achten Sie bitte künftig auf korrekte Umlaute", ["Achten Sie auf korrekte Umlaute"]),
    ("Wir nutzen jetzt pnpm", ["Verwende pnpm"]),
    ("wir verwenden inzwischen vitest statt jest", ["Verwende vitest statt jest"]),
    ("Spar dir die Zusammenfassungen", ["Spar dir die Zusammenfassungen"]),
]

NOTHING = [
    "",
    "nein",
    "immer",
    "ab jetzt",
    "Kein Problem",
    "kein problem, lass die tests laufen",
    "ja kein problem. immerhin läuft er jetzt",
    "Keine Ahnung, warum das nicht geht. Lass die Tests nochmal laufen.",
    "keine Einwände, mach weiter",
    "keine eile",
    "Nein danke",
    "nein, danke",
    "nee danke, nicht nötig",
    "nein lass mal, das reicht so",
    "Nein, passt so, mach weiter",
    "noch nicht, erst die Tests laufen lassen",
    "nicht nötig",
    "nicht schlecht!",
    "nicht so schnell",
    "nicht dass ich wüsste",
    "Nicht ganz richtig",
    "Nicht alle Tests sind grün",
    "das geht immer noch nicht",
    "immer noch rot",
    "läuft immer noch nicht",
    "immer wieder derselbe Fehler",
    "nein, das ist immer so",
    "wenn ich das öffne, kommt immer ein Fehler",
    "Immer wenn ich speichere, stürzt der Editor ab",
    "Immer gerne!",
    "die tests laufen nie durch",
    "das hat noch nie funktioniert",
    "nie gesehen sowas",
    "Keine Fehler mehr, super",
    "keine tests gefunden",
    "Kein Test schlägt mehr fehl",
    "Keine der Dateien ist formatiert",
    "Keine Rückmeldung vom Server erhalten",
    "es gibt keine Tests",
    "ohne Docker geht das nicht",
    "wir haben keinen Staging-Server",
    "wir haben das nie getestet",
    "Wir verwenden hier React 18",
    "ab morgen haben wir einen Staging-Server",
    "ab jetzt bin ich alice",
    "nicht vergessen, morgen ist Release",
    "Warum hast du npm benutzt?",
    "warum immer npm und nicht pnpm",
    "kannst du pnpm statt npm nehmen?",
    "sollen wir immer zuerst ruff laufen lassen?",
    "wie macht man das ohne Docker",
    "nimm pnpm statt npm",
    "starte den server für diesen test auf 8081 statt 8080",
    "mach einen Test für negative Werte",
    "Danke! Jetzt installier lodash mit pnpm",
    "Nein, lass die Tests nochmal laufen",
    "Nein, zeig mir den Diff",
    "nein, die andere Datei",
    "Nein, mach weiter",
    "nein, mach das rückgängig",
    "mach das nie wieder",
    "lass das",
    "hör auf damit",
    "stopp den server",
    "du vergisst immer die Tests",
    "du musst die Tests nicht laufen lassen",
    "Du brauchst keine Tests schreiben",
    "du kannst die Tests auch löschen",
    "nein, die Tests wollte ich nicht ändern",
    "Nein, ich wollte nur die Zeile ändern",
    "Nein, der Test schlägt fehl",
    "vielleicht nehmen wir irgendwann eh playwright statt cypress",
    "man soll nie aufgeben",
    "bob soll halt bitte immer vorher fragen",
    "na toll, wieder alles rot. ganz großes kino",
    "nein, noch keine Tests",
    "kein Commit bitte",
    "keine weiteren Änderungen",
    "ok aber mach den button blau",
    "super aber der knopf ist noch rot",
    "wir müssen das bis Freitag fertig haben",
    "gut, dann mach das so",
    "die Tabelle soll keine doppelten Einträge enthalten",
    "Schreib eine Funktion, die niemals null zurückgibt",
    "ich möchte einen Test für den Import",
    "Beim nächsten Mal wird alles besser",
    "jedes Mal der gleiche Mist",
    "wie immer top",
    "vor dem Commit war noch alles grün",
    "Nach jedem Deploy geht die Seite nicht",
    "kein Mensch liest das",
    "nirgends eine Spur davon",
    "Zugriff ist nicht erlaubt",
    "der Login geht gar nicht",
    "die Funktion wird nicht mehr verwendet",
    "committe noch nicht",
    "bitte noch nicht pushen",
    "es läuft nicht mehr",
    "der Server startet nicht mehr",
    "maximal 10 Einträge anzeigen",
    "kürzer bitte",
    "prüf kurz, ob das stimmt",
    "weniger Abstand zwischen den Zeilen bitte",
    "mach die Schrift bitte kleiner",
    "wenn du neue Infos hast, melde dich",
    "Ich sehe nirgends einen Fehler",
    "die Spalte konnte ich nicht anlegen",
    "Der Code lässt sich nicht einfach ändern",
    "ich weiß, dass wir die Tests nicht löschen",
    "die Tests sind alle grün, also können wir mergen",
    "Schreib immer Docstrings. Ach, vergiss es.",
    "> niemals auf main committen",
    "Am 3. Mai 2026 schrieb Bob:\nniemals auf main committen",
    "WARNING: niemals als root starten",
]


@pytest.mark.parametrize(("typed", "expected"), WISHES)
def test_german_wishes_become_rules_in_the_words_that_were_typed(typed: str, expected: list[str]) -> None:
    """Said to a "du" or a "Sie", with the verb first or last, with and without umlauts."""
    assert rules(typed) == expected


@pytest.mark.parametrize(
    ("typed", "thing"),
    [
        ("console.log ist bei uns verboten", "console.log"),
        ("malloc hat hier nichts verloren", "malloc"),
        ("jQuery verwenden wir nicht mehr", "jQuery"),
        ("npm ist tabu", "npm"),
    ],
)
def test_a_thing_that_is_banned_is_to_be_avoided(typed: str, thing: str) -> None:
    """Told as how things are, it forbids all the same."""
    [voice] = voices(typed, german(), answer=DONE)

    assert voice.wish.forbids
    assert voice.wish.avoid == thing
    assert not voice.faint


@pytest.mark.parametrize("typed", NOTHING)
def test_german_talk_is_no_wish(typed: str) -> None:
    """Consent, reports, questions, plans, plain asks and quotations give no rule."""
    assert rules(typed) == []


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("nimm bitte pnpm statt npm, sonst meckert die CI", "Nimm bitte pnpm statt npm"),
        ("Verwenden Sie pnpm anstelle von npm.", "Verwenden Sie pnpm anstelle von npm"),
    ],
)
def test_a_contrast_corrects_what_the_answer_just_did(typed: str, rule: str) -> None:
    """ "nimm X statt Y" is a correction when the answer used Y, and a plain ask otherwise."""
    assert rules(typed, "`npm install` lief durch.") == [rule]
    assert rules(typed) == []


@pytest.mark.parametrize("typed", [typed for typed, _ in WISHES])
def test_german_is_told_from_other_languages(typed: str) -> None:
    """The small words tell it, also in a short prompt and without umlauts."""
    found = READER.language(typed, around="Kannst du mir bitte noch die Tests für den Import schreiben?")

    assert found is not None
    assert found.language == "de"


@pytest.mark.parametrize(
    "typed",
    [
        "no, use pnpm, not npm",
        "the tests die in the middle, please fix it",
        "gebruik altijd pnpm en nooit npm, alsjeblieft",
        "non, utilise pnpm et pas npm",
        "brug altid pnpm og aldrig npm, tak",
    ],
)
def test_other_languages_are_not_read_as_german(typed: str) -> None:
    """Neither English with its "die", nor the languages next door."""
    found = READER.language(typed)

    assert found is None or found.language != "de"


@pytest.mark.parametrize(
    "typed",
    [
        "super, danke dir",
        "Vielen Dank, so passt es.",
        "passt!",
        "genau so wollte ich das",
        "sieht gut aus, danke schön",
    ],
)
def test_german_praise_is_heard(typed: str) -> None:
    """Thanks and consent to what was done."""
    assert satisfied(typed, german())


@pytest.mark.parametrize(
    "typed",
    ["danke, kannst du noch den Test schreiben?", "super, aber der Test fehlt", "na toll, wieder alles rot", "nein"],
)
def test_german_thanks_inside_a_request_are_no_praise(typed: str) -> None:
    """Nor is sarcasm."""
    assert not satisfied(typed, german())
