"""A router for log records: names of loggers are topics, and handlers subscribe with
filters and levels.

    python examples/log_router.py

`logging` passes a record up the tree of loggers, to every handler on the path, under
one lock for each handler. Here one handler at the root asks the trie which handlers
want the record. So a handler can also ask for a word in the middle of a name, as in
`*.db.#`, and can subscribe and unsubscribe while threads log.
"""

from __future__ import annotations

import logging
from typing import Protocol

from subtrie import AMQP, SubscriptionTrie, TopicError


class Sink(Protocol):
    """An object that takes records, such as any `logging.Handler`."""

    def handle(self, record: logging.LogRecord, /) -> object: ...


class Router(logging.Handler):
    """A handler that passes each record to the sinks that want its logger's name, at
    their level or above.
    """

    def __init__(self) -> None:
        super().__init__()
        # names of loggers recur
        self.routes: SubscriptionTrie[Sink] = SubscriptionTrie(AMQP, cache=1024)

    def handle(self, record: logging.LogRecord) -> bool:
        # The base class takes a lock here. The sinks have locks of their own, and
        # routing needs none.
        if passes := bool(self.filter(record)):
            self.emit(record)
        return passes

    def route(self, filter: str, sink: Sink, level: int = logging.NOTSET) -> bool:
        return self.routes.subscribe(filter, sink, level=level)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            wanted = [
                one
                for one in self.routes.deliveries(record.name)
                if record.levelno >= one.options["level"]
            ]
            # once, however many of its filters match
            for sink in {one.subscriber: None for one in wanted}:
                sink.handle(record)
        except TopicError:  # a logger with a name of more than 255 bytes
            self.handleError(record)


class Noted(logging.Handler):
    """Plays the part of a file, a pager or a collector."""

    def __init__(self, notes: list[str], who: str) -> None:
        super().__init__()
        self.notes, self.who = notes, who

    def emit(self, record: logging.LogRecord) -> None:
        self.notes.append(
            f"{record.name} {record.levelname} to {self.who}: {record.getMessage()}"
        )


def main() -> None:
    notes: list[str] = []
    router = Router()
    pager, file, trace = (Noted(notes, who) for who in ("pager", "file", "trace"))
    router.route("#", file, logging.INFO)
    router.route("#", pager, logging.ERROR)
    router.route("shop.db.#", pager, logging.WARNING)
    router.route("*.db.#", trace)

    logging.basicConfig(level=logging.DEBUG, handlers=[router])
    logging.getLogger("shop.db.pool").debug("connected")
    logging.getLogger("shop.db.pool").warning("slow")
    logging.getLogger("shop.orders").info("new order")
    logging.getLogger("shop.orders").error("no stock")
    router.routes.unsubscribe("*.db.#", trace)
    logging.getLogger("bank.db").debug("nobody wants it any more")
    print("\n".join(sorted(notes)))


if __name__ == "__main__":
    main()
