# distutils: extra_compile_args = SMALL
"""What a field matcher knows at one instant: an immutable State, and the changes that make another one of it.

    State
      owners:  subscriber -> its subscriptions                  (a set of Owners with sets of Subscribed)
      index:   each subscription under its rarest criterion     (index.py)
      count:   the number of subscriptions
      names:   the names of the fields that are asked for       (names.py)
      rows:    criterion -> the subscriptions that name it      (a set of Rows; only once somebody has counted hits)
      clues:   each criterion of `rows`, in an index

A search finds a subscription through one of its criteria, its *access*, and then asks the others. The access is the
one that the fewest messages meet, as far as that can be told: a value before a text's beginning, and that before a
range, since a wide range costs every message that lies in it. Of several values, it is the one under which the fewest
others are filed when the subscription comes. Counting hits needs every criterion of every subscription. So `rows` and
`clues` are made when hits are first asked for, and kept from then on.

A state shares with the one before it all but the paths to what has changed. All subscriptions of a subscriber refer to
one object for it, the first that was given. So two subscriptions of a state have the same subscriber if they refer to
the same object.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import check_signals, popcount, untrack_constant
    from ctrie._nodes import mix
    from subtrie._trie.keyed import Keyed, SetNode, find_keyed, set_size, with_keyed, without_keyed
    from subtrie._trie.subscribers import is_held
    from subtrie.fields.boxes import Box, box_among
    from subtrie.fields.combined import AnyOf
    from subtrie.fields.criteria import LEADS, NONE, Criterion, Key
    from subtrie.fields.delivery import completed, living
    from subtrie.fields.equals import one_of_equals
    from subtrie.fields.index import (
        Filed,
        Index,
        crowd_under,
        kind_of_cost,
        new_index,
        refiled,
    )
    from subtrie.fields.maps import untrack_entry
    from subtrie.fields.names import may_meet_in_a_list, with_names
    from subtrie.fields.needs import needs_of, pieces_needed
    from subtrie.fields.topics import Topic

from subtrie._trie.keyed import changed_keyed, check_set, check_shape, iter_keyed
from subtrie.fields.index import all_in_index, check_index, places_of
from subtrie.fields.names import check_names

_BITS = 4  # of a hash, read by each node of a set (keyed.py)
_MASK = 15
_ANY_NUMBER = 1 << 62
_KIND = 1 << 40  # more than are filed anywhere


class Subscribed(Filed):
    """A subscription: an entry for its criteria, which `asked` are. Its access is one of them, or of those that they
    imply. `delivery` (delivery.py) has its options and criteria, and its subscriber, the key, once more."""

    __slots__ = ("asked", "delivery")
    asked: tuple[Criterion, ...]
    delivery: Any


class Owner(Keyed):
    """A subscriber, and its subscriptions."""

    __slots__ = ("value",)
    value: Any


class CriterionRow(Keyed):
    """A criterion, the subscriptions that name it, and its entry in the index of clues."""

    __slots__ = ("clue", "value")
    clue: Filed
    value: Any


class State:
    """See above. Never changed once made."""

    __slots__ = ("clues", "count", "index", "names", "owners", "rows")
    owners: Any
    index: Index
    count: int
    names: Any
    rows: Any
    clues: Index | None


if not cython.compiled:  # borrowed; the compiled ones (state.pxd) count no reference
    index_of = attrgetter("index")
    clues_of = attrgetter("clues")
    names_of = attrgetter("names")
    owners_of = attrgetter("owners")


def has_owners_of_several(state: State) -> bool:
    """Tell whether a subscriber has several subscriptions."""
    return state.count != set_size(cython.cast(object, owners_of(state)))


def _new_state(owners: Any, index: Index, count: int, names: Any, rows: Any, clues: Index | None) -> State:
    state: State = State.__new__(State)
    state.owners = owners
    state.index = index
    state.count = count
    state.names = names
    state.rows = rows
    state.clues = clues
    untrack_constant(state)
    return state


NOTHING: State = _new_state(None, new_index(None, None), 0, None, None, None)


# ------------------------------------------------------------------------------------------------------------- changes


def with_subscription(
    state: State, criteria: frozenset[Criterion], delivery: Any, owner_hash: int
) -> tuple[State, bool]:
    """Return the state with the subscription of a delivery, and whether it was not there. Options replace the ones it
    had."""
    owner: Owner | None = find_keyed(state.owners, delivery[0], owner_hash)
    among = None if owner is None else owner.value
    hash_ = _hash_of(criteria, owner_hash)
    old = find_subscribed(among, criteria, hash_)
    if old is not None and old.delivery[1] is delivery[1]:
        return state, False
    new: Subscribed = Subscribed.__new__(Subscribed)
    new.key = delivery[0] if owner is None else owner.key
    new.hash = hash_
    if old is None:
        _file(new, state.index, criteria)
    else:
        new.access, new.rest, new.asked = old.access, old.rest, old.asked
        new.needs, new.pieces, new.is_joint = old.needs, old.pieces, old.is_joint
    new.is_repeated = type(new.access) is tuple
    new.delivery = completed(delivery, new.key, _of_fields(new.asked))
    untrack_entry(new)
    owners = with_keyed(state.owners, _new_owner(new.key, owner_hash, with_keyed(among, new, old)), owner)
    return _refiled(state, owners, old, new), old is None


def without_subscription(
    state: State, criteria: frozenset[Criterion], subscriber: object, owner_hash: int
) -> tuple[State, bool]:
    """Return the state without a subscription, and whether it was there."""
    owner: Owner | None = find_keyed(state.owners, subscriber, owner_hash)
    if owner is None:
        return state, False
    old = find_subscribed(owner.value, criteria, _hash_of(criteria, owner_hash))
    if old is None:
        return state, False
    left = without_keyed(owner.value, old)
    if left is None:
        owners = without_keyed(state.owners, owner)
    else:
        owners = with_keyed(state.owners, _new_owner(owner.key, owner_hash, left), owner)
    return _refiled(state, owners, old, None), True


def without_owner(state: State, subscriber: object, owner_hash: int) -> tuple[State, int]:
    """Return the state without the subscriptions of a subscriber, and their number."""
    owner: Owner | None = find_keyed(state.owners, subscriber, owner_hash)
    if owner is None:
        return state, 0
    changed, owners = state, without_keyed(state.owners, owner)
    for subscribed in iter_keyed(owner.value):
        changed = _refiled(changed, owners, subscribed, None)
    return changed, set_size(owner.value)


def with_replacement(
    state: State, old: frozenset[Criterion], new: frozenset[Criterion], subscriber: object, owner_hash: int
) -> tuple[State, bool]:
    """Return the state where a subscription asks for other criteria, with the options that it had, and whether it was
    there."""
    known = find_in(state, old, subscriber, owner_hash)
    if known is None:
        return state, False
    if old == new:
        return state, True
    left, _ = without_subscription(state, old, subscriber, owner_hash)
    return with_subscription(left, new, known.delivery, owner_hash)[0], True


def with_many(state: State, several: list[tuple[Any, ...]], made: list[Any]) -> tuple[State, int]:
    """Return the state with several subscriptions, and how many were not there.

    What is made is written down in `made`: the state that it was made of, the one that was made, and how many of each
    subscriber were not there, by the subscriber's hash. If another state came first, only what has to do with
    subscribers that others have changed is made again: each of these is as the others have left it, and gets its
    subscriptions once more. So a round costs what others have changed since the round before, and no more than to make
    all anew."""
    changed = _owners_changed(made[0], state, len(several)) if made else None
    if changed is None:
        made[:] = state, state, {}
        again = several
    else:
        hashes = {owner_hash for _, owner_hash in changed}
        again = [each for each in several if each[2] in hashes]
        changed += [(delivery[0], owner_hash) for _, delivery, owner_hash in again]
        for subscriber, owner_hash in changed:
            check_signals()
            made[1] = _with_owner_of(made[1], state, subscriber, owner_hash)
            made[2].pop(owner_hash, None)
        made[0] = state
    after, added = made[1], made[2]
    for criteria, delivery, owner_hash in again:
        check_signals()
        after, is_new = with_subscription(after, criteria, delivery, owner_hash)
        added[owner_hash] = added.get(owner_hash, 0) + is_new
    made[1] = after
    return after, sum(added.values())


def _owners_changed(older: State, newer: State, most: int) -> list[tuple[Any, int]] | None:
    """Return each subscriber whose subscriptions are not the same in two states, with its hash. None if those are more
    than so many, or if only one of the states has rows."""
    if newer.count == 0 or (older.clues is None) != (newer.clues is None):
        return None
    changed: list[tuple[Any, int]] = []
    for old, new in changed_keyed(older.owners, newer.owners):
        check_signals()
        if len(changed) == most:
            return None
        owner = old if new is None else new
        changed.append((owner.key, owner.hash))
    return changed


def _with_owner_of(state: State, other: State, subscriber: object, owner_hash: int) -> State:
    """Return the state with the subscriptions of a subscriber in another state in the place of its own."""
    there: Owner | None = find_keyed(state.owners, subscriber, owner_hash)
    wanted: Owner | None = find_keyed(other.owners, subscriber, owner_hash)
    if there is wanted:
        return state
    known = state.owners
    owners = without_keyed(known, there) if wanted is None else with_keyed(known, wanted, there)  # type: ignore[arg-type]
    before = None if there is None else there.value
    after = None if wanted is None else wanted.value
    for old, new in changed_keyed(before, after, _same_subscription):
        if old is not None:
            state = _refiled(state, owners, old, None)
        if new is not None:
            state = _refiled(state, owners, None, new)
    return state


def with_nothing(state: State) -> tuple[State, None]:
    """Return the state without any subscription. If rows were kept, they still are."""
    if state.count == 0:
        return state, None
    return _new_state(None, NOTHING.index, 0, None, None, None if state.clues is None else NOTHING.index), None


def _refiled(state: State, owners: Any, old: Subscribed | None, new: Subscribed | None) -> State:
    """Return the state with these owners and with `new` filed in the place of `old`; one of them may be None."""
    one: Subscribed = new if old is None else old  # type: ignore[assignment]
    index = _refiled_under(state.index, one.access, old, new)
    added = (new is not None) - (old is not None)
    names = with_names(state.names, one.asked, added) if added else state.names
    rows, clues = state.rows, state.clues
    if clues is not None:
        rows, clues = _with_rows(rows, clues, old, new)
    return _new_state(owners, index, state.count + added, names, rows, clues)


def _refiled_under(index: Index, access: Any, old: Filed | None, new: Filed | None) -> Index:
    """As `refiled`, under one criterion or several."""
    if type(access) is not tuple:
        return refiled(index, access, old, new)
    for lead in access:
        index = refiled(index, lead, old, new)
    return index


def _with_rows(rows: Any, clues: Index, old: Subscribed | None, new: Subscribed | None) -> tuple[Any, Index]:
    one: Subscribed = new if old is None else old  # type: ignore[assignment]
    for criterion in one.asked:
        hash_ = mix(hash(criterion))
        row: CriterionRow | None = find_keyed(rows, criterion, hash_)
        if row is None:
            clue = _new_clue(criterion, hash_)
            rows = with_keyed(rows, _new_row(criterion, hash_, with_keyed(None, one, None), clue), None)
            clues = _refiled_under(clues, access_of_clue(criterion), None, clue)
            continue
        among = without_keyed(row.value, one) if new is None else with_keyed(row.value, new, old)
        if among is None:
            rows = without_keyed(rows, row)
            clues = _refiled_under(clues, access_of_clue(row.key), row.clue, None)
        else:
            rows = with_keyed(rows, _new_row(row.key, hash_, among, row.clue), row)
    return rows, clues


def _new_owner(subscriber: object, hash: int, subscriptions: Any) -> Owner:
    owner: Owner = Owner.__new__(Owner)
    owner.key = subscriber
    owner.hash = hash
    owner.value = subscriptions
    untrack_entry(owner)
    return owner


def _new_row(criterion: Criterion, hash: int, among: Any, clue: Filed) -> CriterionRow:
    row: CriterionRow = CriterionRow.__new__(CriterionRow)
    row.key = criterion
    row.hash = hash
    row.value = among
    row.clue = clue
    untrack_entry(row)
    return row


def _new_clue(criterion: Criterion, hash: int) -> Filed:
    clue: Filed = Filed.__new__(Filed)
    clue.key = criterion
    clue.hash = hash
    clue.rest = None if criterion.is_found_exactly() else criterion
    clue.needs = clue.pieces = 0  # it is filed under the field that it needs
    clue.access = access_of_clue(criterion)
    clue.is_repeated = type(clue.access) is tuple
    clue.is_joint = _is_joint((criterion,), clue.access)
    untrack_entry(clue)
    return clue


def access_of_clue(criterion: Criterion) -> Any:
    """Return the one or more criteria under which the clue of a criterion is filed: always the same."""
    if criterion.place != LEADS:
        return criterion
    return _unrepeated(criterion.leads()[0])


def with_rows(state: State, known: State) -> State:
    """Return the state with rows, given another one with rows: O(differences of the two)."""
    rows, clues = known.rows, known.clues
    if clues is None:
        raise ValueError("the other state has no rows")
    for old, new in differences(known, state):
        check_signals()
        if old is not None and new is not None and asks_the_same(old, new):
            rows, clues = _with_rows(rows, clues, old, new)
            continue
        if old is not None:
            rows, clues = _with_rows(rows, clues, old, None)
        if new is not None:
            rows, clues = _with_rows(rows, clues, None, new)
    return _new_state(state.owners, state.index, state.count, state.names, rows, clues)


NO_ROWS: State = _new_state(None, NOTHING.index, 0, None, None, NOTHING.index)


# ------------------------------------------------------------------------------------------------------- subscriptions


def _hash_of(criteria: frozenset[Criterion], owner_hash: int) -> int:
    return mix(owner_hash ^ mix(hash(criteria)))


def _of_fields(criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    """Return the criteria that a subscriber knows: without the one on the words of a topic."""
    for criterion in criteria:
        if isinstance(criterion, Topic):
            kept = tuple([one for one in criteria if one is not criterion])
            untrack_constant(kept)
            return kept
    return criteria


def asks(subscribed: Subscribed, criteria: frozenset[Criterion]) -> bool:
    """Return whether these are the criteria of a subscription."""
    return len(subscribed.asked) == len(criteria) and criteria.issuperset(subscribed.asked)


def asks_the_same(one: Subscribed, other: Subscribed) -> bool:
    """Return whether two subscriptions have the same criteria."""
    return one.asked is other.asked or asks(one, frozenset(other.asked))


def find_subscribed(among: Any, criteria: frozenset[Criterion], hash: int) -> Subscribed | None:
    """Return, of a subscriber's subscriptions, the one with these criteria, or None. O(log n)."""
    shift = 0
    while isinstance(among, SetNode):
        node: SetNode = among
        flag = 1 << ((hash >> shift) & _MASK)
        if not node.bitmap & flag:
            return None
        among = node.array[popcount(node.bitmap & (flag - 1))]
        shift += _BITS
    if among is None:
        return None
    for entry in among if type(among) is tuple else (among,):
        subscribed: Subscribed = entry
        if subscribed.hash == hash and asks(subscribed, criteria):
            return subscribed
    return None


def find_in(state: State, criteria: frozenset[Criterion], subscriber: object, owner_hash: int) -> Subscribed | None:
    """Return a subscription, or None. O(log n)."""
    owner: Owner | None = find_keyed(state.owners, subscriber, owner_hash)
    return None if owner is None else find_subscribed(owner.value, criteria, _hash_of(criteria, owner_hash))


def _file(new: Subscribed, index: Index, criteria: frozenset[Criterion]) -> int:
    """Say where a new subscription is filed, and what is asked besides. Equal criteria that are known (equals.py) take
    the places of its own."""
    access = filed = _access(index, criteria)
    kept: list[Criterion] = []
    for criterion in criteria:
        known = criterion if _is_in_box(criterion, access) else one_of_equals(criterion)
        kept.append(known)
        if criterion is access:
            filed = known
    new.asked = tuple(kept)
    untrack_constant(new.asked)
    new.access, new.rest = filed, _rest(new.asked, filed)
    if type(new.rest) is tuple:
        untrack_constant(new.rest)
    new.needs, new.pieces = needs_of(new.rest), pieces_needed(filed, new.rest)
    new.is_joint = _is_joint(criteria, filed)
    return 0


def _is_in_box(criterion: Criterion, access: Any) -> bool:
    """Return whether an access is a box of this very criterion and another one."""
    if not isinstance(access, Box):
        return False
    box: Box = access
    return criterion is box.one or criterion is box.other


def _is_joint(criteria: Any, access: Any) -> bool:
    """Return whether an entry for these has to be looked at as a whole where an event has lists. What is found by the
    absence of a field is, since the index cannot tell in which elements the field has to be absent."""
    if type(access) is not tuple:
        found: Criterion = access
        if found.place == NONE:
            return True
    return may_meet_in_a_list(criteria)


def _access(index: Index, criteria: frozenset[Criterion]) -> Any:
    """Return where to file what asks for all of these: the criterion, of these and what they imply, under which the
    fewest are filed. Or several in a tuple, one of which holds if all of these do."""
    if len(criteria) == 1:
        for criterion in criteria:
            if criterion.place != LEADS:
                return criterion
    box = box_among(criteria) if len(criteria) > 1 else None
    if box is None:
        _, leads = _rarest(index, criteria, _ANY_NUMBER)
    else:
        # A box is at least as rare as each of its ranges: it costs less than those, and more than what is no range.
        others = [criterion for criterion in criteria if criterion is not box.one and criterion is not box.other]
        _, leads = _rarest(index, others, _KIND * kind_of_cost(box))
        if not leads:
            return box
    found = _unrepeated(leads)
    for lead in found if type(found) is tuple else (found,):
        untrack_constant(lead)  # one that a Topic implies, perhaps
    untrack_constant(found)
    return found


def _rarest(index: Index, criteria: Any, most: int) -> tuple[int, tuple[Criterion, ...]]:
    """Return the leads, out of some criteria of which all hold, that are the cheapest to find them by, and their cost.
    What costs less by its kind comes first, whatever the crowd there; then what has the smaller crowd."""
    rarest: tuple[Criterion, ...] = ()
    least = most
    for criterion in criteria:
        if isinstance(criterion, AnyOf):
            cost, leads = _rarest_of_each(index, criterion, least)
            if cost < least:
                rarest, least = leads, cost
            continue
        for leads in criterion.leads():
            cost = _KIND * kind_of_cost(leads[0])
            if cost < least:
                cost += crowd_under(index, leads[0], least - cost)
            if cost < least:
                rarest, least = leads, cost
    return least, rarest


def _rarest_of_each(index: Index, any_of: AnyOf, most: int) -> tuple[int, tuple[Criterion, ...]]:
    """Return the rarest leads of every alternative, together, and their cost."""
    cost = 0
    found: list[Criterion] = []
    for way in any_of.alternatives:
        more, leads = _rarest(index, way, most)
        if not leads:
            return most, ()
        cost += more
        found += leads
        if cost >= most:
            break
    return cost, tuple(found)


def _unrepeated(leads: tuple[Criterion, ...]) -> Any:
    """Return leads under which the same is filed, so that it is nowhere twice; a single one by itself."""
    if len(leads) == 1:
        return leads[0]
    seen: set[Any] = set()
    kept: list[Criterion] = []
    for lead in leads:
        places = [(lead.place, lead.view, place) for place in places_of(lead)]
        new = [place for place in places if place not in seen]
        seen.update(new)
        if len(new) == len(places):
            kept.append(lead)
        elif new:
            kept += [Key(lead.name, place[2][2], lead.view) for place in new]
    return kept[0] if len(kept) == 1 else tuple(kept)


def _rest(criteria: tuple[Criterion, ...], access: Criterion) -> Any:
    """Return what remains to be asked where the access is found, the cheapest first; see `Filed`."""
    found: Box | None = access if isinstance(access, Box) else None
    rest = list(criteria)
    if found is not None:
        rest = [criterion for criterion in rest if criterion is not found.one and criterion is not found.other]
    elif type(access) is not tuple:
        rest = [criterion for criterion in rest if not criterion.is_implied_by(access)]
    box = box_among(rest) if len(rest) > 1 else None
    if box is not None:
        rest = [criterion for criterion in rest if criterion is not box.one and criterion is not box.other]
        rest.append(box)
    if len(rest) > 1 or type(access) is tuple:
        return tuple(sorted(rest, key=_kind))
    return rest[0] if rest else None


def _kind(criterion: Criterion) -> int:
    return kind_of_cost(criterion)


# ------------------------------------------------------------------------------------------------------------- queries


def distinct(found: list[Any]) -> tuple[Any, ...]:
    """Return the subscribers of subscriptions found, each once, without those that are gone."""
    subscribers = tuple({id(entry.key): entry.key for entry in found}.values())
    return living(subscribers, False) if found and is_held(subscribers[0]) else subscribers


def subscriptions_in(state: State, subscriber: object = None, owner_hash: int = 0) -> Iterator[Subscribed]:
    """Yield every subscription, or those of one subscriber (None: of all)."""
    owners = state.owners if subscriber is None else find_keyed(state.owners, subscriber, owner_hash)
    for owner in iter_keyed(owners):
        yield from iter_keyed(owner.value)


def differences(older: State, newer: State) -> Iterator[tuple[Subscribed | None, Subscribed | None]]:
    """Yield (old, new) for every subscription that is not the same object in both; None for the side without. What both
    states share is passed over."""
    for old, new in changed_keyed(older.owners, newer.owners):
        before = None if old is None else old.value
        after = None if new is None else new.value
        yield from changed_keyed(before, after, _same_subscription)


def _same_subscription(one: Subscribed, other: Subscribed) -> bool:
    """Of one subscriber. Other criteria may have the same hash: 0 and "" do."""
    return one.hash == other.hash and asks_the_same(one, other)


# --------------------------------------------------------------------------------------------------------------- tests


def check_state(state: State) -> None:
    """Raise AssertionError if the state is ill-formed, or its parts tell different things."""
    check_set(state.owners)
    subscribed = list(subscriptions_in(state))
    assert len(subscribed) == state.count, f"{len(subscribed)} subscriptions, counted {state.count}"
    for owner in iter_keyed(state.owners):
        check_shape(owner.value)
        assert owner.value is not None, f"{owner.key!r} has no subscription"
        for entry in iter_keyed(owner.value):
            assert entry.key is owner.key, f"two objects for {owner.key!r}"
            assert entry.delivery[0] is owner.key, f"a delivery to another object than {owner.key!r}"
            assert entry.needs == needs_of(entry.rest), f"the bits of {entry.rest!r} are wrong"
            assert entry.pieces == pieces_needed(entry.access, entry.rest), f"the pieces of {entry.rest!r} are wrong"
            asked = frozenset(entry.asked)
            assert entry.is_joint == _is_joint(asked, entry.access), f"is_joint of {asked!r} is wrong"
            assert find_in(state, asked, entry.key, owner.hash) is entry, f"{entry.key!r} is not found"
    check_names(state.names, [criterion for entry in subscribed for criterion in entry.asked])
    check_index(state.index)
    _check_filed(state.index, [(entry.access, entry) for entry in subscribed])
    if state.clues is not None:
        _check_rows(state, subscribed)


def _check_filed(index: Index, expected: list[tuple[Any, Any]]) -> None:
    there = [(place, id(entry)) for place, entry in all_in_index(index)]
    wanted = [
        (place, id(entry))
        for access, entry in expected
        for lead in (access if type(access) is tuple else (access,))
        for place in places_of(lead)
    ]
    assert len(there) == len(wanted), f"{len(there)} entries are filed, not {len(wanted)}"
    assert set(there) == set(wanted), "an entry is filed in a wrong place"


def _check_rows(state: State, subscribed: list[Any]) -> None:
    check_set(state.rows)
    check_index(state.clues)  # type: ignore[arg-type]
    rows: dict[Any, set[int]] = {}
    for entry in subscribed:
        for criterion in entry.asked:
            rows.setdefault(criterion, set()).add(id(entry))
    kept = list(iter_keyed(state.rows))
    assert {r.key: {id(e) for e in iter_keyed(r.value)} for r in kept} == rows, "wrong rows"
    for row in kept:
        check_shape(row.value)
    _check_filed(state.clues, [(access_of_clue(row.key), row.clue) for row in kept])  # type: ignore[arg-type]
