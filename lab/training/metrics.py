"""Word the measures: what customers spent, what products earned, what things cost.

A measure belongs to a subject (customers, countries, years, …). ``most`` and ``least`` are verb phrases after
a subject, ``adjective_*`` stand before it, ``noun`` after "by", ``compare`` are restrictions with ``<c>``,
``single`` are whole questions about one named subject ``<v>``, ``each`` about all of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """What a measure is taken of; ``group`` is the key, ``show`` the column in the answer."""

    key: str
    base: str
    show: str
    group: str
    singular: tuple[str, ...]
    plural: tuple[str, ...]
    value: str = ""  # the method of Values that names one, or "person"
    entity: str = ""  # conditions of this entity may narrow it
    person: bool = False
    alias: str = ""


def _subject(
    key: str, base: str, column: str, singular: str, plural: str, value: str, **more: object
) -> Subject:
    group = more.pop("group", column)
    return Subject(
        key, base, column, str(group), tuple(singular.split("|")), tuple(plural.split("|")), value, **more
    )  # type: ignore[arg-type]


SUBJECTS = {
    s.key: s
    for s in (
        _subject("customers", "customers", "customers.name", "customer|customer|client|buyer|shopper", "customers|customers|clients|buyers|shoppers", "person", group="customers.id", entity="customers", person=True),
        _subject("products", "products", "products.name", "product|product|item|article", "products|products|items|articles", "product", group="products.id", entity="products"),
        _subject("categories", "categories", "categories.name", "category|category|product category|product group", "categories|categories|product categories|product groups", "category", group="categories.id"),
        _subject("suppliers", "suppliers", "suppliers.name", "supplier|supplier|vendor", "suppliers|suppliers|vendors", "supplier", group="suppliers.id", entity="suppliers"),
        _subject("employees", "employees", "employees.name", "employee|employee|worker|colleague|staff member", "employees|employees|workers|colleagues|staff members", "person", group="employees.id", entity="employees", person=True),
        _subject("countries", "customers", "customers.country", "country|country|customer country", "countries|countries|customer countries", "country"),
        _subject("cities", "customers", "customers.city", "city|city|town", "cities|cities|towns", "city"),
        _subject("departments", "employees", "employees.department", "department|department|team", "departments|departments|teams", "department"),
        _subject("titles", "employees", "employees.title", "job title|title|position|role", "job titles|titles|positions|roles", "title"),
        _subject("statuses", "orders", "orders.status", "status|order status", "statuses|order statuses", ""),
        _subject("carriers", "shipments", "shipments.carrier", "carrier|carrier|shipping company|delivery company", "carriers|carriers|shipping companies|delivery companies", "carrier"),
        _subject("supplier countries", "suppliers", "suppliers.country", "country|supplier country", "countries|supplier countries", ""),
        _subject("years", "orders", "strftime('%Y', orders.ordered_on)", "year|year|calendar year", "years|years|calendar years", "", group="year", alias="year"),
        _subject("months", "orders", "strftime('%Y-%m', orders.ordered_on)", "month", "months", "", group="month", alias="month"),
        _subject("joining years", "customers", "strftime('%Y', customers.joined_on)", "year", "years", "", group="year", alias="year"),
        # single rows with a number of their own
        _subject("orders", "orders", "orders.id", "order|order|purchase", "orders|orders|purchases", "", entity="orders"),
        _subject("shipments", "shipments", "shipments.id", "shipment|delivery|parcel", "shipments|deliveries|parcels", "", entity="shipments"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """One number per subject; ``plain`` is a column of its own row, else an aggregate over joins."""

    subject: str
    sql: str
    alias: str
    joins: tuple[str, ...]
    span: tuple[float, float]
    phrases: dict[str, tuple[str, ...]]
    plain: bool = False
    time: str = ""  # the date column a period applies to

    def get(self, kind: str) -> tuple[str, ...]:
        """Return the wordings of a kind, perhaps none."""
        return self.phrases.get(kind, ())


MEASURES: list[Measure] = []


def add_measure(
    subject: str, sql: str, alias: str, joins: str, span: tuple[float, float], text: str,
    *, plain: bool = False, time: str = "",
) -> None:  # fmt: skip
    """Read ``kind: phrase; phrase`` lines; a line that begins with a blank continues the last kind."""
    phrases: dict[str, list[str]] = {}
    kind = ""
    for line in text.strip().splitlines():
        head, colon, rest = line.strip().partition(": ")
        if colon and head in KINDS:
            kind, line = head, rest
        phrases.setdefault(kind, []).extend(p.strip() for p in line.strip().split(";") if p.strip())
    MEASURES.append(
        Measure(
            subject,
            sql,
            alias,
            tuple(joins.split()),
            span,
            {k: tuple(v) for k, v in phrases.items()},
            plain,
            time,
        )
    )


KINDS = ("most", "least", "adjective_most", "adjective_least", "noun", "compare", "single", "each")
SPENT = "SUM(orders.total)"
SOLD = "SUM(order_items.quantity)"
EARNED = "SUM(order_items.quantity * order_items.unit_price)"
COUNT = "COUNT(*)"
ORDERED = "orders.ordered_on"

add_measure(
    "customers",
    SPENT,
    "spent",
    "orders",
    (100, 12000),
    """
most: spent the most [money|in total|overall]; {@have|@have} spent the most [money] [with us]; paid [us] the most [money]; @have the {highest|largest|biggest} {total spending|total spend|spending|total order value|lifetime value|overall spend}
    brought in the most {money|revenue}; {generated|contributed} the most {revenue|money|sales|income}; gave us the most {money|revenue|business}; @are worth the most [to us]
    {shelled out|handed over|laid out} the most [money]; bought [goods] for the {most|highest amount of} money; bought the most by value; made us the most money; account@s for the most {revenue|sales}; @are the {biggest|top|highest} {spender@s|spenders}
least: spent the least [money|in total|overall]; @have spent the least [money] [with us]; paid [us] the least [money]; @have the {lowest|smallest} {total spending|total spend|spending|total order value|lifetime value}
    brought in the least {money|revenue}; {generated|contributed} the least {revenue|money}; @are worth the least; {shelled out|handed over} the least [money]
adjective_most: highest-spending; top-spending; biggest-spending; most valuable; best-paying; best; most profitable; highest spending; top spending
adjective_least: lowest-spending; least valuable; lowest spending; worst-paying; least profitable
noun: total spending; [total] spend; {amount|money|total} spent; [total] order value; revenue; {sales|turnover}; how much they {spent|paid|have spent}; {total|overall} purchases; lifetime value; spending; total amount {spent|paid}; expenditure; money paid; sum of [their] {orders|purchases}; total purchase {amount|value}
compare: spent <c>; @have spent <c> [in total|overall|altogether]; paid <c> [in total]; with [a] total {spending|spend|purchases} {of|} <c>; whose {total spending|total spend|spending} is <c>; whose {orders|purchases} {add up|amount|come} to <c>; with a lifetime value of <c>; @have a total spend of <c>; brought in <c>
single: How much did <v> spend [in total|overall|altogether]?; How much money did <v> spend [in our shop|with us]?; How much has <v> {spent|paid} [so far|in total|with us]?; {What is|What's} <v>'s total {spending|spend}?; What is the total {spending|spend|order value} of <v>?; What did <v> spend [in total|altogether]?; [Show|Show me|Give me] the {total amount|amount|total|money} spent by <v>; What do <v>'s {orders|purchases} {add up|come} to?; Total {spend|spending} {of|by|for} <v>; How much {money|revenue} have we {made|earned|taken} from <v>?; {Sum up|Add up} {the|all} {orders|purchases} of <v>; What is the total value of <v>'s {orders|purchases}?; How much {revenue|money} came from <v>?; How much did <v> pay [us] [in total]?; I want to know how much <v> {spent|has spent}; Tell me how much <v> {spent|paid} [in total]; What is {the customer|customer} <v> worth to us?; How much {revenue|money} did <v> bring in?; <v>: total spending; Calculate the {total|sum} <v> {spent|paid}
each: How much did each customer spend?; How much has {each|every} {customer|client} {spent|paid}?; What did {each|every} {customer|client} spend [in total]?; Show what every customer {spent|has spent}; For each customer, how much did they spend?; List {all|the} customers {with|and} {how much they spent|the amount they spent|their total spending}
""",
    time=ORDERED,
)
add_measure(
    "customers",
    COUNT,
    "number",
    "orders",
    (2, 15),
    """
most: placed the most orders; ordered [from us] {the most often|most often|most frequently}; made the most {orders|purchases}; @have the {most orders|highest number of orders|largest number of orders}; {bought from us|shopped with us|came back} most often; @have placed the most orders; @have {ordered|bought} {the most often|most often}
least: placed the fewest orders; ordered {least often|least frequently}; made the fewest {orders|purchases}; @have the {fewest orders|lowest number of orders|smallest number of orders}
adjective_most: most active; most frequent; most loyal; busiest
adjective_least: least active; least frequent; least loyal
noun: number of orders; order count; {orders|purchases} {placed|made}; how many orders they {placed|made|have}; how often they {ordered|bought}; number of {orders placed|purchases}; count of orders; order frequency
compare: placed <c> orders; ordered <c> times; made <c> {orders|purchases}; @have <c> orders; with <c> {orders|purchases}; @have placed <c> orders
single: How many orders did <v> {place|make}?; How many orders {has <v> placed|does <v> have|are there from <v>|were placed by <v>}?; How often did <v> {order|buy from us|shop with us}?; How many times did <v> order [something]?; {What is the number|What's the number} of orders {by|from|of} <v>?; Number of orders {placed by|of|from} <v>; Count the orders {of|from|by|placed by} <v>; How many purchases did <v> make?; How many times has <v> {ordered|bought something}?; Tell me how many orders <v> {placed|made|has}; <v>'s order count; How often has <v> ordered?
each: How many orders did each customer {place|make}?; How many orders does {each|every} customer have?; How often did {each|every} {customer|client} order?; For each customer, {count the orders|how many orders are there}?; List {all|the} customers {with|and} {how many orders they placed|their number of orders}
""",
    time=ORDERED,
)
add_measure(
    "customers",
    "ROUND(AVG(orders.total), 2)",
    "average",
    "orders",
    (20, 1500),
    """
most: @have the {highest|largest|biggest} average order [value|total]; spent the most per order; spend@s the most per order [on average]; pay@s the most per purchase; place@s the {largest|biggest} orders on average
least: @have the {lowest|smallest} average order [value]; spent the least per order; place@s the smallest orders on average
noun: average order [value|total|size]; [average] spend per order; mean order value; [average] order size
compare: with an average order [value] {of|} <c>; whose average order [value] is <c>; spend@s <c> per order [on average]
single: What is {the average order value of <v>|<v>'s average order value}?; How much does <v> spend per order [on average]?; Average order {value|size|total} of <v>; How {large|big} is <v>'s average order?; What does <v> spend on average per order?; On average, how much does <v> {spend|pay} per order?; What is the mean order value for <v>?
each: What is the average order value {of|for} each customer?; How much does {each|every} customer spend per order on average?
""",
    time=ORDERED,
)
add_measure(
    "customers",
    COUNT,
    "number",
    "reviews",
    (1, 6),
    """
most: wrote the most reviews; @have written the most reviews; left the most reviews; posted the most reviews; reviewed {the most products|most often}; @have the most reviews
least: wrote the fewest reviews; left the fewest reviews
noun: number of reviews [written]; review count; reviews {written|posted|left}; how many reviews they {wrote|left}
compare: wrote <c> reviews; with <c> reviews; @have written <c> reviews; left <c> reviews; posted <c> reviews
single: How many reviews did <v> {write|post|leave}?; How many reviews {has <v> written|are from <v>|were written by <v>}?; Number of reviews {by|from|written by} <v>; How often did <v> review {something|a product}?; Count the reviews {by|from|of} <v>; How many products did <v> review?
each: How many reviews did each customer {write|leave|post}?; How many reviews has {each|every} customer written?
""",
    time="reviews.written_on",
)
add_measure(
    "customers",
    SOLD,
    "units",
    "orders order_items",
    (2, 90),
    """
most: bought the most {items|units|pieces|products}; @have bought the most {items|units|products}; purchased the most {items|units|products}; bought the {largest|highest} {quantity|number of items}
least: bought the fewest {items|units|pieces|products}; purchased the fewest {items|units|products}
noun: number of {items|units|pieces} bought; {units|items} {bought|purchased}; quantity {bought|purchased}; how many {items|units} they bought
compare: bought <c> {items|units|pieces}; purchased <c> {items|units|pieces}; @have bought <c> {items|units}
single: How many {items|units|pieces} did <v> {buy|purchase}?; How many {items|units|pieces} has <v> bought?; {Number|Quantity} of {items|units} {bought|purchased} by <v>; What quantity did <v> buy?
each: How many {items|units|pieces} did each customer buy?; How many {items|units} has {each|every} customer bought?
""",
    time=ORDERED,
)

add_measure(
    "products",
    SOLD,
    "units",
    "order_items",
    (5, 120),
    """
most: sold the most [units|pieces|copies]; sold best; @are sold most [often]; sell@s {best|the most|most}; @have sold the most [units]; @were bought the most; @have the {highest|most} {unit sales|units sold}; @were sold in the {largest|highest} {quantity|numbers}; @are bought {the most|most often|most}
least: sold the fewest [units|pieces]; sold worst; sold the least; sell@s {worst|the least}; @have the {lowest|fewest} {unit sales|units sold}; @are bought {the least|least often}; @were sold least
adjective_most: best-selling; best selling; top-selling; most sold; most popular; most bought; most purchased; top selling; bestselling
adjective_least: worst-selling; least popular; least sold; slowest-selling; worst selling; least bought
noun: {units|pieces|items} sold; number of units sold; quantity sold; unit sales; sales volume; how many {were|units were} sold; how often they were {sold|bought}; number sold; popularity; [total] quantity; sold {units|quantity}; total units sold
compare: sold <c> {units|pieces|times|copies}; with <c> {units|pieces} sold; @were {sold|bought} <c> times; @have sold <c> {units|pieces}; of which we sold <c> {units|pieces}
single: How many <v>s {were sold|have been sold|did we sell|have we sold}?; How many {units|pieces} of [the] <v> {were sold|did we sell|have we sold|have been sold|were bought}?; How often was [the] <v> {sold|bought}?; How many times was the <v> sold?; What quantity of [the] <v> {was|has been} sold?; {Units|Number of units|Quantity} sold of [the] <v>; How many units did [the] <v> sell?; Tell me how many [units of] <v> we sold; Unit sales of [the] <v>; How well did the <v> sell in units?
each: How many units of each product {were sold|did we sell|have been sold}?; How {often|many times} was {each|every} product sold?; How many units did each product sell?; For each product, how many units were sold?
""",
    time=ORDERED,
)
add_measure(
    "products",
    EARNED,
    "revenue",
    "order_items",
    (100, 9000),
    """
most: earned [us] the most [money]; brought in the most {money|revenue}; generated the {most|highest} {revenue|sales|income|turnover}; made [us] the most money; @have the {highest|largest} {revenue|turnover|sales|sales value}; produced the most revenue
least: earned [us] the least [money]; brought in the least {money|revenue}; generated the {least|lowest} {revenue|sales|turnover}; made [us] the least money; @have the lowest {revenue|turnover|sales}
adjective_most: highest-grossing; highest-earning; top-earning; most lucrative; top-grossing
adjective_least: lowest-grossing; lowest-earning; least lucrative
noun: revenue; total revenue; {sales value|sales|turnover}; {money|income} {earned|generated|brought in}; how much {they earned|money they made}; earnings; {revenue|income} generated; total sales
compare: earned <c>; generated <c> [in {revenue|sales}]; brought in <c>; with [a] {revenue|turnover} {of|} <c>; whose revenue is <c>; made [us] <c>
single: How much {revenue|money} did [the] <v> {make|generate|earn|bring in}?; What is the [total] revenue {of|from} [the] <v>?; How much did we {earn|make} with [the] <v>?; [Total] revenue {of|from|for} [the] <v>; How much money did we make {from|with|selling} [the] <v>?; What are the total sales of [the] <v>?; What did the <v> earn us?; What is the turnover of [the] <v>?
each: How much {revenue|money} did each product {make|generate|bring in|earn}?; What is the revenue of {each|every} product?; For each product, what is the revenue?
""",
    time=ORDERED,
)
add_measure(
    "products",
    "ROUND(AVG(reviews.rating), 2)",
    "average",
    "reviews",
    (1.5, 4.9),
    """
most: @have the {best|highest} {average rating|rating|ratings|reviews|review score}; @are rated {best|highest}; got the {best|highest} {ratings|average rating|reviews}; received the {best|highest} {ratings|reviews}; {customers|people} like most; @have the most stars on average
least: @have the {worst|lowest} {average rating|rating|ratings|reviews|review score}; @are rated {worst|lowest}; got the {worst|lowest} {ratings|average rating|reviews}; {customers|people} like least
adjective_most: best-rated; top-rated; highest-rated; best reviewed; best rated; best-reviewed; highest rated; top rated
adjective_least: worst-rated; lowest-rated; worst reviewed; worst rated; lowest rated
noun: average rating; rating; [average] review score; mean rating; average stars; {customer|review} rating; average review
compare: with an average rating {of|} <c>; whose [average] rating is <c>; @have an average rating of <c>; @are rated <c> on average
single: What is the average rating of [the] <v>?; How is [the] <v> rated [on average]?; What rating does [the] <v> have?; Average rating {of|for} [the] <v>; How good are the reviews of [the] <v>?; How do customers rate [the] <v>?; What is the mean review score of [the] <v>?; How many stars does [the] <v> get on average?; What's [the] <v>'s average rating?
each: What is the average rating of {each|every} product?; How is each product rated [on average]?
""",
)
add_measure(
    "products",
    COUNT,
    "number",
    "reviews",
    (2, 12),
    """
most: @have the {most reviews|highest number of reviews}; got the most reviews; received the most reviews; @were reviewed {most often|the most}; collected the most reviews
least: @have the {fewest reviews|lowest number of reviews}; got the fewest reviews; received the fewest reviews; @were reviewed {least often|the least}
adjective_most: most reviewed; most-reviewed; most often reviewed
adjective_least: least reviewed; least-reviewed
noun: number of reviews; review count; reviews received; how many reviews they {got|have}; how often they were reviewed
compare: with <c> reviews; @have <c> reviews; got <c> reviews; received <c> reviews; @were reviewed <c> times
single: How many reviews does [the] <v> have?; How many reviews {are there|were written} {for|of|about} [the] <v>?; How many reviews did [the] <v> {get|receive}?; Number of reviews {of|for} [the] <v>; How often was [the] <v> reviewed?; Count the reviews {of|for} [the] <v>; How many people reviewed [the] <v>?
each: How many reviews does {each|every} product have?; How many reviews did each product {get|receive}?
""",
)
add_measure(
    "categories",
    COUNT,
    "number",
    "products",
    (2, 20),
    """
most: @have the {most products|most items|highest number of products|largest number of products}; contain@s the most {products|items}; include@s the most products; offer@s the {most products|largest choice}; @are made up of the most products
least: @have the {fewest products|fewest items|lowest number of products}; contain@s the fewest {products|items}; offer@s the fewest products
adjective_most: largest; biggest
adjective_least: smallest
noun: number of {products|items|articles}; product count; how many products they {have|contain}; count of products
compare: with <c> {products|items}; @have <c> {products|items}; contain@s <c> {products|items}
single: How many {products|items|articles} {are in|are there in|does} the {category <v>|<v> category} [have]?; How many products {are in|belong to} <v>?; How many <v> {products|items} {are there|do we have|do we sell|do we offer}?; Number of {products|items} in [the category] <v>; Count the {products|items} in [the] <v> [category]; How many products does the <v> category {have|contain}?
each: How many {products|items} are {there in|in} each category?; How many products does {each|every} category {have|contain}?; Count the products in {each|every} category; For each category, {how many products are there|count the products}?
""",
)
add_measure(
    "categories",
    SOLD,
    "units",
    "products order_items",
    (50, 1500),
    """
most: sold the most [units|items|products]; sold best; sell@s {best|the most units}; @have the {highest|most} {unit sales|units sold}
least: sold the fewest [units|items|products]; sold worst; @have the {lowest|fewest} {unit sales|units sold}; sell@s {worst|the fewest units}
adjective_most: best-selling; most popular; top-selling
adjective_least: worst-selling; least popular
noun: {units|items} sold; number of units sold; quantity sold; unit sales; sales volume; how many units were sold
compare: sold <c> {units|items}; with <c> units sold
single: How many {units|items} {were sold|did we sell|have we sold} in [the] <v> [category]?; How many <v> {products|items} were sold?; Units sold in [the category] <v>
each: How many {units|items} {were sold|did we sell} in each category?; How many units were sold per category?
""",
    time=ORDERED,
)
add_measure(
    "categories",
    EARNED,
    "revenue",
    "products order_items",
    (2000, 60000),
    """
most: earned [us] the most [money]; brought in the most {money|revenue}; generated the {most|highest} {revenue|sales|turnover}; made [us] the most money; @have the {highest|largest} {revenue|turnover|sales}
least: earned [us] the least [money]; brought in the least {money|revenue}; generated the {least|lowest} {revenue|sales|turnover}; made [us] the least money; @have the lowest {revenue|turnover|sales}
adjective_most: highest-grossing; highest-earning; most lucrative; top-earning; most profitable
adjective_least: lowest-grossing; lowest-earning; least lucrative
noun: revenue; total revenue; {sales value|sales|turnover}; {money|income} {earned|generated|brought in}; how much {they earned|money they made}; earnings; total sales; income
compare: earned <c>; generated <c> [in {revenue|sales}]; brought in <c>; with [a] {revenue|turnover} {of|} <c>; made [us] <c>
single: How much {revenue|money} did [the] <v> [category|products] {make|generate|earn|bring in}?; What is the [total] revenue {of|from|in} [the] <v> [category]?; How much did we {earn|make} {with|from} <v> [products|items]?; [Total] revenue {of|from|for} the {<v> category|category <v>}; How much money did we make {from|with|selling} <v> products?; What are the total sales of the <v> category?; How much did customers spend on <v> [products|items]?
each: How much {revenue|money} did each category {make|generate|bring in|earn}?; What is the revenue of {each|every} category?; How much did customers spend in each category?; For each category, what is the revenue?
""",
    time=ORDERED,
)
add_measure(
    "categories",
    "ROUND(AVG(products.price), 2)",
    "average",
    "products",
    (20, 300),
    """
most: @have the highest average {price|product price}; @are the most expensive on average; @have the most expensive products on average
least: @have the lowest average {price|product price}; @are the cheapest on average; @have the cheapest products on average
noun: average price; mean price; average product price; [average] price of their products
compare: with an average price {of|} <c>; whose average price is <c>; where {products|items} cost <c> on average
single: What is the average price {of <v> products|in the <v> category|in <v>|of products in <v>}?; How much {does a <v> product|do <v> products} cost on average?; Average price of {<v> products|products in [the] <v> [category]}; What do {products|items} in [the] <v> [category] cost on average?; How expensive are <v> products on average?; What's the mean price of <v> items?
each: What is the average price {of|in|for} each category?; How much do {products|items} {in each category cost|cost in each category} on average?; What is the average product price per category?; What does a product in each category cost on average?
""",
)
add_measure(
    "categories",
    "SUM(products.stock)",
    "units",
    "products",
    (200, 2500),
    """
most: @have the {most|highest} {stock|units in stock|items in stock}; @have the {highest|largest} [total] stock
least: @have the {least|lowest} stock; @have the fewest {units|items} in stock
noun: [total] stock; {units|items|pieces} in stock; {stock level|inventory}; how much stock they have
compare: with <c> {units|items|pieces} in stock; with a total stock of <c>
single: How many {units|pieces} are in stock in [the] <v> [category]?; What is the total stock {of|in} [the] <v> [category]?; Total stock of <v> products
each: How many {units|items|pieces} {are in stock|do we have in stock} in each category?; What is the total stock of each category?; How much stock {does each category have|is there in each category}?
""",
)
add_measure(
    "suppliers",
    COUNT,
    "number",
    "products",
    (2, 12),
    """
most: supply@s [us with] the most {products|items}; deliver@s the most {products|items}; provide@s the most {products|items}; @have the {most products|highest number of products}; offer@s the most products; sell@s us the most products
least: supply@s [us with] the fewest {products|items}; deliver@s the fewest {products|items}; provide@s the fewest products; @have the fewest products
adjective_most: largest; biggest
adjective_least: smallest
noun: number of {products|items} [supplied]; product count; how many products they {supply|deliver|have}; products supplied
compare: with <c> {products|items}; supply@s <c> {products|items}; deliver@s <c> {products|items}; provide@s <c> {products|items}
single: How many {products|items} {does <v> supply|do we get from <v>|come from <v>|does <v> deliver|are supplied by <v>|do we buy from <v>}?; Number of {products|items} {from|supplied by} <v>; Count the products {from|of|supplied by} <v>; How many different products does <v> {provide|supply}?
each: How many {products|items} {does each supplier {supply|deliver|provide}|come from each supplier}?; How many products do we get from {each|every} supplier?
""",
)
add_measure(
    "suppliers",
    EARNED,
    "revenue",
    "products order_items",
    (1000, 30000),
    """
most: earned us the most [money]; whose products {brought in|earned|generated|made} the most {money|revenue}; generated the {most|highest} {revenue|sales}; @have the highest {revenue|sales}
least: earned us the least [money]; whose products {brought in|earned|generated} the least {money|revenue}; generated the {least|lowest} {revenue|sales}; @have the lowest {revenue|sales}
noun: revenue; total revenue; sales [value]; revenue {from|of} their products; total sales
compare: whose products {earned|brought in|generated} <c>; with [a] revenue {of|} <c>; generated <c> [in revenue]
single: How much {revenue|money} did [the] products {of|from} <v> {make|generate|earn|bring in}?; What is the revenue {of|from} [the products of|the supplier] <v>?; How much did we {earn|make} with {products|goods} from <v>?; [Total] revenue from <v> products
each: How much revenue did {each supplier's products|the products of each supplier} {make|generate|bring in}?; What is the revenue of each supplier?
""",
)
add_measure(
    "suppliers",
    "ROUND(AVG(products.price), 2)",
    "average",
    "products",
    (20, 200),
    """
most: @have the highest average {price|prices}; @are the most expensive on average; charge@s the most on average
least: @have the lowest average {price|prices}; @are the cheapest on average; charge@s the least on average
noun: average price; mean price; average product price
compare: with an average price {of|} <c>; whose average price is <c>
single: What is the average price of {<v> products|products {from|by} <v>}?; How much {do products|does a product} from <v> cost on average?; Average price of products {supplied by|from} <v>
each: What is the average price {of|for} each supplier?; How much do products from each supplier cost on average?
""",
)
add_measure(
    "employees",
    COUNT,
    "number",
    "orders",
    (20, 160),
    """
most: handled the most orders; processed the most orders; took the most orders; @have the {most orders|highest number of orders}; took care of the most orders; managed the most orders; closed the most {orders|sales|deals}
least: handled the fewest orders; processed the fewest orders; took the fewest orders; @have the {fewest orders|lowest number of orders}
adjective_most: busiest; most productive
adjective_least: least busy; least productive
noun: number of orders [handled]; {orders|purchases} handled; order count; how many orders they {handled|processed|took}; orders processed
compare: handled <c> orders; processed <c> orders; with <c> orders; @have handled <c> orders; took <c> orders
single: How many orders did <v> {handle|process|take|look after|deal with}?; How many orders {has <v> handled|were handled by <v>|were processed by <v>}?; Number of orders {handled|processed} by <v>; Count the orders {handled|processed|taken} by <v>; How many orders was <v> responsible for?
each: How many orders did {each|every} {employee|worker|staff member} {handle|process|take}?; How many orders has each employee handled?; For each employee, how many orders did they handle?
""",
    time=ORDERED,
)
add_measure(
    "employees",
    SPENT,
    "revenue",
    "orders",
    (10000, 90000),
    """
most: sold the most [by value]; sold goods worth the most; brought in the most {money|revenue}; generated the {most|highest} {revenue|sales|turnover}; made the most {sales|revenue}; @have the {highest|largest} {sales|revenue|turnover}; sold for the most money; earned {us|the company} the most {money|revenue}
least: sold the least; brought in the least {money|revenue}; generated the {least|lowest} {revenue|sales|turnover}; @have the {lowest|smallest} {sales|revenue|turnover}; earned {us|the company} the least {money|revenue}
adjective_most: best-selling; top-selling; most successful
adjective_least: worst-selling; least successful
noun: revenue; sales; {sales value|total sales|turnover}; {money|revenue} {brought in|generated}; how much they sold; total revenue; value of {orders|sales} handled
compare: sold <c>; brought in <c>; generated <c> [in {revenue|sales}]; with {sales|revenue|total sales} {of|} <c>; whose sales {add up|come} to <c>
single: How much {revenue|money} did <v> {bring in|generate|make}?; How much did <v> sell?; What are <v>'s [total] sales?; What is the total value of [the] orders handled by <v>?; [Total] sales {of|by} [employee] <v>; What {revenue|turnover} did <v> generate?; How much did the salesperson <v> sell?; What is the revenue of the orders <v> handled?
each: How much {revenue|money} did {each|every} employee {bring in|generate|make}?; How much did {each|every} {employee|salesperson} sell?; What are the total sales of each employee?
""",
    time=ORDERED,
)
add_measure(
    "employees",
    "COUNT(DISTINCT orders.customer_id)",
    "number",
    "orders",
    (20, 120),
    """
most: served the most {customers|different customers|clients}; @have the most [different] {customers|clients}; dealt with the most {customers|clients}; sold to the most {customers|clients}
least: served the fewest [different] {customers|clients}; @have the fewest {customers|clients}; dealt with the fewest {customers|clients}
noun: number of [different] {customers|clients} [served]; customers served; how many customers they served
compare: served <c> [different] {customers|clients}; with <c> {customers|clients}; sold to <c> {customers|clients}
single: How many [different] {customers|clients} did <v> {serve|deal with|sell to|look after}?; How many customers has <v> served?; Number of customers served by <v>
each: How many [different] {customers|clients} did each employee {serve|sell to}?
""",
    time=ORDERED,
)
