"""Reading and writing histories: our JSON Lines, jepsen logs and EDN events, and the errors for other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stress import UNSEEN, History, HistoryError, Operation, Raised, Verdict, check, read_history
from stress.cli import main
from stress.formats import jsonl
from stress.formats.edn import KeyedPair, Unreadable, read_edn, read_edn_value
from stress.formats.read import parse_initial

pytestmark = pytest.mark.once  # Python that is the same everywhere


def written(tmp_path: Path, text: str, name: str = "history.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def done(process: int, f: str, value: str, answer: str, key: str = "") -> str:
    """The two events of an operation that completed, in EDN."""
    events = [
        f"{{:process {process}, :type :{kind}, :f :{f}, :value {text}{f', :key {key}' if key else ''}}}"
        for kind, text in (("invoke", value), ("ok", answer))
    ]
    return "\n".join(events) + "\n"


WRITE_AND_READ = (
    "{:process 0, :type :invoke, :f :write, :value 3, :index 0, :time 17}\n"
    "{:process 0, :type :ok, :f :write, :value 3}\n"
    "{:process 1, :type :invoke, :f :read}\n"
    "{:process 1, :type :ok, :f :read, :value 3}\n"
)


class TestEdn:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("nil", None),
            ("true", True),
            ("false", False),
            ("42", 42),
            ("-7", -7),
            ("+7", 7),
            ("12N", 12),
            ("1.5", 1.5),
            ("-2e3", -2000.0),
            ("3.0M", 3.0),
            ('"a b"', "a b"),
            (r'"tab\t quote\" back\\ é newline\n"', 'tab\t quote" back\\ é newline\n'),
            (":read", "read"),
            (":jepsen.op/read", "jepsen.op/read"),
            ("foo-bar", "foo-bar"),
            ("[1 [2 nil] []]", (1, (2, None), ())),
            ("(1, 2,, 3)", (1, 2, 3)),
            ("#{1 2}", frozenset({1, 2})),
            ('{:a 1, "b" [2]}', frozenset({("a", 1), ("b", (2,))})),
            ("{[1 2] 3 #{4} 5}", frozenset({((1, 2), 3), (frozenset({4}), 5)})),
            ("#_ ignored 5", 5),
            ("[1 #_[2 3] 4]", (1, 4)),
            ("[1 #_ #_ 2 3 4]", (1, 4)),
            ('#inst "2026-11-21"', "2026-11-21"),
            ("#jepsen.history.Op{:index 0}", frozenset({("index", 0)})),
            ("; first\n 7 ; last", 7),
            ("#jepsen.independent/tuple [1 nil]", KeyedPair((1, None))),
            ("[#jepsen.independent/tuple[1 [2 3]]]", (KeyedPair((1, (2, 3))),)),
        ],
    )
    def test_value(self, text: str, value: Any) -> None:
        assert read_edn_value(text) == value

    @pytest.mark.parametrize(
        "word", ["#<Timeout a <b> {c>", "1x", "1/2", "0x1a", "##Nan", r"\what", r"\a", r'"\q"', r'#"a\d+"']
    )
    def test_what_is_no_value_but_has_an_end_can_be_passed_over(self, word: str) -> None:
        ((_, (one, other, two)),) = read_edn(f"[1 {word} 2]")

        assert (one, two) == (1, 2)
        assert isinstance(other, Unreadable)
        assert repr(word) in other.reason
        with pytest.raises(HistoryError, match="is not EDN"):
            read_edn_value(word)

    def test_booleans_are_no_numbers(self) -> None:
        assert read_edn_value("true") is True

    def test_what_is_nested_too_deep_is_refused(self) -> None:
        value, depth = read_edn_value("[" * 100 + "]" * 100), 1
        while value:
            (value,) = value
            depth += 1
        assert depth == 100
        with pytest.raises(HistoryError, match="nested more than 100 levels deep"):
            read_edn_value("[" * 100_000 + "]" * 100_000)

    @pytest.mark.parametrize(
        ("text", "line", "complaint"),
        [
            ("[1\n 2", 1, r"'\[' is never closed"),
            ("[1\n 2)", 2, r"'\)' closes nothing: the '\[' of line 1 is open"),
            ("1\n]", 2, "nothing is open"),
            ("{:a}", 1, "a key without a value"),
        ],
    )
    def test_mistakes_are_named_with_their_line(self, text: str, line: int, complaint: str) -> None:
        with pytest.raises(HistoryError, match=complaint) as raised:
            list(read_edn(text, "some.edn"))

        assert raised.value.line == line
        assert str(raised.value).startswith(f"some.edn:{line}: ")


class TestInitial:
    @pytest.mark.parametrize(
        ("text", "value"),
        [("nil", None), ("0", 0), ("-1", -1), ('"x y"', "x y"), ("", ""), ("word", "word"), (":k", "k")],
    )
    def test_literal(self, text: str, value: Any) -> None:
        assert parse_initial(text) == value


class TestLogs:
    def test_events_pair_up_by_process_and_line(self, tmp_path: Path) -> None:
        log = written(
            tmp_path,
            "INFO  jepsen.core - Worker 0 starting\n"
            "INFO  jepsen.util - 0\t:invoke\t:write\t3\n"
            "INFO  jepsen.util - 1\t:invoke\t:read\tnil\n"
            "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
            "INFO  jepsen.util - 1\t:ok\t:read\tnil\n"
            "INFO  jepsen.util - 0\t:ok\t:write\t3\n",
        )

        history, _ = read_history(log, "register")

        write, read = history.operations
        assert (write.thread, write.op, write.args, write.result) == (0, "write", (3,), None)
        assert (read.thread, read.op, read.args, read.result) == (1, "read", (), None)
        assert write.call < read.call < (read.returned or 0) < (write.returned or 0)

    @pytest.mark.parametrize(
        "value", ["[1 2]", "", "nil", ":timed-out", '"101: Compare failed"', "[1 2] :hint 7", "[1 2]\tnil"]
    )
    def test_a_failed_cas_answered_false(self, tmp_path: Path, value: str) -> None:
        """Whatever else its completion says."""
        lines = ["0 :invoke :write 1", "0 :ok :write 1", "0 :invoke :cas [1 2]", f"0 :fail :cas {value}"]
        lines += ["0 :invoke :read nil", "0 :ok :read 1"]

        history, spec = read_history(written(tmp_path, "".join(f"INFO jepsen.util - {x}\n" for x in lines)), "register")

        _, cas, _ = history
        assert cas.args == (1, 2)
        assert cas.result is False
        assert check(history, spec).verdict is Verdict.ILLEGAL

    @pytest.mark.parametrize("error", [":no-conns", ':conn-lost "n1"', '"refused"', "[:no-leader 3]"])
    def test_a_failed_cas_with_an_error_did_not_happen(self, tmp_path: Path, error: str) -> None:
        lines = ["0 :invoke :cas [nil 1]", f"0 :fail :cas [nil 1] {error}", "0 :invoke :read nil", "0 :ok :read nil"]

        history, spec = read_history(written(tmp_path, "".join(f"INFO jepsen.util - {x}\n" for x in lines)), "register")

        assert [each.op for each in history] == ["read"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_failed_read_did_not_happen(self, tmp_path: Path) -> None:
        log = written(tmp_path, "INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 :fail :read :timed-out\n")

        assert len(read_history(log, "register")[0]) == 0

    @pytest.mark.parametrize(
        "line",
        [
            "0 :info :write #<Timeout java.util.concurrent.TimeoutException: {>",
            '0 :info :write 4 clojure.lang.ExceptionInfo: throw+: {:type :"',
            "0 :fail :write 4 192.168.1.2x",
            ":nemesis :info :start #<Partition {n1>",
            ":nemesis :invoke :start 1x",
        ],
    )
    def test_what_is_not_needed_need_not_be_readable(self, tmp_path: Path, line: str) -> None:
        lines = ["0 :invoke :write 4", line, "1 :invoke :read nil", "1 :ok :read nil"]

        history, spec = read_history(written(tmp_path, "".join(f"INFO jepsen.util - {x}\n" for x in lines)), "register")

        assert [each.op for each in history][-1] == "read"
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize("line", ["jepsen.util", "jepsen.util - ", "jepsen.util:-", "- jepsen.util\t"])
    def test_a_line_that_names_the_logger_again_and_again_takes_no_time(self, tmp_path: Path, line: str) -> None:
        """A quadratic search would take hours for it, and the time that a test may take is limited."""
        events = "INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 :ok :read nil\n"

        history, _ = read_history(written(tmp_path, f"{line * 200_000}\n{events}"), "register")

        assert [each.op for each in history] == ["read"]

    @pytest.mark.parametrize("value", ["#<Timeout>", "1x", "[1 2"])
    def test_what_is_needed_must_be_readable(self, tmp_path: Path, value: str) -> None:
        log = written(tmp_path, f"INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 :ok :read {value}\n")

        with pytest.raises(HistoryError, match=":2: "):
            read_history(log, "register")

    def test_history_txt_is_a_log_without_a_logger(self, tmp_path: Path) -> None:
        path = written(
            tmp_path,
            ':nemesis\t:info\t:start\tnil\n0\t:invoke\t:write\t1\n:nemesis\t:info\t:start\t[:isolated {"n1" #{"n2"}}]\n'
            "0\t:ok\t:write\t1\n0\t:invoke\t:cas\t[2 3]\n0\t:fail\t:cas\t[2 3]\n1\t:invoke\t:read\tnil\n"
            "1\t:fail\t:read\tnil\t:timed-out\n1\t:invoke\t:cas\t[1 3]\n1\t:fail\t:cas\t[1 3]\t[:no-leader]\n",
        )

        history, spec = read_history(path, "register")

        assert [each.describe() for each in history] == ["write(1) -> None", "cas(2, 3) -> False"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize("end", ["", "INFO jepsen.util - 0 :info :write :timed-out\n"])
    def test_what_never_returned_is_pending(self, tmp_path: Path, end: str) -> None:
        log = written(tmp_path, "INFO jepsen.util - 0 :invoke :write 4\n" + end)

        (write,) = read_history(log, "register")[0]

        assert write.pending
        assert write.args == (4,)
        assert write.result is UNSEEN


class TestFormats:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "the file holds no operations"),
            ("; nothing\n", "the file holds no operations"),
            ("hello\n", "neither JSON Lines, nor a jepsen log, nor EDN event maps"),
            ('{"spec": "register"}\n', "the first line must be the header"),
            ('{"stress": 99}\n', "format 99 is not known"),
            ('[0, 0, 1, 2, "read", [], null]\n', ":1: the first line must be the header"),
            ('\n[ -1, "p", 1, null, "read", [], null]\n', ":2: the first line must be the header"),
        ],
    )
    def test_what_is_no_history(self, tmp_path: Path, text: str, complaint: str) -> None:
        with pytest.raises(HistoryError, match=complaint):
            read_history(written(tmp_path, text), "register")

    EVENTS = "INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:ok\t:read\tnil\n"

    @pytest.mark.parametrize(
        "before",
        [
            "INFO  jepsen.core - setting up node n1\n" * 200,
            "[main] INFO  jepsen.core - setting up node n1\n" * 200,
            "{:concurrency 5,\n :nodes [:n1]}\n" * 200,
            '{"nodes": ["n1"]}\n' * 300,
            "INFO  jepsen.util - setting up\n" * 200,
        ],
    )
    def test_a_log_is_one_wherever_its_events_begin(self, tmp_path: Path, before: str) -> None:
        for events in (self.EVENTS, self.EVENTS.replace("INFO  ", "2026-11-21 10:00:00,123{GMT}\tINFO\t[worker 0] ")):
            history, _ = read_history(written(tmp_path, before + events), "register")
            assert [each.describe() for each in history] == ["read() -> None"]

    @pytest.mark.parametrize("quoted", ["; {}", ':note "{}"', ":error [jepsen.util/timeout :type :invoke :f :write]"])
    def test_events_that_name_the_logger_are_no_log(self, tmp_path: Path, quoted: str) -> None:
        note = quoted.format(self.EVENTS.splitlines()[0])
        events = WRITE_AND_READ.replace(":index 0", f"{note}\n")

        assert len(read_history(written(tmp_path, events), "register")[0]) == 2

    def test_our_own_lines_that_quote_an_event_are_no_log(self, tmp_path: Path) -> None:
        put = Operation(0, 0, 1, 2, "put", ("k", self.EVENTS.splitlines()[0]), None)
        jsonl.save(History((put,), {"spec": "map"}), tmp_path / "history.jsonl")

        assert read_history(tmp_path / "history.jsonl")[0].operations == (put,)

    def test_events_may_stand_below_a_long_comment(self, tmp_path: Path) -> None:
        path = written(tmp_path, "; a comment\n" * 1_000 + WRITE_AND_READ)

        assert len(read_history(path, "register")[0]) == 2

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

        with pytest.raises(HistoryError, match="No such file"):
            read_history(tmp_path / "missing", "register")
        with pytest.raises(HistoryError, match="not UTF-8"):
            read_history(tmp_path / "binary", "register")

    def test_a_specification_must_be_named(self, tmp_path: Path) -> None:
        path = written(tmp_path, WRITE_AND_READ)

        with pytest.raises(HistoryError, match="name a specification"):
            read_history(path)
        with pytest.raises(HistoryError, match="no specification 'heap': there are register, kv"):
            read_history(path, "heap")
        with pytest.raises(HistoryError, match="set cannot start from initial 3"):
            read_history(path, "set", 3)


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    ATOMS | st.just(UNSEEN) | st.builds(Raised, st.text(min_size=1)),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


class TestJsonLines:
    @given(VALUES)
    def test_values_survive(self, value: Any) -> None:
        assert jsonl.decode(json.loads(json.dumps(jsonl.encode(value)))) == value

    def test_histories_survive(self, tmp_path: Path) -> None:
        history = History(
            (
                Operation(0, 0, 1, 4, "get", ("a", 1.5), frozenset({(1, None)})),
                Operation(1, "p", 2, None, "put", ((1, 2), b"x"), UNSEEN),
                Operation(2, 0, 5, 6, "pop", (), Raised("KeyError", "'a'")),
            ),
            {"spec": "map", "initial": frozenset({("a", 1)}), "seed": 7},
        )
        path = tmp_path / "history.jsonl"

        jsonl.save(history, path)
        again = jsonl.parse(path.read_text())

        assert again.operations == history.operations
        assert again.header["initial"] == history.header["initial"]
        assert again.header["seed"] == 7

    def test_objects_are_known_by_their_repr(self) -> None:
        class Subscriber:
            def __repr__(self) -> str:
                return "<subscriber 1>"

        assert repr(jsonl.decode(jsonl.encode(Subscriber()))) == "<subscriber 1>"

    def test_the_header_names_specification_and_start(self, tmp_path: Path) -> None:
        path = written(
            tmp_path,
            '{"stress": 1, "spec": "subscriptions", "dialect": "mqtt", "initial": {"set": [["a/+", 1]]}}\n'
            '[0, 0, 1, 2, "match", ["a/b"], {"set": [1]}]\n',
        )

        assert check(*read_history(path)).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize(
        ("row", "complaint"),
        [
            ("[0, 0, 1, 2]", "it must be an array"),
            ('["0", 0, 1, 2, "read", [], null]', "the id must be an integer, not '0'"),
            ('[0, null, 1, 2, "read", [], null]', "the thread must be an integer or a string"),
            ('[0, 0, "x", 2, "read", [], null]', "call and return must be numbers"),
            ('[0, 0, 3, 2, "read", [], null]', "it returns at 2, before it is called at 3"),
            ("[0, 0, 1, 2, 3, [], null]", "op must be a string"),
            ('[0, 0, 1, 2, "read", [], {"what": 1}]', "an object of one of the keys list, dict, set, raised"),
            ('[0, 0, NaN, 2, "read", [], null]', "call and return must be finite"),
            ('[0, 0, 1, Infinity, "read", [], null]', "call and return must be finite"),
            ("[0, 0, 1", "not JSON"),
        ],
    )
    def test_mistakes_are_named_with_file_and_line(self, tmp_path: Path, row: str, complaint: str) -> None:
        path = written(tmp_path, '{"stress": 1, "spec": "register"}\n\n' + row + "\n", "bad.jsonl")

        with pytest.raises(HistoryError) as raised:
            read_history(path)

        assert complaint in str(raised.value)
        assert str(raised.value).startswith(f"{path}:3: ")

    @pytest.mark.parametrize(
        ("spec", "call", "complaint"),
        [
            ("kv", '"get", [], null', "the call is get(key), not get()"),
            ("register", '"pop", [], null', "register has no operation pop: it has cas, read, write"),
            ("register", '"cas", [1], true', "the call is cas(old, new), not cas(1)"),
            ("subscriptions", '"subscribe", ["a"], null', "the call is subscribe(filter, subscriber)"),
        ],
    )
    def test_calls_that_do_not_exist_are_named(self, tmp_path: Path, spec: str, call: str, complaint: str) -> None:
        path = written(tmp_path, f'{{"stress": 1, "spec": "{spec}"}}\n[0, 7, 1, 2, {call}]\n')

        with pytest.raises(HistoryError) as raised:
            read_history(path)

        assert str(raised.value).startswith(f"{path}: ")
        assert " of thread 7, called at 1: " in str(raised.value)
        assert complaint in str(raised.value)

    @pytest.mark.parametrize(
        ("spec", "call"),
        [
            ("kv", '"append", ["k", 1], null'),
            ("map", '"popitem", [], 5'),
            ("map", '"items", [], 5'),
            ("map", '"snapshot", [], {"set": [5]}'),
            ("multi-register", '"txn", [["w", "x"]], []'),
            ("multi-register", '"txn", [["read", "x"]], []'),
            ("multi-register", '"txn", [3], []'),
            ("subscriptions", '"subscribe", [1, 2], null'),
            ("subscriptions", '"match", ["a"], 3'),
            ("counter", '"add", ["x"], null'),
        ],
    )
    def test_calls_and_answers_of_a_wrong_kind_are_not_right(self, tmp_path: Path, spec: str, call: str) -> None:
        path = written(tmp_path, f'{{"stress": 1, "spec": "{spec}"}}\n[0, 7, 1, 2, {call}]\n')

        assert main(["check", str(path)]) in (1, 2)

    def test_a_header_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(HistoryError, match=":1: no header: an object of one of the keys"):
            read_history(written(tmp_path, '{"stress": 1, "spec": "kv", "initial": {"a": 1}}\n'))

    @pytest.mark.parametrize(("spec", "initial"), [("counter", "x"), ("subscriptions", (1, 2))])
    def test_a_start_that_is_none(self, tmp_path: Path, spec: str, initial: Any) -> None:
        path = written(tmp_path, '{"stress": 1}\n')

        with pytest.raises(HistoryError, match=f"{spec} cannot start from initial .*: it must"):
            read_history(path, spec, initial)

    def test_two_operations_of_one_id(self, tmp_path: Path) -> None:
        row = '[0, 0, 1, 2, "read", [], null]\n'
        path = written(tmp_path, '{"stress": 1, "spec": "register"}\n' + row + row)

        with pytest.raises(HistoryError, match="3: a second operation of id 0"):
            read_history(path)


@pytest.mark.parametrize(
    "member", [("1", 1), ("nil", None), ('"a"', "a"), ("[]", ()), ("[1]", (1,)), ("[1 2]", (1, 2))]
)
def test_the_only_argument_is_what_it_is(tmp_path: Path, member: tuple[str, Any]) -> None:
    for spec, op in (("set", "add"), ("queue", "enqueue"), ("register", "write")):
        (operation,) = read_history(written(tmp_path, done(0, op, member[0], member[0])), spec)[0]

        assert operation.args == (member[1],)


def test_a_map_beside_a_key_holds_vectors(tmp_path: Path) -> None:
    path = written(tmp_path, done(0, "put", "[1 2]", "[1 2]", ":k") + done(0, "get", "nil", "[1 2]", ":k"))

    assert check(*read_history(path, "map")).verdict is Verdict.LINEARIZABLE
