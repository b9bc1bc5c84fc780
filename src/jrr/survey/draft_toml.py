"""A draft as the TOML file that it could have been read from."""

import json
from collections.abc import Mapping
from typing import Any

from jrr.survey.draft import Draft
from jrr.survey.question import Texts


def draft_toml(draft: Draft) -> str:
    """The file; `Draft.read` makes the same draft of it.

    Example:
        >>> asked = Draft.from_dict(
        ...     {"title": "T", "questions": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> print(draft_toml(asked).splitlines()[0])
        title = "T"
    """
    document = draft.to_dict()
    questions, settings = document.pop("questions"), document.pop("survey", None)
    text = _lines(document)
    if settings is not None:
        text += f"\n[survey]\n{_lines(settings)}"
    return text + "".join(f"\n[[questions]]\n{_lines(one)}" for one in questions)


def _lines(fields: Mapping[str, Any]) -> str:
    found = dict(fields)
    for name in {"title", "by", "contact", "text", "section"} & set(fields):
        found[name] = _text(fields[name])
    if "labels" in fields:
        found["labels"] = [_text(label) for label in fields["labels"]]
    return "".join(f"{name} = {_value(value)}\n" for name, value in found.items())


def _text(texts: Texts) -> Any:
    """One text where all languages have the same."""
    first = next(iter(texts.values()))
    return first if all(text == first for text in texts.values()) else dict(texts)


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
