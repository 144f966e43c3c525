"""Forks, signals, exceptions and the end of the interpreter: each cell of the table in docs/keeping.md.

A row of the table is something of ours in a process: a call of a publisher or a follower, a thread, the mirror of a
topic store, a file. A fork comes while threads of the parent do all of that. A signal's handler, or an exception, comes
at any line of the row's code: a trace function counts lines, and calls the handler, or raises, at one of them. And what
a process that ends has published is everything, however it ends, unless it is killed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import pytest

import snapshot
from snapshot.published import store as store_module
from snapshot.published.store import LocalStore
from subtrie import MQTT, SubscriptionTrie, TopicStore
from tests.snapshot.world import content
from tests.threads import run_together

OURS = str(Path(snapshot.__file__).parent)
LOCKS = tuple(str(Path(threading.__file__).with_name(name)) for name in ("threading.py", "queue.py", "concurrent"))
"""Code of Python's own with locks, some of which an exception in the middle leaves locked."""


reached: list[str] = []
"""The function and the line at which something was done."""


class Ended(BaseException):
    """What a handler raises to end the program."""


class TooLate(Exception):
    """What a handler of SIGALRM raises to end a call."""


@contextmanager
def at_line(number: int, do: Callable[[], object], of: str | tuple[str, ...] = OURS) -> Iterator[list[int]]:
    """Do something before line ``number`` of some code runs, as the handler of a signal does. Yields the count of lines.

    Args:
        of: how the names of its files begin.
    """
    seen = [0]
    reached.clear()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(of):
            return None
        # The interpreter looks for signals after calls and at the ends of loops. So none comes between the last line of a
        # `with` block and its end, as a trace function can.
        if event == "line" and frame.f_code.co_name != "take":
            seen[0] += 1
            if seen[0] == number:
                reached.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
                do()
        return trace

    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(None)


class Parts:
    """What there is in a process: a publisher and a follower of a set, and a topic store."""

    def __init__(self, where: Path) -> None:
        self.where, self.number = where, 0
        self.trie, self.store = SubscriptionTrie(), TopicStore[int](MQTT)
        self.publisher = snapshot.Publisher(self.trie, where / "set")
        self.of_store = snapshot.Publisher(self.store, where / "store")
        self.change()
        for publisher in (self.publisher, self.of_store):
            publisher.publish()
        self.follower = snapshot.follow(where / "set")
        self.store_follower = snapshot.follow(where / "store")

    def change(self) -> None:
        """Change everything: add something, replace something, and remove what the call before added."""
        self.number += 1
        self.trie.subscribe("last", "s", n=self.number)
        self.trie.subscribe(f"new.{self.number}", "s")
        self.store["last"] = self.number
        self.store[f"new/{self.number}"] = self.number
        if self.number > 1:
            self.trie.unsubscribe(f"new.{self.number - 1}", "s")
            del self.store[f"new/{self.number - 1}"]

    def require(self) -> None:
        """Require that everything works, in this thread and in another one, and has the content that it should."""
        self._require()
        run_together([self._require], 60)

    def _require(self) -> None:
        label = f"after something at {reached}"
        self.change()
        assert self.publisher.publish() == self.publisher.version, label
        assert self.of_store.publish() == self.of_store.version, label
        self.follower.poll()
        self.store_follower.poll()
        path = self.where / "file.parquet"
        snapshot.write(self.store, path)
        for copy in (self.follower.trie, snapshot.restore(self.where / "set")):
            assert content(copy) == content(self.trie), label
        for copy in (self.store_follower.trie, snapshot.restore(self.where / "store"), snapshot.load(path)):
            assert content(copy) == content(self.store), label


ROWS: dict[str, Callable[[Parts], object]] = {
    "publish": lambda parts: parts.publisher.publish(),
    "publish a store": lambda parts: parts.of_store.publish(),
    "poll": lambda parts: parts.follower.poll(),
    "poll a store": lambda parts: parts.store_follower.poll(),
    "resynchronise a store": lambda parts: parts.store_follower.resynchronise(),
    "write": lambda parts: snapshot.write(parts.store, parts.where / "file.parquet"),
}

HANDLERS: dict[str, Callable[[Parts], object]] = {
    "publish": lambda parts: parts.publisher.publish(),
    "poll": lambda parts: parts.follower.poll(),
    "write": lambda parts: snapshot.write(parts.store, parts.where / "other.parquet"),
}


def prepared(parts: Parts) -> None:
    """There is something new to publish, and to follow."""
    parts.change()
    parts.publisher.publish()
    parts.of_store.publish()
    parts.change()


@pytest.mark.slow("the code of each call, line by line")
@pytest.mark.once
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Arrow's, whose file is closed first
@pytest.mark.parametrize("row", ROWS)
class TestInTheMiddle:
    """At most about 45 lines of each row, among them the first and the last ones, where locks are taken and given back."""

    def lines(self, parts: Parts, row: str) -> list[int]:
        prepared(parts)
        with at_line(0, lambda: None) as seen:
            ROWS[row](parts)
        count = seen[0]
        assert count > 30, "the code is not traced"
        return sorted({*range(1, 13), *range(13, count - 12, max(1, count // 20)), *range(count - 12, count + 1)})

    @pytest.mark.parametrize("error", [Ended, TooLate])
    def test_an_exception_leaves_everything_usable(self, tmp_path: Path, row: str, error: type[BaseException]) -> None:
        parts = Parts(tmp_path)
        for number in self.lines(parts, row):
            prepared(parts)
            with contextlib.suppress(error), at_line(number, Mock(side_effect=error)):
                ROWS[row](parts)
            parts.require()

    def test_an_exception_in_a_lock_of_pythons_own_leaves_none_locked(self, tmp_path: Path, row: str) -> None:
        parts, number = Parts(tmp_path), 0
        while number == 0 or reached:
            number += 1
            prepared(parts)
            with contextlib.suppress(Ended), at_line(number, Mock(side_effect=Ended), LOCKS):
                ROWS[row](parts)
            parts.require()
        assert number < 20, "it uses what can be left locked"

    @pytest.mark.parametrize("handler", [None, *HANDLERS])
    def test_a_handler_does_not_wait_for_itself(self, tmp_path: Path, row: str, handler: str | None) -> None:
        """It asks for what it has interrupted, or for something else."""
        parts = Parts(tmp_path)
        do = ROWS[row] if handler is None else HANDLERS[handler]
        for number in self.lines(parts, row)[:: 1 if handler is None else 5]:
            prepared(parts)
            with at_line(number, lambda: do(parts)):
                ROWS[row](parts)
            if "publish" in (handler or row) and "store" not in row:
                assert content(snapshot.restore(tmp_path / "set")) == content(parts.trie), "it was not done"
            parts.require()

    def test_a_handler_that_closes_and_ends_the_program_does_both(self, tmp_path: Path, row: str) -> None:
        """The first thing that one writes: ``signal.signal(SIGTERM, lambda *_: (publisher.close(), sys.exit()))``."""
        for number in self.lines(Parts(tmp_path / "first"), row)[::12]:
            parts = Parts(tmp_path / str(number))
            prepared(parts)
            publishers = (parts.publisher, parts.of_store)

            def end(parts: Parts = parts) -> None:
                for each in (parts.publisher, parts.of_store, parts.follower, parts.store_follower):
                    each.close()
                raise Ended

            with contextlib.suppress(Ended), at_line(number, end):
                ROWS[row](parts)
            for publisher in publishers if reached else ():  # what threads have done already takes fewer lines
                with pytest.raises(ValueError, match="is closed"):
                    publisher.publish()
            before = ("new." + str(parts.number - 1), "'s'", None)
            assert content(snapshot.take_over(parts.where / "set")[0]).keys() <= {*content(parts.trie), before}


def ended(program: str, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    command = [sys.executable, "-c", program, str(where), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)


# A fork ---------------------------------------------------------------------------------------------------------------

BUSY = """
import atexit, os, signal, sys, threading, time, warnings
def tell_threads():  # after all that is registered later
    ours = [each for each in threading.enumerate() if each.name.startswith("snapshot.")]
    for each in ours: each.join(1)  # its work has ended before it has
    names = [each.name for each in ours if each.is_alive()]
    if names: print(names, "have not ended", file=sys.stderr)
atexit.register(tell_threads)
import snapshot
from snapshot.published import store as store_module
from snapshot.published.store import LocalStore
from subtrie import MQTT, SubscriptionTrie, TopicStore
warnings.simplefilter("ignore")  # of a fork of a process with threads
where = sys.argv[1]
trie, store = SubscriptionTrie(), TopicStore(MQTT, max_age=3600)
store.update((f"t/{n}", n) for n in range(500))
publisher = snapshot.Publisher(trie, where + "/set", every=0.001, keep=5)
of_store = snapshot.Publisher(store, where + "/store", every=0.001, keep=5)
ended = threading.Event()
def change():
    n = 0
    while not ended.wait(0.0005):
        n += 1
        trie.subscribe("a", n % 99, n=n)
        store[f"t/{n % 500}"] = n
threading.Thread(target=change, daemon=True).start()
while not (publisher.version and of_store.version): time.sleep(0.001)
follower = snapshot.follow(where + "/set", every=0.001)
of_topics = snapshot.follow(where + "/store", every=0.001)

def in_a_child(work):
    time.sleep(0.003)
    if (child := os.fork()) == 0:
        signal.alarm(20)
        try: work()
        except RuntimeError as error:
            if "child of fork opens its own" not in str(error): raise
            os._exit(7)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

CHILD = {
    "publish": ("publisher.publish()", 7),
    "publish a store": ("of_store.publish()", 7),
    "close": ("publisher.close()", 0),
    "poll": ("follower.poll()", 0),
    "poll a store": ("of_topics.poll()", 0),
    "stop following": ("follower.close()", 0),
    "resynchronise a store": ("of_topics.resynchronise()", 0),
    "write a store": ("snapshot.write(store, f'{where}/{os.getpid()}.parquet')", 0),
    "open one's own": ("snapshot.Publisher(store, f'{where}/{os.getpid()}').publish()", 0),
    "leave the block": ("publisher.__exit__(None, None, None)", 0),
}


CHECKED = """
for _ in range(25):
    status = in_a_child(lambda: {})
    assert status == {}, status
ended.set()
time.sleep(0.01)
trie.subscribe("last", "s")
store["last"] = 1
publisher.close()
of_store.close()
assert publisher.error is of_store.error is None, (publisher.error, of_store.error)
assert snapshot.restore(where + "/set").match("last") == ("s",)
assert snapshot.restore(where + "/store", kind=TopicStore)["last"] == 1
"""


@pytest.mark.slow("each forks 25 times, beside threads")
@pytest.mark.once
@pytest.mark.timeout(300)
@pytest.mark.parametrize("row", CHILD)
def test_a_child_of_fork_never_waits_and_leaves_the_parent_alone(tmp_path: Path, row: str) -> None:
    run = ended(BUSY + CHECKED.format(*CHILD[row]), tmp_path)
    assert (run.returncode, run.stderr) == (0, "")


LEAVING = """
import os, sys
import snapshot
from subtrie import SubscriptionTrie
trie = SubscriptionTrie()
with snapshot.Publisher(trie, sys.argv[1]{every}) as publisher:
    trie.subscribe("a", "ann")
    publisher.publish()
    if (child := os.fork()) == 0:
        {leave}
    os.waitpid(child, 0)
    trie.subscribe("a", "bob")
    publisher.publish()
"""


@pytest.mark.slow("starts interpreters that load Arrow")
@pytest.mark.once
@pytest.mark.parametrize("every", ["", ", every=3600"])
@pytest.mark.parametrize("leave", ["sys.exit()", "raise RuntimeError", "publisher.close(); os._exit(0)"])
def test_a_child_of_fork_may_leave_the_block_of_its_parent(tmp_path: Path, leave: str, every: str) -> None:
    run = ended(LEAVING.format(leave=leave, every=every), tmp_path)
    assert run.returncode == 0, run.stderr
    assert set(snapshot.restore(tmp_path).match("a")) == {"ann", "bob"}


# Signals, with the real ones ------------------------------------------------------------------------------------------

SIGNALS = """
import os, random, signal, sys, threading, time
import snapshot
from subtrie import SubscriptionTrie
trie = SubscriptionTrie()
publisher = snapshot.Publisher(trie, sys.argv[1]{every})
follower = None
def handler(*_):
    {handler}
signal.signal(signal.SIGTERM, handler)
def send():
    for _ in range(3):
        time.sleep(random.Random(int(sys.argv[2])).uniform(0.02, 0.06))
        os.kill(os.getpid(), signal.SIGTERM)
        if {once}: return
trie.subscribe("a", 0)
publisher.publish()
follower = snapshot.follow(sys.argv[1])
threading.Thread(target=send, daemon=True).start()
for n in range(10**6):
    trie.subscribe("a", n)
    publisher.publish()
    follower.poll()
"""


@pytest.mark.slow("starts interpreters that load Arrow")
@pytest.mark.once
@pytest.mark.timeout(300)
@pytest.mark.parametrize("every", ["", ", every=0.001"])
@pytest.mark.parametrize(
    ("handler", "once"),
    [
        ("publisher.publish(); sys.exit(0)", True),
        ("publisher.close(); sys.exit(0)", True),
        ("publisher.close(); sys.exit(0)", False),
        ("publisher.close(); follower.close(); sys.exit(0)", False),
        ("follower.poll(); sys.exit(0)", True),
    ],
)
def test_a_signal_ends_a_process_that_publishes(tmp_path: Path, handler: str, once: bool, every: str) -> None:
    for seed in "012":
        run = ended(SIGNALS.format(every=every, handler=handler, once=once), tmp_path / seed, seed)
        assert run.returncode == 0, (seed, run.stderr)
        trie, publisher = snapshot.take_over(tmp_path / seed)
        publisher.close()
        trie.check()


HANDLED = {
    "waits for no thread that waits for its own": """
import signal, sys, threading
from snapshot.turns import Turns
signal.alarm(60)
one, other, begun, done = Turns(), Turns(), threading.Event(), []
def waits():
    begun.set()
    one.take(list, list, None)
def interrupted():
    threading.Thread(target=other.take, args=(waits, list, None)).start()
    begun.wait()
    other.take(list, lambda: done.append("asked"), lambda: done.append("done"))  # of a handler
one.take(interrupted, list, None)
sys.exit(done != ["asked", "done"])
""",
    "asks for what fails, which is no error of the call": """
import signal, sys, snapshot
from subtrie import SubscriptionTrie
trie, where = SubscriptionTrie(), sys.argv[1]
fenced = snapshot.Publisher(trie, where + "/other")
snapshot.take_over(where + "/other")
signal.signal(signal.SIGTERM, lambda *_: fenced.publish())
trie.subscribe("a", "ann")
publisher = snapshot.Publisher(trie, where + "/set", key=lambda key: signal.raise_signal(signal.SIGTERM) or key)
assert publisher.publish() == publisher.version
assert (type(fenced.error), publisher.error) == (snapshot.FencedError, None)
""",
    "forks, and the child is in no call": """
import os, signal, sys, snapshot
from subtrie import SubscriptionTrie
trie, where = SubscriptionTrie(), sys.argv[1]
first = snapshot.Publisher(trie, where + "/first")
first.publish()
follower, statuses = snapshot.follow(where + "/first"), []
def handler(*_):
    if (child := os.fork()) == 0: os._exit(follower.poll() != first.version)
    statuses.append(os.waitpid(child, 0)[1])
signal.signal(signal.SIGTERM, handler)
trie.subscribe("a", "ann")
first.publish()
snapshot.Publisher(trie, where + "/set", key=lambda key: signal.raise_signal(signal.SIGTERM) or key).publish()
sys.exit(set(statuses) != {0})
""",
}


@pytest.mark.once
@pytest.mark.parametrize("how", HANDLED)
def test_a_handler_in_the_middle_of_a_call(tmp_path: Path, how: str) -> None:
    assert ended(HANDLED[how], tmp_path).returncode == 0


@pytest.mark.once
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_that_is_opened_when_a_signal_comes_is_closed_once(tmp_path: Path) -> None:
    """The handler's exception may come where any call returns, also where the one returns that made the file."""
    (tmp_path / "file").write_bytes(b"content")
    store, place, reached = LocalStore(tmp_path), 0, True
    while reached:
        seen, reached = 0, False

        def end(frame: FrameType, event: str, answer: object, place: int = place) -> None:
            nonlocal seen, reached
            del answer  # else the traceback keeps the file
            caller = frame if event == "c_return" else frame.f_back if event == "return" else None
            if caller is not None and caller.f_code.co_filename == store_module.__file__:
                seen += 1
                if seen > place:
                    reached = True
                    sys.setprofile(None)
                    raise Ended

        sys.setprofile(end)
        try:
            store.open("file").close()  # an OSError here is a descriptor that was closed twice
        except Ended:
            pass
        finally:
            sys.setprofile(None)
        place += 1
    assert place >= 4


# The end of the interpreter -------------------------------------------------------------------------------------------

BEGIN = """
import os, signal, sys, threading, time
import snapshot
from subtrie import SubscriptionTrie
trie, publisher = snapshot.take_over(sys.argv[1], every=3600)
while publisher.version is None:
    time.sleep(0.001)  # the first version is published at once
trie.subscribe("last", "s", n=(1, 2))
"""

WITH = """
with publisher:
    {}
"""

STORM = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
publish, left = publisher._writer.publish, [None] * {}
def interrupted():
    if left:
        left.pop()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return publish()
publisher._writer.publish = interrupted
with publisher:
    pass
"""

SLOWLY = """
publish = publisher._writer.publish
def slowly():
    time.sleep(0.2)  # meanwhile the other one begins
    return publish()
publisher._writer.publish = slowly
"""

LAST = {
    "of the program": "",
    "of a with block": WITH.format("pass"),
    "by sys.exit": WITH.format("sys.exit(3)"),
    "by an exception": WITH.format("raise RuntimeError"),
    "by sys.exit outside": "sys.exit(3)",
    "by an exception outside": "raise RuntimeError",
    "in another thread": "threading.Thread(target=time.sleep, args=(0.2,)).start()",
    "by SIGTERM with the documented handler": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        + WITH.format("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)")
    ),
    "by SIGTERM with the documented handler, outside": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)"
    ),
    "by SIGTERM with the documented handler, while the last version is written": STORM.format(1),
    "by one SIGTERM after another": STORM.format(3),
    "of two threads that close": SLOWLY
    + WITH.format(
        "both = [threading.Thread(target=publisher.close) for _ in range(2)]\n    for one in both: one.start()\n"
        "    for one in both: one.join()"
    ),
    "of a thread by sys.exit": WITH.format("ended = threading.Thread(target=sys.exit); ended.start(); ended.join()"),
    "by Ctrl-C": WITH.format("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"),
    "of a fork, which is not its publisher's": "if os.fork() == 0: sys.exit(0)\nos.wait()",
}


KILLS = {how: WITH.format(f"os.kill(os.getpid(), signal.{how}); time.sleep(60)") for how in ("SIGKILL", "SIGTERM")}


@pytest.mark.slow("starts interpreters that load Arrow")
@pytest.mark.once
@pytest.mark.parametrize("end", [*LAST, *KILLS])
def test_the_last_changes_are_published_at_the_end(tmp_path: Path, end: str) -> None:
    """And by nobody if a kill is the end."""
    run = ended(BEGIN + (LAST | KILLS)[end], tmp_path)
    assert [version.changes for version in snapshot.versions(tmp_path)] == ([0] if end in KILLS else [0, 1]), run.stderr
    assert snapshot.restore(tmp_path).match("last") == (() if end in KILLS else ("s",))
    assert "could not be published" not in run.stderr
    assert "is closed" not in run.stderr


ENDS = {
    "while the threads publish and follow": "",
    # Threads of Arrow's let go of what they have read after the call that waited for them, and need the interpreter.
    "and Arrow has begun no threads": """
import subprocess
tasks = "/proc/self/task"
list(snapshot.changes(where + "/set", 0))
snapshot.restore(where + "/set")
snapshot.compact(where + "/set")
ended.set()
for each in (publisher, of_store, follower, of_topics): each.close()
if os.path.exists(tasks):
    bare = f"import os, snapshot, pyarrow.parquet; print(len(os.listdir({tasks!r})))"
    # Threads that flushed files side by side have ended, or are about to. Those of Arrow stay.
    looks = [len(os.listdir(tasks)) - threading.active_count() + 1 for _ in range(99) if not time.sleep(0.005)]
    sys.exit(sorted(looks)[50] - int(subprocess.check_output([sys.executable, "-c", bare])))
""",
    "while a thread writes": "threading.Thread(target=lambda: [snapshot.write(store, where + '/f') for _ in iter(int, 1)], "
    "daemon=True).start(); time.sleep(0.05)",
    "while a thread closes": "threading.Thread(target=publisher.close, daemon=True).start()",
    "while the directory is gone": "import shutil; follower.close(); of_topics.close(); "
    "ended.set(); shutil.rmtree(where + '/set', ignore_errors=True); publisher._turns.take(lambda: None, lambda: None, None)",
}


@pytest.mark.slow("starts interpreters that load Arrow")
@pytest.mark.once
@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_ends(tmp_path: Path, end: str) -> None:
    run = ended(BUSY + ENDS[end], tmp_path)
    assert run.returncode == 0, run.stderr
    if "gone" not in end:
        assert run.stderr == ""
        assert len(snapshot.restore(tmp_path / "set")) > 0
    assert len(snapshot.restore(tmp_path / "store", kind=TopicStore)) == 500
