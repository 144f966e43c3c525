"""Histories as events: a begin and an end for each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from stress import UNSEEN, HistoryError, PerKey, Verdict, check, read_history
from tests.stress.test_readers import WRITE_AND_READ, done, written

pytestmark = pytest.mark.once  # Python that is the same everywhere


class TestEvents:
    @pytest.mark.parametrize("form", ["{}", "[{}]", "({})", "; a history\n\n[{}]", "#_ old {}"])
    def test_maps_stand_one_by_one_or_in_one_list(self, tmp_path: Path, form: str) -> None:
        path = written(tmp_path, form.replace("{}", WRITE_AND_READ))

        history, spec = read_history(path, "register")

        assert [each.describe() for each in history] == ["write(3) -> None", "read() -> 3"]
        assert check(history, spec).verdict is Verdict.LINEARIZABLE

    def test_a_failed_cas_did_not_happen(self, tmp_path: Path) -> None:
        """Here, unlike in a log, :fail says nothing about the value that was there."""
        path = written(
            tmp_path, "{:process 0 :type :invoke :f :cas :value [1 2]} {:process 0 :type :fail :f :cas :value [1 2]}"
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

    @pytest.mark.parametrize("name", ['"{}"', "{}"])
    def test_the_names_in_an_event_may_be_written_otherwise(self, tmp_path: Path, name: str) -> None:
        text = WRITE_AND_READ
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
        history, spec = read_history(written(tmp_path, other + WRITE_AND_READ), "register")

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
        path = written(tmp_path, WRITE_AND_READ.replace(":f :read, :value 3", f":f :read, :value {value}"))

        with pytest.raises(HistoryError, match=":4: "):
            read_history(path, "register")

    @pytest.mark.parametrize(
        ("answer", "verdict"), [("true", Verdict.ILLEGAL), ("false", Verdict.LINEARIZABLE), ("[1 2]", Verdict.ILLEGAL)]
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

    def test_a_completion_without_a_value_says_nothing(self, tmp_path: Path) -> None:
        path = written(tmp_path, WRITE_AND_READ.replace(":f :read, :value 3", ":f :read"))

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
            ("{:process 0 :type :ok :f :read :value 1}", 1, "process 0 completes read, but has invoked nothing"),
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
            ("{:process 0 :type :invoke :f :pop}", 1, "register has no operation pop: it has cas, read, write"),
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
            ("counter", ":f :add", ""),
            ("map", ":f :put :value 1", "the call is put(key, value), not put(1)"),
            ("map", ":f :put :key :k", "the call is put(key, value), not put('k')"),
            ("map", ":f :get :value []", "the call is get(key, default=None), not get()"),
            ("map", ":f :items} {:process 0 :type :ok :f :items :value 3", "items of ? cannot answer 3"),
            ("kv", ":f :get", "the call is get(key), not get()"),
            ("kv", ":f :put :key 1", "the call is put(key, value), not put(1)"),
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
