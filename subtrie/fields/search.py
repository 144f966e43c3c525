# distutils: extra_compile_args = FAST
"""The search: from a message to the entries of an index of which all holds.

It has two passes. The first one follows what the message has to what is filed there, and notes it. The second one asks
each entry noted for what remains to be known, but only those that need no more than the message has (needs.py). Most of
a search is waiting for memory: so the first pass asks for an entry when it notes it, and the second asks for what an
entry leads to some entries ahead.

Nothing that is looked at ever changes, so a search needs nothing but the state that it was given. Nodes are borrowed:
the caller holds the index, or the state, and that holds all of them, whatever users' code is called meanwhile. To count
references would be to write to each node on the way: into memory that is in no cache, and into memory that the searches
of other threads read.

This is the text of both twins. What it works with is in views.py.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._machine import W, check_stack, flag_at, popcount
    from ctrie._nodes import mix
    from ctrie._slot import borrow, borrowed, is_exactly
    from subtrie._trie.keyed import SetNode, hash_in, key_in, set_array_of
    from subtrie._trie.match.plan import Plan
    from subtrie._trie.match.scratch import enter, leave
    from subtrie._trie.match.walk import address, as_node, item_of, lowest_bit, prefetch_to_count, size_of
    from subtrie._trie.subscribers import is_held
    from subtrie.fields.boxes import is_around, prefetch_boxes
    from subtrie.fields.comparing import VALUE, as_value, kind_of
    from subtrie.fields.criteria import PIECES, TEXTS, order_of, plain
    from subtrie.fields.delivery import living
    from subtrie.fields.events import flat_as_asked
    from subtrie.fields.index import Index
    from subtrie.fields.intervals import entries_around, point_at, prefetch_node
    from subtrie.fields.maps import Cell
    from subtrie.fields.names import leads_on
    from subtrie.fields.state import State, Subscribed, clues_of, has_owners_of_several, index_of, names_of
    from subtrie.fields.texts import LONGEST_PIECE, pieces_of, viewed
    from subtrie.fields.together import Together, hold_together, new_together
    from subtrie.fields.topics import Topic, hash_of_all, stand_there
    from subtrie.fields.tree import below_at, count_at, is_leaf, key_at
    from subtrie.fields.views import (
        AHEAD,
        ORDERS,
        WAY,
        Search,
        Seen,
        Spot,
        absent_of,
        all_bits,
        answer_of,
        answers_noted,
        any_of,
        begin,
        boxes_of,
        end,
        few_at,
        few_in,
        fields_of,
        forget_nodes,
        go_on,
        has_field,
        has_pieces,
        has_topic,
        hash_at,
        id_of,
        is_equal,
        is_first_of_name,
        is_joint,
        is_met,
        is_new,
        is_repeated,
        keep,
        keep_crowds,
        may_refer,
        name_at,
        name_hash_at,
        needs_in,
        node_at,
        note,
        note_bits,
        note_crowd,
        note_node,
        note_piece,
        note_plain,
        note_value,
        note_way,
        number_at,
        prefetch,
        ranges_of,
        rest_of,
        see,
        spot_on,
        start_over,
        topics_of,
        unsee,
        value_at,
        value_hash_at,
        value_of,
        values_known,
        values_of,
        views_of,
        whole_of,
        whole_value,
        words_of,
    )
    from subtrie.fields.words import (
        ALL,
        ANYWHERE,
        MOST_PLACES,
        PAIRS,
        Words,
        bit_of_word,
        count_of,
        hash_of,
        hash_of_more,
        put_words,
        release_words,
    )
else:
    from cython import address

from subtrie.dialects import Dialect
from subtrie.fields.events import Elements
from subtrie.fields.names import PLAIN

if not cython.compiled:  # in search.pxd
    NO_WORDS = None
    FEW = 16  # entries noted, whose subscribers are asked for before it is known who wants the message

# ------------------------------------------------------------------------------------------------------------- answers


def enter_search() -> int:
    """Begin what ends with `leave`. RecursionError if users' code has nested searches in searches for too long: each
    takes some kilobytes of the C stack, which no interpreter counts."""
    check_stack()
    if not enter():
        raise RecursionError("a match or change asks the matcher again, and that one again, and so on")
    return 0


def clues_for(state: State, message: dict[Any, Any]) -> list[Any]:
    """Return, of a state with rows, the clues of the criteria that hold for a message, each once. The message's values
    are hashed, and compared with those filed by `==`: users' code may run and raise."""
    if not cython.compiled:
        search = Search()
    enter_search()  # nothing may raise from here to `try`: `leave` would be left out
    begin(address(search), message, NO_WORDS, False)
    try:
        _search(address(search), clues_of(state), names_of(state), message)
        items = search.noted.items
        return [borrowed(as_node(items[i])) for i in range(search.noted.count)]
    finally:
        end(address(search))
        leave()


def answers_for(state: State, message: dict[Any, Any], delivers: bool) -> tuple[Any, ...]:
    """Return the distinct subscribers with a subscription of which all criteria hold; if it `delivers`, the delivery of
    each such subscription."""
    return _answers(state, message, NO_WORDS, delivers)


def answers_on_topic(
    state: State, message: dict[Any, Any], delivers: bool, plan: Plan | None, dialect: Dialect, topic: str
) -> tuple[Any, ...]:
    """The same, for a message under a topic. The plan is of the dialect; None: that splits topics in its own way."""
    if not cython.compiled:
        words = Words()
    put_words(address(words), plan, dialect, topic)
    try:
        return _answers(state, message, address(words), delivers)
    finally:
        release_words(address(words))


def _answers(state: State, message: dict[Any, Any], words: Any, delivers: bool) -> tuple[Any, ...]:
    if not cython.compiled:
        search = Search()
    enter_search()  # nothing may raise from here to `try`: `leave` would be left out
    begin(address(search), message, words, delivers)
    try:
        _search(address(search), index_of(state), names_of(state), message)
        if not delivers and search.noted.count > 1 and has_owners_of_several(state):
            keep(address(search), _distinct(search.noted.items, 0, search.noted.count, True))
        found = answers_noted(address(search))
        if may_refer(address(search)) and is_held(borrowed(key_in(as_node(search.noted.items[0])))):
            return living(found, delivers)
        return found
    finally:
        end(address(search))
        leave()


def _distinct(items: Any, first: int, last: int, of_subscriber: bool) -> int:
    """Put the first of equal things, or of entries of one subscriber, in the places from the first one on, and return
    where they end. All subscriptions of a subscriber have one object for it."""
    if not cython.compiled:
        seen = Seen()
    kept = first
    see(address(seen), last - first)
    for i in range(first, last):
        if is_new(address(seen), key_in(as_node(items[i])) if of_subscriber else as_node(items[i])):
            items[kept] = items[i]
            kept += 1
    unsee(address(seen))
    return kept


# ------------------------------------------------------------------------------------------------- what may hold


def _search(search: Any, index: Any, names: Any, message: dict[Any, Any]) -> int:
    """Note what holds. The message is the caller's. If it has other values than plain ones, it is copied, and the copy
    holds what is noted. If some lead to fields that somebody asks for, as lists and objects do, it is looked at as its
    flat form, as far as these names lead (events.py)."""
    if note_plain(search, names):
        return _search_noted(search, index, message)
    own = message.copy()
    start_over(search, own)
    if not _note_values(search, own, names):
        own = flat_as_asked(own, borrowed(names), False, True)
        start_over(search, own)
        _note_values(search, own, names)
    return _search_noted(search, index, own)


def _note_values(search: Any, message: dict[Any, Any], names: Any) -> bool:
    """Note the values of a message that nobody else has, which become ones that compare; False if one of them is no
    value, and somebody asks for it or for what is in it: a list, an object, or what else has no hash."""
    for name, value in message.items():
        if type(value) is Elements:
            search.repeated = True
            search.together |= value.places is not None
            for element in value:
                note_value(search, borrow(name), mix(hash(name)), element, mix(hash(element)))
            continue
        own = as_value(value)
        if type(own) not in PLAIN and kind_of(own) != VALUE:
            if leads_on(borrowed(names), name):
                return False
            continue
        if own is not value:
            message[name] = own  # a name that is there, so the dict keeps its size
        note_value(search, borrow(name), mix(hash(name)), own, mix(hash(own)))
    return True


def _search_noted(search: Any, index: Any, message: dict[Any, Any]) -> int:
    """Note what holds for the values noted."""
    if has_topic(search):
        words = words_of(search)
        for i in range(min(count_of(words), MOST_PLACES)):
            note_bits(search, bit_of_word(hash_of(words, i)))
    _search_in(search, index)
    _search_in_crowds(search)
    _keep_met(search, message)
    return 0


def _note_topic(search: Any, topics: Any) -> int:
    """Note the ways to what is filed under the words of the topic."""
    words = words_of(search)
    note_way(search, topics, hash_of_all(words), -1 - ALL)
    note_way(search, topics, ANYWHERE, -1 - ANYWHERE)
    for i in range(min(count_of(words), MOST_PLACES)):
        note_way(search, topics, hash_of(words, i), -1 - i)
        if i > 0:
            note_way(search, topics, hash_of_more(hash_of(words, i - 1), hash_of(words, i)), -1 - PAIRS - (i - 1))
    return 0


def _search_in_crowds(search: Any) -> int:
    """Search the crowded places noted, and those noted there, which stand for one criterion more; each of them once,
    however many values of the message have led to it. So are the places of many entries that have no more to ask."""
    first = 0
    while first < search.crowds.count:
        if search.repeated:
            keep_crowds(search, _distinct(search.crowds.items, first, search.crowds.count, False))
        last = search.crowds.count
        for i in range(first, last):
            crowd = as_node(search.crowds.items[i])
            if is_exactly(crowd, Index):
                _search_in(search, crowd)
            else:
                _note_all(search, crowd)
        first = last
    return 0


def _search_in(search: Any, index: Any) -> int:
    """Note what is filed in an index under what the message has: of all that is filed, or of one crowded place."""
    if topics_of(index) is not borrow(None) and has_topic(search):
        _note_topic(search, topics_of(index))
    fields = fields_of(index)
    around: dict[int, int] | None = {} if search.repeated else None
    if fields is not borrow(None):
        for i in range(values_known(search)):
            cell = _find_cell(fields, name_at(search, i), name_hash_at(search, i))
            if cell is not borrow(None):
                field = value_of(cell)
                if values_of(field) is not borrow(None):
                    note_way(search, values_of(field), value_hash_at(search, i), i)
                _note_beside_values(search, field, borrowed(value_at(search, i)), around)
                if boxes_of(field) is not borrow(None) and is_first_of_name(search, i):
                    _note_in_boxes(search, boxes_of(field), whole_value(search, i))
    _note_at_ends(search)
    if absent_of(index) is not borrow(None):
        _note_absent(search, absent_of(index))
    if whole_of(index) is not borrow(None):
        _note_place(search, whole_of(index))
    return 0


def _note_at_ends(search: Any) -> int:
    """Follow the ways noted to their ends, and note what is filed there. They go side by side, level by level: so the
    nodes of a level are fetched together, and a search waits for memory once a level and not once a node."""
    last = search.nodes.count
    if last == 0:
        return 0
    _follow(search, last)
    at = 0
    while at < last:
        cell = node_at(search, at)
        if is_exactly(cell, Cell) and hash_in(cell) == hash_at(search, at):
            prefetch(key_in(cell))
            for i in range(few_in(cell)):
                prefetch(few_at(cell, i))
        at += WAY
    at = 0
    while at < last:
        cell = node_at(search, at)
        if is_exactly(cell, Cell) and hash_in(cell) == hash_at(search, at):
            for i in range(few_in(cell)):  # most likely it is the right cell, and these are asked for
                prefetch(rest_of(few_at(cell, i)))
                prefetch_to_count(answer_of(search, few_at(cell, i)))
        at += WAY
    at = 0
    while at < last:
        ends = node_at(search, at)
        if is_exactly(ends, tuple):
            for i in range(size_of(ends)):
                _note_at(search, item_of(ends, i), at)
        elif ends is not borrow(None):
            _note_at(search, ends, at)
        at += WAY
    forget_nodes(search, 0)
    return 0


def _follow(search: Any, last: int) -> int:
    """Follow ways to a cell, several in a tuple, or None."""
    shift = 0
    is_on_the_way = last > 0
    while is_on_the_way:
        is_on_the_way = False
        at = 0
        while at < last:
            node = node_at(search, at)
            if is_exactly(node, CNode):
                is_on_the_way = True
                bitmap = bitmap_of(node)
                flag = flag_at(hash_at(search, at), shift)
                if bitmap & flag:
                    node = child_at(node, popcount(bitmap & (flag - 1)))
                    prefetch(node)
                    go_on(search, at, node)
                else:
                    go_on(search, at, borrow(None))
            at += WAY
        shift += W
    return 0


def _note_at(search: Any, cell: Any, at: int) -> int:
    """Note what is filed in a cell if a way leads to it."""
    if hash_in(cell) == hash_at(search, at) and _leads_to(search, cell, at):
        return _note_below(search, cell)
    return 0


def _leads_to(search: Any, cell: Any, at: int) -> bool:
    """Return whether a way leads to a cell with its hash: whether the cell's key is the value, or the words."""
    key, number = key_in(cell), number_at(search, at)
    if number >= 0:
        return key is value_at(search, number) or is_equal(key, value_at(search, number))
    return stand_there(words_of(search), key, -1 - number)


def _note_in_views(search: Any, views: Any, text: Any) -> int:
    """Note what is filed under what the views make of a text."""
    for view in range(size_of(views)):
        field = item_of(views, view)
        if field is borrow(None):
            continue
        if view == PIECES:
            for piece in pieces_of(plain(text)):
                if len(piece) == LONGEST_PIECE:
                    note_piece(search, mix(hash(piece)))
                _note_in_view(search, field, piece)
            continue
        found = viewed(view, text)
        if found is not None:
            _note_in_view(search, field, found)
    return 0


def _find_cell(cells: Any, key: Any, hash: int) -> Any:
    """Return a key's cell in a map, or None; as `find_in_map` in maps.py."""
    shift = 0
    while is_exactly(cells, CNode):
        bitmap = bitmap_of(cells)
        flag = flag_at(hash, shift)
        if not bitmap & flag:
            return borrow(None)
        cells = child_at(cells, popcount(bitmap & (flag - 1)))
        prefetch(cells)
        shift += W
    if is_exactly(cells, tuple):
        for i in range(size_of(cells)):
            if _is_cell_of(item_of(cells, i), key, hash):
                return item_of(cells, i)
    elif cells is not borrow(None) and _is_cell_of(cells, key, hash):
        return cells
    return borrow(None)


def _is_cell_of(cell: Any, key: Any, hash: int) -> bool:
    if hash_in(cell) != hash:
        return False
    for i in range(few_in(cell)):
        prefetch(few_at(cell, i))
    return key_in(cell) is key or is_equal(key_in(cell), key)


def _note_in_view(search: Any, field: Any, value: Any) -> int:
    """Note what is filed under what a view has made."""
    if values_of(field) is not borrow(None):
        cell = _find_cell(values_of(field), borrow(value), mix(hash(value)))
        if cell is not borrow(None):
            _note_below(search, cell)
    return _note_beside_values(search, field, value, None)


def _note_beside_values(search: Any, field: Any, value: Any, around: dict[int, int] | None) -> int:
    """Note what is filed under the ranges around a value of a field, under the field alone, and under what its views
    make of the value. What other values in a list have led to is in `around`."""
    if ranges_of(field) is not borrow(None):
        order = TEXTS if type(value) is str else order_of(value)
        if order < ORDERS:
            tree = item_of(ranges_of(field), order)
            if tree is not borrow(None):
                point = point_at(value)
                if around is None:
                    _note_around(search, tree, address(point))
                else:
                    _note_around_too(search, tree, address(point), around)
    if any_of(field) is not borrow(None):
        _note_place(search, any_of(field))
    if views_of(field) is not borrow(None) and isinstance(value, str):
        _note_in_views(search, views_of(field), value)
    return 0


def _note_around(search: Any, tree: Any, point: Any) -> int:
    """Note what is filed under each range around a value, which is of the ranges' order. It goes breadth first, so that
    nodes side by side are fetched together."""
    first = search.nodes.count  # what stands before are ways
    at = first
    node = tree
    while True:
        found = entries_around(node, point)
        if found and not found & (found - 1) and at == search.nodes.count and not is_leaf(node):
            node = below_at(node, lowest_bit(found))  # the only way
            continue
        while found:
            i = lowest_bit(found)
            found &= found - 1
            if is_leaf(node):
                _note_place(search, below_at(node, i))
            else:
                prefetch_node(below_at(node, i))
                note_node(search, below_at(node, i))
        if at == search.nodes.count:
            break
        node = as_node(search.nodes.items[at])
        at += 1
    forget_nodes(search, first)
    return 0


def _note_around_too(search: Any, node: Any, point: Any, around: dict[int, int]) -> bool:
    """The same for one of several values, but leave out what others have led to: of each node, `around` has the
    entries that are done with, a bit for each. Return whether all are."""
    done = around.get(id_of(node), 0)
    found = entries_around(node, point) & ~done
    while found:
        i = lowest_bit(found)
        found &= found - 1
        if is_leaf(node):
            _note_place(search, below_at(node, i))
        if is_leaf(node) or _note_around_too(search, below_at(node, i), point, around):
            done |= 1 << i
    around[id_of(node)] = done
    return popcount(done) == count_at(node)


def _note_in_boxes(search: Any, boxes: Any, value: Any) -> int:
    """Note what is filed under boxes around this value and one of another field that the message has."""
    if not cython.compiled:
        spot = Spot()
    for i in range(values_known(search)):
        if is_first_of_name(search, i):
            cell = _find_cell(boxes, name_at(search, i), name_hash_at(search, i))
            if cell is not borrow(None) and spot_on(address(spot), value, whole_value(search, i)):
                _note_boxes(search, value_of(cell), address(spot))
    return 0


def _note_boxes(search: Any, tree: Any, spot: Any) -> int:
    """Note what is filed under each box around a spot. It goes breadth first, as `_note_around`."""
    first = search.nodes.count
    note_node(search, tree)
    at = first
    while at < search.nodes.count:
        node = as_node(search.nodes.items[at])
        at += 1
        for i in range(count_at(node)):
            if not is_around(node, i, spot):
                continue
            if not is_leaf(node):
                prefetch_boxes(below_at(node, i))
                note_node(search, below_at(node, i))
            elif spot.is_exact or is_met(search, key_at(node, i)):
                _note_place(search, below_at(node, i))
    forget_nodes(search, first)
    return 0


def _note_absent(search: Any, cells: Any) -> int:
    """Note what is filed under the absence of fields that the message does not have."""
    if is_exactly(cells, CNode):
        for i in range(popcount(bitmap_of(cells))):
            _note_absent(search, child_at(cells, i))
    elif is_exactly(cells, tuple):
        for i in range(size_of(cells)):
            _note_absent(search, item_of(cells, i))
    elif not has_field(search, key_in(cells)):
        _note_below(search, cells)
    return 0


def _note_below(search: Any, cell: Any) -> int:
    """Note the entries that a cell leads to; few of them are written down in the cell itself."""
    for i in range(few_in(cell)):
        note(search, few_at(cell, i))
    return 0 if few_in(cell) else _note_place(search, value_of(cell))


def _note_place(search: Any, filed: Any) -> int:
    """Note what is filed at a place: many entries as a crowded place, if other values may lead there, too."""
    if is_exactly(filed, Index) or (search.repeated and is_exactly(filed, SetNode)):
        return note_crowd(search, filed)
    return _note_all(search, filed)


def _note_all(search: Any, filed: Any) -> int:
    """Note the entries of a set of one or more."""
    if is_exactly(filed, SetNode):
        filed = set_array_of(filed)
    if not is_exactly(filed, tuple):
        note(search, filed)
        return 0
    for i in range(size_of(filed)):
        prefetch(item_of(filed, i))
    for i in range(size_of(filed)):
        _note_all(search, item_of(filed, i))
    return 0


# ------------------------------------------------------------------------------------------------------ what does hold


def _keep_met(search: Any, message: dict[Any, Any]) -> int:
    """Keep of the entries noted those of which all holds."""
    together: Together | None = None
    _keep_possible(search)
    if search.repeated:
        keep(search, _distinct(search.noted.items, 0, search.noted.count, False))
    items = search.noted.items
    count = search.noted.count
    kept = 0
    ahead = min(count, AHEAD if count > FEW else FEW)
    for i in range(ahead):
        prefetch(rest_of(as_node(items[i])))
        if count <= FEW:
            prefetch_to_count(answer_of(search, as_node(items[i])))
    for i in range(count):
        if i + ahead < count:
            prefetch(rest_of(as_node(items[i + ahead])))
        entry = as_node(items[i])
        if search.together and is_joint(entry):
            if together is None:
                together = new_together(message)
            holds = _holds_together(search, together, borrowed(entry))
        else:
            holds = _all_hold(search, rest_of(entry))
        if holds:
            if count > FEW:
                prefetch_to_count(answer_of(search, entry))
            items[kept] = items[i]
            kept += 1
    keep(search, kept)
    return 0


def _keep_possible(search: Any) -> int:
    """Keep of the entries noted those that need nothing which the message lacks."""
    items = search.noted.items
    lacks = ~search.has
    kept = 0
    for i in range(search.noted.count):
        if needs_in(as_node(items[i])) & lacks:
            lacks = ~all_bits(search)
        if not needs_in(as_node(items[i])) & lacks and has_pieces(search, as_node(items[i])):
            search.repeated |= is_repeated(as_node(items[i]))
            items[kept] = items[i]
            kept += 1
    keep(search, kept)
    return 0


def _holds_together(search: Any, together: Together, entry: Any) -> bool:
    """Return whether values that belong together meet all that an entry asks for (together.py)."""
    criteria = entry.asked if isinstance(entry, Subscribed) else (entry.key,)  # a clue has one
    for criterion in criteria:
        if type(criterion) is Topic and not is_met(search, borrow(criterion)):
            return False
    return hold_together(together, [criterion for criterion in criteria if type(criterion) is not Topic])


def _all_hold(search: Any, rest: Any) -> bool:
    """Return whether a message has what remains to be asked of an entry."""
    if rest is borrow(None):
        return True
    if not is_exactly(rest, tuple):
        return is_met(search, rest)
    i = 0
    while i < size_of(rest) and is_met(search, item_of(rest, i)):
        i += 1
    return i == size_of(rest)
