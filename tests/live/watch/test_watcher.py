"""The watcher whole: its thread, batches, questions, restarts, fallbacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dowse.live.watch import ChangeBatch, Watcher, WatchTarget, WatchTiming
from dowse.live.watch.debounce import GIT_CHANGED
from dowse.live.watch.inotify import Inotify, InotifyEvent, WatchUnavailable
from dowse.live.watch.watcher import RootWatch, WatchDependencies
from gits import Git
from support import eventually
from watching import QUICK, Follow, covers, place

SLOW = WatchTiming(debounce_s=60, git_debounce_s=60, poll_s=0.1, bulk_threshold=100)


def test_everything_is_compared_once_all_is_watched(root, follow: Follow):
    following = follow(place(root), settled=False)
    eventually(lambda: following.batches)
    assert following.batches == [ChangeBatch("c", frozenset(), True, "start")]
    assert following.pending() is None
    following.settle()
    assert following.pending() == frozenset()


def test_a_change_is_pending_at_once_handed_on_after_a_while_and_then_done(root, follow: Follow):
    following = follow(place(root))
    (root / "a.md").write_text("x")
    assert following.pending() == {"a.md"}
    eventually(lambda: following.batches)
    assert following.batches == [ChangeBatch("c", frozenset({"a.md"}), False, "files changed")]
    assert following.pending() == {"a.md"}
    following.settle()
    assert following.pending() == frozenset()


def test_a_change_that_nobody_asks_about_is_handed_on(root, follow: Follow):
    following = follow(place(root))
    (root / "a.md").write_text("x")
    eventually(lambda: following.paths() == {"a.md"})


def test_a_change_during_indexing_is_pending_again(root, follow: Follow):
    following = follow(place(root))
    (root / "a.md").write_text("x")
    eventually(lambda: following.batches)
    (root / "a.md").write_text("y")
    following.settle()
    assert following.pending() == {"a.md"}
    eventually(lambda: following.paths() == {"a.md"})


def test_several_places_each_with_its_own(tmp_path, follow: Follow):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    following = follow(place(tmp_path / "a", "A"), place(tmp_path / "b", "B"), timing=SLOW)
    (tmp_path / "b/x.md").write_text("x")
    assert following.watcher.pending() == {"A": frozenset(), "B": frozenset({"x.md"})}
    assert following.watcher.status().pending == 1


def test_one_directory_in_two_places(root, follow: Follow):
    (root / "in").mkdir()
    following = follow(place(root, "A"), place(root / "in", "B"), timing=SLOW)
    (root / "in/x.md").write_text("x")
    assert following.watcher.pending() == {"A": frozenset({"in/x.md"}), "B": frozenset({"x.md"})}


def test_many_files_at_once_are_one_comparison(root, follow: Follow):
    following = follow(place(root), timing=WatchTiming(2, 5, 1, 100))
    for number in range(101):
        (root / f"{number}.md").write_text("x")
    assert following.pending() is None
    eventually(lambda: following.batches)
    assert following.wholes() == ["bulk"]
    time.sleep(0.5)
    assert len(following.batches) == 1


def imported(branches: dict[str, dict[str, str]]) -> bytes:
    """Branches with these files, each one commit, in the form that git reads quickest."""
    lines = []
    for branch, files in branches.items():
        lines += [f"commit refs/heads/{branch}", "committer t <t@example.org> 0 +0000", "data 0"]
        for path, text in files.items():
            lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    return ("\n".join(lines) + "\n").encode()


def stamps(root: Path) -> dict[str, int]:
    return {it.relative_to(root).as_posix(): it.stat().st_mtime_ns for it in root.rglob("*.md")}


def two_branches(root: Path, git: Git) -> None:
    """2,000 files each, of which they have half of the names in common, in 40 directories."""
    git(root, "init", "-q")
    branches = {
        branch: {f"d{number % 40}/{branch if number % 2 else 'both'}{number}.md": branch for number in range(2000)}
        for branch in ("one", "two")
    }
    subprocess.run(["git", "-C", root, "fast-import", "--quiet"], input=imported(branches), check=True)
    git(root, "checkout", "-q", "two")


def test_after_a_checkout_every_changed_file_is_known(root, follow: Follow, git: Git):
    two_branches(root, git)
    following = follow(place(root), timing=WatchTiming(0.1, 0.3, 1, 10_000))
    before = stamps(root)
    git(root, "checkout", "-q", "one")
    known = following.pending()
    assert known is not None
    changed = {path for path, _ in before.items() ^ stamps(root).items()}
    assert len(changed) == 3000
    assert all(covers(known, path) for path in changed)
    eventually(lambda: "git" in following.wholes())
    assert all(covers(following.paths(), path) for path in changed)


def test_a_checkout_of_more_than_the_threshold_is_compared(root, follow: Follow, git: Git):
    two_branches(root, git)
    following = follow(place(root))
    git(root, "checkout", "-q", "one")
    assert following.pending() is None
    eventually(lambda: {"bulk", "git"} <= set(", ".join(following.wholes()).split(", ")))
    following.settle()
    assert following.pending() == frozenset()


def test_git_is_compared_when_it_has_been_quiet_for_longer(root, follow: Follow, git: Git):
    git(root, "init", "-q")
    following = follow(place(root))
    (root / "a.md").write_text("x")
    git(root, "add", "a.md")
    assert following.pending() == {"a.md"}
    eventually(lambda: following.wholes() == ["git"])
    assert following.batches[0].paths == {"a.md"}
    assert following.pending() == {"a.md"}


def test_changed_rules_are_read_again_and_decide_what_is_watched(root, follow: Follow):
    (root / "sub").mkdir()
    rules = {"excluded": "sub"}

    def wanted(path: str) -> bool:
        return rules["excluded"] not in path

    def renew() -> bool:
        rules["excluded"] = (root / ".gitignore").read_text() if (root / ".gitignore").exists() else "sub"
        return True

    following = follow(WatchTarget("c", root, wanted, wanted, renew))
    assert following.watcher.status().directories == 1
    (root / ".gitignore").write_text("nothing")
    assert following.pending() is None
    eventually(lambda: following.wholes() == ["ignore rules"])
    assert following.watcher.status().directories == 2
    following.settle()
    (root / "sub/x.md").write_text("x")
    assert following.pending() == {"sub/x.md"}


def test_a_root_that_is_deleted_and_made_again(root, follow: Follow):
    (root / "sub").mkdir()
    (root / "sub/a.md").write_text("x")
    following = follow(place(root))
    shutil.rmtree(root)
    eventually(lambda: f"{root} is missing" in following.watcher.status().why)
    eventually(lambda: following.pending() is not None)
    status = following.watcher.status()
    assert (status.running, status.method) == (True, "off")
    following.settle()
    assert following.pending() == frozenset()
    (root / "sub").mkdir(parents=True)
    assert following.pending() is None
    eventually(lambda: following.wholes() == ["the root returned"])
    following.settle()
    assert following.watcher.status().why == ""
    (root / "sub/b.md").write_text("x")
    assert following.pending() == {"sub/b.md"}


def test_a_root_that_is_replaced_between_two_looks(root, tmp_path, follow: Follow):
    following = follow(place(root), timing=SLOW)
    root.rename(tmp_path / "old")
    root.mkdir()
    (root / "a.md").write_text("x")
    assert following.pending() is None


def test_a_root_that_is_not_there_yet(tmp_path, follow: Follow):
    following = follow(place(tmp_path / "later"), settled=False)
    eventually(lambda: "is missing" in following.watcher.status().why)
    assert following.batches == []
    (tmp_path / "later").mkdir()
    eventually(lambda: following.wholes() == ["the root returned"])


def test_a_file_rewritten_100_times_a_second_is_a_few_batches_and_holds_up_no_other(root, follow: Follow):
    following = follow(place(root), timing=WatchTiming(0.1, 1, 1, 100))
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.wait(0.01):
            (root / "hot.md").write_text("x")

    writer = threading.Thread(target=rewrite)
    writer.start()
    began = time.monotonic()
    try:
        eventually(lambda: any("hot.md" in it.paths for it in following.batches))
        (root / "cold.md").write_text("x")
        eventually(lambda: "cold.md" in following.paths())
    finally:
        stop.set()
        writer.join()
    hot = sum("hot.md" in it.paths for it in following.batches)
    # At most one a second, as the longest wait is one; and those of a machine too busy to rewrite for a tenth of one.
    assert hot <= (time.monotonic() - began) / 0.1 + 1


def test_many_ask_at_once_while_files_change(root, follow: Follow):
    following = follow(place(root), timing=WatchTiming(0.02, 1, 1, 10_000))
    answers: list[bool | None] = []

    def save_and_ask(name: str) -> None:
        for number in range(100):
            (root / f"{name}{number}.md").write_text("x")
            known = following.pending()
            answers.append(None if known is None else f"{name}{number}.md" in known)

    askers = [threading.Thread(target=save_and_ask, args=(name,)) for name in "abcdef"]
    for it in askers:
        it.start()
    for it in askers:
        it.join()
    assert len(answers) == 600
    assert False not in answers
    assert answers.count(True) > 300  # on a very busy machine not everyone waits for an answer
    eventually(lambda: len(following.paths()) == 600)


def test_what_a_question_finds_out_is_looked_into_at_once(tmp_path, follow: Follow):
    """Nothing tells that a directory above the root was moved, and the next look is a minute away."""
    (tmp_path / "above/root").mkdir(parents=True)
    following = follow(place(tmp_path / "above/root"), timing=WatchTiming(0.05, 1, 60, 100))
    (tmp_path / "above").rename(tmp_path / "moved")
    assert following.pending() is None
    eventually(lambda: "is missing" in following.watcher.status().why)


def test_one_that_was_asked_goes_back_to_sleep(root, follow: Follow):
    looks = [0]

    def clock() -> float:
        looks[0] += 1
        return time.monotonic()

    following = follow(place(root), timing=WatchTiming(0.05, 1, 60, 100), clock=clock)
    (root / "a.md").write_text("x")
    eventually(lambda: following.pending() == {"a.md"} and following.batches)
    following.watcher._wake_pipe.wake()
    time.sleep(0.2)
    before = looks[0]
    time.sleep(0.5)
    assert looks[0] - before < 20


class Failing:
    """The real inotify, which fails as it is told to."""

    def __init__(self, failures: Iterator[Exception | None]) -> None:
        self._real = Inotify()
        self._failures = failures
        self.fileno, self.remove, self.close = self._real.fileno, self._real.remove, self._real.close
        self.add = self._real.add

    def read(self) -> Iterator[InotifyEvent]:
        failure = next(self._failures, None)
        if failure is not None:
            raise failure
        return self._real.read()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ValueError("nonsense"), RecursionError()])
def test_what_breaks_is_started_again_with_a_comparison(root, follow: Follow, error):
    failures = iter([None, None, error])
    following = follow(place(root), notifier=lambda: Failing(failures))
    eventually(lambda: following.watcher.status().restarts == 1)
    eventually(lambda: following.wholes() == ["restart"])
    status = following.watcher.status()
    assert status.running
    assert status.why == ""
    following.settle()
    (root / "a.md").write_text("x")
    assert following.pending() == {"a.md"}


def test_a_question_is_not_broken_by_what_breaks(root, follow: Follow):
    failures: list[Exception] = []

    class Touchy(Failing):
        def read(self) -> Iterator[InotifyEvent]:
            if failures:
                raise failures.pop()
            return self._real.read()

    following = follow(place(root), timing=SLOW, notifier=lambda: Touchy(iter(())))
    failures.append(OSError(5, "Input/output error"))
    assert following.pending() is None
    eventually(lambda: following.wholes() == ["restart"])
    assert following.watcher.status().restarts == 1


def test_after_five_restarts_it_gives_up_and_says_so(root):
    batches: list[ChangeBatch] = []

    def refuse(batch: ChangeBatch) -> None:
        batches.append(batch)
        raise RuntimeError("no room")

    watcher = Watcher([place(root)], refuse, QUICK)
    watcher.start()
    eventually(lambda: "gave up" in watcher.status().why)
    status = watcher.status()
    assert (status.running, status.method, status.restarts) == (False, "off", 5)
    assert "RuntimeError: no room" in status.why
    assert [it.why for it in batches] == ["start"] + ["restart"] * 5
    assert watcher.pending() is None
    watcher.close()


def test_what_could_not_be_handed_on_is_not_awaited(root):
    batches: list[ChangeBatch] = []

    def refuse_one(batch: ChangeBatch) -> None:
        batches.append(batch)
        if len(batches) == 1:
            raise RuntimeError("no room")

    watcher = Watcher([place(root)], refuse_one, QUICK)
    watcher.start()
    eventually(lambda: len(batches) == 2)
    watcher.done(batches[1])
    assert watcher.pending() == {"c": frozenset()}
    watcher.close()


def test_restarts_are_forgiven_after_ten_quiet_minutes(root, follow: Follow):
    now = [0.0]

    def clock() -> float:
        return time.monotonic() + now[0]

    broken = [False]

    def wanted(path: str) -> bool:
        if broken[0]:
            broken[0] = False
            raise OSError(5, "Input/output error")
        return True

    following = follow(WatchTarget("c", root, wanted, wanted), clock=clock)
    for number in range(7):
        now[0] += 601
        broken[0] = True
        (root / f"{number}.md").write_text("x")
        eventually(lambda: following.wholes() == ["restart"])
        following.settle()
    assert following.watcher.status().restarts == 7
    assert "gave up" not in following.watcher.status().why


class Full(Failing):
    """No more watches than the system allows."""

    def __init__(self, allowed: int) -> None:
        super().__init__(iter(()))
        self._left = allowed

    def add(self, directory: str, *, follow: bool = False) -> int:
        self._left -= 1
        if self._left < 0:
            raise WatchUnavailable("limit of inotify watches reached; raise fs.inotify.max_user_watches")
        return self._real.add(directory, follow=follow)


def full(allowed: int) -> Failing:
    notifier = Full(allowed)
    notifier.add = lambda directory, follow=False: Full.add(notifier, directory, follow=follow)
    return notifier


def test_without_watches_files_are_polled_and_status_says_why(root, follow: Follow):
    for number in range(5):
        (root / f"{number}").mkdir()
    following = follow(place(root), notifier=lambda: full(3))
    status = following.watcher.status()
    assert status.method == "polling"
    assert "max_user_watches" in status.why
    assert "every 0.1 s" in status.why
    assert following.pending() is None
    (root / "4/a.md").write_text("x")
    eventually(lambda: following.paths() == {"4/a.md"})


def test_when_watches_run_out_later_polling_takes_over(root, follow: Follow):
    following = follow(place(root), notifier=lambda: full(3))
    assert following.watcher.status().method == "inotify"
    for number in range(5):
        (root / f"{number}").mkdir()
    eventually(lambda: following.watcher.status().method == "polling")
    eventually(lambda: following.wholes() == ["overflow"])
    following.settle()
    (root / "4/a.md").write_text("x")
    eventually(lambda: following.paths() == {"4/a.md"})


def test_a_polled_root_that_goes_and_comes_back(root, follow: Follow):
    def none() -> Inotify:
        raise WatchUnavailable("none here")

    following = follow(place(root), notifier=none)
    shutil.rmtree(root)
    eventually(lambda: "is missing" in following.watcher.status().why)
    root.mkdir()
    eventually(lambda: "the root returned" in following.wholes())


OVERFLOWING = """
import sys
for number in range(20_000):
    open(f"{sys.argv[1]}/{number % 2}.md", "w").close()
"""


def test_too_many_events_for_the_system_are_a_comparison(root, follow: Follow, monkeypatch):
    """The queue is read by nobody while the lock is held, so it overflows for real."""
    following = follow(place(root))
    with following.watcher._lock:
        subprocess.run([sys.executable, "-c", OVERFLOWING, str(root)], check=True)
        with monkeypatch.context() as impatient:
            impatient.setattr("dowse.live.watch.watcher._QUERY_LOCK_WAIT_S", 0.01)
            assert following.watcher.pending() is None
    eventually(lambda: following.wholes() == ["overflow"])
    following.settle()
    (root / "a.md").write_text("x")
    assert following.pending() == {"a.md"}


def test_closing_in_a_storm_ends_it_and_leaks_nothing(root):
    def handles() -> int:
        return sum(1 for _ in os.scandir("/proc/self/fd"))

    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            (root / "hot.md").write_text("x")

    writer = threading.Thread(target=rewrite)
    before = handles()
    writer.start()
    for _ in range(5):
        watcher = Watcher([place(root)], lambda batch: None, WatchTiming(0.01, 1, 1, 100))
        watcher.start()
        time.sleep(0.05)
        watcher.close()
        assert not watcher._thread.is_alive()
        watcher.close()
        assert watcher.pending() is None
        assert not watcher.status().running
    stop.set()
    writer.join()
    assert handles() <= before  # what an earlier test has left may be gone by now


def test_nothing_to_watch(follow: Follow):
    following = follow()
    assert following.watcher.pending() == {}
    assert following.watcher.status().running


def test_one_that_was_never_started(root):
    watcher = Watcher([place(root)], lambda batch: None, QUICK)
    assert watcher.pending() is None
    assert watcher.status().method == "off"
    watcher.close()


FEW_FILES = """
import os, resource, sys, time
from pathlib import Path
from dowse.live.watch import WatchTarget, WatchTiming, Watcher
from dowse.live.watch.inotify import Inotify

def crowded():
    '''Asked for when no file may be opened any more.'''
    taken = []
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        pass
    try:
        return Inotify()
    finally:
        for handle in taken:
            os.close(handle)

resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
batches = []
root = Path(sys.argv[1])
place = WatchTarget("c", root, lambda path: True, lambda path: True)
watcher = Watcher([place], batches.append, WatchTiming(0.05, 1, 0.1, 100), notifier=crowded)
watcher.start()
deadline = time.monotonic() + 120
while not batches and time.monotonic() < deadline:
    time.sleep(0.01)
(root / "a.md").write_text("x")
while len(batches) < 2 and time.monotonic() < deadline:
    time.sleep(0.01)
print(watcher.status().method, watcher.status().why)
print(batches[1].paths)
watcher.close()
"""


def test_without_open_files_left_files_are_polled(root):
    command = [sys.executable, "-c", FEW_FILES, str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("polling limit of inotify instances or open files reached; raise fs.inotify.max_user_in")
    assert second == "frozenset({'a.md'})"


def test_where_other_directories_are_watched_because_of_git_nobody_knows_until_all_was_compared(tmp_path: Path) -> None:
    """What changes between two ways of watching is seen by neither of them."""
    means = WatchDependencies(QUICK, Inotify, lambda: 1000.0, threading.Lock())
    for renews in (True, False):
        lookout = RootWatch(replace(place(tmp_path), reload_rules=lambda renews=renews: renews), means)
        assert lookout.open(None)
        lookout.debouncer.compare(GIT_CHANGED, 0.0)
        due = lookout.debouncer.take_due(1000.0)
        assert due is not None and lookout.prepare(due)
        assert lookout.debouncer.pending() == (None if renews else frozenset())
        lookout.debouncer.mark_done(due.batch)
        assert lookout.debouncer.pending() == frozenset()
        lookout.close()
