"""Reading and writing histories: our JSON Lines, jepsen logs and EDN events, and the errors for other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stress import (
    UNSEEN,
    History,
    HistoryError,
    Operation,
    PerKey,
    Raised,
    Verdict,
    check,
    read_history,
)
from stress.formats import jsonl
from stress.formats.edn import KeyedPair, Keyword, Symbol, Unreadable, read_edn, read_edn_value
from stress.formats.read import parse_initial

pytestmark = pytest.mark.once  # Python that is the same everywhere


def written(tmp_path: Path, text: str, name: str = "history.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


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
            ("1/2", 0.5),
            ('"a b"', "a b"),
            (r'"tab\t quote\" back\\ é newline\n"', 'tab\t quote" back\\ é newline\n'),
            (r"\a", "a"),
            (r"\newline", "\n"),
            ("\\u0041", "A"),
            (":read", Keyword("read")),
            (":jepsen.op/read", Keyword("jepsen.op/read")),
            ("foo-bar", Symbol("foo-bar")),
            ("[1 [2 nil] []]", (1, (2, None), ())),
            ("(1, 2,, 3)", (1, 2, 3)),
            ("#{1 2}", frozenset({1, 2})),
            ('{:a 1, "b" [2]}', {Keyword("a"): 1, "b": (2,)}),
            ("{[1 2] 3 #{4} 5}", {(1, 2): 3, frozenset({4}): 5}),
            ("#_ ignored 5", 5),
            ("[1 #_[2 3] 4]", (1, 4)),
            ("[1 #_ #_ 2 3 4]", (1, 4)),
            ('#inst "2026-11-21"', "2026-11-21"),
            ("#jepsen.history.Op{:index 0}", {Keyword("index"): 0}),
            ("; first\n 7 ; last", 7),
            ("##Inf", float("inf")),
            ("##-Inf", float("-inf")),
            ("0x1a", 26),
            ("-0X1AN", -26),
            ('#object[Foo 0x1a "x"]', (Symbol("Foo"), 26, "x")),
            (r'#"a\d+"', r"a\d+"),
            ("#jepsen.independent/tuple [1 nil]", KeyedPair((1, None))),
            ("[#jepsen.independent/tuple[1 [2 3]]]", (KeyedPair((1, (2, 3))),)),
        ],
    )
    def test_value(self, text: str, value: Any) -> None:
        assert read_edn_value(text) == value

    @pytest.mark.parametrize("word", ["#<Timeout a <b> {c>", "1x", "1/0", "##Nan", r"\what", r'"\q"'])
    def test_what_is_no_value_but_has_an_end_can_be_passed_over(self, word: str) -> None:
        ((_, (one, other, two)),) = read_edn(f"[1 {word} 2]", lenient=True)

        assert (one, two) == (1, 2)
        assert isinstance(other, Unreadable)
        assert repr(word) in other.reason
        with pytest.raises(HistoryError, match=r":1: .* is not EDN"):
            list(read_edn(word))

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
            ('\n\n"abc', 3, "a string is never closed"),
            ("{:a}", 1, "a key without a value"),
            ("1\n1x", 2, "neither a number, a keyword nor a symbol"),
            (r'"\q"', 1, "there is no escape"),
            ("1/0", 1, "not EDN"),
            ("1\n#", 2, "'#' is not EDN"),
            ('1\n#"', 2, "a string is never closed"),
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


def done(process: int, f: str, value: str, answer: str, key: str = "") -> str:
    """The two events of an operation that completed, in EDN."""
    events = [
        f"{{:process {process}, :type :{kind}, :f :{f}, :value {text}{f', :key {key}' if key else ''}}}"
        for kind, text in (("invoke", value), ("ok", answer))
    ]
    return "\n".join(events) + "\n"


class TestEvents:
    WRITE_AND_READ = (
        "{:process 0, :type :invoke, :f :write, :value 3, :index 0, :time 17}\n"
        "{:process 0, :type :ok, :f :write, :value 3}\n"
        "{:process 1, :type :invoke, :f :read}\n"
        "{:process 1, :type :ok, :f :read, :value 3}\n"
    )

    @pytest.mark.parametrize("form", ["{}", "[{}]", "({})", "; a history\n\n[{}]", "#_ old {}"])
    def test_maps_stand_one_by_one_or_in_one_list(self, tmp_path: Path, form: str) -> None:
        path = written(tmp_path, form.replace("{}", self.WRITE_AND_READ))

        history, spec = read_history(path, "register")

        assert [each.describe() for each in history] == ["write(3) -> None", "read() -> 3"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_failed_cas_did_not_happen(self, tmp_path: Path) -> None:
        """Here, unlike in a log, :fail says nothing about the value that was there."""
        path = written(
            tmp_path,
            "{:process 0 :type :invoke :f :cas :value [1 2]} {:process 0 :type :fail :f :cas :value [1 2]}",
        )

        assert len(read_history(path, "register", 1)[0]) == 0

    def test_info_may_have_happened(self, tmp_path: Path) -> None:
        path = written(
            tmp_path,
            "{:process 0 :type :invoke :f :cas :value [1 2]} {:process 0 :type :info :f :cas :value [1 2]}"
            "{:process 1 :type :invoke :f :read :value nil} {:process 1 :type :ok :f :read :value 2}",
        )

        history, spec = read_history(path, "register", 1)

        assert history.operations[0].pending
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize(
        "events",
        [
            "[0 :invoke :write 3]\n[0 :ok :write 3]\n[:nemesis :info :start nil]\n[1 :invoke :read nil]\n[1 :ok :read 3]",
            "[[0 :invoke :write 3] [0 :ok :write 3] [1 :invoke :read nil] [1 :ok :read 3]]",
            "[0, :invoke, :write, 3] [0, :ok, :write, 3] [1, :invoke, :read] [1, :ok, :read, 3]",
            "[0 :invoke :write 3] [0 :ok :write 3] [0 :invoke :cas [1 2]] [0 :fail :cas [1 2] :no-conns] [1 :invoke :read]",
        ],
    )
    def test_an_event_may_be_a_vector(self, tmp_path: Path, events: str) -> None:
        history, _ = read_history(written(tmp_path, events), "cas-register")

        assert [(each.thread, each.op, each.args) for each in history] == [(0, "write", (3,)), (1, "read", ())]

    @pytest.mark.parametrize("name", [":op/{}", '"{}"', "{}"])
    def test_the_names_in_an_event_may_be_written_otherwise(self, tmp_path: Path, name: str) -> None:
        text = self.WRITE_AND_READ
        for each in ("process", "type", "f", "value"):
            text = text.replace(f":{each} ", name.format(each) + " ")

        assert len(read_history(written(tmp_path, text), "register")[0]) == 2

    @pytest.mark.parametrize(
        "other",
        [
            "{:process :nemesis :type :invoke :f :start} {:process :nemesis :type :ok :f :start}",
            "{:process :nemesis :type :invoke :f :start :value #<Partition>} {:process :nemesis :type :info :f :start}",
            "{:process :nemesis :type :invoke :f :start} {:process :nemesis :type :invoke :f :stop}",
            "{:process 7 :type :invoke :f :write :value 9} {:process 7 :type :fail :f :write :value #<Timeout {>}",
            '{:process 7 :type :invoke :f :read} {:process 7 :type :info :f :read :value 1x :error #object[A 0x1f "a"]}',
        ],
    )
    def test_what_is_not_about_the_object_is_passed_over(self, tmp_path: Path, other: str) -> None:
        history, spec = read_history(written(tmp_path, other + self.WRITE_AND_READ), "register")

        assert [each.describe() for each in history if each.thread != 7] == ["write(3) -> None", "read() -> 3"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_nemesis_does_not_take_part_in_transactions(self, tmp_path: Path) -> None:
        path = written(
            tmp_path, done(0, "txn", "[[:w 0 1]]", "[[:w 0 1]]") + done(0, "start", "1", "2").replace("0", ":nemesis")
        )

        assert len(read_history(path, "multi-register")[0]) == 1

    def test_a_process_with_a_name_may_do_what_the_object_can(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "read", "nil", "nil").replace(":process 0", ":process :worker"))

        assert [each.thread for each in read_history(path, "register")[0]] == ["worker"]

    def test_a_name_in_quotes_is_no_nemesis(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "raed", "nil", "nil").replace(":process 0", ':process "worker"'))

        with pytest.raises(HistoryError, match="register has no operation raed"):
            read_history(path, "register")

    @pytest.mark.parametrize("value", ["#<Timeout>", "[1 #<Timeout>]", "1x", "[" * 2_000 + "]" * 2_000])
    def test_what_is_needed_must_be_readable(self, tmp_path: Path, value: str) -> None:
        path = written(tmp_path, self.WRITE_AND_READ.replace(":f :read, :value 3", f":f :read, :value {value}"))

        with pytest.raises(HistoryError, match=":4: "):
            read_history(path, "register")

    @pytest.mark.parametrize(
        ("answer", "verdict"),
        [("true", Verdict.ILLEGAL), ("false", Verdict.LINEARIZABLE), ("[1 2]", Verdict.ILLEGAL)],
    )
    def test_a_cas_may_tell_whether_it_succeeded(self, tmp_path: Path, answer: str, verdict: Verdict) -> None:
        path = written(tmp_path, done(0, "write", "3", "3") + done(0, "cas", "[1 2]", answer))

        assert check(*read_history(path, "register")).verdict is verdict

    @pytest.mark.parametrize(
        ("spec", "write", "read"),
        [
            ("register", ("write", "3", "3"), ("read", "nil", "nil")),
            ("kv", ("put", '[:x "3"]', '[:x "3"]'), ("get", ":x", "nil")),
            ("counter", ("add", "3", "3"), ("read", "nil", "nil")),
            ("set", ("add", "3", "3"), ("read", "nil", "nil")),
            ("multi-register", ("txn", "[[:w :x 3]]", "[[:w :x 3]]"), ("txn", "[[:r :x nil]]", "[[:r :x nil]]")),
            ("multi-register", ("write", "[:x 3]", "[:x 3]"), ("read", "[:x nil]", "[:x nil]")),
        ],
    )
    def test_a_completed_read_of_nil_says_nothing(
        self, tmp_path: Path, spec: str, write: tuple[str, str, str], read: tuple[str, str, str]
    ) -> None:
        history, model = read_history(written(tmp_path, done(0, *write) + done(0, *read)), spec)

        assert check(history, model).verdict is Verdict.LINEARIZABLE
        assert history.operations[1].result in (UNSEEN, (UNSEEN,))

    def test_nil_is_the_answer_of_a_map_that_has_nothing(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "put", "[1 2]", "nil") + done(0, "get", "1", "nil"))

        assert check(*read_history(path, "map")).verdict is Verdict.ILLEGAL

    def test_nil_is_a_value_in_a_log(self, tmp_path: Path) -> None:
        lines = ["0 :invoke :write 3", "0 :ok :write 3", "0 :invoke :read nil", "0 :ok :read nil"]
        log = written(tmp_path, "".join(f"INFO jepsen.util - {line}\n" for line in lines))

        assert check(*read_history(log, "register")).verdict is Verdict.ILLEGAL

    @pytest.mark.parametrize(
        ("spec", "op", "told", "args"),
        [
            ("register", "write", "3", (3,)),
            ("register", "cas", "[nil 3]", (None, 3)),
            ("queue", "enqueue", "3", (3,)),
            ("set", "add", "[1 2]", ((1, 2),)),
        ],
    )
    def test_a_completion_may_tell_the_argument_for_the_first_time(
        self, tmp_path: Path, spec: str, op: str, told: str, args: tuple[Any, ...]
    ) -> None:
        history, _ = read_history(written(tmp_path, done(0, op, "nil", told)), spec)

        assert [(each.op, each.args) for each in history] == [(op, args)]

    def test_a_completion_without_a_value_says_nothing(self, tmp_path: Path) -> None:
        path = written(tmp_path, self.WRITE_AND_READ.replace(":f :read, :value 3", ":f :read"))

        assert check(*read_history(path, "register")).verdict is Verdict.LINEARIZABLE

    def test_a_key_names_an_object_of_its_own(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "write", "1", "1", key=":x") + done(0, "read", "nil", "nil", key=":y"))

        history, spec = read_history(path, "register")

        assert isinstance(spec, PerKey)
        assert check(history, spec).verdict is Verdict.LINEARIZABLE
        assert check(history, spec).components == 2

    def test_either_all_events_carry_a_key_or_none_does(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "write", "1", "1", key=":x") + done(0, "read", "nil", "nil"))

        with pytest.raises(HistoryError, match="some events carry a :key and others do not"):
            read_history(path, "register")

    @pytest.mark.parametrize("tag", ["#jepsen.independent/tuple ", "#jepsen.independent/tuple", ""])
    def test_a_key_stands_in_the_value(self, tmp_path: Path, tag: str) -> None:
        writes = done(0, "write", f"{tag}[1 3]", f"{tag}[1 3]") + done(
            0, "cas", f"{tag}[2 [nil 4]]", f"{tag}[2 [nil 4]]"
        )

        for found, verdict in (("3", Verdict.LINEARIZABLE), ("4", Verdict.ILLEGAL)):
            read = done(1, "read", f"{tag}[1 nil]", f"{tag}[1 {found}]")
            history, spec = read_history(written(tmp_path, writes + read), "register")
            assert [each.args for each in history] == [(1, 3), (2, None, 4), (1,)]
            assert check(history, spec).verdict is verdict

    def test_a_key_stands_in_the_value_of_a_log(self, tmp_path: Path) -> None:
        lines = [
            "0 :invoke :write [1 3]",
            "0 :info :write [1 3] :timeout",
            "1 :invoke :read [2 nil]",
            "1 :ok :read [2 nil]",
        ]

        history, spec = read_history(written(tmp_path, "".join(f"INFO jepsen.util - {x}\n" for x in lines)), "register")

        assert isinstance(spec, PerKey)
        assert [each.args for each in history] == [(1, 3), (2,)]

    def test_a_tagged_key_is_an_argument_where_operations_take_one(self, tmp_path: Path) -> None:
        tag = "#jepsen.independent/tuple "
        path = written(
            tmp_path,
            done(0, "put", f'{tag}["k" "v"]', f'{tag}["k" "v"]') + done(0, "get", f'{tag}["k" nil]', f'{tag}["k" "v"]'),
        )

        history, _ = read_history(path, "kv")

        assert [each.describe() for each in history] == ["put('k', 'v') -> None", "get('k') -> 'v'"]

    @pytest.mark.parametrize(
        "events",
        [
            done(0, "write", "[1 3]", "[1 3]") + done(1, "read", "nil", "[1 3]"),
            done(0, "write", "[1 3]", "[1 3]") + done(0, "cas", "[[1 3] 5]", "[[1 3] 5]"),
            done(0, "write", "3", "3") + done(1, "read", "[1 nil]", "3"),
        ],
    )
    def test_other_pairs_are_values(self, tmp_path: Path, events: str) -> None:
        history, spec = read_history(written(tmp_path, events), "register")

        assert not isinstance(spec, PerKey)
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_completion_has_the_key_of_its_invocation(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "read", "[1 nil]", "[2 nil]"))

        with pytest.raises(HistoryError, match=":2: process 0 completes read of key 2, not 1"):
            read_history(path, "register")

    @pytest.mark.parametrize("key", ['"k"', ""])
    def test_a_key_is_an_argument_where_operations_take_one(self, tmp_path: Path, key: str) -> None:
        given, asked, found = ('"ab"', "nil", '"ab"') if key else ('["k" "ab"]', '["k" nil]', '["k" "ab"]')
        path = written(tmp_path, done(0, "append", given, given, key) + done(1, "get", asked, found, key))

        history, spec = read_history(path, "kv")

        assert [each.describe() for each in history] == ["append('k', 'ab') -> None", "get('k') -> 'ab'"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_map_is_read_with_keys_in_the_value_or_beside_it(self, tmp_path: Path) -> None:
        beside = done(0, "put", "nil", "nil", ":k") + done(0, "get", "nil", "nil", ":k")
        beside += done(0, "replace_if", "[nil 2]", "true", ":k") + done(0, "pop", "nil", "2", ":k")
        within = done(0, "put", "[:k nil]", "[:k nil]") + done(0, "get", "[:k nil]", "[:k nil]")
        within += done(0, "replace_if", "[:k nil 2]", "true") + done(0, "pop", ":k", "2")

        for text in (beside, within):
            history, spec = read_history(written(tmp_path, text), "map")
            assert [each.op for each in history] == ["put", "get", "replace_if", "pop"]
            assert [each.args for each in history] == [("k", None), ("k",), ("k", None, 2), ("k",)]
            assert check(history, spec).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize(
        ("steps", "answered"),
        [
            ("[[:r 0 nil] [:w 1 2]]", "[[:r 0 nil] [:w 1 2]]"),
            ("[[:read 0 nil] [:write 1 2]]", "[[:read 0 nil] [:write 1 2]]"),
            ("([r 0] [w 1 2])", "([r 0 nil] [w 1 2])"),
        ],
    )
    def test_transactions(self, tmp_path: Path, steps: str, answered: str) -> None:
        path = written(
            tmp_path,
            f"{{:process 0 :type :invoke :f :txn :value {steps}}} {{:process 0 :type :ok :f :txn :value {answered}}}",
        )

        (operation,) = read_history(path, "multi-register")[0]

        assert operation.args == (("read", 0), ("write", 1, 2))
        assert operation.result == (UNSEEN,)

    def test_reads_and_writes_of_several_registers_as_maps(self, tmp_path: Path) -> None:
        write = done(0, "write", "{:x 1 :y 2}", "{:x 1 :y 2}")

        for y, verdict in ((2, Verdict.LINEARIZABLE), (3, Verdict.ILLEGAL)):
            read = done(0, "read", "{:x nil :y nil}", f"{{:x 1 :y {y}}}")
            assert check(*read_history(written(tmp_path, write + read), "multi-register")).verdict is verdict

    def test_locks(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "acquire", "nil", "nil") + done(1, "acquire", "nil", "nil"))

        assert check(*read_history(path, "mutex")).verdict is Verdict.ILLEGAL

    def test_subscriptions(self, tmp_path: Path) -> None:
        subscribe = done(0, "subscribe", '["a.*" 1]', '["a.*" 1]')

        for answer, verdict in (("[1]", Verdict.LINEARIZABLE), ("[1 1]", Verdict.ILLEGAL)):
            match = done(0, "match", '"a.b"', answer)
            assert check(*read_history(written(tmp_path, subscribe + match), "subscriptions")).verdict is verdict

    @pytest.mark.parametrize(
        ("spec", "events", "verdict"),
        [
            ("set", [("add", "1", "1"), ("read", "nil", "#{1}")], Verdict.LINEARIZABLE),
            ("set", [("add", "1", "1"), ("read", "nil", "[]")], Verdict.ILLEGAL),
            ("queue", [("enqueue", "1", "1"), ("dequeue", "nil", "1")], Verdict.LINEARIZABLE),
            ("queue", [("enqueue", "1", "1"), ("dequeue", "nil", "nil")], Verdict.ILLEGAL),
            ("counter", [("add", "2", "2"), ("add", "3", "3"), ("read", "nil", "5")], Verdict.LINEARIZABLE),
            ("counter", [("add", "2", "2"), ("read", "nil", "3")], Verdict.ILLEGAL),
            ("set", [("add", "[1 2]", "[1 2]"), ("read", "nil", "#{[1 2]}")], Verdict.LINEARIZABLE),
            ("set", [("add", "[1]", "[1]"), ("read", "nil", "[[1]]")], Verdict.LINEARIZABLE),
            ("set", [("add", "[]", "true"), ("contains", "[]", "true")], Verdict.LINEARIZABLE),
            ("set", [("add", "[1 2]", "[1 2]"), ("read", "nil", "#{1}")], Verdict.ILLEGAL),
            ("queue", [("enqueue", "[1 2]", "[1 2]"), ("dequeue", "nil", "[1 2]")], Verdict.LINEARIZABLE),
            ("queue", [("enqueue", "[1 2]", "[1 2]"), ("dequeue", "nil", "1")], Verdict.ILLEGAL),
            ("set", [("contains", "1", "true")], Verdict.ILLEGAL),
            ("set", [("contains", "1", "1")], Verdict.ILLEGAL),
            ("set", [("contains", "0", "false")], Verdict.LINEARIZABLE),
            ("set", [("discard", "1", "true")], Verdict.ILLEGAL),
            ("set", [("add", "0", "false")], Verdict.ILLEGAL),
            ("set", [("add", "1", "true"), ("add", "1", "1")], Verdict.LINEARIZABLE),
            ("map", [("get", "1", "1")], Verdict.ILLEGAL),
            ("map", [("put", "[1 2]", "[1 2]"), ("get", "1", "2")], Verdict.LINEARIZABLE),
            ("map", [("replace", "[1 2]", "[1 2]")], Verdict.LINEARIZABLE),
            ("map", [("setdefault", "[1 true]", "[1 1]")], Verdict.ILLEGAL),
        ],
    )
    def test_collections(self, tmp_path: Path, spec: str, events: list[tuple[str, str, str]], verdict: Verdict) -> None:
        path = written(tmp_path, "".join(done(0, *event) for event in events))

        assert check(*read_history(path, spec)).verdict is verdict

    @pytest.mark.parametrize(
        ("text", "line", "complaint"),
        [
            (
                "{:process 0 :type :ok :f :read :value 1}",
                1,
                "process 0 completes read, but has invoked nothing",
            ),
            (
                "{:process 0 :type :invoke :f :read}\n\n{:process 0 :type :invoke :f :read}",
                3,
                "process 0 invokes read while what it invoked on line 1 is open",
            ),
            (
                "[{:process 0 :type :invoke :f :read}\n{:process 0 :type :ok :f :write}]",
                2,
                "completes write, not the read of line 1",
            ),
            (
                "{:process 0 :type :invoke :f :pop}",
                1,
                "register has no operation pop: it has cas, read, write",
            ),
            ("{:process 0 :type :invoke :f :cas :value 3}", 1, "the value of cas must be a pair, not 3"),
            ("{:process 0 :type :done :f :read}", 1, "the type of an event is :invoke, :ok, :fail or :info"),
            ("{:process 0 :type :invoke :f :write}", 1, "the call is write(value), not write()"),
            ("{:type :ok}", 1, "an event has no :process and no :f"),
            ("[1 2]", 1, "an event is a map such as"),
            ("{:process 0 :type :invoke :f :read\n", 1, "'{' is never closed"),
        ],
    )
    def test_mistakes_are_named_with_file_and_line(self, tmp_path: Path, text: str, line: int, complaint: str) -> None:
        path = written(tmp_path, text, "bad.edn")

        with pytest.raises(HistoryError) as raised:
            read_history(path, "register")

        assert complaint in str(raised.value)
        assert str(raised.value).startswith(f"{path}:{line}: ")

    @pytest.mark.parametrize(
        ("spec", "event", "complaint"),
        [
            ("set", ":f :add", "the call is add(member), not add()"),
            ("set", ":f :read :value 3} {:process 0 :type :ok :f :read :value 3", ""),
            ("queue", ":f :enqueue", "the call is enqueue(item), not enqueue()"),
            ("queue", ":f :enqueue :value nil", ""),
            ("counter", ':f :add :value "x"', "the n of add(n=1) is a number, not 'x'"),
            ("counter", ":f :add", ""),
            ("map", ":f :put :value 1", "the call is put(key, value), not put(1)"),
            ("map", ":f :put :key :k", "the call is put(key, value), not put('k')"),
            ("map", ":f :get :value []", "the call is get(key, default=None), not get()"),
            ("map", ":f :items} {:process 0 :type :ok :f :items :value 3", "items of ? cannot answer 3"),
            ("map", ":f :popitem} {:process 0 :type :ok :f :popitem :value 3", "popitem() answers a pair, not 3"),
            ("kv", ":f :get", "the call is get(key), not get()"),
            ("kv", ":f :put :key 1", "the call is put(key, value), not put(1)"),
            ("kv", ":f :append :key 1 :value 2", "append(key, text) takes text, not 2"),
            ("kv", ":f :append :key 1 :value nil", "append(key, text) takes text, not None"),
            ("multi-register", ":f :write :value #{[1]}", "a step of txn is"),
            ("subscriptions", ":f :match :value 3", "the topic of match(topic) is text, not 3"),
            (
                "subscriptions",
                ':f :entries :value "a"} {:process 0 :type :ok :f :entries :value [[]]',
                "entries of 'a' cannot answer ((),)",
            ),
        ],
    )
    def test_calls_that_do_not_exist_are_named_with_their_line(
        self, tmp_path: Path, spec: str, event: str, complaint: str
    ) -> None:
        path = written(tmp_path, f"\n{{:process 0 :type :invoke {event}}}")

        if not complaint:
            check(*read_history(path, spec))
            return
        with pytest.raises(HistoryError) as raised:
            read_history(path, spec)
        assert str(raised.value).startswith(f"{path}:2: {complaint}")


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
        events = TestEvents.WRITE_AND_READ.replace(":index 0", f"{note}\n")

        assert len(read_history(written(tmp_path, events), "register")[0]) == 2

    def test_our_own_lines_that_quote_an_event_are_no_log(self, tmp_path: Path) -> None:
        put = Operation(0, 0, 1, 2, "put", ("k", self.EVENTS.splitlines()[0]), None)
        jsonl.save(History((put,), {"spec": "map"}), tmp_path / "history.jsonl")

        assert read_history(tmp_path / "history.jsonl")[0].operations == (put,)

    def test_events_may_stand_below_a_long_comment(self, tmp_path: Path) -> None:
        path = written(tmp_path, "; a comment\n" * 1_000 + TestEvents.WRITE_AND_READ)

        assert len(read_history(path, "register")[0]) == 2

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

        with pytest.raises(HistoryError, match="No such file"):
            read_history(tmp_path / "missing", "register")
        with pytest.raises(HistoryError, match="not UTF-8"):
            read_history(tmp_path / "binary", "register")

    def test_a_specification_must_be_named(self, tmp_path: Path) -> None:
        path = written(tmp_path, TestEvents.WRITE_AND_READ)

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
            ('[0, 0, 1, 2, "read", [], {"what": 1}]', "an object of one of the keys set, raised"),
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
            ("kv", '"append", ["k", 1], null', "append(key, text) takes text, not 1"),
            ("register", '"pop", [], null', "register has no operation pop: it has cas, read, write"),
            ("register", '"cas", [1], true', "the call is cas(old, new), not cas(1)"),
            ("map", '"popitem", [], 5', "popitem() answers a pair, not 5"),
            ("map", '"items", [], 5', "items() answers a set, not 5"),
            ("map", '"snapshot", [], {"set": [5]}', "snapshot() answers pairs, not {5}"),
            ("multi-register", '"txn", [["w", "x"]], []', "a step of txn is"),
            ("multi-register", '"txn", [["read", "x"]], []', "is one value for each of its 1 reads"),
            ("multi-register", '"txn", [3], []', "a step of txn is"),
            ("subscriptions", '"subscribe", ["a"], null', "the call is subscribe(filter, subscriber)"),
            ("subscriptions", '"subscribe", [1, 2], null', "the filter of subscribe(filter, subscriber) is text"),
            ("subscriptions", '"match", ["a"], 3', "match(topic) answers a set, not 3"),
        ],
    )
    def test_calls_that_do_not_exist_are_named(self, tmp_path: Path, spec: str, call: str, complaint: str) -> None:
        path = written(tmp_path, f'{{"stress": 1, "spec": "{spec}"}}\n[0, 7, 1, 2, {call}]\n')

        with pytest.raises(HistoryError) as raised:
            read_history(path)

        assert str(raised.value).startswith(f"{path}: ")
        assert " of thread 7, called at 1: " in str(raised.value)
        assert complaint in str(raised.value)

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


class TestExports:
    HISTORY = History(
        (Operation(0, 0, 1, 4, "add", ("x", 1), True), Operation(1, "p", 2, None, "clear", (), UNSEEN)),
        {"spec": "set"},
    )

    def test_as_events_for_other_checkers(self) -> None:
        assert jsonl.to_event_list(self.HISTORY) == [
            {"ClientId": 0, "Kind": "call", "Value": {"op": "add", "args": ["x", 1]}, "Id": 0},
            {"ClientId": "p", "Kind": "call", "Value": {"op": "clear", "args": []}, "Id": 1},
            {"ClientId": 0, "Kind": "return", "Value": True, "Id": 0},
        ]

    def test_as_edn(self) -> None:
        assert jsonl.to_edn(self.HISTORY).splitlines() == [
            '{:process 0, :type :invoke, :f :add, :value ["x" 1]}',
            '{:process "p", :type :invoke, :f :clear, :value []}',
            "{:process 0, :type :ok, :f :add, :value true}",
        ]

    def test_edn_comes_back(self, tmp_path: Path) -> None:
        operations = (
            Operation(0, 0, 0, 2, "put", ("a", 1), None),
            Operation(1, 1, 1, 4, "items", (), frozenset({("a", 1)})),
            Operation(2, 0, 3, None, "pop", ("a",), UNSEEN),
        )
        path = written(tmp_path, jsonl.to_edn(History(operations)))

        assert read_history(path, "map")[0].operations == operations

    @pytest.mark.parametrize("member", [1, None, "a", (), (1,), (1, 2)])
    def test_the_only_argument_comes_back_whatever_it_is(self, tmp_path: Path, member: Any) -> None:
        for spec, op in (("set", "add"), ("queue", "enqueue"), ("register", "write")):
            history = History((Operation(0, 0, 0, 1, op, (member,), None),))

            (operation,) = read_history(written(tmp_path, jsonl.to_edn(history)), spec)[0]

            assert operation.args == (member,)

    def test_a_map_beside_a_key_holds_vectors(self, tmp_path: Path) -> None:
        path = written(tmp_path, done(0, "put", "[1 2]", "[1 2]", ":k") + done(0, "get", "nil", "[1 2]", ":k"))

        assert check(*read_history(path, "map")).verdict is Verdict.LINEARIZABLE
