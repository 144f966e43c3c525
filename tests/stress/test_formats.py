"""Histories in files: our JSON Lines, jepsen logs and events in EDN. Each case is a text, and what is read from it, or the
sentence that refuses it."""

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


def done(process: int, f: str, value: str, answer: str, key: str = "") -> str:
    """The two events of an operation that completed, in EDN."""
    events = [
        f"{{:process {process}, :type :{kind}, :f :{f}, :value {text}{f', :key {key}' if key else ''}}}"
        for kind, text in (("invoke", value), ("ok", answer))
    ]
    return "\n".join(events) + "\n"


def log(*lines: str) -> str:
    return "".join(f"INFO jepsen.util - {line}\n" for line in lines)


def lines(*rows: str, spec: str = "register") -> str:
    """JSON Lines with these rows."""
    return "\n".join([f'{{"stress": 1, "spec": "{spec}"}}', *rows, ""])


# --------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None), ("true", True), ("false", False), ("42", 42), ("-7", -7), ("+7", 7), ("12N", 12), ("1.5", 1.5),
        ("-2e3", -2000.0), ("3.0M", 3.0), ('"a b"', "a b"), (":read", "read"), (":jepsen.op/read", "jepsen.op/read"),
        (r'"tab\t quote\" back\\ é newline\n"', 'tab\t quote" back\\ é newline\n'), ("foo-bar", "foo-bar"),
        ("[1 [2 nil] []]", (1, (2, None), ())), ("(1, 2,, 3)", (1, 2, 3)), ("#{1 2}", frozenset({1, 2})),
        ('{:a 1, "b" [2]}', frozenset({("a", 1), ("b", (2,))})),
        ("{[1 2] 3 #{4} 5}", frozenset({((1, 2), 3), (frozenset({4}), 5)})), ("#_ ignored 5", 5),
        ("[1 #_[2 3] 4]", (1, 4)), ("[1 #_ #_ 2 3 4]", (1, 4)), ('#inst "2026-11-21"', "2026-11-21"),
        ("#jepsen.history.Op{:index 0}", frozenset({("index", 0)})), ("; first\n 7 ; last", 7),
        ("#jepsen.independent/tuple [1 nil]", KeyedPair((1, None))),
        ("[#jepsen.independent/tuple[1 [2 3]]]", (KeyedPair((1, (2, 3))),)),
    ],
)  # fmt: skip
def test_a_value_in_edn(text: str, value: Any) -> None:
    found = read_edn_value(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "word", ["#<Timeout a <b> {c>", "1x", "1/2", "0x1a", "##Nan", r"\what", r"\a", r'"\q"', r'#"a\d+"']
)
def test_what_is_no_value_but_has_an_end_can_be_passed_over(word: str) -> None:
    ((_, (one, other, two)),) = read_edn(f"[1 {word} 2]")
    assert (one, two, type(other)) == (1, 2, Unreadable)
    assert repr(word) in other.reason
    with pytest.raises(HistoryError, match="is not EDN"):
        read_edn_value(word)


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("[1\n 2", 1, r"'\[' is never closed"),
        ("[1\n 2)", 2, r"'\)' closes nothing: the '\[' of line 1 is open"),
        ("1\n]", 2, "nothing is open"),
        ("{:a}", 1, "a key without a value"),
        ("{:a 1\n :a 2}", 1, "a map has a key twice"),
        ("[" * 101 + "]" * 101, 1, "nested more than 100 levels deep"),
        ("[" * 100_000 + "]" * 100_000, 1, "nested more than 100 levels deep"),
    ],
)
def test_mistakes_in_edn_are_named_with_their_line(text: str, line: int, complaint: str) -> None:
    assert read_edn_value("[" * 100 + "]" * 100)
    with pytest.raises(HistoryError, match=f"some.edn:{line}: .*{complaint}"):
        list(read_edn(text, "some.edn"))


@pytest.mark.parametrize(
    ("text", "value"), [("nil", None), ("0", 0), ("-1", -1), ('"x y"', "x y"), ("", ""), ("word", "word"), (":k", "k")]
)
def test_a_start_on_the_command_line(text: str, value: Any) -> None:
    assert parse_initial(text) == value


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    ATOMS | st.just(UNSEEN) | st.builds(Raised, st.text(min_size=1)),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_values_survive_json(value: Any) -> None:
    assert jsonl.decode(json.loads(json.dumps(jsonl.encode(value)))) == value


def test_histories_survive_json(tmp_path: Path) -> None:
    class Subscriber:
        def __repr__(self) -> str:
            return "<subscriber 1>"

    assert repr(jsonl.decode(jsonl.encode(Subscriber()))) == "<subscriber 1>"  # other objects are known by their repr
    rows = (
        Operation(0, 0, 1, 4, "get", ("a", 1.5), frozenset({(1, None)})),
        Operation(1, "p", 2, None, "put", ((1, 2), b"x"), UNSEEN),
        Operation(2, 0, 5, 6, "put", ("k", log("0 :invoke :read nil")), Raised("KeyError", "'a'")),  # it quotes a log
    )
    jsonl.save(History(rows, {"spec": "map", "initial": frozenset({("a", 1)}), "seed": 7}), tmp_path / "history.jsonl")
    again, _ = read_history(tmp_path / "history.jsonl")
    assert again.operations == rows
    assert (again.header["initial"], again.header["seed"]) == (frozenset({("a", 1)}), 7)


# ---------------------------------------------------------------------------------------------- what is read from texts

WRITTEN = (
    "{:process 0, :type :invoke, :f :write, :value 3, :index 0, :time 17}\n"
    "{:process 0, :type :ok, :f :write, :value 3}\n"
    "{:process 1, :type :invoke, :f :read}\n"
    "{:process 1, :type :ok, :f :read, :value 3}\n"
)
WRITES_AND_READS = ["write(3) -> None", "read() -> 3"]
LOGGED = log("0 :invoke :read nil", "0 :ok :read nil")
READ = ["read() -> None"]
FIRST_WRITE = [f"0 {each} :write 1" for each in (":invoke", ":ok")]
NEMESIS = "{:process :nemesis :type :invoke :f :start} {:process :nemesis :type"
TAG = "#jepsen.independent/tuple "
PUT_AND_GET, A_TXN = ["put('k', 'v') -> None", "get('k') -> 'v'"], ["txn(('read', 0), ('write', 1, 2)) -> (?,)"]
OF_A_MAP = ["get('k') -> None", "replace_if('k', None, 2) -> True", "pop('k') -> 2"]
KEYED = ["write(1, 3) -> None", "cas(2, None, 4) -> True"]
ACCEPTED: list[tuple[str, str, list[str] | None, bool]] = [
    # Logs of jepsen
    ("register", "INFO  jepsen.core - Worker 0 starting\n" + log(
        "0\t:invoke\t:write\t3", "1\t:invoke\t:read\tnil", ":nemesis\t:info\t:start\tnil", "1\t:ok\t:read\tnil",
        "0\t:ok\t:write\t3"), ["write(3) -> None", "read() -> None"], True),
    *(("register", log(*FIRST_WRITE, "0 :invoke :cas [1 2]", f"0 :fail :cas {value}", "0 :invoke :read nil",
       "0 :ok :read 1"),
       ["write(1) -> None", "cas(1, 2) -> False", "read() -> 1"], False)  # it failed, whatever else its completion says
      for value in ("[1 2]", "", "nil", ":timed-out", '"101: Compare failed"', "[1 2] :hint 7", "[1 2]\tnil")),
    *(("register", log("0 :invoke :cas [nil 1]", f"0 :fail :cas [nil 1] {error}", "0 :invoke :read nil",
       "0 :ok :read nil"),
       READ, True) for error in (":no-conns", ':conn-lost "n1"', '"refused"', "[:no-leader 3]")),  # it did not happen
    ("register", log("0 :invoke :read nil", "0 :fail :read :timed-out", "0 :invoke :read nil", "0 :ok :read nil"),
     READ, True),
    *(("register", log("0 :invoke :write 4", line, "1 :invoke :read nil", "1 :ok :read nil"), told, True)
      for line, told in (
          ("0 :info :write #<Timeout java.util.concurrent.TimeoutException: {>", ["write(4) never returned", *READ]),
          ('0 :info :write 4 clojure.lang.ExceptionInfo: throw+: {:type :"', ["write(4) never returned", *READ]),
          ("0 :fail :write 4 192.168.1.2x", READ),
          (":nemesis :info :start #<Partition {n1>", ["write(4) never returned", *READ]),
          (":nemesis :invoke :start 1x", ["write(4) never returned", *READ]))),
    ("register", log("0 :invoke :write 3", "0 :ok :write 3", "0 :invoke :read nil", "0 :ok :read nil"),
     ["write(3) -> None", "read() -> None"], False),  # in a log nil is a value
    ("register", log("0 :invoke :write [1 3]", "0 :info :write [1 3] :timeout", "1 :invoke :read [2 nil]",
     "1 :ok :read [2 nil]"),
     ["write(1, 3) never returned", "read(2) -> None"], True),
    ("register",  # a log without a logger
     (':nemesis\t:info\t:start\tnil\n0\t:invoke\t:write\t1\n:nemesis\t:info\t:start\t[:isolated {"n1" #{"n2"}}]\n'
     "0\t:ok\t:write\t1\n0\t:invoke\t:cas\t[2 3]\n0\t:fail\t:cas\t[2 3]\n1\t:invoke\t:read\tnil\n"
     "1\t:fail\t:read\tnil\t:timed-out\n1\t:invoke\t:cas\t[1 3]\n1\t:fail\t:cas\t[1 3]\t[:no-leader]\n"),
     ["write(1) -> None", "cas(2, 3) -> False"], True),
    *(("register", f"{line * 200_000}\n{LOGGED}", READ, True)  # a quadratic search would take hours
      for line in ("jepsen.util", "jepsen.util - ", "jepsen.util:-", "- jepsen.util\t")),
    *(("register", before + events, READ, True)  # wherever its events begin
      for before in (
          "INFO  jepsen.core - setting up node n1\n" * 200, "[main] INFO  jepsen.core - setting up node n1\n" * 200,
          "{:concurrency 5,\n :nodes [:n1]}\n" * 200, '{"nodes": ["n1"]}\n' * 300,
          "INFO  jepsen.util - setting up\n" * 200)
      for events in (LOGGED, LOGGED.replace("INFO ", "2026-11-21 10:00:00,123{GMT}\tINFO\t[worker 0] "))),
    # Events
    *(("register", form.replace("{}", WRITTEN), WRITES_AND_READS, True)
      for form in ("{}", "[{}]", "({})", "; a history\n\n[{}]", "#_ old {}", "; a comment\n" * 1_000 + "{}")),
    *(("register", WRITTEN.replace(":index 0", f"{note.format(LOGGED.splitlines()[0])}\n"), WRITES_AND_READS, True)
      for note in ("; {}", ':note "{}"', ":error [jepsen.util/timeout :type :invoke :f :write]")),
    *(("register", WRITTEN.replace(":process", name("process")).replace(":type", name("type")).replace(":f ",
       name("f") + " "),
       WRITES_AND_READS, True) for name in ('"{}"'.format, "{}".format)),
    ("register",
     "{:process 0 :type :invoke :f :cas :value [1 2]} {:process 0 :type :fail :f :cas :value [1 2]}" + WRITTEN,
     WRITES_AND_READS, True),  # here, unlike in a log, :fail says nothing about the value that was there
    ("register",
     "{:process 5 :type :invoke :f :cas :value [3 2]} {:process 5 :type :info :f :cas :value [3 2]}" + WRITTEN,
     ["cas(3, 2) never returned", *WRITES_AND_READS], True),
    *(("register", other + WRITTEN, WRITES_AND_READS, True)
      for other in (
          f"{NEMESIS} :ok :f :start}}", f"{NEMESIS} :invoke :f :stop}}",
          "{:process :nemesis :type :invoke :f :start :value #<Partition>} {:process :nemesis :type :info :f :start}",
          "{:process 7 :type :invoke :f :write :value 9} {:process 7 :type :fail :f :write :value #<Timeout {>}")),
    ("register",
     '{:process 7 :type :invoke :f :read} {:process 7 :type :info :f :read :value 1x :error #object[A 0x1f "a"]}' + WRITTEN,
     ["read() never returned", *WRITES_AND_READS], True),
    ("multi-register", done(0, "txn", "[[:w 0 1]]", "[[:w 0 1]]") + done(0, "start", "1", "2").replace("0", ":nemesis"),
     ["txn(('write', 0, 1)) -> ()"], True),
    ("register", done(0, "read", "nil", "nil").replace(":process 0", ":process :worker"), ["read() -> ?"], True),
    *(("register", done(0, "write", "3", "3") + done(0, "cas", "[1 2]", answer), ["write(3) -> None",
       f"cas(1, 2) -> {told}"],
       not told) for answer, told in (("true", True), ("false", False), ("[1 2]", True))),
    # What nil says
    ("kv", done(0, "put", '[:x "3"]', '[:x "3"]') + done(0, "get", ":x", "nil"), ["put('x', '3') -> None",
     "get('x') -> ?"], True),
    ("counter", done(0, "add", "3", "3") + done(0, "read", "nil", "nil"), ["add(3) -> ?", "read() -> ?"], True),
    ("set", done(0, "add", "3", "3") + done(0, "read", "nil", "nil"), ["add(3) -> ?", "read() -> ?"], True),
    ("multi-register", done(0, "txn", "[[:w :x 3]]", "[[:w :x 3]]") + done(0, "txn", "[[:r :x nil]]", "[[:r :x nil]]"),
     ["txn(('write', 'x', 3)) -> ()", "txn(('read', 'x')) -> (?,)"], True),
    ("multi-register", done(0, "write", "[:x 3]", "[:x 3]") + done(0, "read", "[:x nil]", "[:x nil]"),
     ["txn(('write', 'x', 3)) -> ()", "txn(('read', 'x')) -> (?,)"], True),
    ("map", done(0, "put", "[1 2]", "nil") + done(0, "get", "1", "nil"), ["put(1, 2) -> None", "get(1) -> None"],
     False),
    ("register", WRITTEN.replace(":f :read, :value 3", ":f :read"), ["write(3) -> None", "read() -> ?"], True),
    # Keys
    *(("register", done(0, "write", f"{tag}[1 3]", f"{tag}[1 3]") + done(0, "cas", f"{tag}[2 [nil 4]]",
       f"{tag}[2 [nil 4]]")
       + done(1, "read", f"{tag}[1 nil]", f"{tag}[1 {found}]"), [*KEYED, f"read(1) -> {found}"], found == 3)
      for tag in (TAG, TAG.strip(), "") for found in (3, 4)),
    ("kv", done(0, "put", f'{TAG}["k" "v"]', f'{TAG}["k" "v"]') + done(0, "get", f'{TAG}["k" nil]', f'{TAG}["k" "v"]'),
     PUT_AND_GET, True),  # a key is an argument where operations take one
    ("kv", done(0, "put", '"v"', '"v"', '"k"') + done(1, "get", "nil", '"v"', '"k"'), PUT_AND_GET, True),
    ("kv", done(0, "put", '["k" "v"]', '["k" "v"]') + done(1, "get", '["k" nil]', '["k" "v"]'), PUT_AND_GET, True),
    ("map", done(0, "put", "nil", "nil", ":k") + done(0, "get", "nil", "nil", ":k") + done(0, "replace_if", "[nil 2]",
     "true", ":k")
     + done(0, "pop", "nil", "2", ":k"), ["put('k', None) -> None", *OF_A_MAP], True),
    ("map", done(0, "put", "[:k nil]", "[:k nil]") + done(0, "get", "[:k nil]", "[:k nil]")
     + done(0, "replace_if", "[:k nil 2]", "true") + done(0, "pop", ":k", "2"), ["put('k', None) -> ?", *OF_A_MAP], True),
    ("map", done(0, "put", "[1 2]", "[1 2]", ":k") + done(0, "get", "nil", "[1 2]", ":k"),
     ["put('k', (1, 2)) -> ?", "get('k') -> (1, 2)"], True),
    ("register", done(0, "write", "[1 3]", "[1 3]") + done(1, "read", "nil", "[1 3]"), ["write((1, 3)) -> None",
     "read() -> (1, 3)"], True),
    ("register", done(0, "write", "[1 3]", "[1 3]") + done(0, "cas", "[[1 3] 5]", "[[1 3] 5]"),
     ["write((1, 3)) -> None", "cas((1, 3), 5) -> True"], True),
    ("register", done(0, "write", "3", "3") + done(1, "read", "[1 nil]", "3"), WRITES_AND_READS, True),
    # Transactions, and what stands in answers
    *(("multi-register",
       f"{{:process 0 :type :invoke :f :txn :value {steps}}} {{:process 0 :type :ok :f :txn :value {told}}}", A_TXN,
       True)
      for steps, told in (
          ("[[:r 0 nil] [:w 1 2]]", "[[:r 0 nil] [:w 1 2]]"), ("([r 0] [w 1 2])", "([r 0 nil] [w 1 2])"),
          ("[[:read 0 nil] [:write 1 2]]", "[[:read 0 nil] [:write 1 2]]"))),
    *(("multi-register", done(0, "write", "{:x 1}", "{:x 1}") + done(0, "read", "{:x nil}", f"{{:x {x}}}"),
       ["txn(('write', 'x', 1)) -> ()", f"txn(('read', 'x')) -> ({x},)"], x == 1) for x in (1, 3)),
    ("mutex", done(0, "acquire", "nil", "nil") + done(1, "acquire", "nil", "nil"), ["acquire() -> None"] * 2, False),
    *(("subscriptions", done(0, "subscribe", '["a.*" 1]', '["a.*" 1]') + done(0, "match", '"a.b"', found),
       ["subscribe('a.*', 1) -> ?", f"match('a.b') -> {told}"], told == "{1}") for found, told in (("[1]", "{1}"),
        ("[1 1]", "(1, 1)"))),
    *((spec, done(0, op, text, text),
       [f"{op}({value!r}) -> {'None' if 'nil' in (text, spec) or op == 'write' else '?'}"],
        True)  # the only argument is what it is
      for text, value in (("1", 1), ("nil", None), ('"a"', "a"), ("[]", ()), ("[1]", (1,)), ("[1 2]", (1, 2)))
      for spec, op in (("set", "add"), ("queue", "enqueue"), ("register", "write"))),
    *((spec, "".join(done(0, *event) for event in events), None, right) for spec, events, right in (
        ("set", [("add", "1", "1"), ("read", "nil", "#{1}")], True),
        ("set", [("add", "1", "1"), ("read", "nil", "[]")], False),
        ("queue", [("enqueue", "1", "1"), ("dequeue", "nil", "1")], True),
        ("queue", [("enqueue", "1", "1"), ("dequeue", "nil", "nil")], False),
        ("counter", [("add", "2", "2"), ("add", "3", "3"), ("read", "nil", "5")], True),
        ("counter", [("add", "2", "2"), ("read", "nil", "3")], False),
        ("set", [("add", "[1 2]", "[1 2]"), ("read", "nil", "#{[1 2]}")], True),
        ("set", [("add", "[1]", "[1]"), ("read", "nil", "[[1]]")], True),
        ("set", [("add", "[]", "true"), ("contains", "[]", "true")], True),
        ("set", [("add", "[1 2]", "[1 2]"), ("read", "nil", "#{1}")], False),
        ("queue", [("enqueue", "[1 2]", "[1 2]"), ("dequeue", "nil", "[1 2]")], True),
        ("queue", [("enqueue", "[1 2]", "[1 2]"), ("dequeue", "nil", "1")], False),
        ("set", [("contains", "1", "true")], False), ("set", [("contains", "1", "1")], False),
        ("set", [("contains", "0", "false")], True), ("set", [("discard", "1", "true")], False),
        ("set", [("add", "0", "false")], False), ("set", [("add", "1", "true"), ("add", "1", "1")], True),
        ("map", [("get", "1", "1")], False), ("map", [("put", "[1 2]", "[1 2]"), ("get", "1", "2")], True),
        ("map", [("replace", "[1 2]", "[1 2]")], True), ("map", [("setdefault", "[1 true]", "[1 1]")], False))),
    ("set", done(0, "read", "3", "3"), None, False),
    # JSON Lines
    ("subscriptions", ('{"stress": 1, "spec": "subscriptions", "dialect": "mqtt", "initial": {"set": [["a/+", 1]]}}\n'
     '[0, 0, 1, 2, "match", ["a/b"], {"set": [1]}]\n'), ["match('a/b') -> {1}"], True),
    ("register", lines(f'[1, 0, 1{"0" * 400}, null, "write", [1], null]'), ["write(1) never returned"], True),
    ("register", lines('[0, 0, 1, 2, "write", [NaN], null]', '[1, 0, 3, 4, "read", [], NaN]'),
     ["write(nan) -> None", "read() -> nan"], True),
]  # fmt: skip
"""A specification, a text, the operations that are read (None: see the answers), and whether they are right."""


@pytest.mark.parametrize(("spec", "text", "told", "right"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_a_history_is_read(tmp_path: Path, spec: str, text: str, told: list[str] | None, right: bool) -> None:
    (tmp_path / "history.txt").write_text(text, encoding="utf-8")
    history, model = read_history(tmp_path / "history.txt", spec)
    assert told in (None, [each.describe() for each in history])
    assert check(history, model).verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL)


# ------------------------------------------------------------------------------------------------------ what is refused

DEEP = "[" * 700 + "]" * 700
ROW = '[0, 0, 1, 2, "read", [], null]'
REFUSED: list[tuple[str, str, int, str]] = [
    ("register", "", 0, "the file holds no operations"),
    ("register", "; nothing\n", 0, "the file holds no operations"),
    ("register", "hello\n", 0, "neither JSON Lines, nor a jepsen log, nor EDN event maps"),
    ("register", "\n\nhello\n", 3, "neither JSON Lines, nor a jepsen log, nor EDN event maps"),
    ("kv", '{:process 0 :type :invoke :f :get :value ["k" nil]}\n{:process 0 :type :ok :f :get :value ["k" "v" 3]}\n', 2,
     r"the value of get must be a pair, not ('k', 'v', 3)"),
    # JSON Lines
    ("register", '{"spec": "register"}\n', 1, "the first line must be the header"),
    ("register", '{"stress": 99}\n', 1, "format 99 is not known"),
    ("register", f"{ROW}\n", 1, "the first line must be the header"),
    ("register", '\n[ -1, "p", 1, null, "read", [], null]\n', 2, "the first line must be the header"),
    ("kv", '{"stress": 1, "spec": "kv", "initial": {"a": 1}}\n', 1, "no header: an object of one of the keys"),
    ("register", '{"stress": 1, "spec": "register", "initial": ' + DEEP + "}\n", 0, "nested more than 100 levels deep"),
    ("", '{"stress": 1, "spec": "os:system"}\n[0,0,1,2,"increment",[],1]\n', 0, "say --spec os:system"),
    ("", '{"stress": 1, "spec": ["x"], "code": [["/dev/zero", "1"]]}\n', 0, "names no specification"),
    ("", '{"stress": 1, "spec": "counter", "initial": "x"}\n[0,0,1,2,"increment",[],1]\n', 0,
     "counter cannot start from"),
    ("", '{"stress": 1, "spec": "counter", "trouble": [1]}\n[0,0,1,2,"increment",[],1]\n', 1, "must be a string"),
    ("register", lines("", "[0, 0, 1, 2]"), 3, "it must be an array"),
    *(("register", lines(f'[0, 0, 1, 2, "read", [], {{"raised": "E", "at": {at}}}]'), 2,
       "no operation: where an exception was raised must be arrays of file, line and function, not")
      for at in ('[["f", 1e999, "g"]]', '[["f", 1]]', '[["f", "1", "g"]]', '["f1g"]', "5", "null", "{}")),
    ("register", lines('["0", 0, 1, 2, "read", [], null]'), 2, "the id must be an integer, not '0'"),
    ("register", lines('[0, null, 1, 2, "read", [], null]'), 2, "the thread must be an integer or a string"),
    ("register", lines('[0, 0, "x", 2, "read", [], null]'), 2, "call and return must be numbers"),
    ("register", lines('[0, 0, 3, 2, "read", [], null]'), 2, "it returns at 2, before it is called at 3"),
    ("register", lines("[0, 0, 1, 2, 3, [], null]"), 2, "op must be a string"),
    ("register", lines('[0, 0, 1, 2, "read", [], {"what": 1}]'), 0,
     "an object of one of the keys list, dict, set, raised"),
    ("register", lines(f'[1, 0, 1, 2, "write", [{DEEP}], null]'), 0, "nested more than 100 levels deep"),
    ("register", lines('[0, 0, NaN, 2, "read", [], null]'), 2, "call and return must be finite"),
    ("register", lines('[0, 0, 1, Infinity, "read", [], null]'), 2, "call and return must be finite"),
    ("register", lines("[0, 0, 1"), 2, "not JSON"),
    ("register", lines(ROW, ROW), 3, "a second operation of id 0"),
    ("counter", lines('[0,0,0,10,"increment",[],2]', '[1,0,1,9,"add",[],1]', spec="counter"), 0,
     "thread 0 is in two calls at once"),
    ("kv", lines('[0, 7, 1, 2, "get", [], null]', spec="kv"), 0,
     "get of thread 7, called at 1: the call is get(key), not get()"),
    ("register", lines('[0, 7, 1, 2, "pop", [], null]'), 0,
     "called at 1: register has no operation pop: it has cas, read, write"),
    ("register", lines('[0, 7, 1, 2, "cas", [1], true]'), 0, "called at 1: the call is cas(old, new), not cas(1)"),
    ("subscriptions", lines('[0, 7, 1, 2, "subscribe", ["a"], null]', spec="subscriptions"), 0,
     "the call is subscribe(filter, subscriber)"),
    # Logs and events
    *(("register", log("0 :invoke :read nil", f"0 :ok :read {value}"), 2, "") for value in ("#<Timeout>", "1x",
       "[1 2")),
    *(("register", WRITTEN.replace(":f :read, :value 3", f":f :read, :value {value}"), 4, "")
      for value in ("#<Timeout>", "[1 #<Timeout>]", "1x", "[" * 2_000 + "]" * 2_000)),
    ("register", "{:process 0, :process 1, :type :invoke, :f :read}\n", 1, "a map has a key twice"),
    ("register", done(0, "raed", "nil", "nil").replace(":process 0", ':process "worker"'), 0,
     "register has no operation raed"),
    ("register", done(0, "write", "1", "1", key=":x") + done(0, "read", "nil", "nil"), 0,
     "some events carry a :key and others do not"),
    ("register", done(0, "read", "[1 nil]", "[2 nil]"), 2, "process 0 completes read of key 2, not 1"),
    ("register", "{:process 0 :type :ok :f :read :value 1}", 1, "process 0 completes read, but has invoked nothing"),
    ("register", "{:process 0 :type :invoke :f :read}\n\n{:process 0 :type :invoke :f :read}",
     3, "process 0 invokes read while what it invoked on line 1 is open"),
    ("register", "[{:process 0 :type :invoke :f :read}\n{:process 0 :type :ok :f :write}]",
     2, "process 0 completes write, not the read of line 1"),
    ("register", "{:process 0 :type :invoke :f :pop}", 1, "register has no operation pop: it has cas, read, write"),
    ("register", "{:process 0 :type :invoke :f :cas :value 3}", 1, "the call is cas(old, new), not cas(3)"),
    ("register", "{:process 0 :type :done :f :read}", 1, "the type of an event is :invoke, :ok, :fail or :info"),
    ("register", "{:process 0 :type :invoke :f :write}", 1, "the call is write(value), not write()"),
    ("register", "{:type :ok}", 1, "an event has no :process and no :f"),
    ("register", "[1 2]", 1, "an event is a map such as"),
    ("register", "{:process 0 :type :invoke :f :read\n", 1, "'{' is never closed"),
    *((spec, f"\n{{:process 0 :type :invoke {event}}}", 2, told) for spec, event, told in (
        ("set", ":f :add", "the call is add(member), not add()"),
        ("queue", ":f :enqueue", "the call is enqueue(item), not enqueue()"),
        ("map", ":f :put :value 1", "the call is put(key, value), not put(1)"),
        ("map", ":f :put :key :k", "the call is put(key, value), not put('k')"),
        ("map", ":f :get :value []", "the call is get(key, default=None), not get()"),
        ("map", ":f :items} {:process 0 :type :ok :f :items :value 3", "items of ? cannot answer 3"),
        ("kv", ":f :get", "the call is get(key), not get()"),
        ("kv", ":f :put :key 1", "the call is put(key, value), not put(1)"),
        ("subscriptions", ':f :entries :value "a"} {:process 0 :type :ok :f :entries :value [[]]',
         "entries of 'a' cannot answer ((),)"))),
]  # fmt: skip
"""A specification ("": what the header names), a text, the line that is named (0: none), and what is told."""


@pytest.mark.parametrize(("spec", "text", "line", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_history_is_told_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str, text: str, line: int, told: str
) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HistoryError) as refused:
        read_history(path, spec or None)
    assert str(refused.value).startswith(f"{path}:{line}: " if line else f"{path}:")
    assert told in str(refused.value)
    for command in ("check", "replay"):
        assert main([command, *(["--spec", spec] if spec else []), str(path)]) == 2
        complaint = capsys.readouterr().err
        assert told in complaint
        assert "Traceback" not in complaint


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
        ("counter", '"increment", [], {"set": [{"bad": 1}]}'),
    ],
)
def test_calls_and_answers_of_a_wrong_kind_are_not_right(tmp_path: Path, spec: str, call: str) -> None:
    (tmp_path / "it.jsonl").write_text(lines(f"[0, 7, 1, 2, {call}]", spec=spec))
    assert main(["check", str(tmp_path / "it.jsonl")]) in (1, 2)


@pytest.mark.parametrize(
    ("text", "asked", "told"),
    [
        (None, ("register",), "No such file"),
        (b"\xff\xfe\x00", ("register",), "not UTF-8"),
        (WRITTEN.encode(), (), "name a specification"),
        (WRITTEN.encode(), ("heap",), "no specification 'heap': there are register, kv"),
        (WRITTEN.encode(), ("set", 3), "set cannot start from initial 3"),
        (b'{"stress": 1}\n', ("counter", "x"), "counter cannot start from initial .*: it must"),
        (b'{"stress": 1}\n', ("subscriptions", (1, 2)), "subscriptions cannot start from initial .*: it must"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, text: bytes | None, asked: Any, told: str) -> None:
    if text is not None:
        (tmp_path / "it").write_bytes(text)
    with pytest.raises(HistoryError, match=told):
        read_history(tmp_path / "it", *asked)


def test_nothing_is_quoted_at_length(tmp_path: Path) -> None:
    (tmp_path / "it.jsonl").write_text(lines(f'[0,0,1,2,"write",[{"1," * 100_000}1],null]'))
    with pytest.raises(HistoryError) as refused:
        read_history(tmp_path / "it.jsonl")
    assert len(str(refused.value)) < 3_000
