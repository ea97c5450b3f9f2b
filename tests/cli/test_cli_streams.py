"""What every command writes: no control character of a hostile repository, no traceback to a stream that is gone."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dowse.cli import VERBS, main
from dowse.cli.terminal import escape, escaped_streams, style
from every_verb import (
    CASES,
    DEADLINE_S,
    DOWSE,
    UNTIL_STOPPED,
    all_cases,
    make_repository,
    run_to_its_end,
)
from support import command_line

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Clears the screen, sets the title of the window, begins a sequence with one character, turns the text around.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202ereversed\u2066"
SERVERS = ("mcp", "daemon")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ours = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing", "DOWSE_DAEMON_IDLE_S": "0.2"}
    return {**os.environ, **ours}


@pytest.fixture
def hostile(root: Path) -> Path:
    """Escapes in names, contents, headings, tags, links, notes, messages and people."""
    repo = make_repository(root)
    note = f"---\ntype: fact\ntags: ['t{EVIL}']\nanchors: ['src/client.py']\n---\nRetries {EVIL} [[src/client.py]]\n"
    files = {
        f"docs/a{EVIL}.md": f"# Retries {EVIL}\n\nA retry {EVIL} of [x](../src/client.py).\r\n",
        f"src/b{EVIL}.py": f"def retry_x(u):  # retry {EVIL}\n    '''{EVIL}'''\n    return retry(u)\n",
        ".memories/backoff.md": note,
        "docs/huge.md": "x" * 2_000_000 + EVIL,
    }
    who = {"GIT_AUTHOR_NAME": f"Eve {EVIL}", "GIT_COMMITTER_NAME": f"Eve {EVIL}"}
    for path, text in files.items():
        (root / path).write_text(text)
    repo.run("add", "-A")
    repo.run("commit", "-q", "-m", f"Retry {EVIL}\n\nretries {EVIL}", **who)
    (root / "src/client.py").write_text((root / "src/client.py").read_text() + f"# retry {EVIL}\n")
    return root


def check(words: tuple[str, ...], *written: str) -> None:
    for text in written:
        found = RAW.search(text)
        assert found is None, (words, text[max(found.start() - 80, 0) : found.end() + 20])


@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_sends_a_control_character(
    hostile: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOWSE_MAX_FILE_BYTES", "1000000")
    monkeypatch.chdir(hostile)
    run, shown = command_line(capsys), ""
    for words in all_cases():
        if as_json and words[0] in (*SERVERS, *UNTIL_STOPPED):
            continue  # once is enough: each is a process or two
        command = (*words, "--json") if as_json else words
        if words[0] in (*SERVERS, *UNTIL_STOPPED):
            given = ([*DOWSE, *command], hostile, dict(os.environ))
            done = run_to_its_end(*given, stops=words[0] in UNTIL_STOPPED)
            code, out, err = done.code, done.out.decode(), done.err.decode().replace("\r\n", "\n")
        else:
            code, out, err = run(*command)
        assert code in (0, 1), (command, err)
        check(command, out, err)
        if as_json:
            assert [json.loads(line) for line in out.splitlines()], command
        shown += out
    assert "\\u009b31m" in shown and "reversed" in shown
    assert ("\\u001b[2J" if as_json else "\\x1b[2J") in shown


@pytest.mark.parametrize(
    "words", [("read", EVIL), ("search", "--root", f"/{EVIL}", "x"), (EVIL,), ("index", f"--{EVIL}")]
)
def test_no_error_sends_a_control_character(hostile: Path, environment: dict[str, str], words: tuple[str, ...]) -> None:
    done = subprocess.run([*DOWSE, *words], cwd=hostile, env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    check(words, done.stderr.decode())


def test_a_settings_file_cannot_send_one_either(hostile: Path, environment: dict[str, str]) -> None:
    (hostile / "dowse.toml").write_text(f'"a{chr(0x9B)}31m\u202e" = 1\n')
    done = subprocess.run([*DOWSE, "search", "x"], cwd=hostile, env=environment, capture_output=True, check=False)
    assert done.returncode == 2 and b"\\u009b31m" in done.stderr
    check(("search",), done.stderr.decode())


def test_lines_and_tabs_stay_and_the_rest_is_shown() -> None:
    assert escape("a\tb\nc\r\nd\re") == "a\tb\nc\nd\\x0de"
    assert escape("\x1b[1m\x9b\x7f\u202e\udcff é 中") == "\\x1b[1m\\u009b\\u007f\\u202e\\udcff é 中"


def test_only_our_own_colours_reach_a_terminal(root: Path) -> None:
    code = "import click; from dowse.cli.terminal import *\n"
    code += "with escaped_streams(): click.echo(style('na\\x1b[31mme', fg='cyan') + '\\x1b[31m', err=True, color=True)"
    done = run_to_its_end([DOWSE[0], "-c", code], root, os.environ)
    assert done.err == b"\x1b[36mna\\x1b[31mme\x1b[0m\\x1b[31m\r\n"


def test_colours_stay_out_of_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with escaped_streams():
        click.echo(style("name", fg="cyan"), color=True)
    assert capsys.readouterr().out == "name\n"


QUICK = [verb for verb in VERBS if verb not in (*SERVERS, *UNTIL_STOPPED)]
CLOSED = "dowse: stdout is closed; redirect it to a file\n"


@pytest.fixture
def small(root: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    make_repository(root)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(root)
    assert ended(("index",)) == 0
    return root


def ended(words: tuple[str, ...]) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


@pytest.mark.parametrize("verb", QUICK)
def test_stdout_may_be_closed_full_or_unread_and_stderr_closed_or_full(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    words = (verb, *CASES[verb][0])

    def prepare() -> None:
        """What is remembered once, or forgotten, is not a second time."""
        (small / ".memories/jitter.md").unlink(missing_ok=True)
        if verb == "forget":
            ended(CASES_OF["remember"])
        capsys.readouterr()

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert ended(words) == 2
    assert capsys.readouterr().err == CLOSED
    prepare()
    with open("/dev/full", "w", encoding="utf-8") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert ended(words) == 2
    assert re.fullmatch(r"dowse: .*No space left on device.*\n", capsys.readouterr().err)
    prepare()
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as unread, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", unread)
        assert ended(words) == 0
    assert "rror" not in capsys.readouterr().err
    prepare()
    with open("/dev/full", "w", encoding="utf-8") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        assert ended(words) in (0, 1)
        prepare()
        patch.setattr(sys, "stderr", None)
        assert ended(words) in (0, 1)
        assert ended((verb, "--nonsense")) == 2


CASES_OF = {verb: (verb, *words[0]) for verb, words in CASES.items()}
REMEMBER = "remember new -"


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("search retry >&-", 2, CLOSED),
        ("search retry >&- 2>&- <&-", 2, ""),
        ("search retry 2>&-", 0, ""),
        ("search retry <&-", 0, ""),
        ("search retry >/dev/full", 2, "No space left on device"),
        ("search retry >/dev/full 2>/dev/full", 2, ""),
        ("search retry | head -c 0", 0, ""),
        ("search retry 2>&1 | head -c 0", 0, ""),
        ("nonsense 2>&-", 2, ""),
        ("nonsense 2>/dev/full", 2, ""),
        ("--help >&-", 2, CLOSED),
        ("--version >/dev/full", 2, "No space left on device"),
        (f"{REMEMBER} <&-", 2, "content is empty; pass the text to remember"),
        ("mcp >&-", 2, CLOSED),
        ("mcp <&-", 0, ""),
        ("mcp 2>&- </dev/null", 0, ""),
        ("watch >&-", 2, CLOSED),
        ("daemon status >&-", 2, CLOSED),
        ("daemon status >/dev/full", 2, "No space left on device"),
    ],
)
def test_a_stream_that_a_shell_closed_or_filled_is_no_traceback(small: Path, command: str, code: int, err: str) -> None:
    """In a process of its own: Python itself writes what is left when it ends."""
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    words = ["bash", "-o", "pipefail", "-c", f"{shlex.join(DOWSE)} {command}"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert err in done.stderr and (command.startswith("mcp") or done.stderr.count("\n") == (1 if err else 0))
