# distutils: extra_compile_args = FAST INLINED
"""Questions: which subscribers a topic reaches, at one instant.

A topic's words are put where a traversal wants them (plan.py). The traversal finds branches, by its two passes
(traversal.py). While what it has found is still pinned, references are taken to the subscribers, or, for deliveries,
to their entries (`take_found`). What follows runs Python code: each subscriber once (dedupe.py), groups and weakly held
ones (reading.py, deliveries.py), answers that are remembered (answer_cache.py).

Topics of more than MOST_WORDS words, and those of dialects whose separator or wildcards are no ASCII characters, are
matched by reading.py. While a pin is held no Python code runs, and nothing is allocated but by malloc.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._nodes import Root, freeze_root, hash_of, root_of, value_of
    from ctrie._slot import borrow, is_exactly, unpin
    from subtrie._trie.branch import Chain, sole_hash_of
    from subtrie._trie.choosing import Choice
    from subtrie._trie.groups import Shared, may_be_excluded, may_be_excluded_from
    from subtrie._trie.keyed import SetNode, hash_in, key_in, set_array_of
    from subtrie._trie.match.answer_cache import (
        DELIVERIES,
        MOST_SEEN,
        SUBSCRIBERS,
        own_stripe,
        own_table,
        recall,
        remember,
        wanted_place,
    )
    from subtrie._trie.match.audience import distinct_subscribers, put_receivers
    from subtrie._trie.match.dedupe import drop_repeated
    from subtrie._trie.match.deliveries import Told, delivered_by, found_by, held, held_by_one, new_recipients, new_told
    from subtrie._trie.match.plan import (
        Matchable,
        cache_of,
        holds_weakly,
        is_exact,
        plan_of,
        prepare_whole,
        put_query,
        query_of,
        remembers,
        split_in_place,
    )
    from subtrie._trie.match.reading import RETRIES, read_matches
    from subtrie._trie.match.scratch import (
        Asked,
        Scratch,
        add_record,
        answer_made,
        begin,
        begin_records,
        begin_trails,
        end_pairs,
        end_trails,
        fetch_ahead,
        forget,
        handed_over,
        hash_at,
        is_shared_at,
        keep_living,
        new_answer,
        note,
        push_node,
        put_entry,
        put_in_answer,
        put_subscriber,
        release,
        remembered,
        room_for_pairs,
        subscriber_at,
        take_references,
        take_seen,
        taken_from,
        taken_shared,
        trail_of,
    )
    from subtrie._trie.match.traversal import CHANGED, NO_MEMORY, THROUGH, UNSPLIT, read_pinned
    from subtrie._trie.match.walk import (
        ABOVE,
        NOTED,
        Trails,
        Traversal,
        address,
        as_node,
        item_of,
        prefetch_to_count,
        size_of,
    )
    from subtrie._trie.subscribers import Entry, Sole, entry_alone, subscriber_in
    from subtrie._trie.words import MARKED
else:
    from cython import address

# ------------------------------------------------------------------------------------------------------- what is taken


def take_found(s: Scratch) -> bool:
    """Take a reference to every subscriber of every branch found; False, and none, when there is no memory."""
    return _take_found(s)


def _take_found(s: Scratch) -> bool:
    if not (_note_entries_found(s) if s.walk.trails else _note_found(s)):
        forget(address(s.subscribers))
        return False
    if not s.only_hashes:
        take_references(address(s.subscribers))
    return True


def _note_found(s: Scratch) -> bool:
    for i in range(s.walk.found.count):
        branch = as_node(s.walk.found.items[i])
        value = value_of(branch)
        if sole_hash_of(branch):
            if is_exactly(value, Sole):
                value = subscriber_in(value)
            if not note(address(s.subscribers), value, sole_hash_of(branch)):
                return False
        elif is_exactly(value, Entry):
            if not note(address(s.subscribers), key_in(value), hash_in(value)):
                return False
        elif not (_note_shared(s, value) if is_exactly(value, Shared) else _note_all(s, value, False)):
            return False
    return True


def _note_entries_found(s: Scratch) -> bool:
    """As `_note_found`, with entries in the place of their subscribers, and the trails. In `found`, how many have been
    noted then stands in the place of each branch, and in `levels` the place of its record."""
    if not _note_trails(address(s.walk)):
        return False
    for i in range(s.walk.found.count):
        branch = as_node(s.walk.found.items[i])
        value = value_of(branch)
        if sole_hash_of(branch):
            room = note(address(s.subscribers), value, sole_hash_of(branch))
        elif is_exactly(value, Entry) or s.whole:
            room = note(address(s.subscribers), value, 0)
        else:
            room = _note_shared(s, value) if is_exactly(value, Shared) else _note_all(s, value, True)
        if not room:
            return False
        s.walk.found.items[i] = s.subscribers.count
    return True


def _note_shared(s: Scratch, shared: Any) -> bool:
    """Note the subscribers of a filter that has groups. Python code will draw their members."""
    s.shared = True
    return note(address(s.subscribers), shared, 0)


def _note_all(s: Scratch, several: Any, entries: bool) -> bool:
    """Note every subscriber of a set of several, or its entry."""
    forget(address(s.stack))
    while True:
        array = set_array_of(several) if is_exactly(several, SetNode) else several
        pairs = room_for_pairs(address(s.subscribers), size_of(array))
        if not pairs:
            return False
        if entries:
            for i in range(size_of(array)):
                prefetch_to_count(item_of(array, i))
        for i in range(size_of(array)):
            child = item_of(array, i)
            if is_exactly(child, Entry):
                pairs = put_entry(pairs, child) if entries else put_subscriber(pairs, child)
            elif not push_node(address(s.stack), child):
                return False
        end_pairs(address(s.subscribers), pairs)
        if s.stack.count == 0:
            return True
        several = taken_from(address(s.stack))


def _note_trails(t: Traversal) -> bool:
    """Write records of the branches found and of those above them, these first."""
    trails: Any = t.trails
    above = trails.above.items
    levels = trails.levels.items
    for i in range(t.found.count):  # mark the levels that lead to something
        level = levels[i]
        while level and not above[(level - 1) * ABOVE + 2]:
            above[(level - 1) * ABOVE + 2] = 1
            level = above[(level - 1) * ABOVE + 1]
    if not begin_records(t):
        return False
    i = 0
    while i < trails.above.count:
        if above[i + 2]:
            place = _record(trails, as_node(above[i]), above[i + 1])
            if place < 0:
                return False
            above[i + 2] = place
        i += ABOVE
    for i in range(t.found.count):
        place = _record(trails, as_node(t.found.items[i]), levels[i])
        if place < 0:
            return False
        levels[i] = place
    return True


def _record(trails: Trails, branch: Any, level: int) -> int:
    """Write the record of a branch of a level. Return its place, 0 if it adds nothing at all, -1: no memory."""
    place = trails.above.items[(level - 1) * ABOVE + 2] if level else 0
    marked = hash_of(branch) == MARKED
    if marked and not is_exactly(branch, Chain):
        return place
    place = add_record(trails, place, branch, marked)
    return place if place else -1


# -------------------------------------------------------------------------------------------------------- what is read


def _read(s: Scratch, root: Any) -> int:
    """Traverse until an answer of one instant is found and its subscribers are taken. CHANGED: there is none;
    UNSPLIT: there is none without the topic's words. The root is borrowed from the trie: to count a use of it would be
    to write where all threads read."""
    taken = True
    outcome = read_pinned(address(s.walk), root)
    if s.walk.only_first:
        s.shared = s.walk.found.count > 0 and may_be_excluded_from(value_of(as_node(s.walk.found.items[0])))
    elif outcome == THROUGH:
        taken = _take_found(s)
        if s.keep_seen and s.walk.seen.count <= NOTED * MOST_SEEN:
            take_seen(s)
    unpin()
    if outcome == NO_MEMORY or not taken:
        raise MemoryError
    return outcome


def read_at_last(s: Scratch, root: Any) -> int:
    """As `_read`, but end: after some attempts, read a snapshot."""
    for _ in range(RETRIES):
        outcome = _read(s, root)
        if outcome != CHANGED:
            return outcome
    frozen = freeze_root(cython.cast(Root, root))
    s.keep_seen = False  # what holds in a snapshot says nothing of the trie
    return _read(s, borrow(frozen))


def prepare(t: Traversal, trie: Matchable, topic: Any) -> Any:
    """Put the topic's words into `t`. Returns what must be kept meanwhile: None when they are read in place, else the
    Query that holds them, and that reading.py has to answer if `t.size` is 0."""
    return _prepare(t, trie, topic)


def _prepare(t: Traversal, trie: Matchable, topic: Any) -> Any:
    if split_in_place(t, plan_of(trie), borrow(topic)):
        return None
    query = query_of(plan_of(trie), topic)
    put_query(t, plan_of(trie), query)
    return query


# --------------------------------------------------------------------------------------------------------- subscribers


def match(trie: Matchable, topic: Any) -> tuple[Any, ...]:
    """Return the distinct subscribers of `topic` at one instant."""
    if not cython.compiled:
        asked = Asked()
    return match_asked(trie, topic, address(asked))  # type: ignore[no-any-return]


def match_asked(trie: Matchable, topic: Any, asked: Asked) -> Any:
    """The same. `asked` then says whether the answer depends, or may depend, on which member of a group was drawn."""
    if not remembers(trie) or not is_exactly(borrow(topic), str):
        return _match_now(trie, topic, None, asked)
    stripe = own_stripe(SUBSCRIBERS)
    answer = recall(cache_of(trie), borrow(topic), stripe)
    if answer is not None:
        asked.by_lot = False
        return cython.cast(tuple, answer)
    table = own_table(trie._cache, stripe)  # type: ignore[arg-type]
    if table.misses == 0:
        table.misses = 1  # there was no table yet to count it in
    return _match_now(trie, topic, table, asked)


def _match_now(trie: Matchable, topic: Any, table: Any, asked: Asked) -> Any:
    """Find the answer, and remember it in `table`, if there is one, when the topic has been asked for before. An answer
    that depends on who was drawn is not remembered."""
    if not cython.compiled:
        scratch = Scratch()
    s = address(scratch)
    if table is None and is_exact(trie) and prepare_whole(address(s.walk), plan_of(trie), borrow(topic)):
        answer = _match_in_place(s, trie, topic, None, -1, asked)
        if answer is not None:
            return answer
    query = _prepare(address(s.walk), trie, topic)
    if s.walk.size == 0:
        asked.by_lot = True
        return distinct_subscribers(read_matches(trie._root, query).found, trie, topic)
    place = -1 if table is None else wanted_place(table, topic)
    return _match_in_place(s, trie, topic, table, place, asked)


def _match_in_place(s: Scratch, trie: Matchable, topic: Any, table: Any, place: int, asked: Asked) -> Any:
    """The same, of what was prepared, to be remembered at `place` unless that is -1. None: the words are needed."""
    begin(s, False)
    s.weak = holds_weakly(trie)
    try:
        s.keep_seen = place >= 0
        if read_at_last(s, root_of(trie)) == UNSPLIT:
            return None
        answer = _answer_of(s, trie, topic)
        asked.by_lot = s.shared
        if s.seen_taken and not s.shared:
            remember(table, place, remembered(s, borrow(topic), borrow(answer), root_of(trie)))
        return answer
    finally:
        release(s)


def answer_of(s: Scratch, trie: Matchable, topic: Any) -> tuple[Any, ...]:
    """Return the subscribers taken for a topic, each once."""
    return _answer_of(s, trie, topic)


def _answer_of(s: Scratch, trie: Matchable, topic: Any) -> tuple[Any, ...]:
    if s.shared:
        put_receivers(s, trie, topic)
    if s.weak:
        keep_living(address(s.subscribers))
    if s.walk.found.count > 1 or s.shared:
        drop_repeated(address(s.subscribers))
    return handed_over(s)


def taken_at(trie: Matchable, root: Root, topic: Any) -> list[tuple[Any, int]] | None:
    """Return (subscriber, hash), or (Shared, 0), of all that a topic reaches below a read-only root, also repeated
    ones. None: its words are not read in place, or subscribers are weakly held."""
    if not cython.compiled:
        scratch = Scratch()
    s = address(scratch)
    if holds_weakly(trie) or not split_in_place(address(s.walk), plan_of(trie), borrow(topic)):
        return None
    begin(s, False)
    try:
        read_at_last(s, borrow(root))
        return [(subscriber_at(s, i), hash_at(s, i)) for i in range(0, s.subscribers.count, 2)]
    finally:
        release(s)


def has_match(trie: Matchable, topic: Any) -> bool:
    """Return whether `topic` has a subscriber. Stops at the first."""
    if not cython.compiled:
        scratch = Scratch()
    s = address(scratch)
    whole = is_exact(trie) and prepare_whole(address(s.walk), plan_of(trie), borrow(topic))
    if whole and _finds(s, trie) and not s.shared:
        return True
    query = _prepare(address(s.walk), trie, topic)
    if s.walk.size == 0:
        found = read_matches(trie._root, query, True).found
        doubtful = len(found) > 0 and may_be_excluded(found[0][0].value)
        return len(match(trie, topic)) > 0 if doubtful else len(found) > 0
    if not _finds(s, trie):
        return False
    return not s.shared or len(match(trie, topic)) > 0  # the first that was found may have exclusions


def _finds(s: Scratch, trie: Matchable) -> bool:
    begin(s, True)
    try:
        read_at_last(s, root_of(trie))
        return s.walk.found.count > 0
    finally:
        release(s)


# ---------------------------------------------------------------------------------------------------------- deliveries


def deliveries(trie: Matchable, topic: Any, choice: Choice | None = None) -> tuple[Told, ...]:
    """Return the deliveries of a message on `topic`, at one instant."""
    if not cython.compiled:
        asked = Asked()
    table = None
    if remembers(trie) and is_exactly(borrow(topic), str):
        stripe = own_stripe(DELIVERIES)
        answer = recall(cache_of(trie), borrow(topic), stripe)
        if answer is not None:
            return cython.cast(tuple, answer)  # type: ignore[no-any-return]
        table = own_table(trie._cache, stripe)  # type: ignore[arg-type]
        if table.misses == 0:
            table.misses = 1  # there was no table yet to count it in
    return _found_now(trie, topic, table, True, False, True, choice, address(asked))  # type: ignore[no-any-return]


def deliveries_of(s: Scratch, trie: Matchable, topic: Any) -> tuple[Told, ...]:
    """Return the deliveries of the entries taken for a topic, whose words were read in place."""
    return _delivered(s, trie, topic, topic, None) if s.shared else _told(s, trie, True, topic)


def all_held(trie: Matchable, topic: Any, delivers: bool) -> tuple[Told, ...]:
    """Return all subscriptions that `topic` reaches, at one instant, as deliveries or subscriptions."""
    if not cython.compiled:
        asked = Asked()
    found = _found_now(trie, topic, None, delivers, False, False, None, address(asked))
    return held(found, trie, topic, delivers) if asked.by_lot else found


def held_by(trie: Matchable, topic: Any, subscriber: Any, hash: int) -> tuple[Told, ...]:
    """Return the deliveries by the subscriptions of one subscriber that `topic` reaches, at one instant."""
    if not cython.compiled:
        asked = Asked()
    found = _found_now(trie, topic, None, True, True, False, None, address(asked))
    return held_by_one(found, trie, topic, subscriber, hash)


def all_found(trie: Matchable, topic: Any) -> tuple[Told, ...]:
    """As `all_held`, but before `held` has looked at them."""
    if not cython.compiled:
        asked = Asked()
    return _found_now(trie, topic, None, False, False, False, None, address(asked))  # type: ignore[no-any-return]


def _found_now(
    trie: Matchable,
    topic: Any,
    table: Any,
    delivers: bool,
    whole: bool,
    chooses: bool,
    choice: Choice | None,
    asked: Asked,
) -> Any:
    """Find what the topic reaches, as deliveries or subscriptions, and remember it in `table`, if there is one, when
    the topic has been asked for before. `whole`: one stands for all subscribers of a filter. `chooses`: these are the
    deliveries of a message, and of a group's members one gets it, by `choice`; otherwise `asked` says whether it may
    not be shown yet (deliveries.py)."""
    if not cython.compiled:
        scratch = Scratch()
    s = address(scratch)
    if table is None and is_exact(trie) and prepare_whole(address(s.walk), plan_of(trie), borrow(topic)):
        found = _found_in_place(s, trie, topic, None, None, -1, delivers, whole, chooses, choice, asked)
        if found is not None:
            return found
    query = _prepare(address(s.walk), trie, topic)
    if s.walk.size == 0:
        asked.by_lot = True
        found = read_matches(trie._root, query).found
        if chooses:
            return delivered_by(found, trie, topic, _plain(trie, query), choice)
        return found_by(found, trie._plan.dialect, _plain(trie, query), delivers, whole)
    place = -1 if table is None else wanted_place(table, topic)
    return _found_in_place(s, trie, topic, query, table, place, delivers, whole, chooses, choice, asked)


def _plain(trie: Matchable, query: Any) -> Any:
    """Return the words of a query with separators between them."""
    return trie._plan.separator.join(query.words)


def _found_in_place(
    s: Scratch,
    trie: Matchable,
    topic: Any,
    query: Any,
    table: Any,
    place: int,
    delivers: bool,
    whole: bool,
    chooses: bool,
    choice: Choice | None,
    asked: Asked,
) -> Any:
    """As `_match_in_place`. `query`: None if the topic's words were read in place."""
    if not cython.compiled:
        trails = Trails()
    begin(s, False)
    begin_trails(s, address(trails))
    s.shared = holds_weakly(trie)  # Python code will find out which are alive
    s.whole = whole
    try:
        s.keep_seen = place >= 0
        if read_at_last(s, root_of(trie)) == UNSPLIT:
            return None
        plain = topic if query is None else _plain(trie, query)
        found = _delivered(s, trie, topic, plain, choice) if chooses and s.shared else _told(s, trie, delivers, plain)
        asked.by_lot = s.shared
        if s.seen_taken and not s.shared:
            remember(table, place, remembered(s, borrow(topic), borrow(found), root_of(trie)))
        return found
    finally:
        end_trails(address(trails))
        release(s)


def _told(s: Scratch, trie: Matchable, delivers: bool, topic: str) -> tuple[Told, ...]:
    """Return what stands for the entries taken, as `found_by` in deliveries.py does."""
    trail = trail_of(address(s.walk), trie, topic, s.shared or s.whole)
    trails: Any = s.walk.trails
    found = new_answer(s.subscribers.count // 2)
    at = 0
    for i in range(s.walk.found.count):
        place = trails.levels.items[i]
        end = s.walk.found.items[i]
        while at < end:
            fetch_ahead(s, at)
            one = new_told(delivers, subscriber_at(s, at), hash_at(s, at), None, trail, place)
            put_in_answer(found, at // 2, one)
            at += 2
    return answer_made(found)  # type: ignore[no-any-return]


def _delivered(s: Scratch, trie: Matchable, topic: Any, plain: str, choice: Choice | None) -> tuple[Told, ...]:
    """Return the deliveries of a message, without subscribers that have died. `plain`: the words of the topic with
    separators between them."""
    trail = trail_of(address(s.walk), trie, plain, True)
    trails: Any = s.walk.trails
    recipients = new_recipients(trie, topic, s.walk.found.count, choice)
    at = 0
    for i in range(s.walk.found.count):
        place = trails.levels.items[i]
        end = s.walk.found.items[i]
        while at < end:
            hash = hash_at(s, at)
            if is_shared_at(s, at):
                recipients.receive(taken_shared(s, at), trail, place)
            elif holds_weakly(trie):
                entry = entry_alone(subscriber_at(s, at), hash) if hash else subscriber_at(s, at)
                recipients.receive(borrow(entry), trail, place)
            else:
                recipients.answer.append(new_told(True, subscriber_at(s, at), hash, None, trail, place))
            at += 2
    recipients.receive_joined()
    return answer_made(tuple(recipients.answer))  # type: ignore[no-any-return]
