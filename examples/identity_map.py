"""An identity map: one object for each row, whichever thread loads it, even in a graph
with cycles.

    python examples/identity_map.py

A department has a head and employees, an employee has a department and a boss, so the
graph has cycles. Several threads walk the whole graph at once, each from a different
row, and load from SQLite the rows that no thread has loaded yet. Two objects for one
row would disagree: a change to one of them would not be seen through the other.

`Ctrie.get_or_create` calls the factory at most once for a key, and threads that ask
meanwhile wait for it. So the rule is: *a factory reads its own row and asks for no
other object*. If the factory of a department fetched its head, and the factory of the
head its department, two threads could wait for each other for ever. So objects hold the
numbers of their neighbours, and look them up in the map when a caller follows the
reference.
"""

from __future__ import annotations

import random
import sqlite3
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier
from typing import Any, TypeAlias

from ctrie import Ctrie

SCHEMA = """
CREATE TABLE department (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, head INTEGER NOT NULL
);
CREATE TABLE employee (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL,
    department INTEGER NOT NULL, boss INTEGER NOT NULL
);
CREATE INDEX staff ON employee (department);
"""


class Department:
    def __init__(self, company: Company, number: int, name: str, head: int) -> None:
        self._company = company
        self.number = number
        self.name = name
        self._head = head

    @property
    def head(self) -> Employee:
        return self._company.employee(self._head)

    @property
    def employees(self) -> list[Employee]:
        numbers = self._company.query(
            "SELECT number FROM employee WHERE department = ?", self.number
        )
        return [self._company.employee(number) for (number,) in numbers]

    def neighbours(self) -> list[Row]:
        return [self.head, *self.employees]


class Employee:
    def __init__(
        self, company: Company, number: int, name: str, department: int, boss: int
    ) -> None:
        self._company = company
        self.number = number
        self.name = name
        self._department = department
        self._boss = boss

    @property
    def department(self) -> Department:
        return self._company.department(self._department)

    @property
    def boss(self) -> Employee:
        return self._company.employee(self._boss)

    def neighbours(self) -> list[Row]:
        return [self.department, self.boss]


Row: TypeAlias = Department | Employee


class Company:
    """All rows of a database as objects, one for each.

    Any number of threads may use it.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._objects = Ctrie()

    def department(self, number: int) -> Department:
        found: Department = self._objects.get_or_create(
            (Department, number), partial(self._load_department, number)
        )
        return found

    def employee(self, number: int) -> Employee:
        found: Employee = self._objects.get_or_create(
            (Employee, number), partial(self._load_employee, number)
        )
        return found

    def query(self, sql: str, number: int) -> list[tuple[Any, ...]]:
        # Connections of sqlite3 belong to one thread; opening one is cheap.
        with closing(sqlite3.connect(self._database)) as connection:
            return connection.execute(sql, (number,)).fetchall()

    def _load_department(self, number: int) -> Department:
        return Department(
            self,
            *self._row(
                "SELECT number, name, head FROM department WHERE number = ?", number
            ),
        )

    def _load_employee(self, number: int) -> Employee:
        return Employee(
            self,
            *self._row(
                "SELECT number, name, department, boss FROM employee WHERE number = ?",
                number,
            ),
        )

    def _row(self, sql: str, number: int) -> tuple[Any, ...]:
        rows = self.query(sql, number)
        if not rows:
            raise LookupError(f"there is no row {number}")
        return rows[0]


def walk(start: Row) -> Iterator[Row]:
    """Yield all rows that can be reached from a row, each object once."""
    seen = {start}
    pending = deque([start])
    while pending:
        row = pending.popleft()
        yield row
        for neighbour in row.neighbours():
            if neighbour not in seen:
                seen.add(neighbour)
                pending.append(neighbour)


def walk_together(company: Company, starts: list[int]) -> list[list[Row]]:
    """Walk the graph from several employees at once, each in a thread; return the
    objects that each thread met.
    """
    together = Barrier(len(starts))

    def walk_from(number: int) -> list[Row]:
        together.wait()
        return list(walk(company.employee(number)))

    with ThreadPoolExecutor(len(starts)) as pool:
        return list(pool.map(walk_from, starts))


def populate(database: Path, departments: int, employees: int, seed: int) -> None:
    """Make a company.

    The bosses form one random ring, so every employee can be reached from any other.
    """
    rng = random.Random(seed)
    ring = rng.sample(range(employees), employees)
    boss = dict(zip(ring, ring[1:] + ring[:1], strict=True))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO department VALUES (?, ?, ?)",
            [
                (number, f"department {number}", rng.randrange(employees))
                for number in range(departments)
            ],
        )
        connection.executemany(
            "INSERT INTO employee VALUES (?, ?, ?, ?)",
            [(n, f"employee {n}", n % departments, boss[n]) for n in range(employees)],
        )


def main(
    departments: int = 20, employees: int = 400, threads: int = 8, seed: int = 1
) -> None:
    with TemporaryDirectory() as folder:
        database = Path(folder, "company.sqlite")
        populate(database, departments, employees, seed)
        starts = random.Random(seed).sample(range(employees), threads)
        walks = walk_together(Company(database), starts)
    objects = set[Row]().union(*walks)
    print(
        f"{threads} threads walked a graph of {departments + employees} rows, "
        f"{sum(map(len, walks))} steps in all,"
    )
    print(f"and came across {len(objects)} objects.")


if __name__ == "__main__":
    main()
