"""Fieldwork at the console: spare, replaced and revoked invitations, reminders, mistakes."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path

from click.testing import CliRunner, Result

from jrr.cli.app import cli
from jrr.client.letters import grouped, usual_words
from jrr.errors import ProtocolError
from tests.console import WORK, Servers, Visitor, answer, answer_at_once
from tests.console.test_life import created, draft_path
from tests.survey.test_words_around import png

PAGE = "https://page.example/page/"
ANSWERS = {"sector": "office", "bribed": "no", "hours": 2}


def table(reply: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(reply.decode())))


def unpacked(archive: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return {name: files.read(name).decode() for name in files.namelist()}


def invitations_of(rows: list[dict[str, str]]) -> str:
    return "\n".join(["invitation", *(row["invitation"] for row in rows)])


def filled_in(visitor: Visitor, draft: str) -> dict[str, str]:
    """What the page that creates a survey is filled in with."""
    form = visitor.get(f"{draft}/create").body
    fields = dict(re.findall(r'<input id="\w+" name="(\w+)"[^>]*? value="([^"]*)"', form))
    fields |= dict(re.findall(r'<textarea [^>]*name="(\w+)"[^>]*>([^<]*)<', form))
    for name, options in re.findall(r'<select [^>]*name="(\w+)">(.*?)</select>', form, re.DOTALL):
        fields[name] = next(iter(re.findall(r'value="([^"]*)" selected', options)), "")
    return fields


def refused_answer(survey: object, invitation: str) -> str:
    try:
        answer(survey, invitation, ANSWERS)  # type: ignore[arg-type]
    except ProtocolError as error:
        return str(error)
    return ""


def test_spare_replaced_and_revoked_invitations_and_reminders(
    servers: Servers, visitor: Visitor
) -> None:
    path = draft_path(
        visitor.post("/drafts/import", text=json.dumps(WORK | {"title": "In the field"})).body
    )
    survey = created(visitor, path, people="12", min_cell="3", dealers=servers.dealer.url)
    visitor.post(f"/surveys/{survey.hash}/open", token0=servers.dealer.token)
    form = {"page": PAGE, "format": "csv", "count": "6", "spare": "2"}
    rows = table(visitor.post(f"/surveys/{survey.hash}/invite", **form).raw)
    assert [row["spare"] for row in rows] == [""] * 6 + ["spare"] * 2
    assert {row["name"] for row in rows} == {""}  # to be filled in at home
    for row in rows[:3]:
        answer(survey, row["invitation"], ANSWERS)

    # Two are lost; of one of them it turns out that it was used.
    lost = invitations_of([rows[2], rows[3]])
    form = {"page": PAGE, "format": "csv", "made_before": lost}
    reply = visitor.post(f"/surveys/{survey.hash}/invite", act="replace", **form)
    (new,) = table(reply.raw)
    note = "Revoked: 1. Used, and left as they are: 1, those that begin "
    note += f"{grouped(rows[2]['invitation'][:8])}."
    assert note in visitor.get(f"/surveys/{survey.hash}/invite").words
    assert new["name"] == f"instead of {grouped(rows[3]['invitation'][:8])}"
    assert "not known here" in refused_answer(survey, rows[3]["invitation"])
    assert refused_answer(survey, new["invitation"]) == ""
    revoked = visitor.post(
        f"/surveys/{survey.hash}/invite",
        **(form | {"made_before": invitations_of(rows[4:5]), "act": "revoke"}),
    )
    assert "Revoked: 1." in revoked.words
    assert "not known here" in refused_answer(survey, rows[4]["invitation"])
    assert servers.operator(survey).show()["dealer"]["invited"] == 7  # 8 and a new one, less 2

    # No list brings a revoked invitation back: its owner could answer twice.
    again = visitor.post(
        f"/surveys/{survey.hash}/invite", **(form | {"made_before": invitations_of(rows)})
    )
    assert invitations_of(table(again.raw)) == invitations_of([*rows[:3], *rows[5:]])
    note = "6 people are invited; the file with their links was downloaded. Left out: 2, which"
    assert note in visitor.get(f"/surveys/{survey.hash}/invite").words
    assert "not known here" in refused_answer(survey, rows[3]["invitation"])

    # Reminders: to all, or to those whose invitation is unused, which has to be accepted. Whose
    # invitation is revoked or spare gets none: nobody could use it, or nobody has it.
    lines = [f"{row['invitation']},{row['spare']}" for row in rows]
    lines = ["invitation,spare", *lines]
    form = {"page": PAGE, "format": "letters", "made_before": "\n".join(lines)}
    letters = visitor.post(f"/surveys/{survey.hash}/invite", act="remind", **form).body
    assert (letters.count("<main>"), "This letter goes to everybody" in letters) == (4, True)
    note = "Reminders for 4 people were downloaded. Left out: 2 spare, 2 revoked."
    assert note in visitor.get(f"/surveys/{survey.hash}/invite").words
    unsure = visitor.post(f"/surveys/{survey.hash}/invite", act="remind-unused", **form)
    assert "he collector then tells you who has answered" in unsure.words
    form |= {"act": "remind-unused", "sure": "yes"}
    letters = visitor.post(f"/surveys/{survey.hash}/invite", **form).body
    assert (letters.count("<main>"), "nobody has used the invitation" in letters) == (1, True)
    form["made_before"] = invitations_of(rows[3:4])
    told = visitor.post(f"/surveys/{survey.hash}/invite", **form).words
    assert "Nobody is left to remind. Left out: 1 revoked." in told

    days = servers.operator(survey).by_day()
    assert sum(days.values()) == 4
    shown = visitor.get(f"/surveys/{survey.hash}").words
    assert re.search(rf"Answers by day .*{next(iter(days))}", shown)


def test_letters_have_ones_own_words_in_every_language_and_know_waves(
    servers: Servers, visitor: Visitor
) -> None:
    questions = [{"name": "a", "kind": "yes-no", "text": {"en": "Do you?", "de": "Tun Sie es?"}}]
    title = {"en": "Words", "de": "Worte"}
    asked = {"title": title, "languages": ["en", "de"], "waves": 2, "questions": questions}
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    survey = created(visitor, path, people="500", dealers=servers.dealer.url)
    own = "We know each other.\n\nPlease take part <b>soon</b>."
    words = {"words.en": own, "words.de": usual_words(survey, "de")}
    form = {"page": PAGE, "format": "letters", "count": "2", "language": "all"}
    reply = visitor.post(
        f"/surveys/{survey.hash}/invite", token0=servers.dealer.token, **form | words
    )
    files = unpacked(reply.raw)  # with the table, which reminders and the next wave need
    (letters,) = (text for name, text in files.items() if name.endswith("-letters.html"))
    (rows,) = (text for name, text in files.items() if name.endswith("-invitations.csv"))
    assert len(table(rows.encode())) == 2
    assert all(grouped(row["invitation"]) in letters for row in table(rows.encode()))
    assert (letters.count("<main>"), letters.count("<svg")) == (2, 2)  # one code on each
    assert letters.count("Please take part &lt;b&gt;soon&lt;/b&gt;.") == 2
    assert "in each of the 2 waves of this study" in letters
    assert "in jeder der 2 Wellen dieser Studie" in letters
    assert "Ihr eigenes Telefon oder Ihr Computer" in letters
    assert "language=" not in letters  # the page begins as the phone says


def test_a_mistake_is_corrected_as_long_as_nobody_has_answered(
    servers: Servers, visitor: Visitor
) -> None:
    times = {"opens": "2020-01-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z"}
    asked = WORK | {"title": "Wrok", "survey": times | {"logo": png(40, 20)}}
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    survey = created(visitor, path, people="60", dealers=servers.dealer.url, keep_days="9")
    invitations = servers.begin(survey, 4)  # open, and nobody has answered
    draft = draft_path(visitor.post(f"/surveys/{survey.hash}/correct").body)
    right = created(visitor, draft, **filled_in(visitor, draft))
    assert visitor.get(f"/surveys/{survey.hash}").status == 404
    for name in ("capacity", "dealing", "logo", "opens", "closes", "keep_days"):
        assert getattr(right, name) == getattr(survey, name)
    assert (right.closes, right.logo) == (times["closes"], png(40, 20))
    # The same invitations, told to the new one.
    operator = servers.operator(right)
    operator.install()
    operator.invite(invitations)
    operator.open()
    answer(right, invitations[0], ANSWERS)
    refused = visitor.post(f"/surveys/{right.hash}/correct")
    assert "must have no answers yet to be corrected" in refused.words
    assert "Correct it" not in visitor.get(f"/surveys/{right.hash}/files").words


def test_waves_are_told_apart_by_name(servers: Servers, visitor: Visitor) -> None:
    asked = WORK | {"title": "Again and again", "waves": 2}
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(asked)).body)
    first = created(visitor, path, people="60", dealers=servers.dealer.url)
    draft = draft_path(visitor.post(f"/surveys/{first.hash}/next-wave").body)
    second = created(visitor, draft, **filled_in(visitor, draft))
    assert (second.wave, second.panel) == (2, first.hash)
    home = visitor.get("/").words
    assert "Again and again (wave 1 of 2)" in home
    assert "Again and again (wave 2 of 2)" in home
    assert "Again and again (wave 1 of 2)" in visitor.get(f"/surveys/{second.hash}/waves").words


def test_two_people_at_one_draft_lose_nothing(servers: Servers, visitor: Visitor) -> None:
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(WORK)).body)
    seen = re.findall(r'name="version" value="(\d+)"', visitor.get(path).body)[0]
    other = servers.visitor()
    fields = {"version": seen, "languages": "en", "epsilon": "2"}
    other.post(path, **fields, **{"title.en": "Theirs"})
    quick = visitor.post(f"{path}/quick", **fields, **{"title.en": "Mine"})
    assert "Somebody else changed this draft meanwhile" in quick.words
    mine = visitor.post(path, **fields, **{"title.en": "Mine"})
    assert "Nothing of theirs was overwritten" in mine.words
    assert 'value="Mine (your version)"' in mine.body
    assert 'value="Theirs"' in visitor.get(path).body


def test_what_two_windows_keep_while_somebody_writes_overwrites_nothing(
    servers: Servers, visitor: Visitor
) -> None:
    path = draft_path(visitor.post("/drafts/import", text=json.dumps(WORK)).body)

    def opened() -> dict[str, str]:
        windows = re.findall(r'name="windows" value="([^"]*)"', visitor.get(path).body)[0]
        return {"version": "0", "languages": "en", "epsilon": "2", "windows": windows}

    ours, theirs = opened(), opened()
    conflict = "Somebody else changed this draft meanwhile"
    for title in ("T", "Th"):
        side = visitor.post(f"{path}/quick", **theirs, **{"title.en": title})
        assert conflict not in side.words
    assert conflict in visitor.post(f"{path}/quick", **ours, **{"title.en": "O"}).words
    assert 'value="Th"' in visitor.get(path).body
    later = opened()  # the window is closed, and opened again another day
    assert conflict not in visitor.post(f"{path}/quick", **later, **{"title.en": "The"}).words
    ours_apart = visitor.post(path, **ours, **{"title.en": "Ours"})
    assert 'value="Ours (your version)"' in ours_apart.body
    assert 'value="The"' in visitor.get(path).body


def test_days_add_up_to_those_who_answered(servers: Servers) -> None:
    survey = servers.survey()
    invitations = servers.begin(survey, 20)
    answer_at_once(survey, dict.fromkeys(invitations[:15], ANSWERS))
    assert sum(servers.operator(survey).by_day().values()) == 15


def test_the_command_line_keeps_names_and_replaces_and_reminds(
    servers: Servers, tmp_path: Path
) -> None:
    survey = servers.survey()
    document, made = tmp_path / "survey.json", tmp_path / "people.csv"
    document.write_bytes(survey.to_bytes())
    own, words = tmp_path / "names.txt", tmp_path / "letter.txt"
    own.write_text("Ada\nBob\nCy\n")
    words.write_text("Dear colleague")
    tokens = {
        "JRR_DEALER_TOKEN": servers.dealer.token,
        "JRR_COLLECTOR_TOKEN": servers.collector.token,
    }

    def run(*more: str) -> Result:
        return CliRunner().invoke(cli, ["survey", "invite", str(document), *more], env=tokens)

    few = run("--count", "2", "--names", str(own))
    assert "at most 2, those to be invited" in str(few.exception)
    done = run("--names", str(own), "--spare", "1", "--page", PAGE, "-o", str(made))
    assert done.exit_code == 0, done.output
    rows = table(made.read_bytes())
    assert [(row["name"], row["spare"]) for row in rows] == [
        ("Ada", ""),
        ("Bob", ""),
        ("Cy", ""),
        ("", "spare"),
    ]
    servers.operator(survey).open()
    answer(survey, rows[0]["invitation"], ANSWERS)
    new = tmp_path / "new.csv"
    first_two = tmp_path / "two.csv"
    first_two.write_text("\n".join(made.read_text().splitlines()[:3]))
    done = run("--from", str(first_two), "--replace", "-o", str(new), "--page", PAGE)
    named = f"left_alone: {rows[0]['invitation']}"
    assert f"revoked: 1, used: 1, {named}, new: 1" in done.output
    assert [row["name"] for row in table(new.read_bytes())] == ["Bob"]
    wish = ("--format", "letters", "--letter", f"en={words}", "--page", PAGE)
    done = run("--from", str(made), "--remind", "unused", *wish)
    assert "reminders: 1" in done.output
    assert "left_out: 1 spare, 1 revoked, 1 used" in done.output
    letters = (tmp_path / "people-reminder.html").read_text()
    assert letters.count("Dear colleague") == 1
    assert "from must be given" in str(run("--remind", "all").exception)
