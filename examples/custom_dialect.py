"""A dialect of your own: paths with `**`, and names of hosts.

    python examples/custom_dialect.py

A dialect is data: you make one, you do not derive a class. If its fields cannot express
a rule, change the texts before the trie sees them. This example does so for names of
hosts, where upper and lower case are the same.
"""

from __future__ import annotations

from subtrie import Dialect, SubscriptionTrie, TopicError

PATHS = Dialect(
    "paths",
    separator="/",
    one_word="*",
    many_words="**",  # zero or more, anywhere
    zero_words=True,
    wildcards_in_words=False,  # "*.py" is refused, and not taken as a word
    forbidden="\0\n",
    max_bytes=4_096,
    # other values, and misspelt names, are refused
    options=(("event", ("created", "changed", "deleted")),),
)

HOSTS = Dialect(
    "host names",
    separator=".",
    one_word="*",
    many_words=None,
    empty_words=False,
    max_bytes=253,
)


def main() -> None:
    watched: SubscriptionTrie[str] = SubscriptionTrie(PATHS)
    watched.subscribe("src/**", "build", event="changed")
    watched.subscribe("**/tests/**", "test")
    watched.subscribe("*/README", "docs")
    for path in ("src/tests/unit/a", "lib/README", "src"):
        print(path, "->", sorted(watched.match(path)))
    for wrong in ("src/*.py", "src\n"):
        try:
            watched.subscribe(wrong, "nobody")
        except TopicError as refused:
            print("refused:", refused)
    try:
        watched.subscribe("src/**", "nobody", evnt="changed")
    except TypeError as refused:
        print("refused:", refused)
    met = sorted(one.filter for one in watched.overlapping("src/tests/**"))
    print("a change below src/tests can meet", met)

    hosts: SubscriptionTrie[str] = SubscriptionTrie(HOSTS)
    hosts.subscribe("*.Example.org".casefold(), "ann")
    print(
        "www:",
        hosts.match("WWW.example.ORG".casefold()),
        "two levels down:",
        hosts.match("a.b.example.org"),
    )
    watched.check()
    hosts.check()


if __name__ == "__main__":
    main()
