"""The commands in their groups, and one place where errors become one line and an exit code."""

import io
import os
import signal
import sys
import threading
from collections.abc import Sequence

import click

from jrr import __version__
from jrr.cli.lazy import TABLES, LazyGroup
from jrr.errors import InterruptedRunError, JrrError

FAILED, INTERRUPTED = JrrError.exit_code, InterruptedRunError.exit_code
GOES_ON = (  # commands that keep what is done; all others begin anew
    ("study", "reproduce"),
    ("survey", "answer"),
    ("survey", "open"),
    ("survey", "deal"),
    ("survey", "close"),
)


@click.group(
    cls=LazyGroup,
    package="jrr.cli",
    table=TABLES["jrr"],
    modules={"plan": "plan.choose"},
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="jrr")
def cli() -> None:
    """Ask sensitive questions, get accurate answers, learn nobody's secret.

    Exit codes: 0 done, 1 failed, 2 an argument was refused, 3 a file or message is damaged,
    4 a server or survey refused, 5 a server cannot be reached, 6 somebody broke the rules,
    7 a part of jrr is not installed, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line; every error is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ε shows a question mark
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        # Asked to stop is asked to stop: partial files are removed on the way out.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = cli.main(args=list(arguments), prog_name="jrr", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.ClickException as error:
        return _say(_message(error, arguments), error.exit_code)
    except JrrError as error:
        return _say(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _say(f"interrupted; nothing is half-written{_going_on(arguments)}", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # click turns the one into the other
        # Whoever read us has gone; without this the interpreter complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(str(error), FAILED)
    except MemoryError:
        return _say("not enough memory for these arguments", FAILED)
    return code if isinstance(code, int) else 0


def _message(error: click.ClickException, arguments: Sequence[str]) -> str:
    """Of an error; and which option was meant by `--n` or `-epsilon`, dashes counted anew."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    known = {option for one in getattr(command, "params", ()) for option in one.opts}
    for word in (typed.partition("=")[0] for typed in arguments):
        other = word[1:] if word.startswith("--") else f"-{word}"
        if word not in known and other in known and word.startswith("-"):
            return f"there is no option {word!r}. Did you mean {other!r}?"
    return error.format_message()


def _going_on(arguments: Sequence[str]) -> str:
    """What the same command would do next, where it does not begin anew."""
    words = tuple(word for word in arguments if not word.startswith("-"))
    return ", and the same command goes on" if words[:2] in GOES_ON else ""


def _say(message: str, code: int) -> int:
    print(f"jrr: error: {' '.join(message.split())}", file=sys.stderr)
    return code
