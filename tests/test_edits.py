from __future__ import annotations

from pathlib import Path

import pytest
import skills_ref
from hypothesis import assume, given
from hypothesis import strategies as st

from skillopt_git.edits import (
    BOM,
    END,
    SLOW_END,
    SLOW_START,
    START,
    DamagedBlock,
    apply,
    decode,
    encode,
    guidance,
    holds,
    one_line,
    refusal,
    rules,
    scaffold,
)
from skillopt_git.errors import ConfigError
from skillopt_git.model import GUIDANCE, Edit

PNPM = "Use pnpm, not npm"
TESTS = "Run `make test` before you commit"


def add(text: str | None) -> Edit:
    return Edit(op="add", target="CLAUDE.md", text=text)


def replace(anchor: str | None, text: str) -> Edit:
    return Edit(op="replace", target="CLAUDE.md", anchor=anchor, text=text)


def delete(anchor: str | None) -> Edit:
    return Edit(op="delete", target="CLAUDE.md", anchor=anchor)


def block(*lines: str, end: str = "\n") -> str:
    return end.join((START, *lines, END, ""))


def changed(text: str, *edits: Edit) -> str:
    outcome = apply(text, edits)
    assert outcome.unmatched == ()
    return outcome.text


def reasons(text: str, *edits: Edit) -> list[str]:
    """Why each of the edits changed nothing; fails if one did."""
    outcome = apply(text, edits)
    assert outcome.text == text
    assert outcome.applied == ()
    return [why for _, why in outcome.unmatched]


# --- add ---------------------------------------------------------------------------------------------------------


def test_first_rule_makes_the_block_at_the_end_after_one_blank_line() -> None:
    """A document without a block gets one at its end."""
    assert changed("# acme-api\n", add(PNPM)) == f"# acme-api\n\n{block(f'- {PNPM}')}"


def test_first_rule_of_an_empty_document_needs_no_blank_line() -> None:
    """Nothing is separated from nothing; a byte order mark stays in front."""
    assert changed("", add(PNPM)) == block(f"- {PNPM}")
    assert changed(BOM, add(PNPM)) == BOM + block(f"- {PNPM}")


def test_missing_final_line_end_stays_missing() -> None:
    """A document that ended without a line end still does."""
    assert changed("# acme-api", add(PNPM)) == f"# acme-api\n\n{block(f'- {PNPM}')}".rstrip("\n")


def test_rules_are_appended_in_order() -> None:
    """Later rules come after earlier ones, before blank lines at the end of the block."""
    assert changed("", add(PNPM), add(TESTS)) == block(f"- {PNPM}", f"- {TESTS}")
    assert changed(block("- One", ""), add(PNPM)) == block("- One", f"- {PNPM}", "")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_new_lines_end_as_their_neighbours_do(end: str) -> None:
    """The block takes over the document's line ends, and a new rule those of the line before it."""
    made = changed(f"# acme-api{end}", add(PNPM), add(TESTS))
    assert made == f"# acme-api{end}{end}" + block(f"- {PNPM}", f"- {TESTS}", end=end)
    assert changed("# acme-api\n" + block("- One", end=end), add(PNPM)) == "# acme-api\n" + block(
        "- One", f"- {PNPM}", end=end
    )


@pytest.mark.parametrize(
    "document",
    [
        block(f"- {PNPM}"),
        block("- use  PNPM,", "  not npm"),
        f"* {PNPM}\n",
        f"3. {PNPM}\n",
        f"{PNPM.upper()}\r\n",
        "- use pnpm,\n  not npm\n\n" + block("- One"),
    ],
)
def test_rule_the_document_holds_is_not_added(document: str) -> None:
    """Whoever wrote it, and in whatever spelling, a rule stands once."""
    assert holds(document, f"- {PNPM}")
    assert reasons(document, add(PNPM)) == ["the document says this already"]


def test_longer_line_does_not_hold_the_rule() -> None:
    """A line says a rule only if it says nothing else, and nothing is no rule."""
    assert not holds(f"{PNPM} or yarn\n", PNPM)
    assert not holds("\n- \n", " - ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "it has no text"),
        ("  \n", "it has no text"),
        (f"Done {END}", "its text holds an HTML comment"),
        ("Say hello <!-- psst", "its text holds an HTML comment"),
        ("Ring the \x07 bell", "its text holds control characters"),
        ("One\u2028two", "its text holds control characters"),
        ("Half a \ud83d pair", "its text holds control characters"),
        ("- One\n- Two", "its text has several parts and cannot become one line"),
        ("One\n\nTwo", "its text has several parts and cannot become one line"),
        ("One\r# Two", "its text has several parts and cannot become one line"),
        ("Run\n```\nmake\n```", "its text has several parts and cannot become one line"),
        ("| a |\n| b |", "its text has several parts and cannot become one line"),
        ("Heading\n---", "its text has several parts and cannot become one line"),
        ("- - !", "its text has no words"),
    ],
)
def test_text_that_cannot_be_a_rule_is_refused(text: str | None, why: str) -> None:
    """What is no single safe line changes nothing, and the reason is told."""
    assert refusal(text) == why
    assert reasons("# acme-api\n", add(text)) == [why]
    assert reasons(block("- One"), Edit(op="replace", target="CLAUDE.md", anchor="One", text=text)) == [why]


def test_wrapped_text_becomes_one_line() -> None:
    """Line breaks inside a sentence are lost without loss, and a list mark is not doubled."""
    assert changed("", add("- Use pnpm,\r\n  not\tnpm\n")) == block(f"- {PNPM}")


# --- replace and delete ------------------------------------------------------------------------------------------


def test_replace_puts_the_text_in_the_place_of_the_rule() -> None:
    """The order stays, and the anchor may be spelled differently."""
    document = "Intro\n" + block("- One", "- Two", "- Three") + "Outro"
    assert changed(document, replace("- TWO", PNPM)) == "Intro\n" + block("- One", f"- {PNPM}", "- Three") + "Outro"


def test_wrapped_rule_is_one_rule() -> None:
    """Indented lines, also after a blank one, belong to the rule before them: read, replaced and deleted as a whole."""
    document = block("- One", "- Use pnpm,", "  not npm", "", "    - in CI too", "", "- Three")
    wrapped = "Use pnpm, not npm - in CI too"
    assert rules(document) == ("One", wrapped, "Three")
    assert changed(document, replace(wrapped, TESTS)) == block("- One", f"- {TESTS}", "", "- Three")
    assert changed(document, delete(wrapped)) == block("- One", "", "- Three")


def test_repeated_rule_is_replaced_and_deleted_everywhere() -> None:
    """No repetition survives, so that doing it again finds nothing."""
    document = block("- One", "- Two", "- one")
    assert changed(document, replace("One", PNPM)) == block(f"- {PNPM}", "- Two")
    assert changed(document, delete("One")) == block("- Two")


@pytest.mark.parametrize("anchor", [None, "", "  ", "- "])
def test_no_anchor_names_no_rule(anchor: str | None) -> None:
    """An empty anchor is in every line, and matches none."""
    assert reasons(block("- One"), delete(anchor), replace(anchor, PNPM)) == ["it names no rule"] * 2


def test_unknown_anchor_changes_nothing() -> None:
    """Only learned rules can be changed: a part of one, or a line of the user's, is no anchor."""
    document = "- Mine\n" + block("- One two")
    unknown = "no learned rule says what it is about"
    assert reasons(document, delete("One"), delete("Mine"), replace("Mine", PNPM)) == [unknown] * 3
    assert reasons("- Mine\n", delete("Mine")) == [unknown]


def test_replacement_that_changes_nothing_is_unmatched() -> None:
    """The same words again, or words that stand elsewhere, are no change."""
    document = block("- One", "- Two")
    assert reasons(document, replace("One", "one"), replace("One", "Two")) == ["the document says this already"] * 2


def test_last_rule_takes_the_block_with_it() -> None:
    """An emptied block goes, and the blank line that came with it."""
    assert changed("Intro\n\n" + block("- One"), delete("One")) == "Intro\n"
    assert changed("Intro\n" + block("- One"), delete("One")) == "Intro\n"
    assert changed("Intro\n  \n" + block("- One"), delete("One")) == "Intro\n  \n"
    assert changed(block("- One") + "Outro\n", delete("One")) == "Outro\n"
    assert changed("Intro\n\n" + block("- One") + "\nOutro\n", delete("One")) == "Intro\n\nOutro\n"


def test_paragraphs_around_an_emptied_block_stay_apart() -> None:
    """The blank line before the block stays where it is the only one between two paragraphs."""
    assert changed("Intro\n\n" + block("- One") + "Outro\n", delete("One")) == "Intro\n\nOutro\n"


def test_block_that_holds_more_than_rules_stays() -> None:
    """What a person wrote inside the block is never removed."""
    assert changed(block("Keep these:", "- One"), delete("One")) == block("Keep these:")


def test_block_alone_in_a_document_without_final_line_end_leaves_nothing() -> None:
    """There is no line before it that could lose its end."""
    assert changed("\n" + block("- One").rstrip("\n"), delete("One")) == ""


def test_edits_see_what_the_edits_before_them_did() -> None:
    """Edits are made one after the other; the ones that fail do not stop the rest."""
    outcome = apply("# acme-api\n", [add(PNPM), delete("Other"), replace(PNPM, TESTS), add(PNPM)])
    assert outcome.text == "# acme-api\n\n" + block(f"- {TESTS}", f"- {PNPM}")
    assert outcome.applied == (add(PNPM), replace(PNPM, TESTS), add(PNPM))
    assert outcome.unmatched == ((delete("Other"), "no learned rule says what it is about"),)


# --- guidance ----------------------------------------------------------------------------------------------------


def guide(text: str) -> Edit:
    return Edit(op="add", target="CLAUDE.md", anchor=GUIDANCE, text=text)


def slow(*lines: str) -> str:
    return "\n".join((SLOW_START, *lines, SLOW_END, ""))


def test_guidance_has_a_block_of_its_own_beside_the_rules() -> None:
    """It is no rule, and comes after them or before, as they came."""
    taught = changed("# acme-api\n", add(PNPM), guide("Name tools"))
    assert taught == f"# acme-api\n\n{block(f'- {PNPM}')}\n{slow('- Name tools')}"
    assert (rules(taught), guidance(taught)) == ((PNPM,), ("Name tools",))
    assert changed(slow("- Name tools"), add(PNPM)) == f"{slow('- Name tools')}\n{block(f'- {PNPM}')}"


def test_new_guidance_stands_in_the_place_of_the_old() -> None:
    """All of it; the rules and everything else stay, byte for byte."""
    before = f"# acme-api\n\n{block('- One')}\n{slow('- Name tools', 'and words')}mine\n"
    assert changed(before, guide("- Name  versions")) == before.replace("- Name tools\nand words", "- Name versions")


def test_guidance_is_taken_back_by_what_it_says() -> None:
    """And its block with it; rules, and a block that was empty before, stay."""
    taught = changed("# acme-api\n", add(PNPM), guide("Name tools"))
    assert changed(taught, delete("Name tools")) == f"# acme-api\n\n{block(f'- {PNPM}')}"
    assert changed(taught, delete(PNPM)) == f"# acme-api\n\n{slow('- Name tools')}"
    assert changed(f"{slow()}{block('- One')}", delete("One")) == slow()


def test_guidance_that_is_there_or_is_none_changes_nothing() -> None:
    assert reasons(slow("- Name tools"), guide("name tools")) == ["the document says this already"]
    assert reasons("", guide("<!-- x -->")) == ["its text holds an HTML comment"]


def test_damaged_guidance_hinders_no_rule() -> None:
    """Two blocks, or one in a code block: rules come and go, and no guidance is written."""
    for damaged in (slow("- One") + slow("- Two"), f"```\n{slow('- One')}```\n"):
        assert changed(damaged, add(PNPM)) == f"{damaged}\n{block(f'- {PNPM}')}"
        assert reasons(damaged, delete("One")) == ["no learned rule says what it is about"]
        with pytest.raises(DamagedBlock):
            apply(damaged, [guide("Three")])
        with pytest.raises(DamagedBlock):
            guidance(damaged)


# --- damage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        f"Intro\n{START}\n- One\n\n\nmine\n",
        f"{END}\n",
        f"{END}\n- One\n{START}\n",
        f"{START}\n{START}\n{END}\n{END}\n",
        block("- One") + "\n" + block("- Two"),
        f"{START}\n{SLOW_START}\n{SLOW_END}\n{END}\n",
        f"{SLOW_START}\n{block('- One')}{SLOW_END}\n",
        f"{SLOW_START}\nmine\n",
        f"{BOM}{START}\n",
        "```\n" + block("- One") + "```\n",
        "- Like this:\n  > ~~~md\n" + block("- One") + "  > ~~~~\n",
    ],
)
def test_damaged_block_is_refused(document: str) -> None:
    """Where the block cannot be told for certain nothing is read and nothing written."""
    with pytest.raises(DamagedBlock):
        apply(document, [])
    with pytest.raises(DamagedBlock):
        rules(document)


def test_damage_is_told_with_its_line() -> None:
    """The message leads to the line to mend."""
    with pytest.raises(DamagedBlock, match=r"line 2 .*LEARNED START") as caught:
        apply(f"Intro\n{START}\n", [add(PNPM)])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("document", "told", "hint"),
    [
        ("Intro\n```sh\nmake\n", "code block begun on line 2 is never closed", "```"),
        ("Intro\n\n  ~~~~\n~~~\n", "code block begun on line 3", "`~~~~`"),
        ("``` is a fence\n", "code block begun on line 1", "```"),
        ("```\n> ```\n", "code block begun on line 1", "```"),
        ("```\r\na\r\n```\r\n```\r\nb", "code block begun on line 4", "```"),
        ("Intro\n<!-- to do\nmore\n", "HTML comment begun on line 2 is never closed", "`-->`"),
        (f"{BOM}<!--", "HTML comment begun on line 1", "`-->`"),
        ("```\nmake\n" + block("- One"), "code block begun on line 1", "```"),
    ],
)
def test_a_block_is_never_put_into_what_was_left_open(document: str, told: str, hint: str) -> None:
    """An agent would read the rules as code, or not at all; the message says what to close and where it begins."""
    with pytest.raises(DamagedBlock, match=told) as caught:
        apply(document, [add(PNPM)])
    assert hint in caught.value.hint
    with pytest.raises(DamagedBlock):
        rules(document)


def test_what_is_left_open_after_the_block_harms_nothing() -> None:
    """Rules before it are rules."""
    assert rules(changed(block("- One") + "```\nmake\n", add(PNPM))) == ("One", PNPM)


@pytest.mark.parametrize(
    "document",
    [
        f"A rule stands between `{START}` and `{END}`.\n",
        f"{SLOW_START}\nslow\n{SLOW_END}\n",
        "```sh\nmake\n```\n",
        "````md\n```\n````\n",
        "``` is a `fence`\n",
        "    ```\n",
        "> ```\n> quoted\n",
        "- ```sh\n  make\n",
        "~~~\n```\n~~~\n",
        "```\n<!--\n```\n",
        "<!-- a\n```\n-->\n",
        "<!-- mine -->\n",
        "<!-->\n",
        "Write `<!--` to begin a comment\n",
        "<!-- a --> <!-- b\n",
    ],
)
def test_what_is_no_damage(document: str) -> None:
    """Markers in a sentence, the slow-update block and code blocks beside the learned one are the user's own."""
    made = changed(document, add(PNPM), add(TESTS))
    assert made.startswith(document)
    assert rules(made) == (PNPM, TESTS)


def test_indented_markers_count() -> None:
    """A marker alone on its line is one, whatever the blanks around it."""
    assert rules(f"  {START} \n- One\n\t{END}\n") == ("One",)


# --- questions ---------------------------------------------------------------------------------------------------


def test_only_list_items_inside_the_block_are_rules() -> None:
    """Prose in the block, empty items and the user's own lists are none."""
    assert rules("- Mine\n" + block("Prose", "- ", "-", "* Star", "- One") + "- Mine too\n") == ("One",)
    assert rules("- Mine\n") == ()


def test_only_line_ends_end_a_line() -> None:
    """A form feed or a Unicode separator inside a line does not begin a second rule."""
    assert rules(block("- One\x0c- Two", "- Three\u2028- Four")) == ("One - Two", "Three - Four")


# --- bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"a\0b", "a".encode("utf-16"), b"caf\xe9"])
def test_binary_and_undecodable_documents_are_refused(data: bytes) -> None:
    """An unreadable document is an error, never an empty one."""
    with pytest.raises(ConfigError):
        decode(data)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.booleans())
def test_decoding_loses_nothing(text: str, marked: bool) -> None:
    """Bytes come back as they were, byte order mark and line ends included."""
    data = (BOM if marked else "").encode() + text.encode()
    assert encode(decode(data)) == data


# --- scaffolds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["skillopt-sleep-learned", "123", "on", "a" * 64])
def test_skill_scaffold_is_a_valid_skill(tmp_path: Path, name: str) -> None:
    """The reference validator accepts the scaffold, with and without its first rule."""
    folder = tmp_path / name
    folder.mkdir()
    text = scaffold("skill", f".claude/skills/{name}/SKILL.md")
    for version in (text, changed(text, add(PNPM))):
        (folder / "SKILL.md").write_text(version, encoding="utf-8")
        assert skills_ref.validate(folder) == []
    assert rules(text) == ()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{'a' * 63}-bc/SKILL.md", "a" * 63),
        ("skills/My Skill_2/SKILL.md", "my-skill-2"),
        (f"{'é' * 9}/SKILL.md", "learned-rules"),
        ("SKILL.md", "learned-rules"),
    ],
)
def test_skill_name_is_made_valid(path: str, name: str) -> None:
    """A folder whose name a skill may not have still gives a name that it may."""
    assert f"\nname: {name}\n" in scaffold("skill", path)


def test_memory_scaffold_is_a_heading() -> None:
    """A new memory starts with a heading and is not empty."""
    assert scaffold("memory", "AGENTS.md").startswith("# ")


# --- properties --------------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    ["", " ", "# Title", "- item", "  more", "```", "~~~ sh", "> ```", "prose \u2028 \x0c here", "1. one", "Use pnpm"]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
SENTENCES = st.one_of(
    st.sampled_from([PNPM, TESTS, "Use pnpm", "- Use pnpm", "One\ntwo", "```", "1. one", f"{END} end", ""]),
    st.text(max_size=20),
)


def _mixed(lines: list[tuple[str, str]], *, ended: bool) -> str:
    text = "".join(line + end for line, end in lines)
    return text if ended or not lines else text[: -len(lines[-1][1])]


def _sound(document: str) -> bool:
    try:
        return rules(document) == ()
    except DamagedBlock:
        return False


DOCUMENTS = st.builds(
    lambda bom, lines, ended: bom + _mixed(lines, ended=ended),
    st.sampled_from(["", BOM]),
    st.lists(st.tuples(LINES, ENDS), max_size=8),
    st.booleans(),
).filter(_sound)
EDITS = st.lists(
    st.builds(
        Edit,
        op=st.sampled_from(["add", "replace", "delete"]),
        target=st.just("CLAUDE.md"),
        anchor=st.one_of(st.none(), SENTENCES),
        text=st.one_of(st.none(), SENTENCES),
    ),
    max_size=4,
)


@given(DOCUMENTS, EDITS)
def test_text_outside_of_a_new_block_is_untouched(document: str, edits: list[Edit]) -> None:
    """Whatever is done to a document without a block, it begins with the very same text."""
    outcome = apply(document, edits)
    assert outcome.text.startswith(document)
    assert outcome.text == document or START in outcome.text[len(document) :]


@given(DOCUMENTS, DOCUMENTS, EDITS)
def test_text_around_a_block_is_untouched(before: str, after: str, edits: list[Edit]) -> None:
    """What stands before and after the block stays as it is while a rule is left in it."""
    before, after = f"{before}\n", f"\n{after.removeprefix(BOM)}"
    document = f"{before}{START}\n- keep me\n- drop me\n{END}{after}"
    try:
        outcome = apply(document, [*edits, delete("drop me")])
    except DamagedBlock:
        assume(False)
    assert outcome.text.startswith(f"{before}{START}\n")
    assert outcome.text.endswith(f"{END}{after}")


@given(DOCUMENTS, EDITS)
def test_edits_are_made_once(document: str, edits: list[Edit]) -> None:
    """An edit made a second time changes nothing, and is told so."""
    for edit in edits:
        once = apply(document, [edit]).text
        twice = apply(once, [edit])
        assert (twice.text, twice.applied) == (once, ())
        assert [unmatched for unmatched, _ in twice.unmatched] == [edit]
        document = once


@given(DOCUMENTS, EDITS)
def test_edits_together_and_one_by_one_are_the_same(document: str, edits: list[Edit]) -> None:
    """One commit an edit ends at the text that was measured."""
    text = document
    for edit in edits:
        text = apply(text, [edit]).text
    assert text == apply(document, edits).text


@given(DOCUMENTS, st.lists(st.sampled_from(["One", "Two", "Three"]), unique=True), SENTENCES)
def test_delete_undoes_add(document: str, earlier: list[str], sentence: str) -> None:
    """After adding and deleting a rule the document is what it was, to the byte."""
    document = apply(document, [add(rule) for rule in earlier]).text
    outcome = apply(document, [add(sentence)])
    if outcome.applied:
        assert apply(outcome.text, [delete(sentence)]).text == document


@given(DOCUMENTS, SENTENCES)
def test_added_rule_is_the_last_one_and_is_held(document: str, sentence: str) -> None:
    """What was added can be read back, on one line."""
    outcome = apply(document, [add(sentence)])
    if outcome.applied:
        assert rules(outcome.text)[-1] == one_line(sentence)
        assert holds(outcome.text, sentence)
