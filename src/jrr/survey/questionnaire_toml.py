"""A questionnaire as the TOML file that it could have been read from."""

import json
from collections.abc import Mapping
from typing import Any

from jrr.survey.questionnaire import Item, Questionnaire, Texts


def questionnaire_toml(questionnaire: Questionnaire) -> str:
    """The file; `Questionnaire.read` makes the same questionnaire of it.

    Example:
        >>> asked = Questionnaire.from_dict(
        ...     {"title": "T", "items": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> print(questionnaire_toml(asked).splitlines()[0])
        title = "T"
    """
    top = [
        _line("title", _text(questionnaire.title)),
        *(
            _line(name, _text(texts))
            for name, texts in (("by", questionnaire.by), ("contact", questionnaire.contact))
            if texts is not None
        ),
        _line("languages", list(questionnaire.languages)),
        _line("epsilon", questionnaire.epsilon),
        _line("split", questionnaire.split),
        _line("waves", questionnaire.waves),
    ]
    return "\n".join(top) + "\n" + "".join(map(_item, questionnaire.items))


def _item(item: Item) -> str:
    document = item.to_dict()
    document["text"] = _text(item.text)
    if item.labels:
        document["labels"] = [_text(label) for label in item.labels]
    lines = [_line(name, value) for name, value in document.items()]
    return "\n[[items]]\n" + "\n".join(lines) + "\n"


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
