"""The threads of a demonstration: started together, stopped together, and none of their exceptions is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Barrier, BrokenBarrierError, Event

from examples.demo.export import Exporter
from examples.demo.publish import Publisher
from examples.demo.steps import Writer
from subtrie import SubscriptionTrie


class Crew:
    """Writers, publishers and the exporter at work on one trie.

    Args:
        halfway: the number of matched messages at which the exporter takes its snapshot.
        on_stop: also called, from any thread, when all threads are to stop.

    :ivar writers, publishers, exporter: the work of each thread
    :ivar fill_seconds: how long the writers took to fill their slots
    :ivar churn_seconds: how long they renewed them
    """

    def __init__(
        self,
        trie: SubscriptionTrie,
        writers: Sequence[Writer],
        publishers: Sequence[Publisher],
        exporter: Exporter,
        halfway: int,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._trie = trie
        self.writers = writers
        self.publishers = publishers
        self.exporter = exporter
        self._messages_to_halfway = halfway
        self._halfway = Event()
        self._on_stop = on_stop
        self._started = self._filled_at = 0.0
        self._ready = Barrier(len(writers) + len(publishers), self._note_start)
        self._filled = Barrier(len(writers) + len(publishers), self._note_filled)
        self.fill_seconds = self.churn_seconds = 0.0

    def work(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Run all threads to the end, when the messages are matched and the cut is judged.

        Args:
            meanwhile: the work of this thread while the others run.

        Raises:
            Exception: the first exception of any thread; the others were stopped.
        """
        with ThreadPoolExecutor(len(self.writers) + len(self.publishers) + 1) as pool:
            try:
                writing = [pool.submit(self._or_stop, self._write, writer) for writer in self.writers]
                publishing = [pool.submit(self._or_stop, self._publish, publisher) for publisher in self.publishers]
                exporting = pool.submit(self._or_stop, self.exporter.run, self._trie, self._halfway)
                meanwhile()
                wait(publishing)
                self._halfway.set()
                wait([exporting])
            finally:
                self._stop()
        self.churn_seconds = time.perf_counter() - self._filled_at
        _raise_first([*writing, *publishing, exporting])

    def _write(self, writer: Writer) -> None:
        writer.run(self._trie, self._ready, self._filled)

    def _publish(self, publisher: Publisher) -> None:
        # Without a lock: with a GIL, publishers would queue for it, and each would match one chunk in a turn that is
        # long enough for many.
        def matched() -> None:
            if self._halfway.is_set():
                return
            if sum(publisher.messages for publisher in self.publishers) >= self._messages_to_halfway:
                self._halfway.set()

        publisher.run(self._trie, self._ready, self._filled, matched)

    def _or_stop(self, run: Callable[..., None], *arguments: object) -> None:
        try:
            run(*arguments)
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        workers: list[Writer | Publisher | Exporter] = [*self.writers, *self.publishers, self.exporter]
        for worker in workers:
            worker.stopping = True
        self._halfway.set()
        self._ready.abort()
        self._filled.abort()
        self._on_stop()

    def _note_start(self) -> None:
        self._started = time.perf_counter()

    def _note_filled(self) -> None:
        self._filled_at = time.perf_counter()
        self.fill_seconds = self._filled_at - self._started


def _raise_first(futures: Sequence[Future[None]]) -> None:
    """Raise a thread's exception, if any; a broken barrier is only the consequence of another thread's error."""
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
        raise error
