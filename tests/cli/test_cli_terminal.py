"""What a person at a terminal sees: a welcome, suggestions, short answers, colours, the pager, completions."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from dowse.cli import VERBS
from dowse.cli.terminal import ColourChoice, escaped_streams, highlight, pager_command, wants_colour
from dowse.config import SETTINGS_FILE_NAME
from dowse.search.best_lines import compile_match_pattern, parse_query_words
from every_verb import DEADLINE_S, DOWSE
from support import Run, command_line, write

SEQUENCE = re.compile(r"\x1b\[[\d;]*m")
LONG = "\n\n".join(
    f"## Part {n}\n\nThe kettle {n} whistles on the stove, and the gasket of kettle {n} leaks." for n in range(40)
)
FILES = {
    "docs/kettle.md": f"# Kettle\n\n{LONG}\n",
    "src/kettle.py": "def boil(kettle):\n    return kettle.boil()\n\n\ndef pour(kettle):\n    boil(kettle)\n",
}


@pytest.fixture
def environment(root: Path, tmp_path: Path) -> dict[str, str]:
    """A terminal that can show everything, and no pager or colours but those a test asks for."""
    write(root, FILES)
    others = (
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "PAGER",
        "DOWSE_PAGER",
        "LESS",
        "COLUMNS",
        "LINES",
    )
    kept = {name: value for name, value in os.environ.items() if name not in others}
    ours = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing", "TERM": "xterm-256color"}
    return {**kept, **ours, "DOWSE_PAGER": "cat"}


def at_terminal(
    words: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    rows: int = 24,
    columns: int = 80,
    typed: bytes = b"",
) -> tuple[int, str]:
    """Exit code, and all that was written to a terminal of this size; what is `typed` waits in it."""
    terminal, its_end = os.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(words, cwd=cwd, env=environment, stdin=its_end, stdout=its_end, stderr=its_end)
    os.close(its_end)
    os.write(terminal, typed)
    written = bytearray()

    def listen() -> None:
        with suppress(OSError):  # so the end of a terminal is told
            while piece := os.read(terminal, 65_536):
                written.extend(piece)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        code = process.wait(DEADLINE_S)
    finally:
        process.kill()
        listener.join()
        os.close(terminal)
    return code, written.decode().replace("\r\n", "\n").removeprefix(typed.decode())


@pytest.fixture
def indexed(root: Path, environment: dict[str, str]) -> Path:
    subprocess.run([*DOWSE, "index"], cwd=root, env=environment, check=True, capture_output=True)
    return root


@pytest.fixture
def run(
    root: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(root)
    return command_line(capsys)


# --- without a command, or with another one ---


def test_a_bare_dowse_welcomes_a_person_on_one_screen(root: Path, environment: dict[str, str]) -> None:
    code, screen = at_terminal(DOWSE, root, environment)
    lines = screen.splitlines()
    assert code == 0 and len(lines) < 24 and max(map(len, lines)) < 80
    named = re.findall(r"^  dowse (\w+)", screen, re.MULTILINE)
    assert len(named) == 5 and set(named) <= set(VERBS)
    assert "dowse --help" in screen and "docs/ of the project" in screen


def test_the_welcome_imports_hardly_anything(root: Path, environment: dict[str, str]) -> None:
    words = [DOWSE[0], "-X", "importtime", *DOWSE[1:]]
    _, written = at_terminal(words, root, environment)
    modules = {line.rsplit("|", 1)[1].strip() for line in written.splitlines() if "|" in line}
    assert "dowse.cli" in modules
    assert {it for it in modules if it.partition(".")[0] in ("click", "rich", "numpy", "apsw")} == set()


def test_a_program_that_gives_no_command_gets_an_error(run: Run) -> None:
    code, out, err = run()
    assert (code, out) == (2, "") and err.count("\n") == 1 and "--help" in err


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("serach", "x"), "Did you mean `dowse search`?"),
        (("stauts",), "Did you mean `dowse status`?"),
        (("root",), "Did you mean `dowse roots`?"),
        (("how are retries handled?",), 'dowse search "how are retries handled?"'),
        (("where", "is", "the", "gasket"), 'dowse search "where is the gasket"'),
        (("what", "is", "the", "timeout"), 'To ask a question: dowse search "what is the timeout"'),
        (("what is $HOME",), "dowse search 'what is $HOME'"),
    ],
)
def test_what_may_have_been_meant_is_suggested(run: Run, words: tuple[str, ...], suggestion: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"No such command {words[0]!r}." in err and suggestion in err


def test_options_are_suggested_too(run: Run) -> None:
    assert "--json" in run("search", "x", "--jsn")[2]
    assert run("--nonsense")[2].startswith("dowse: No such option '--nonsense'")


@pytest.mark.parametrize(
    ("words", "usage"), [(("help",), "dowse [OPTIONS]"), (("help", "grep"), "dowse grep [OPTIONS]")]
)
def test_help_may_be_asked_for_by_a_word(run: Run, words: tuple[str, ...], usage: str) -> None:
    code, out, _ = run(*words)
    assert code == 0 and out.startswith(f"Usage: {usage}")


# --- short answers ---


def test_a_search_fits_on_a_screen_with_the_best_first_and_completeness_last(
    indexed: Path, environment: dict[str, str]
) -> None:
    code, screen = at_terminal([*DOWSE, "search", "the gasket of kettle 7"], indexed, environment)
    lines = SEQUENCE.sub("", screen).splitlines()
    assert code == 0 and len(lines) <= 23 and max(map(len, lines)) <= 80
    assert [line[:2] for line in lines if line[:1].isdigit()][:2] == ["1.", "2."]
    assert "gasket of kettle 7" in "\n".join(lines[1:4])
    assert re.match(r"5 hits; 2 of 2 files indexed", lines[-1])


def test_a_pipe_gets_the_same_lines_whole_and_without_colours(run: Run, root: Path) -> None:
    wide = "The gasket " + "of the old kettle in the kitchen " * 12 + "leaks."
    write(root, {"docs/wide.md": f"# Wide\n\n{wide}\n"})
    _, out, _ = run("search", "gasket old kitchen")
    assert wide in out and "\x1b" not in out


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_rows_are_no_wider_than_the_terminal(indexed: Path, environment: dict[str, str], columns: int) -> None:
    write(
        indexed,
        {
            "docs/wide.md": "# Wide\n\n" + "蒸気 gasket of a kettle 漏れる " * 30,
            "src/wide.py": "gasket = 1  # " + "蒸" * 300,
        },
    )
    _, screen = at_terminal([*DOWSE, "search", "gasket"], indexed, environment, columns=columns)
    rows = SEQUENCE.sub("", screen).split("\n\n")[0].splitlines()
    assert any("蒸" in row for row in rows)
    assert max(len(row) + len(re.findall("[一-鿿ぁ-ゟ]", row)) for row in rows) <= columns


def test_the_best_lines_of_a_passage_are_shown_and_more_with_a_flag(run: Run, root: Path) -> None:
    body = "\n".join(f"    step_{n}()" for n in range(30))
    write(root, {"src/long.py": f"def long():\n{body}\n    replace_gasket()\n"})
    _, short, _ = run("search", "replace gasket", "--kind", "code", "-k", "1")
    assert "32 " in short and "replace_gasket()" in short and "step_1()" not in short
    _, whole, _ = run("search", "replace gasket", "--kind", "code", "-k", "1", "--lines", "0")
    assert "1 def long():" in whole and "32     replace_gasket()" in whole
    assert len(run("search", "replace gasket", "--kind", "code", "-k", "1", "--lines", "9")[1].splitlines()) == 12


def test_json_has_as_many_hits_as_the_setting_says(run: Run) -> None:
    assert json.loads(run("search", "kettle", "--json")[1])["count"] == 10
    assert run("search", "kettle")[1].splitlines()[-1].startswith("5 hits")
    assert run("search", "kettle", "-k", "7")[1].splitlines()[-1].startswith("7 hits")


def test_a_limit_that_the_user_has_set_holds_for_text_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_LIMIT", "3")
    assert run("search", "kettle")[1].splitlines()[-1].startswith("3 hits")


def test_why_leaves_room_for_more_than_the_source(indexed: Path, environment: dict[str, str]) -> None:
    body = "\n".join(f"    kettle.step({n})" for n in range(40))
    write(indexed, {"src/long.py": f"def long(kettle):\n{body}\n\n\ndef caller():\n    long(1)\n"})
    _, screen = at_terminal([*DOWSE, "why", "src/long.py:30"], indexed, environment)
    lines = SEQUENCE.sub("", screen).splitlines()
    assert "src/long.py:1-41" in lines[0] and any(line.startswith("30│") for line in lines)
    assert lines.index("callers") < 14
    assert (
        len(
            subprocess.run(
                [*DOWSE, "why", "long"], cwd=indexed, env=environment, capture_output=True, text=True, check=True
            ).stdout.splitlines()
        )
        > 40
    )


# --- colours ---


@pytest.mark.parametrize(
    ("choice", "is_terminal", "environment", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"CLICOLOR": "0"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False),
        ("auto", False, {"CLICOLOR_FORCE": "1"}, True),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_when_colours_are_wanted(
    choice: ColourChoice, is_terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    assert wants_colour(choice, is_terminal, environment) is expected


def test_matches_are_highlighted_on_a_terminal_only(indexed: Path, environment: dict[str, str]) -> None:
    match = "\x1b[31m\x1b[1mgasket\x1b[0m"
    assert match in at_terminal([*DOWSE, "search", "gasket"], indexed, environment)[1]
    assert "\x1b" not in at_terminal([*DOWSE, "search", "gasket"], indexed, {**environment, "NO_COLOR": "1"})[1]
    assert "\x1b" not in at_terminal([*DOWSE, "search", "gasket", "--color", "never"], indexed, environment)[1]

    def piped(*words: str, **variables: str) -> str:
        done = subprocess.run(
            [*DOWSE, *words], cwd=indexed, env={**environment, **variables}, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "\x1b" not in piped("search", "gasket")
    assert match in piped("search", "gasket", "--color", "always")
    assert match in piped("--color", "always", "search", "gasket")
    assert match in piped("search", "gasket", FORCE_COLOR="1")
    assert piped("grep", "gasket", "-k", "1", "--color=always").startswith(
        "\x1b[35mdocs/kettle.md\x1b[0m:\x1b[32m5\x1b[0m:"
    )
    assert "\x1b" not in piped("search", "gasket", "--json", "--color", "always")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("grep", "ket+le", "-k", "1"), "def boil(<kettle>):"),
        (("grep", "-F", "BOIL(k"), "def <boil(k>ettle):"),
        (("grep", "-w", "kettle"), "def boil(<kettle>):"),
        (("grep", "-w", "boil"), "def <boil>(kettle):"),
        (("grep", "--phrase", "def  boil"), "<def boil>(kettle):"),
        (("grep", "boil", "kettle", "--all"), "def <boil>(<kettle>):"),
    ],
)
def test_grep_marks_what_was_found(run: Run, words: tuple[str, ...], line: str) -> None:
    _, out, _ = run(*words, "--color", "always", "--path", "*.py")
    shown = out.replace("\x1b[31m\x1b[1m", "<").replace("\x1b[0m", ">")
    first = next(it for it in shown.splitlines() if "def" in it)
    assert first == f"\x1b[35msrc/kettle.py>:\x1b[32m1>:{line}"


def test_a_word_that_is_too_long_for_a_regex_is_found_unmarked(run: Run, root: Path) -> None:
    write(root, {"long.txt": "x" * 3_000})
    code, out, err = run("grep", "-w", "x" * 3_000, "--color", "always")
    assert code == 0 and out.endswith("x" * 3_000 + "\n"), err


def test_grep_groups_lines_by_file_on_a_terminal(indexed: Path, environment: dict[str, str]) -> None:
    _, screen = at_terminal([*DOWSE, "grep", "def|Part 3$"], indexed, environment)
    assert sorted(SEQUENCE.sub("", screen).splitlines()) == sorted(
        [
            *("src/kettle.py", "1:def boil(kettle):", "5:def pour(kettle):", "", "docs/kettle.md", "15:## Part 3"),
            "dowse: 3 matches in 2 files; 2 of 2 files indexed",
        ]
    )


def test_no_file_can_colour_or_highlight_by_itself(run: Run, root: Path) -> None:
    write(root, {"evil.md": "# Evil\n\nThe zither\x1b[31m gasket\x1b[2J\x9b zither.\n"})
    for words in (("search", "zither", "gasket"), ("grep", "zither.*gasket.*zither")):
        out = run(*words, "--color", "always")[1]
        assert set(SEQUENCE.findall(out)) <= {"\x1b[31m", "\x1b[1m", "\x1b[0m", "\x1b[35m", "\x1b[32m", "\x1b[2m"}
        assert "\\x1b[31m" in SEQUENCE.sub("", out) and "\x1b" not in SEQUENCE.sub("", out) and "\x9b" not in out


@pytest.mark.parametrize(
    ("query", "line", "expected"),
    [
        (
            "retries",
            "max_retries, maxRetries and Retries; entretries",
            "max_<retries>, max<Retries> and <Retries>; entretries",
        ),
        ("handled", "handler handles unhandled", "<handler> <handles> unhandled"),
        ('"exponential backoff"', "Exponential  backoff", "<Exponential  backoff>"),
        ("id", "id, idle, user_id", "<id>, idle, user_<id>"),
        ("再試行", "最大再試行回数", "最大<再試行>回数"),
        ("the", "the end", "<the> end"),
    ],
)
def test_words_that_were_found(query: str, line: str, expected: str) -> None:
    pattern = compile_match_pattern(parse_query_words(query))
    assert pattern is not None
    with escaped_streams() as stdout:
        stdout.is_coloured = True
    shown = highlight(line, [it.span() for it in pattern.finditer(line)])
    marked = re.sub(r"\x00\w+\[(\d+)m", lambda it: {"31": "<", "0": ">"}.get(it[1], ""), shown)
    assert marked == expected


def test_parts_that_overlap_are_marked_once() -> None:
    shown = re.sub(
        r"\x00\w+\[(\d+)m",
        lambda it: {"31": "<", "0": ">"}.get(it[1], ""),
        highlight("abcdef", [(1, 4), (0, 2), (2, 3), (5, 5)]),
    )
    assert shown == "<ab><cd>ef"


# --- the pager ---


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["less", "-FRX"]),
        ({"PAGER": "more -s"}, ["more", "-s"]),
        ({"PAGER": "more", "DOWSE_PAGER": "less"}, ["less"]),
        ({"PAGER": "less", "DOWSE_PAGER": ""}, []),
        ({"PAGER": "cat"}, []),
        ({"PAGER": "less 'x"}, []),
        ({"TERM": "dumb"}, []),
    ],
)
def test_which_pager(environment: dict[str, str], expected: list[str]) -> None:
    assert pager_command({"TERM": "xterm", **environment}) == expected


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A program that shows that it was run, and what it was given."""
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\ncat > {tmp_path}/read\necho PAGED $LESS\nhead -n 2 {tmp_path}/read\n")
    script.chmod(0o755)
    return script


def test_long_output_is_paged_on_a_terminal_only(indexed: Path, environment: dict[str, str], pager: Path) -> None:
    environment |= {"DOWSE_PAGER": str(pager)}
    long = [*DOWSE, "grep", "kettle"]
    code, screen = at_terminal(long, indexed, environment)
    assert code == 0 and screen.startswith("PAGED FRX\n")
    assert "dowse: 45 matches in 2 files" in (pager.parent / "read").read_text(), "what is said at the end stays there"
    for words in ([*long, "--no-pager"], [*long, "--json"], [*DOWSE, "grep", "Part 3$"], [*DOWSE, "export"]):
        assert "PAGED" not in at_terminal(words, indexed, environment)[1], words
    assert "PAGED" in at_terminal([*DOWSE, "search", "--help-all"], indexed, environment)[1]
    piped = subprocess.run(long, cwd=indexed, env=environment, capture_output=True, text=True, check=True)
    assert "PAGED" not in piped.stdout and piped.stdout.count("\n") == 45


def test_what_goes_to_a_file_is_not_paged(indexed: Path, environment: dict[str, str], pager: Path) -> None:
    words = ["sh", "-c", f"{shlex.join(DOWSE)} grep kettle 2> ../said"]
    _, screen = at_terminal(words, indexed, {**environment, "DOWSE_PAGER": str(pager)})
    assert "PAGED" in screen and "45 matches" not in (pager.parent / "read").read_text()
    assert (indexed.parent / "said").read_text() == "dowse: 45 matches in 2 files; 2 of 2 files indexed\n"


@pytest.mark.parametrize("command", ["/nonexistent/pager", "/", "less 'x"])
def test_without_a_pager_everything_is_printed(indexed: Path, environment: dict[str, str], command: str) -> None:
    code, screen = at_terminal([*DOWSE, "grep", "kettle"], indexed, {**environment, "DOWSE_PAGER": command})
    assert code == 0 and screen.count("kettle") > 80 and "Traceback" not in screen


def test_a_pager_that_ends_early_is_no_error(indexed: Path, environment: dict[str, str]) -> None:
    write(indexed, {"huge.txt": "kettle " * 20 + "\n" + ("kettle and stove\n" * 20_000)})
    code, screen = at_terminal([*DOWSE, "grep", "kettle"], indexed, {**environment, "DOWSE_PAGER": "head -n 1"})
    assert code == 0 and "rror" not in screen and screen.count("\n") == 1


def test_the_exit_code_is_that_of_the_command(indexed: Path, environment: dict[str, str], pager: Path) -> None:
    environment |= {"DOWSE_PAGER": f"sh -c '{pager}; exit 3'"}
    assert at_terminal([*DOWSE, "grep", "kettle"], indexed, environment)[0] == 0
    assert at_terminal([*DOWSE, "grep", "zebra"], indexed, environment)[0] == 1
    code, screen = at_terminal([*DOWSE, "grep", "("], indexed, environment, rows=1)
    assert code == 2 and "PAGED" not in screen


@pytest.mark.parametrize("key", ["pager", "no_pager", "dowse_pager", "color"])
def test_a_repository_can_name_no_pager(indexed: Path, environment: dict[str, str], pager: Path, key: str) -> None:
    (indexed / SETTINGS_FILE_NAME).write_text(f'{key} = "{pager}"\n')
    code, screen = at_terminal([*DOWSE, "grep", "kettle"], indexed, environment)
    assert code == 2 and "PAGED" not in screen and key in screen


# --- completions ---


def completed(environment: Mapping[str, str], line: str, cwd: Path) -> list[str]:
    """What bash offers for a line, after its completion script was read as the reference says."""
    script = f'''
        eval "$(_DOWSE_COMPLETE=bash_source dowse)"
        COMP_WORDS=({line} ""); [[ "{line}" == *" " ]] || unset 'COMP_WORDS[-1]'
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _dowse_completion dowse; printf "%s\\n" "${{COMPREPLY[@]}}"
    '''
    folder = Path(DOWSE[0]).parent
    variables = {**environment, "PATH": f"{folder}:{environment['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=cwd, env=variables, capture_output=True, text=True, check=True)
    assert "rror" not in done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(root: Path, environment: dict[str, str]) -> None:
    assert completed(environment, "dowse s", root) == ["search", "symbols", "status"]
    assert completed(environment, "dowse ", root) == list(VERBS)
    assert completed(environment, "dowse search --ki", root) == ["--kind"]
    assert completed(environment, "dowse search --kind ", root) == ["doc", "code", "commit", "memory"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_even_on_a_terminal(root: Path, environment: dict[str, str], shell: str) -> None:
    _, script = at_terminal(DOWSE_AS_INSTALLED, root, {**environment, "_DOWSE_COMPLETE": f"{shell}_source"})
    assert "_dowse_completion" in script and f"_DOWSE_COMPLETE={shell}_complete" in script


DOWSE_AS_INSTALLED = (str(Path(DOWSE[0]).with_name("dowse")),)


def test_completing_a_command_imports_none(root: Path, environment: dict[str, str]) -> None:
    asked = {"_DOWSE_COMPLETE": "bash_complete", "COMP_WORDS": "dowse ", "COMP_CWORD": "1"}
    words = [DOWSE[0], "-X", "importtime", *DOWSE_AS_INSTALLED]
    done = subprocess.run(words, cwd=root, env={**environment, **asked}, capture_output=True, text=True, check=False)
    assert "plain,search" in done.stdout
    assert "dowse.cli.group" in done.stderr and "dowse.cli.search" not in done.stderr


# --- a server that a person started ---


def test_mcp_by_hand_says_what_it_does(root: Path, environment: dict[str, str]) -> None:
    code, screen = at_terminal([*DOWSE, "mcp"], root, environment, typed=b"\x04")
    assert code == 0 and "serving MCP on stdin and stdout" in screen and "Ctrl-D" in screen
    done = subprocess.run(
        [*DOWSE, "mcp"], cwd=root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert done.stderr == b""


def test_a_person_sees_the_shared_server_start(root: Path, environment: dict[str, str]) -> None:
    def started(*words: str) -> str:
        try:
            code, screen = at_terminal([*DOWSE, *words], root, environment, columns=200)
            assert code == 0
            return screen
        finally:
            subprocess.run([*DOWSE, "daemon", "stop"], cwd=root, env=environment, check=True, capture_output=True)

    said = re.compile(
        r"dowse: starting the shared server .*\n  .*\.log\ndowse: the shared server is ready, after [\d.]+ s\n"
    )
    assert said.search(started("daemon", "start"))
    done = subprocess.run([*DOWSE, "daemon", "start"], cwd=root, env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    assert "starting" not in started("daemon", "start"), "it runs already"
