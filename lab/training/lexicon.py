"""Name the things of the shop: entities, their synonyms, and the conditions that narrow them down.

Notation of all phrases: ``{a|b}`` one of, ``[a]`` optional, ``<slot>`` filled in later, and ``word@s``,
``@have``, ``@are``, ``@do``, ``@were`` agree in number with the subject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from training.query import quote
from training.values import Values, mark


@dataclass(frozen=True)
class Entity:
    """A table whose rows questions are about; ``show`` is the column that names a row."""

    table: str
    show: str
    singular: tuple[str, ...]
    plural: tuple[str, ...]
    person: bool = False


def _entity(table: str, show: str, nouns: str, person: bool = False) -> Entity:
    singular, plural = zip(*(pair.split("/") for pair in nouns.split()), strict=True)
    return Entity(table, f"{table}.{show}", singular, plural, person)


ENTITIES = {
    e.table: e
    for e in (
        _entity("customers", "name", "customer/customers customer/customers customer/customers client/clients buyer/buyers shopper/shoppers", True),
        _entity("products", "name", "product/products product/products item/items article/articles"),
        _entity("employees", "name", "employee/employees employee/employees worker/workers colleague/colleagues", True),
        _entity("suppliers", "name", "supplier/suppliers supplier/suppliers vendor/vendors"),
        _entity("categories", "name", "category/categories category/categories"),
        _entity("orders", "id", "order/orders order/orders purchase/purchases"),
        _entity("shipments", "id", "shipment/shipments shipment/shipments delivery/deliveries parcel/parcels"),
        _entity("reviews", "id", "review/reviews review/reviews"),
    )
}  # fmt: skip
EXTRA_NOUNS = {
    "employees": (("staff member", "staff members"), ("member of staff", "members of staff")),
    "categories": (("product category", "product categories"), ("product group", "product groups")),
    "reviews": (("product review", "product reviews"), ("customer review", "customer reviews")),
}


@dataclass(frozen=True)
class Condition:
    """A filter on one column: wordings before or after the noun, and how its SQL is drawn."""

    column: str
    kind: str  # text, number, time, or fixed
    post: tuple[str, ...]
    pre: tuple[str, ...] = ()
    draw: Callable[[Values], str] | None = None
    span: tuple[float, float] = (0, 0)
    sql: str = ""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


PLACE_CITY = """
    from <v>
    in <v>
    {living|based|located} in <v>
    <rel> {live@s|@are based|@are located} in <v>
    whose city is <v>
    {from|in} the city of <v>
"""
PLACE_COUNTRY = """
    from <v>
    in <v>
    {living|based|located} in <v>
    <rel> {live@s in|come@s from|@are from|@are based in} <v>
    whose country is <v>
    with <v> as {their country|country}
"""
CITY_NAMED = _lines("whose city is <v>\n{from|in} the city of <v>\nwith <v> as {their city|city}")


CONDITIONS: dict[str, tuple[Condition, ...]] = {
    "customers": (
        Condition("customers.city", "text", _lines(PLACE_CITY), draw=Values.city),
        Condition("customers.city", "text", CITY_NAMED, draw=Values.any_city),
        Condition("customers.country", "text", _lines(PLACE_COUNTRY), draw=Values.country),
        Condition("customers.joined_on", "time", _lines("""
            <rel> {joined|signed up|registered} <t>
            <rel> became {customers|clients} <t>
            <rel> have been with us <t>
            with an account created <t>
            <rel> {created|opened} an account <t>
        """)),
    ),
    "products": (
        Condition("categories.name", "text", _lines("""
            in <v>
            in the <v> {category|group|section|range}
            {of|from} {the category|category} <v>
            {belonging to|from|under} the <v> category
            <rel> belong@s to <v>
            whose category is <v>
        """), ("<v>", "<v>", "<v>"), draw=Values.category),
        Condition("suppliers.name", "text", _lines("""
            from <v>
            {supplied|delivered|provided|made} by <v>
            <rel> {come@s from|@are supplied by} [the supplier] <v>
            we {buy|get|source} from <v>
            whose {supplier|vendor} is <v>
        """), draw=Values.supplier),
        Condition("products.price", "number", _lines("""
            priced <c>
            costing <c>
            <rel> cost@s <c>
            with a price {of|} <c>
            whose price is <c>
            <rel> {sell@s|go@es} for <c>
            <rel> @are priced <c>
        """), span=(4, 420)),
        Condition("products.price", "number>", _lines("""
            more expensive than <k>
            {pricier|dearer} than <k>
            <rel> @are more expensive than <k>
            whose price exceeds <k>
        """), span=(4, 420)),
        Condition("products.price", "number<", _lines("""
            cheaper than <k>
            less expensive than <k>
            <rel> @are cheaper than <k>
        """), span=(4, 420)),
        Condition("products.stock", "number", _lines("""
            with <c> {units|pieces|items} [left] in stock
            with <c> in stock
            <rel> @have <c> {units|pieces} {left|in stock|available}
            with a stock {of|level of} <c>
            whose stock is <c>
        """), span=(2, 240)),
        Condition("products.stock", "fixed", _lines("""
            out of stock
            <rel> @are {out of stock|sold out|unavailable}
            with {no|zero} stock [left]
            we have run out of
            <rel> @are no longer in stock
        """), ("sold-out", "out-of-stock"), sql="products.stock = 0"),
        Condition("products.stock", "fixed", _lines("""
            in stock
            <rel> @are {in stock|available}
            still in stock
        """), ("available",), sql="products.stock > 0"),
    ),
    "employees": (
        Condition("employees.department", "text", _lines("""
            in [the] <v> [department]
            in the <v> {department|team}
            {working|<rel> work@s} in <v>
            from [the] <v> [department|team]
            <rel> {belong@s to|@are in} the <v> {department|team}
            whose department is <v>
        """), ("<v>",), draw=Values.department),
        Condition("employees.city", "text", _lines("""
            {from|in} <v>
            {working|based|<rel> work@s} in <v>
            <rel> {@are based|live@s} in <v>
            in {our|the} <v> office
            whose city is <v>
        """), draw=Values.city),
        Condition("employees.title", "text", _lines("""
            with the {title|job title|position|role} <v>
            whose {title|job title|position|role} is <v>
            {working|<rel> work@s|employed} as <v>
        """), draw=Values.title),
        Condition("employees.salary", "number", _lines("""
            earning <c>
            <rel> {earn@s|make@s|@are paid} <c>
            with a salary {of|} <c>
            whose {salary|pay} is <c>
            paid <c>
            <rel> get@s <c> a year
        """), span=(26000, 90000)),
        Condition("employees.hired_on", "time", _lines("""
            {hired|<rel> were hired} <t>
            <rel> {joined|started|joined the company} <t>
            {employed|taken on} <t>
            <rel> {started|began} {working|work} here <t>
            <rel> were {employed|recruited} <t>
        """)),
    ),
    "suppliers": (
        Condition("suppliers.city", "text", _lines(PLACE_CITY), draw=Values.city),
        Condition("suppliers.country", "text", _lines(PLACE_COUNTRY), draw=Values.country),
        Condition("suppliers.city", "text", CITY_NAMED, draw=Values.any_city),
    ),
    "orders": (
        Condition("orders.status", "text", _lines("""
            with [the|a] status <v>
            whose status is <v>
            <rel> @are [currently|still] <v>
            <rel> {were|got} <v>
            marked [as] <v>
            in status <v>
        """), ("<v>", "<v>"), draw=lambda values: values.rng.choice(("delivered", "shipped", "pending", "cancelled", "returned"))),
        Condition("orders.ordered_on", "time", _lines("""
            placed <t>
            made <t>
            <t>
            <rel> were {placed|made} <t>
            dated <t>
            <rel> came in <t>
            we {received|got} <t>
        """)),
        Condition("orders.total", "number", _lines("""
            with a total {of|} <c>
            worth <c>
            of <c>
            totalling <c>
            whose {total|value} is <c>
            with a value of <c>
            for <c>
        """), span=(10, 3000)),
        Condition("orders.total", "number>", _lines("larger than <k>\nbigger than <k>\nexceeding <k>"), span=(10, 3000)),
        Condition("orders.total", "number<", _lines("smaller than <k>"), span=(10, 3000)),
        Condition("customers.name", "text", _lines("""
            {placed|made} by <v>
            {by|from|of} <v>
            from [the] {customer|client} <v>
            <v> {placed|made}
        """), draw=lambda values: values.person("customers")),
        Condition("customers.country", "text", _lines("""
            from <v>
            {from|by|of} {customers|clients|buyers} {in|from|based in} <v>
            {placed|made} by {customers|clients} {in|from|living in} <v>
            <rel> {come@s|came} from <v>
            placed in <v>
        """), draw=Values.country),
        Condition("customers.city", "text", _lines("""
            from <v>
            {from|by|of} {customers|clients|buyers} {in|from|living in} <v>
            {placed|made} by {customers|clients} {in|from} <v>
        """), draw=Values.city),
        Condition("employees.name", "text", _lines("""
            handled by <v>
            {taken|processed|managed|looked after} by [the employee] <v>
            <rel> [the] {employee|salesperson|seller} <v> handled
            sold by <v>
            <v> {took care of|was responsible for|dealt with|processed}
        """), draw=lambda values: values.person("employees")),
    ),
    "shipments": (
        Condition("shipments.carrier", "text", _lines("""
            {by|with|via} <v>
            {sent|shipped|carried|delivered|handled} {by|with|via} <v>
            whose carrier is <v>
            using [the carrier] <v>
            <rel> {went|were sent} {with|via} <v>
        """), ("<v>",), draw=Values.carrier),
        Condition("shipments.shipped_on", "time", _lines("""
            {shipped|sent|dispatched} <t>
            <rel> {were shipped|were sent|went out|left} <t>
            <t>
        """)),
        Condition("shipments.delivered_on", "time", _lines("""
            {delivered|received} <t>
            <rel> {arrived|were delivered} <t>
            arriving <t>
        """)),
        Condition("shipments.cost", "number", _lines("""
            costing <c>
            <rel> cost@s <c>
            with {a cost|shipping costs} of <c>
            whose cost is <c>
        """), span=(3, 30)),
        Condition("shipments.delivered_on", "fixed", _lines("""
            <rel> {have not|haven't|have not yet} been delivered [yet]
            not [yet] delivered
            <rel> {have not|haven't} arrived [yet]
            still {on the way|in transit|on the road|underway}
            without a delivery date
        """), ("undelivered",), sql="shipments.delivered_on IS NULL"),
    ),
    "reviews": (
        Condition("reviews.rating", "number", _lines("""
            with a rating {of|} <c>
            with <c> stars
            rated <c>
            giving <c> stars
            whose rating is <c>
        """), span=(1, 6)),
        Condition("reviews.written_on", "time", _lines("""
            {written|posted|left|submitted} <t>
            <rel> were {written|posted|submitted} <t>
            <t>
            from customers <t>
        """)),
        Condition("products.name", "text", _lines("""
            {of|for|about|on} [the] <v>
            {of|for|about|on} the {product|item} <v>
            <rel> mention@s <v>
            the <v> {got|received|has}
        """), draw=Values.product),
        Condition("customers.name", "text", _lines("""
            {by|from} <v>
            {written|posted|left} by [the customer] <v>
            <v> {wrote|posted|left}
        """), draw=lambda values: values.person("customers")),
    ),
    "categories": (),
}  # fmt: skip

# verb-like words for numbers; an empty operator marks an equality
COMPARE = {
    ">": ("more than <k>", "over <k>", "above <k>", "greater than <k>", "higher than <k>", "more than <k>"),
    "<": ("less than <k>", "under <k>", "below <k>", "lower than <k>", "fewer than <k>", "less than <k>"),
    ">=": ("at least <k>", "<k> or more", "no less than <k>", "a minimum of <k>"),
    "<=": ("at most <k>", "<k> or less", "no more than <k>", "up to <k>", "a maximum of <k>"),
    "=": ("exactly <k>", "<k>"),
    "between": ("between <k> and <k2>", "from <k> to <k2>", "between <k> and <k2>"),
}
TIMES = {
    "year": ("in <y>", "in <y>", "during <y>", "in the year <y>", "throughout <y>"),
    "month": ("in <m>", "during <m>", "in the month of <m>"),
    "after year": ("after <y>", "later than <y>"),
    "since year": (
        "since <y>",
        "from <y> on",
        "from <y> onwards",
        "in <y> or later",
        "since the start of <y>",
    ),
    "before year": ("before <y>", "prior to <y>", "earlier than <y>"),
    "after day": ("after <d>", "later than <d>"),
    "since day": ("since <d>", "on or after <d>", "from <d> on"),
    "before day": ("before <d>", "prior to <d>", "earlier than <d>"),
    "on day": ("on <d>",),
    "years": ("between <y> and <y2>", "from <y> to <y2>", "from <y> through <y2>"),
    "days": ("between <d> and <d2>", "from <d> to <d2>"),
}


def time_condition(values: Values, column: str) -> tuple[str, str]:
    """Draw a wording of a period and its condition on a date column."""
    rng = values.rng
    kind = rng.choices(list(TIMES), (30, 12, 8, 8, 8, 4, 4, 4, 3, 6, 4))[0]
    text = rng.choice(TIMES[kind])
    year, day, (month, month_iso) = values.year(), values.day(), values.month()
    year2 = year + rng.randint(1, 3)
    day, day2 = sorted((day, values.day()))
    text = text.replace("<y>", mark(year)).replace("<y2>", mark(year2)).replace("<m>", mark(month))
    text = text.replace("<d>", mark(day)).replace("<d2>", mark(day2))
    sql = {
        "year": f"strftime('%Y', {column}) = '{year}'",
        "month": f"strftime('%Y-%m', {column}) = '{month_iso}'",
        "after year": f"{column} > '{year}-12-31'",
        "since year": f"{column} >= '{year}-01-01'",
        "before year": f"{column} < '{year}-01-01'",
        "after day": f"{column} > '{day}'",
        "since day": f"{column} >= '{day}'",
        "before day": f"{column} < '{day}'",
        "on day": f"{column} = '{day}'",
        "years": f"strftime('%Y', {column}) BETWEEN '{year}' AND '{year2}'",
        "days": f"{column} BETWEEN '{day}' AND '{day2}'",
    }[kind]
    return text, sql


MONEY = (
    "products.price",
    "employees.salary",
    "orders.total",
    "shipments.cost",
)  # as a column or inside an aggregate


def number_condition(
    values: Values, span: tuple[float, float], kind: str = "number", *, money: bool = False
) -> tuple[str, str]:
    """Draw a wording of a comparison and its SQL after the operand (``> 5``)."""
    rng = values.rng
    op = kind[6:] or rng.choices(list(COMPARE), (30, 30, 14, 8, 6, 10))[0]
    drawn = sorted((values.amount(*span), values.amount(*span)), key=lambda pair: float(pair[1]))
    (text, number), (text2, number2) = drawn
    if op == "between" and number == number2:
        op = ">"
    phrase = "<k>" if kind[6:] else rng.choice(COMPARE[op])
    if money:
        text, text2 = values.priced(text), values.priced(text2)
    phrase = phrase.replace("<k>", mark(text)).replace("<k2>", mark(text2))
    return phrase, f"BETWEEN {number} AND {number2}" if op == "between" else f"{op} {number}"


def draw_condition(values: Values, condition: Condition) -> tuple[str, str, str, str]:
    """Draw one condition: wording before the noun, wording after it, SQL, table to join."""
    rng = values.rng
    table = condition.column.partition(".")[0]
    before = bool(condition.pre) and rng.random() < len(condition.pre) / (
        len(condition.pre) + len(condition.post)
    )
    text = rng.choice(condition.pre if before else condition.post)
    sql = condition.sql
    if condition.kind == "text":
        assert condition.draw is not None
        value = condition.draw(values)
        text, sql = text.replace("<v>", mark(value)), f"{condition.column} = {quote(value)}"
    elif condition.kind == "time":
        phrase, sql = time_condition(values, condition.column)
        text = text.replace("<t>", phrase)
    elif condition.kind.startswith("number"):
        phrase, tail = number_condition(
            values, condition.span, condition.kind, money=condition.column in MONEY
        )
        text, sql = text.replace("<c>", phrase).replace("<k>", phrase), f"{condition.column} {tail}"
    return (text, "", sql, table) if before else ("", text, sql, table)
