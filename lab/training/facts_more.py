"""More sentences of their own: what never happened, which values there are, names by letters, sums in words.

Importing this module registers its facts after those of facts.py.
"""

# fmt: off
from __future__ import annotations

from training.facts import add_fact

for _table, _nouns, _child, _verbs, _time in (
    ("customers", "customers|customers|clients|buyers", "SELECT customer_id FROM orders", "ordered [anything|something]|placed {an|any} {order|orders}|bought {anything|something} [from us]|made a purchase", "orders.ordered_on"),
    ("customers", "customers|customers|clients|buyers", "SELECT customer_id FROM reviews", "written {a|any} review[s]|left {a|any} review[s]|posted {a|any} review[s]|reviewed {anything|a product}", ""),
    ("products", "products|products|items|articles", "SELECT product_id FROM order_items", "been {sold|ordered|bought|purchased}|sold", ""),
    ("products", "products|products|items|articles", "SELECT product_id FROM reviews", "been {reviewed|rated}|received {a|any} review[s]|got {a|any} review[s]", ""),
    ("employees", "employees|employees|workers|staff members", "SELECT employee_id FROM orders", "handled {an|any} order[s]|processed {an|any} order[s]|taken {an|any} order[s]|sold anything", ""),
    ("suppliers", "suppliers|suppliers|vendors", "SELECT supplier_id FROM products", "supplied {a|any} product[s]|delivered {a|any} product[s]|provided {a|any} product[s]", ""),
    ("orders", "orders|orders|purchases", "SELECT order_id FROM shipments", "been {shipped|sent|dispatched}|been sent out", ""),
):
    _show = {"orders": "id, ordered_on, total"}.get(_table, "name")
    _key = "id"
    _with = {
        "SELECT customer_id FROM orders": "{without|with no|with zero} {orders|any orders|purchases}",
        "SELECT customer_id FROM reviews": "{without|with no|with zero} {reviews|any reviews}",
        "SELECT product_id FROM order_items": "{without|with no} {sales|any sales|orders}",
        "SELECT product_id FROM reviews": "{without|with no|with zero} {reviews|ratings|any reviews}",
        "SELECT employee_id FROM orders": "{without|with no|with zero} {orders|sales|any orders}",
        "SELECT supplier_id FROM products": "{without|with no|with zero} {products|any products|items}",
        "SELECT order_id FROM shipments": "{without|with no} {a shipment|shipment|any shipment|shipments}",
    }[_child]
    _inner = _child + ("<time>" if _time else "")
    _period = " [<t>]" if _time else ""
    add_fact("", f"SELECT {_show} FROM {_table} WHERE {_key} NOT IN ({_inner})<where>", f"""
{{Which|What}} {{{_nouns}}} [<post>] have {{never|not|not yet}} {{{_verbs}}}{_period}?
[List|Show|Show me] [all] {{{_nouns}}} [<post>] {_with}{_period}
Who or what are the {{{_nouns}}} [<post>] that have never {{{_verbs}}}{_period}?
{{{_nouns}}} [<post>] {_with}{_period}
{{{_nouns}}} [<post>] that {{have not|haven't|never}} {{{_verbs}}}{_period}
Find [all] [the] {{{_nouns}}} [<post>] that {{have never|have not|haven't}} {{{_verbs}}}{_period}
{{Which|What}} {{{_nouns}}} [<post>] are {_with}{_period}?
Are there {{{_nouns}}} [<post>] {_with}{_period}?
Which of our {{{_nouns}}} [<post>] {{haven't|have not}} {{{_verbs}}}{_period}?
Name the {{{_nouns}}} [<post>] {_with}{_period}
{{List|Give me}} the {{{_nouns}}} [<post>] {{who|which|that}} never {{{_verbs}}}{_period}
""", entity=_table, time=_time)
    add_fact("", f"SELECT COUNT(*) FROM {_table} WHERE {_key} NOT IN ({_inner})<where>", f"""
How many {{{_nouns}}} [<post>] have {{never|not|not yet}} {{{_verbs}}}{_period}?
Count [the|all] {{{_nouns}}} [<post>] {_with}{_period}
{{Number|What is the number}} of {{{_nouns}}} [<post>] {_with}{_period}
How many {{{_nouns}}} [<post>] are {_with}{_period}?
How many of our {{{_nouns}}} [<post>] {{haven't|have not|have never}} {{{_verbs}}}{_period}?
How many {{{_nouns}}} [<post>] are there {_with}{_period}?
""", entity=_table, time=_time)
add_fact("", "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders<only-time>)", """
Which {customers|clients} {ordered|bought} [something|anything] <t>?
Who {ordered|bought} {something|anything} <t>?
{List|Show} [all] {customers|clients} who {ordered|placed an order|bought something} <t>
{Customers|Clients} who {placed an order|ordered} <t>
Which {customers|clients} placed {an order|orders} <t>?
Which {customers|clients} were active <t>?
{Customers|Clients} with orders <t>
Find {customers|clients} who {bought something|placed orders} <t>
""", time="orders.ordered_on")

for _column, _table, _all, _verb in (
    ("city", "customers", "cities", "customers {live in|come from|are from|are in}"),
    ("country", "customers", "countries", "customers {live in|come from|are from|are in}"),
    ("country", "suppliers", "countries", "suppliers {come from|are from|are in|are based in}"),
    ("city", "suppliers", "cities", "suppliers {come from|are from|are in|are based in}"),
    ("department", "employees", "departments", "employees {work in|belong to}"),
    ("title", "employees", "job titles", "employees {have|hold}"),
    ("city", "employees", "cities", "employees {work in|are based in}"),
    ("carrier", "shipments", "carriers", "shipments {go with|were sent with|use}"),
    ("status", "orders", "statuses", "orders {have|can have}"),
):
    _plain = _all in ("departments", "job titles", "carriers") or _column == "status"
    _of = {"status": "order statuses"}.get(_column, _all)
    _do = {"customers": "do [our] customers {live in|come from}", "suppliers": "do [our] suppliers {come from|sit in|have their offices}",
           "employees": {"city": "do [our] {employees|people} work [in]", "department": "do [our] employees {work in|belong to}", "title": "do [our] employees have"}.get(_column, ""),
           "shipments": "do we {use|work with|ship with}", "orders": "can orders have"}[_table]
    _extra = f"\n{{Which|What}} {_of} {{are there|do we have|exist}}?\n{{List|Show}} {{all|all the|our}} {_of}\nName {{all|our}} {_of}" if _plain else ""
    add_fact("", f"SELECT DISTINCT {_column} FROM {_table}", f"""
{{Which|What|In which}} [different] {_all} {_do}?
[List|Show|Show me] [all|all the|the] [different|distinct] {_all} {_verb}
[List|Show|Show me] [all|all the|the] {{different|distinct}} {_all} of [our|all] {_table}
[The] {{different|distinct}} {_all} of [our|the] {_table}
All {_all} {{that|where}} {_verb}
{{From|In}} {{which|what}} {_all} are our {_table}?
Give me {{every|each}} {_column} {{of|among}} our {_table}, {{once|without duplicates|no duplicates}}{_extra}
""")
    add_fact("", f"SELECT COUNT(DISTINCT {_column}) FROM {_table}", f"""
[In] how many [different|distinct] {_all} {_do}?
[What is the] number of [different|distinct] {_all} of [our|the] {_table}
How many {{different|distinct}} {_all} are there {{among|for}} {{our|the}} {_table}?
Count the {{different|distinct}} {_all} of {{our|the}} {_table}
How many {_all} {_verb}?""" + (f"\nHow many [different] {_of} {{are there|do we have|exist}}?\nCount {{our|the}} {_of}" if _plain else ""))

for _table, _nouns in (("customers", "customers|clients"), ("products", "products|items|articles"), ("employees", "employees|workers"), ("suppliers", "suppliers|vendors")):
    add_fact("letters", f"SELECT name FROM {_table} WHERE name LIKE <v%>", f"""
{{Which|What}} {{{_nouns}}} have {{a name|names}} {{starting|beginning}} with <v>?
[List|Show|Show me] [all] {{{_nouns}}} whose name {{starts|begins}} with [the letter|the letters] <v>
{{{_nouns}}} {{starting|beginning}} with [the letter] <v>
Find {{{_nouns}}} {{whose names {{start|begin}} with|starting with|beginning with}} <v>
{{Which|What}} {{{_nouns}}} {{start|begin}} with [the letter|the letters] <v>?
Names of {{{_nouns}}} that {{start|begin}} with <v>
Give me {{all|the}} {{{_nouns}}} {{under|with the initial}} <v>
""")
    add_fact("word", f"SELECT name FROM {_table} WHERE name LIKE <%v%>", f"""
{{Which|What}} {{{_nouns}}} have <v> in {{their|the}} name?
[List|Show|Show me] [all] {{{_nouns}}} whose name {{contains|includes|has}} [the word] <v> [in it]
{{{_nouns}}} with <v> in {{their|the}} name
Find {{{_nouns}}} {{with|containing}} <v> in the name
{{Which|What}} {{{_nouns}}} {{contain|include}} [the word] <v>?
Names of {{{_nouns}}} that {{contain|include}} [the word] <v>
Search [for] {{{_nouns}}} {{named|called}} <v>
Do we have {{{_nouns}}} with the word <v> in the name?
""")

# aggregates over an entity with conditions: entity, select expression, sentences with <D> or <d>
AGGREGATES: list[tuple[str, str, tuple[str, ...]]] = []


def _aggregate(entity: str, select: str, text: str) -> None:
    AGGREGATES.append((entity, select, tuple(line.strip() for line in text.strip().splitlines())))


_aggregate("products", "ROUND(AVG(products.price), 2)", """
How much does {a|an average} <d> cost on average?
How much do <D> cost on average?
What does {a|an average} <d> cost [on average]?
What do <D> cost on average?
What is the price of {a typical|an average} <d>?
How expensive {is a <d>|are <D>} on average?
On average, how much {does a <d>|do <D>} cost?
What do we charge for a <d> on average?
""")
_aggregate("employees", "ROUND(AVG(employees.salary), 2)", """
How much do <D> earn on average?
What does {a|an average} <d> earn [on average]?
How much does {a|an|an average} <d> {make|earn} on average?
What do we pay [our] <D> on average?
On average, how much do <D> {earn|make}?
How well are <D> paid on average?
What is the pay of {a typical|an average} <d>?
""")
_aggregate("employees", "SUM(employees.salary)", """
How much do we pay [all] [our] <D> [in total|altogether]?
What is {our|the} {payroll|total payroll|wage bill} for <D>?
What do <D> earn together?
How much do <D> earn in total?
What do <D> cost us in salaries?
How much money goes to <D> in salaries?
""")
_aggregate("orders", "SUM(orders.total)", """
How much are <D> worth in total?
What is the [total] revenue {from|of} <D>?
How much {money|revenue} did [the] <D> bring in?
How much did we {earn|make|take in} {with|from} <D>?
What are <D> worth {together|in total}?
What do <D> add up to?
How much was spent on <D>?
[Total] revenue of <D>
""")
_aggregate("orders", "ROUND(AVG(orders.total), 2)", """
How much is a <d> worth on average?
How large are <D> on average?
What is a <d> worth on average?
How much do customers spend per <d> on average?
On average, how much {is a <d>|are <D>} worth?
What does a typical <d> cost?
""")
_aggregate("shipments", "SUM(shipments.cost)", """
How much did we {pay|spend} {for|on} <D> [in total]?
What did <D> cost us [in total|altogether]?
How much did <D> cost [in total]?
What are the {total|overall} costs of <D>?
How much money went into <D>?
What are the total shipping costs of <D>?
""")
_aggregate("shipments", "ROUND(AVG(shipments.cost), 2)", """
How much does a <d> cost on average?
What do <D> cost on average?
How expensive are <D> on average?
What do we pay for a <d> on average?
On average, how much does a <d> cost?
""")
_aggregate("shipments", "ROUND(AVG(julianday(shipments.delivered_on) - julianday(shipments.shipped_on)), 2)", """
How long do <D> take on average?
How many days does a <d> take on average?
What is the average {delivery time|number of days} of <D>?
On average, how long {does a <d>|do <D>} take [to arrive]?
Average delivery time of <D>
How many days do <D> need to arrive on average?
How fast are <D> on average?
""")
_aggregate("reviews", "ROUND(AVG(reviews.rating), 2)", """
How many stars do <D> give on average?
How good are <D> on average?
What is the average rating {in|of} <D>?
What score do <D> give on average?
On average, how many stars do <D> give?
""")
_aggregate("products", "SUM(products.stock)", """
How many {units|pieces} of <D> do we have in stock?
How many units of <D> are {left|available|in stock}?
How much stock do we have of <D>?
What is our {total stock|inventory} of <D>?
How many {pieces|units} are in stock for <D>?
""")
add_fact("", "SELECT SUM(total) FROM orders<only-time>", """
{What is|What's|What was} our [total] {revenue|turnover} [<t>]?
What {are|were} our [total] sales [<t>]?
How much {money|revenue} did we {make|earn|take in} [<t>]?
How much did {customers|our customers|people|all customers} spend [in total|altogether|with us] [<t>]?
[Total] {revenue|turnover} [<t>]
How much did we sell [for] [<t>]?
What did {we earn|our customers spend} [in total] [<t>]?
Sum {up|} {all|our} {sales|orders} [<t>]
{Calculate|Show} [me] [the|our] [total] {revenue|sales} [<t>]
How much {money|revenue} came in [<t>]?
What did our customers pay us [in total] [<t>]?
How high was {our|the} revenue [<t>]?
""", time="orders.ordered_on")
add_fact("", "SELECT SUM(quantity) FROM order_items", """
How many {units|items|pieces} {did we sell|were sold|have been sold|have we sold} [in total|altogether]?
{Total number|Number} of {units|items|pieces} sold
What is the total quantity {sold|of all orders}?
How many {units|items|pieces} did [our] customers {buy|order} [in total]?
{Count|Sum up} all {units|items} sold
What quantity did we sell {in total|altogether}?
""")
add_fact("", "SELECT COUNT(DISTINCT customer_id) FROM orders<only-time>", """
How many [different] {customers|clients} {ordered|bought} [something|anything] [<t>]?
How many [different] {customers|clients} {placed an order|placed orders|made a purchase} [<t>]?
{Number|Count} of {customers|clients} who {ordered|placed an order|bought something} [<t>]
How many people {bought from us|ordered something|shopped with us} [<t>]?
How many active {customers|clients} did we have [<t>]?
How many of our customers {have ordered|placed an order|bought something} [<t>]?
Count the customers {with orders|who bought something} [<t>]
""", time="orders.ordered_on")
