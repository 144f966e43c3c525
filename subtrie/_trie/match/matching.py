# distutils: extra_compile_args = FAST INLINED
"""Matching: what a topic reaches at one instant, from the question to the answer.

**The question** (`ask`). A question that a cache serves is looked up first (answer_cache.py). Otherwise the topic's
words are put where a traversal wants them (plan.py), the trie is read, and what is found becomes the answer.

**The traversal.** It carries a *set of positions* for every level that it enters: the numbers of topic words that the
path so far may have consumed, as bits of an integer. `*` shifts the set by one; `#` fills it up from its lowest bit on;
a word keeps the positions at which the topic has it. Each level has one parent branch, so it is entered once, with all
its positions: the work is at most (levels reached) x (words), however many `#` the filters have. No backtracking. Of a
chain, the words are followed one after the other, as if each were a level of its own. In the first level of a trie with
`exact=True` (exact_layout.py) the topic is looked for as a whole, its words only behind wildcards and the mark.

**One instant.** A traversal notes every (I-node, main node) that it reads, the root's I-node first. When it is through,
it reads them all again. If each I-node still holds the main node it held, then all of them held together at the moment
between the two passes, for a main node that has been displaced never comes back: that moment is the linearization
point. If not, it starts over. After RETRIES failed attempts the question takes a read-only snapshot and matches on
that, so a reader always ends.

**The answer.** While what was found is still pinned, references are taken to the subscribers, or, for deliveries, to
their entries. What follows runs Python code: the members of groups, exclusions and dead subscribers (audience.py), each
subscriber once, deliveries (deliveries.py).

This is the text of both twins, for topics of up to MOST_WORDS words and dialects whose separator and wildcards are
ASCII characters; reading.py is the one for all others. What it walks with is in walk.py and scratch.py. Nodes are
borrowed: a pin (ctrie/c/epoch.h) keeps alive what is passed, and while it is held no Python code runs, nothing is
counted, and nothing is allocated but by malloc. So in the compiled twin on a GIL build no other thread can change the
trie during a traversal, and no second pass is needed there."""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import help_pending
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import (
        INode,
        LNode,
        Root,
        entombed_in,
        entries_of,
        freeze_root,
        hash_of,
        rdcss_read_root,
        root_of,
        value_of,
    )
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of, sole_hash_of
    from subtrie._trie.choosing import Choice
    from subtrie._trie.groups import Shared, may_be_excluded_from
    from subtrie._trie.keyed import SetNode, hash_in, key_in, set_array_of
    from subtrie._trie.match.answer_cache import (
        DELIVERIES,
        MOST_SEEN,
        SUBSCRIBERS,
        own_stripe,
        own_table,
        recall,
        remember,
        wanted_bucket,
    )
    from subtrie._trie.match.audience import put_receivers
    from subtrie._trie.match.deliveries import Told, deliveries_to, new_recipients, new_told, shown_entries
    from subtrie._trie.match.plan import (
        Matchable,
        cache_of,
        plan_of,
        prepare_whole,
        put_query,
        query_of,
        split_in_place,
    )
    from subtrie._trie.match.reading import read_matches
    from subtrie._trie.match.scratch import (
        ALL,
        ANY,
        ENTRIES,
        OWN,
        Question,
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
        note_subscriber,
        pop_node,
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
        taken_shared,
        trail_of,
    )
    from subtrie._trie.match.walk import (
        ABOVE,
        NOTED,
        OTHERS_MAY_WRITE,
        Buffer,
        Ends,
        Trails,
        Traversal,
        Word,
        address,
        after_many,
        after_one,
        as_node,
        begins_branch,
        bit,
        buffer_push,
        character_at,
        count_notes,
        ends_of,
        has_room,
        is_one_word,
        is_part,
        is_readonly,
        item_of,
        length_of,
        lowest_bit,
        make_room,
        note,
        note_above,
        note_both,
        note_found,
        noted,
        prefetch,
        prefetch_to_count,
        prefetch_wanted,
        push_branch,
        rewind,
        size_of,
        text_in,
        word_end,
    )
    from subtrie._trie.subscribers import Entry, Sole, entry_alone, subscriber_in
    from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD
else:
    from cython import address

RETRIES = 4  # traversals, before a snapshot is read
if not cython.compiled:
    FEWEST_BUCKETS = 64  # of a hash table
    # in matching.pxd, an enum: how a traversal goes on or ends
    THROUGH = 0
    PENDING = 1
    NO_MEMORY = 2
    ENOUGH = 3  # one branch is found, and one is all that was wanted
    UNSPLIT = 4  # the topic's words are needed
    CHANGED = 5  # what was read did not hold together

# ------------------------------------------------------------------------------------------------------ the questions


def match(trie: Matchable, topic: Any) -> tuple[Any, ...]:
    """Return the distinct subscribers of `topic` at one instant."""
    return cython.cast(tuple, _asked(trie, topic, SUBSCRIBERS, None))  # type: ignore[no-any-return]


def has_match(trie: Matchable, topic: Any) -> bool:
    """Return whether `topic` has a subscriber. Stops at the first."""
    return _asked(trie, topic, ANY, None)  # type: ignore[no-any-return]


def deliveries(trie: Matchable, topic: Any, choice: Choice | None = None) -> tuple[Told, ...]:
    """Return the deliveries of a message on `topic`, at one instant; of a group's members one, by `choice`."""
    return cython.cast(tuple, _asked(trie, topic, DELIVERIES, choice))  # type: ignore[no-any-return]


def raw_entries(trie: Matchable, topic: Any) -> tuple[Told, ...]:
    """As `all_entries`, but before `shown_entries` has looked at them."""
    return _asked(trie, topic, ENTRIES, None)  # type: ignore[no-any-return]


def all_entries(trie: Matchable, topic: Any, delivers: bool) -> tuple[Told, ...]:
    """Return all subscriptions that `topic` reaches, at one instant, as deliveries or subscriptions."""
    if not cython.compiled:
        question = Question()
    q = address(question)
    q.wants = ALL if delivers else ENTRIES
    found = ask(q, trie, topic, None)
    return shown_entries(found, trie, topic, delivers) if q.by_lot else found


def deliveries_of(trie: Matchable, topic: Any, subscriber: Any, hash: int) -> tuple[Told, ...]:
    """Return the deliveries by the subscriptions of one subscriber that `topic` reaches, at one instant."""
    return deliveries_to(_asked(trie, topic, OWN, None), trie, topic, subscriber, hash)


def _asked(trie: Matchable, topic: Any, wants: int, choice: Choice | None) -> Any:
    if not cython.compiled:
        question = Question()
    question.wants = wants
    return ask(address(question), trie, topic, choice)


def ask(q: Question, trie: Matchable, topic: Any, choice: Choice | None) -> Any:
    """Return the answer to a question, of one instant. `q.by_lot` then says whether it depends, or may depend, on which
    member of a group was drawn, or may not be shown yet (deliveries.py). Only others are remembered, and only when the
    topic has been asked for before."""
    table = None
    if q.wants <= DELIVERIES and trie._cache is not None and is_exactly(borrow(topic), str):
        stripe = own_stripe(q.wants)
        answer = recall(cache_of(trie), borrow(topic), stripe)
        if answer is not None:
            q.by_lot = False
            return answer
        table = own_table(trie._cache, stripe)
        if table.misses == 0:
            table.misses = 1  # there was no table yet to count it in
    return _find(q, trie, topic, table, choice)


def _find(q: Question, trie: Matchable, topic: Any, table: Any, choice: Choice | None) -> Any:
    """Find the answer: in a trie with exact=True first without the topic's words."""
    if table is None and trie._plan.exact and prepare_whole(address(q.walk), plan_of(trie), borrow(topic)):
        answer = _find_prepared(q, trie, topic, None, None, -1, choice)
        if answer is not None:
            return answer
    query = prepare(address(q.walk), trie, topic)
    remembers = table is not None and q.walk.size > 0
    return _find_prepared(q, trie, topic, query, table, wanted_bucket(table, topic) if remembers else -1, choice)


def prepare(t: Traversal, trie: Matchable, topic: Any) -> Any:
    """Put the topic's words into `t`. Returns what must be kept meanwhile: None when they are read in place, else the
    Query that holds them, and that reading.py has to answer if `t.size` is 0."""
    if split_in_place(t, plan_of(trie), borrow(topic)):
        return None
    query = query_of(plan_of(trie), topic)
    put_query(t, plan_of(trie), query)
    return query


def _find_prepared(
    q: Question, trie: Matchable, topic: Any, query: Any, table: Any, bucket: int, choice: Choice | None
) -> Any:
    """Find the answer of what was prepared, to be remembered in `bucket` of `table` unless that is -1. None: the words
    are needed. `query`: None if the topic's words were read in place; without words in `q`, reading.py answers it."""
    if not cython.compiled:
        trails = Trails()
    begin(q)
    if _notes_trails(q):
        begin_trails(q, address(trails))
        q.shared = trie._home is not None  # Python code will find out which are alive
    else:
        q.weak = trie._home is not None
    try:
        q.keep_seen = bucket >= 0
        paths = None
        if query is not None and q.walk.size == 0:
            paths = _read_slowly(q, trie, query)
        elif read_at_last(q, root_of(trie)) == UNSPLIT:
            return None
        if q.wants == SUBSCRIBERS:
            answer: Any = subscribers_of(q, trie, topic)
        elif q.wants == ANY:  # the first that was found may have exclusions
            answer = q.walk.found.count > 0 and (not q.shared or len(match(trie, topic)) > 0)
        else:
            plain = topic if query is None else trie._plan.separator.join(query.words)
            answer = told_of(q, trie, topic, plain, paths, choice)
        q.by_lot = q.shared
        if q.seen_taken and not q.shared:
            remember(table, bucket, remembered(q, borrow(topic), borrow(answer), root_of(trie)))
        return answer
    finally:
        if q.walk.trails:
            end_trails(address(trails))
        release(q)


def _notes_trails(q: Question) -> bool:
    """Return whether the answer tells of filters."""
    return DELIVERIES <= q.wants <= OWN


def _read_slowly(q: Question, trie: Matchable, query: Any) -> list[Any]:
    """Let reading.py find what the topic reaches, and take references to its subscribers, as `_read`. Return the path
    of each branch found."""
    found = read_matches(trie, query, q.wants == ANY)
    t = address(q.walk)
    rewind(t)
    for i in range(len(found)):
        branch = borrow(found[i][0])
        if not push_branch(t, branch) or (t.trails and not buffer_push(address(t.trails.levels), i)):
            raise MemoryError
        if q.wants == ANY:
            q.shared = may_be_excluded_from(value_of(branch))
    if q.wants != ANY and not take_branches(q):
        raise MemoryError
    return [path for _, path in found]


# -------------------------------------------------------------------------------------------------------- one instant


def _read(q: Question, root: Any) -> int:
    """Traverse until an answer of one instant is found and its subscribers are taken. CHANGED: there is none;
    UNSPLIT: there is none without the topic's words. The root is borrowed from the trie: to count a use of it would be
    to write where all threads read."""
    taken = True
    outcome = read_pinned(address(q.walk), root)
    if q.walk.only_first:
        q.shared = q.walk.found.count > 0 and may_be_excluded_from(value_of(as_node(q.walk.found.items[0])))
    elif outcome == THROUGH:
        taken = take_found(q)
        if q.keep_seen and q.walk.seen.count <= NOTED * MOST_SEEN:
            take_seen(q)
    unpin()
    if outcome == NO_MEMORY or not taken:
        raise MemoryError
    return outcome


def read_at_last(q: Question, root: Any) -> int:
    """As `_read`, but end: after some attempts, read a snapshot."""
    for _ in range(RETRIES):
        outcome = _read(q, root)
        if outcome != CHANGED:
            return outcome
    frozen = freeze_root(cython.cast(Root, root))
    q.keep_seen = False  # what holds in a snapshot says nothing of the trie
    return _read(q, borrow(frozen))


def read_pinned(t: Traversal, root: Any) -> int:
    """Traverse what is below a borrowed root, and return *pinned*, so that references can be taken to what was found.

    THROUGH: what was found was there at one instant; ENOUGH: so was the one branch that was wanted; CHANGED: it was
    not, another thread having written meanwhile; UNSPLIT, NO_MEMORY. Lock-free: it begins again only after it has
    helped a write or a snapshot of another thread to its end. A single branch is found as a Ctrie finds a key, and
    needs no second pass; nor does a snapshot."""
    while True:
        pin()
        first = peek(root)
        if not is_exactly(first, INode):
            unpin()
            rdcss_read_root(cython.cast(Root, root))
            continue
        outcome = traverse(t, first, peek(first))
        if outcome == PENDING:
            help_pending(cython.cast(Root, root), t.pending, t.pending_main)
            continue
        if outcome == THROUGH and OTHERS_MAY_WRITE and not is_readonly(root) and not still_holds(t, root, first):
            return CHANGED
        return outcome


def still_holds(t: Traversal, root: Any, first: Any) -> bool:
    """The second pass."""
    seen = t.seen.items
    at = 0
    while at < t.seen.count:
        if peek(as_node(seen[at])) is not as_node(seen[at + 1]):
            return False
        at += NOTED
    return peek(root) is first


# ------------------------------------------------------------------------------------------------------ the traversal


def traverse(t: Traversal, first: Any, main: Any) -> int:
    """The first pass, through the trie whose first I-node held `main`, breadth first: the levels noted are the queue. A
    level's main node is noted, and fetched into the processor's caches, some time before it is looked at."""
    rewind(t)
    ends = ends_of(t)
    note_both(address(ends), first, main, 1)
    seen = t.seen.items
    at = 0
    outcome = THROUGH
    while at != noted(seen, address(ends)) and outcome == THROUGH:
        if not has_room(address(ends)):
            count_notes(t, address(ends))
            if not make_room(t):
                return NO_MEMORY
            ends = ends_of(t)
            seen = t.seen.items
        if seen[at + 2]:
            t.level += 1
            outcome = _level(t, address(ends), as_node(seen[at]), as_node(seen[at + 1]), seen[at + 2], at == 0)
        at += NOTED
    count_notes(t, address(ends))
    return outcome


def _level(t: Traversal, ends: Ends, level: Any, main: Any, positions: int, is_first: bool) -> int:
    if _is_pending(t, level, main):
        return PENDING
    if is_first and t.exact:
        return _first_of_exact(t, ends, level, main) if t.size else _whole(t, ends, level, main)
    if not (is_first and t.reserved):
        outcome = _wildcards(t, ends, main, positions)
        if outcome != THROUGH:
            return outcome
    return _literals(t, ends, level, main, positions & (t.full >> 1))  # positions with a word after them


def _is_pending(t: Traversal, inode: Any, main: Any) -> bool:
    if peek(main) is borrow(None):
        return False
    t.pending = inode
    t.pending_main = main
    return True


def _whole(t: Traversal, ends: Ends, level: Any, main: Any) -> int:
    """Look for the topic in the first level, which is never tombed, of a trie with exact=True, without its words."""
    if bitmap_of(main) >> MARKED and not t.only_first:  # others might match, too
        return UNSPLIT
    before = ends.found
    outcome = _literal(t, ends, level, main, address(t.whole), 1)
    return UNSPLIT if outcome == THROUGH and ends.found == before else outcome


def _first_of_exact(t: Traversal, ends: Ends, level: Any, main: Any) -> int:
    """The same with the words: look for all that may match."""
    outcome = _literal(t, ends, level, main, address(t.whole), bit(t.size))
    if outcome == THROUGH and not t.reserved:
        outcome = _wildcards(t, ends, main, 1)
    bitmap = bitmap_of(main)
    if outcome != THROUGH or not bitmap >> MARKED & 1:
        return outcome
    return _visit(t, ends, _wild(main, bitmap, MARKED), 0, 1)


def _wildcards(t: Traversal, ends: Ends, main: Any, positions: int) -> int:
    if not is_exactly(main, CNode):
        return _entombed_wildcard(t, ends, entombed_in(main), positions)
    bitmap = bitmap_of(main)
    if bitmap >> MANY_WORDS:
        outcome = _visit(t, ends, _wild(main, bitmap, MANY_WORDS), 1, after_many(t, positions))
        if outcome != THROUGH:
            return outcome
    if bitmap >> ONE_WORD & 1:
        return _visit(t, ends, _wild(main, bitmap, ONE_WORD), 1, after_one(t, positions))
    return THROUGH


def _wild(cn: Any, bitmap: int, group: int) -> Any:
    """Return the branch of a wildcard, or of the mark, which has its group of the level's first C-node to itself."""
    return child_at(cn, popcount(bitmap & (flag_at(group, 0) - 1)))


def _entombed_wildcard(t: Traversal, ends: Ends, last: Any, positions: int) -> int:
    """The level is tombed: `last` is its only branch, or None."""
    if last is not borrow(None) and hash_of(last) == MANY_WORDS:
        return _visit(t, ends, last, 1, after_many(t, positions))
    if last is not borrow(None) and hash_of(last) == ONE_WORD:
        return _visit(t, ends, last, 1, after_one(t, positions))
    return THROUGH


def _literals(t: Traversal, ends: Ends, level: Any, main: Any, left: int) -> int:
    while left:
        i = lowest_bit(left)
        left &= left - 1
        reached = bit(i + 1)
        others = left
        while others:  # the same word at other positions leads to the same branch
            j = lowest_bit(others)
            others &= others - 1
            if is_one_word(t, i, j):
                reached |= bit(j + 1)
                left ^= bit(j)
        outcome = _literal(t, ends, level, main, address(t.words[i]), reached)
        if outcome != THROUGH:
            return outcome
    return THROUGH


def _literal(t: Traversal, ends: Ends, level: Any, main: Any, word: Word, reached: int) -> int:
    """As `find` in ctrie/_descent.py, noting what is read."""
    node = level
    hash = word.hash
    while is_exactly(main, CNode):
        bitmap = bitmap_of(main)
        flag = flag_at(hash, 0)
        if not bitmap & flag:
            return THROUGH
        node = child_at(main, popcount(bitmap & (flag - 1)))
        if not is_exactly(node, INode):
            return _visit_if(t, ends, node, word, reached)
        hash >>= W
        main = note(ends, node, 0)
        if _is_pending(t, node, main):
            return PENDING
    if is_exactly(main, LNode):
        entries = entries_of(main)
        for i in range(size_of(entries)):
            outcome = _visit_if(t, ends, item_of(entries, i), word, reached)
            if outcome != THROUGH:
                return outcome
        return THROUGH
    node = entombed_in(main)
    return THROUGH if node is borrow(None) else _visit_if(t, ends, node, word, reached)


def _visit_if(t: Traversal, ends: Ends, branch: Any, word: Word, reached: int) -> int:
    if hash_of(branch) != word.hash or not begins_branch(word, branch, t.separator):
        return THROUGH
    return _visit(t, ends, branch, word.length, reached)


def _visit(t: Traversal, ends: Ends, branch: Any, end: int, reached: int) -> int:
    """Note a branch that the topic reaches, given the positions after its first word, which has so many characters."""
    next = next_of(branch)
    if is_exactly(branch, Chain):
        reached = along(t, branch, end, reached)
    if not reached:
        return THROUGH
    if reached >> t.size & 1 and (sole_hash_of(branch) or value_of(branch) is not borrow(None)):
        prefetch_wanted(branch)
        note_found(ends, branch)
        if t.trails and not buffer_push(address(t.trails.levels), t.level):
            return NO_MEMORY
        if t.only_first:
            return ENOUGH
    # Past the last word only a wildcard for no words can follow.
    if next is borrow(None) or (t.many_min and reached == bit(t.size)):
        return THROUGH
    if t.trails and not note_above(t, branch):
        return NO_MEMORY
    prefetch(note(ends, next, reached))
    return THROUGH


def along(t: Traversal, branch: Any, at: int, reached: int) -> int:
    """Return the positions after all words of a chain, given those after the first, which ends at `at`."""
    chain = text_in(branch)
    length = length_of(address(chain))
    while at < length and reached:
        start = at + 1
        at = word_end(address(chain), start, t.separator)
        if at - start == 1 and character_at(address(chain), start) == t.one:
            reached = after_one(t, reached)
        elif at - start == 1 and character_at(address(chain), start) == t.many:
            reached = after_many(t, reached)
        else:
            after = 0
            left = reached & (t.full >> 1)
            while left:
                i = lowest_bit(left)
                left &= left - 1
                if is_part(address(t.words[i]), address(chain), start, at):
                    after |= bit(i + 1)
            reached = after
    return reached


# ------------------------------------------------------------------------------------------------------- what is taken


def take_found(q: Question) -> bool:
    """Take what `take_branches` does, and note the trails to the branches, if they are wanted."""
    return (not q.walk.trails or _note_trails(address(q.walk))) and take_branches(q)


def take_branches(q: Question) -> bool:
    """Take a reference to every subscriber of every branch found; False, and none, when there is no memory."""
    if not (_note_entries_found(q) if q.walk.trails else _note_found(q)):
        forget(address(q.subscribers))
        return False
    take_references(address(q.subscribers))
    return True


def _note_found(q: Question) -> bool:
    for i in range(q.walk.found.count):
        branch = as_node(q.walk.found.items[i])
        value = value_of(branch)
        if sole_hash_of(branch):
            if is_exactly(value, Sole):
                value = subscriber_in(value)
            if not note_subscriber(address(q.subscribers), value, sole_hash_of(branch)):
                return False
        elif is_exactly(value, Entry):
            if not note_subscriber(address(q.subscribers), key_in(value), hash_in(value)):
                return False
        elif not (_note_shared(q, value) if is_exactly(value, Shared) else _note_all(q, value, False)):
            return False
    return True


def _note_entries_found(q: Question) -> bool:
    """As `_note_found`, with entries in the place of their subscribers. In `found`, how many have been noted then
    stands in the place of each branch."""
    for i in range(q.walk.found.count):
        branch = as_node(q.walk.found.items[i])
        value = value_of(branch)
        if sole_hash_of(branch):
            room = note_subscriber(address(q.subscribers), value, sole_hash_of(branch))
        elif is_exactly(value, Entry) or q.wants == OWN:
            room = note_subscriber(address(q.subscribers), value, 0)
        else:
            room = _note_shared(q, value) if is_exactly(value, Shared) else _note_all(q, value, True)
        if not room:
            return False
        q.walk.found.items[i] = q.subscribers.count
    return True


def _note_shared(q: Question, shared: Any) -> bool:
    """Note the subscribers of a filter that has groups. Python code will draw their members."""
    q.shared = True
    return note_subscriber(address(q.subscribers), shared, 0)


def _note_all(q: Question, several: Any, entries: bool) -> bool:
    """Note every subscriber of a set of several, or its entry."""
    forget(address(q.stack))
    while True:
        array = set_array_of(several) if is_exactly(several, SetNode) else several
        pairs = room_for_pairs(address(q.subscribers), size_of(array))
        if not pairs:
            return False
        if entries:
            for i in range(size_of(array)):
                prefetch_to_count(item_of(array, i))
        for i in range(size_of(array)):
            child = item_of(array, i)
            if is_exactly(child, Entry):
                pairs = put_entry(pairs, child) if entries else put_subscriber(pairs, child)
            elif not push_node(address(q.stack), child):
                return False
        end_pairs(address(q.subscribers), pairs)
        if q.stack.count == 0:
            return True
        several = pop_node(address(q.stack))


def _note_trails(t: Traversal) -> bool:
    """Write records of the branches found and of those above them, these first. In `levels`, the number of its record
    then stands for each branch."""
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
            number = _record(trails, as_node(above[i]), above[i + 1])
            if number < 0:
                return False
            above[i + 2] = number
        i += ABOVE
    for i in range(t.found.count):
        number = _record(trails, as_node(t.found.items[i]), levels[i])
        if number < 0:
            return False
        levels[i] = number
    return True


def _record(trails: Trails, branch: Any, level: int) -> int:
    """Write the record of a branch of a level. Return its number, 0 if it adds nothing at all, -1: no memory."""
    number = trails.above.items[(level - 1) * ABOVE + 2] if level else 0
    marked = hash_of(branch) == MARKED
    if marked and not is_exactly(branch, Chain):
        return number
    number = add_record(trails, number, branch, marked)
    return number if number else -1


# ------------------------------------------------------------------------------------------------------- the answers


def subscribers_of(q: Question, trie: Matchable, topic: Any) -> tuple[Any, ...]:
    """Return the subscribers taken for a topic, each once."""
    if q.shared:
        put_receivers(q, trie, topic)
    if q.weak:
        keep_living(address(q.subscribers))
    if q.walk.found.count > 1 or q.shared:
        drop_repeated(address(q.subscribers), address(q.stack))
    return handed_over(q)


def told_of(
    q: Question, trie: Matchable, topic: Any, plain: str, paths: list[Any] | None, choice: Choice | None
) -> tuple[Told, ...]:
    """Return the deliveries, or subscriptions, of the entries taken for a topic. `plain`: the words of the topic with
    separators between them. `paths`: those of `_read_slowly`."""
    if paths is not None:
        trail = (trie._plan.dialect, paths, plain)
    else:
        trail = trail_of(address(q.walk), trie, plain, q.shared or q.wants == OWN)
    if q.wants == DELIVERIES and q.shared:
        return _delivered(q, trie, topic, trail, choice)
    return _told(q, trail)


def _told(q: Question, trail: Any) -> tuple[Told, ...]:
    """Return what stands for the entries taken (deliveries.py)."""
    trails: Any = q.walk.trails
    found = new_answer(q.subscribers.count // 2)
    at = 0
    for i in range(q.walk.found.count):
        record = trails.levels.items[i]
        end = q.walk.found.items[i]
        while at < end:
            fetch_ahead(q, at)
            one = new_told(q.wants != ENTRIES, subscriber_at(q, at), hash_at(q, at), None, trail, record)
            put_in_answer(found, at // 2, one)
            at += 2
    return answer_made(found)  # type: ignore[no-any-return]


def _delivered(q: Question, trie: Matchable, topic: Any, trail: Any, choice: Choice | None) -> tuple[Told, ...]:
    """Return the deliveries of a message, without subscribers that have died."""
    trails: Any = q.walk.trails
    recipients = new_recipients(trie, topic, q.walk.found.count, choice)
    at = 0
    for i in range(q.walk.found.count):
        record = trails.levels.items[i]
        end = q.walk.found.items[i]
        while at < end:
            hash = hash_at(q, at)
            if is_shared_at(q, at):
                recipients.receive(taken_shared(q, at), trail, record)
            elif trie._home is not None:
                entry = entry_alone(subscriber_at(q, at), hash) if hash else subscriber_at(q, at)
                recipients.receive(borrow(entry), trail, record)
            else:
                recipients.answer.append(new_told(True, subscriber_at(q, at), hash, None, trail, record))
            at += 2
    recipients.receive_united()
    return answer_made(tuple(recipients.answer))  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------------- each subscriber once
# Subscribers are in a buffer as pairs, each with its hash. If two hashes are equal, the subscribers are compared by
# `==`, which may run their code. The last one takes the place of one that occurred before. So the buffer holds every
# reference once, even if something is raised meanwhile.


def drop_repeated(subscribers: Buffer, stack: Buffer) -> int:
    """Keep one of equal subscribers. Users' code runs only to compare two objects with equal hashes. The stack, which
    nothing needs any more, has room for a hash table of them. It is at most a quarter full, since a
    mispredicted branch costs more than the room."""
    if _have_distinct_hashes(subscribers):
        return 0
    size = FEWEST_BUCKETS
    while size < 2 * subscribers.count:
        size *= 2
    buckets = empty_buckets(stack, size)
    if not buckets:
        raise MemoryError
    items = subscribers.items
    i = 0
    while i < subscribers.count:
        hash = items[i + 1]
        at = hash & (size - 1)
        while buckets[at] and not (items[buckets[at]] == hash and is_one(items[buckets[at] - 1], items[i])):
            at = (at + 1) & (size - 1)
        if buckets[at]:
            drop_at(subscribers, i)
        else:
            buckets[at] = i + 1
            i += 2
    return 0


def _have_distinct_hashes(subscribers: Buffer) -> bool:
    """Return whether all hashes differ in their last six bits: the cheapest proof for a few subscribers."""
    items = subscribers.items
    met = 0
    for i in range(1, subscribers.count, 2):
        flag = flag_at(items[i], 0)
        if met & flag:
            return False
        met |= flag
    return True


if not cython.compiled:  # the compiled bodies are in matching.pxd

    def is_one(one: Any, other: Any) -> bool:
        """Return whether two subscribers are equal."""
        return one is other or bool(one == other)

    def drop_at(subscribers: Buffer, i: int) -> None:
        """Drop a reference, and put the last one there."""
        subscribers.items[i : i + 2] = subscribers.items[-2:]
        del subscribers.items[-2:]

    def empty_buckets(stack: Buffer, size: int) -> list[int]:
        """Return so many buckets, 0 in each; or nothing, if there is no memory."""
        return [0] * size
