"""Questions that a command asks a person: choices by number or text, answers that are not shown."""

import sys

import click

from jrr.survey.contributor import find_label


def ask_choice(
    question: str, labels: tuple[str, ...], *, hidden: bool = False, to_error: bool = False
) -> str:
    """One of several labels, chosen by its number or its text, in capitals or not.

    Args:
        question: What is asked.
        labels: The choices.
        hidden: The answer must not stay on the screen, also not in a refusal.
        to_error: Ask on standard error, where standard output is for JSON.

    Returns:
        The label.
    """
    numbered = not any(label.strip().isdecimal() for label in labels)  # "2" must mean one thing
    for number, label in enumerate(labels, 1):
        click.echo(f"  {number}  {label}" if numbered else f"  {label}", err=to_error)
    how = "number or text" if numbered else "text"
    hidden = hidden and sys.stdin.isatty()  # what is piped in stands on no screen
    shown = f"{question} ({how}{', not shown' if hidden else ''})"
    while True:
        text = click.prompt(shown, hide_input=hidden, err=to_error)
        place = find_label(labels, text)
        if place is None and numbered and text.strip().isdecimal():
            place = int(text) - 1 if 1 <= int(text) <= len(labels) else None
        if place is not None:
            return labels[place]
        click.echo("That is none of them. Please try again.", err=to_error)
