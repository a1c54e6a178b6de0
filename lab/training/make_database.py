"""Make the bundled shop database: nine related tables, a few thousand rows, always the same content."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

from training import names

SEED = 20240229
SCHEMA = """
CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE suppliers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, city TEXT NOT NULL, country TEXT NOT NULL);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    category_id INTEGER NOT NULL REFERENCES categories (id),
    supplier_id INTEGER NOT NULL REFERENCES suppliers (id),
    price REAL NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE employees (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, department TEXT NOT NULL,
    city TEXT NOT NULL, salary INTEGER NOT NULL, hired_on TEXT NOT NULL,
    manager_id INTEGER REFERENCES employees (id));
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL, country TEXT NOT NULL, joined_on TEXT NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    employee_id INTEGER NOT NULL REFERENCES employees (id),
    ordered_on TEXT NOT NULL, status TEXT NOT NULL, total REAL NOT NULL);
CREATE TABLE order_items (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    product_id INTEGER NOT NULL REFERENCES products (id),
    quantity INTEGER NOT NULL, unit_price REAL NOT NULL);
CREATE TABLE shipments (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL UNIQUE REFERENCES orders (id),
    carrier TEXT NOT NULL, shipped_on TEXT NOT NULL, delivered_on TEXT, cost REAL NOT NULL);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products (id),
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5), written_on TEXT NOT NULL);
"""
TABLES = (
    "categories", "suppliers", "products", "employees", "customers", "orders", "order_items", "shipments", "reviews",
)  # fmt: skip
FIRST_DAY = date(2021, 1, 4)
LAST_DAY = date(2025, 6, 30)
N_SUPPLIERS, N_EMPLOYEES, N_CUSTOMERS, N_ORDERS, N_REVIEWS = 20, 24, 300, 1150, 520
BASE_PRICE = {
    "Kitchen": 28, "Garden": 35, "Toys": 24, "Office": 14, "Lighting": 60, "Furniture": 190,
    "Sports": 45, "Music": 130, "Bathroom": 30, "Travel": 70,
}  # fmt: skip

Row = tuple[object, ...]


def money(value: float) -> float:
    """Round to quarters, which binary floats hold exactly: sums print without stray digits."""
    return round(value * 4) / 4


def day(rng: random.Random, start: date, end: date = LAST_DAY) -> date:
    """Draw a day between two days, both included."""
    return start + timedelta(days=rng.randrange((end - start).days + 1))


def people(rng: random.Random, count: int) -> list[str]:
    """Draw distinct full names."""
    pairs = [f"{first} {last}" for first in names.FIRST for last in names.LAST]
    return rng.sample(pairs, count)


def rows(seed: int = SEED) -> dict[str, list[Row]]:
    """Return the rows of every table, drawn from one seed."""
    rng = random.Random(seed)
    places = [(city, country) for country, cities in names.CITIES.items() for city in cities]
    weights = [rng.randint(1, 9) for _ in places]
    everyone = people(rng, N_EMPLOYEES + N_CUSTOMERS)

    categories: list[Row] = [(i, name) for i, name in enumerate(names.CATEGORIES, 1)]
    supplier_names = [
        f"{word} {rng.choice(names.SUPPLIER_SUFFIXES)}" for word in names.SUPPLIER_WORDS[:N_SUPPLIERS]
    ]
    suppliers: list[Row] = [(i, name, *rng.choice(places)) for i, name in enumerate(supplier_names, 1)]

    products: list[tuple[int, str, int, int, float, int]] = []
    for number, (category, items) in enumerate(names.CATEGORIES.items(), 1):
        for item in items:
            for material in rng.sample(names.MATERIALS, 2):
                price = money(BASE_PRICE[category] * rng.uniform(0.4, 2.2))
                # the last two suppliers deliver nothing yet, so that "without products" has an answer
                supplier = rng.randint(1, N_SUPPLIERS - 2)
                stock = 0 if rng.random() < 0.08 else rng.randint(1, 240)
                products.append((len(products) + 1, f"{material} {item}", number, supplier, price, stock))

    employees: list[tuple[int, str, str, str, str, int, str, int | None]] = []
    departments = list(names.DEPARTMENTS)
    for i in range(1, N_EMPLOYEES + 1):
        department = "Sales" if i <= 9 else departments[i % len(departments)]
        title = names.DEPARTMENTS[department][0 if rng.random() < 0.7 else 1]
        hired = day(rng, date(2014, 1, 1), date(2024, 12, 31)).isoformat()
        salary = rng.randrange(28, 84) * 1000 + rng.choice((0, 250, 500))
        manager = None if i == 1 else rng.randint(1, min(i - 1, 5))
        city = rng.choice(("Lisbon", "Berlin", "Oslo", "Paris", "Toronto"))
        employees.append((i, everyone[i - 1], title, department, city, salary, hired, manager))

    customers: list[tuple[int, str, str, str, str, str]] = []
    for i, name in enumerate(everyone[N_EMPLOYEES:], 1):
        email = (
            f"{name.lower().replace(' ', '.')}@{rng.choice(('example.com', 'example.org', 'example.net'))}"
        )
        city, country = rng.choices(places, weights)[0]
        customers.append((i, name, email, city, country, day(rng, FIRST_DAY, date(2025, 3, 31)).isoformat()))

    # a tenth of the customers never order, and some order far more often than others
    buyers = [c for c in customers if rng.random() < 0.9]
    appetite = [rng.expovariate(1.0) + 0.15 for _ in buyers]
    popular = [rng.expovariate(1.0) + 0.1 if rng.random() < 0.96 else 0.0 for _ in products]
    sellers = [e for e in employees if e[3] == "Sales"]
    orders: list[Row] = []
    items: list[Row] = []
    shipments: list[Row] = []
    drawn = []
    for buyer in rng.choices(buyers, appetite, k=N_ORDERS):
        drawn.append((day(rng, date.fromisoformat(buyer[5])), buyer[0]))
    for order_id, (ordered, buyer_id) in enumerate(sorted(drawn), 1):
        total = 0.0
        for product in {
            p[0]: p for p in rng.choices(products, popular, k=rng.choice((1, 1, 2, 2, 3, 4, 5)))
        }.values():
            quantity = rng.choice((1, 1, 1, 2, 2, 3, 4, 6))
            price = money(product[4] * rng.choice((1, 1, 1, 0.9)))
            items.append((len(items) + 1, order_id, product[0], quantity, price))
            total += quantity * price
        recent = (LAST_DAY - ordered).days < 30
        status = rng.choices(names.STATUSES, (20, 40, 35, 5, 0) if recent else (82, 4, 2, 7, 5))[0]
        orders.append((order_id, buyer_id, rng.choice(sellers)[0], ordered.isoformat(), status, total))
        if status in ("delivered", "shipped", "returned"):
            shipped = ordered + timedelta(days=rng.randint(0, 5))
            arrived = (
                None if status == "shipped" else (shipped + timedelta(days=rng.randint(1, 12))).isoformat()
            )
            cost = money(rng.uniform(3, 30))
            carrier = rng.choices(names.CARRIERS, (5, 4, 3, 2, 1))[0]
            shipments.append((len(shipments) + 1, order_id, carrier, shipped.isoformat(), arrived, cost))

    reviews: list[Row] = []
    quality = [rng.uniform(2.2, 4.9) for _ in products]
    for i in range(1, N_REVIEWS + 1):
        item = rng.choice(items)
        order = orders[int(str(item[1])) - 1]
        rating = min(5, max(1, round(rng.gauss(quality[int(str(item[2])) - 1], 0.9))))
        written = day(rng, date.fromisoformat(str(order[3])))
        reviews.append((i, item[2], order[1], rating, written.isoformat()))
    return {
        "categories": categories, "suppliers": suppliers, "products": list(products), "employees": list(employees),
        "customers": list(customers), "orders": orders, "order_items": items, "shipments": shipments,
        "reviews": reviews,
    }  # fmt: skip


def make_database(path: Path, seed: int = SEED) -> Path:
    """Write the database to ``path``, replacing what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    try:
        connection.executescript(SCHEMA)
        for table, content in rows(seed).items():
            marks = ", ".join("?" * len(content[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", content)
        connection.commit()
        connection.execute("VACUUM")
    finally:
        connection.close()
    return path


def content_digest(path: Path) -> str:
    """Return the SHA-256 of schema and rows; the file's bytes also hold the SQLite version that wrote it."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        digest = hashlib.sha256()
        for line in connection.iterdump():
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()
    finally:
        connection.close()


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "runtime" / "embedded" / "shop.sqlite"
    print(make_database(target), content_digest(target))
