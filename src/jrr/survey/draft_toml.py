"""A draft as the TOML file that it could have been read from."""

import json
from collections.abc import Mapping
from typing import Any

from jrr.survey.draft import Draft
from jrr.survey.question import Question, Texts


def draft_toml(draft: Draft) -> str:
    """The file; `Draft.read` makes the same draft of it.

    Example:
        >>> asked = Draft.from_dict(
        ...     {"title": "T", "questions": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> print(draft_toml(asked).splitlines()[0])
        title = "T"
    """
    top = [
        _line("title", _text(draft.title)),
        *(
            _line(name, _text(texts))
            for name, texts in (("by", draft.by), ("contact", draft.contact))
            if texts is not None
        ),
        _line("languages", list(draft.languages)),
        _line("epsilon", draft.epsilon),
        _line("split", draft.split),
        _line("waves", draft.waves),
    ]
    if draft.settings:
        top += ["\n[survey]", *(_line(name, value) for name, value in draft.settings.items())]
    return "\n".join(top) + "\n" + "".join(map(_item, draft.questions))


def _item(question: Question) -> str:
    document = question.to_dict()
    document["text"] = _text(question.text)
    if question.labels:
        document["labels"] = [_text(label) for label in question.labels]
    lines = [_line(name, value) for name, value in document.items()]
    return "\n[[questions]]\n" + "\n".join(lines) + "\n"


def _text(texts: Texts) -> Any:
    """One text where all languages have the same."""
    first = next(iter(texts.values()))
    return first if all(text == first for text in texts.values()) else dict(texts)


def _line(name: str, value: Any) -> str:
    return f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # texts are printable: its escapes are TOML's
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").isalnum() else _value(key)
