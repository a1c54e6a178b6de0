"""Intents that have their own sentences: look-ups, who bought what, what never happened, what there is.

Every block is ``SQL`` and, below it, frames. In SQL, ``<v>`` is the quoted value; a period ``<t>`` in a frame
adds its condition at ``<time>``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """One SQL pattern and the sentences that ask for it."""

    name: str
    value: str
    sql: str
    frames: tuple[str, ...]
    time: str = ""
    entity: str = ""  # conditions of this entity may narrow <D>; <where> in the SQL takes them


FACTS: list[Fact] = []


def _fact(value: str, sql: str, text: str, *, time: str = "", entity: str = "") -> None:
    frames = tuple(line.strip() for line in text.strip().splitlines())
    FACTS.append(Fact(f"fact {len(FACTS) + 1}", value, sql, frames, time, entity))


C_O = "FROM customers JOIN orders ON orders.customer_id = customers.id"
C_I = C_O + " JOIN order_items ON order_items.order_id = orders.id"
P_I = "FROM products JOIN order_items ON order_items.product_id = products.id"
I_C = " JOIN orders ON order_items.order_id = orders.id JOIN customers ON orders.customer_id = customers.id"

for _column, _names in (("email", "e-mail|email|email address|e-mail address|mail address"),):
    _fact("person", f"SELECT {_column} FROM customers WHERE name = <v>", f"""
What is the {{{_names}}} of <v>?
What's <v>'s {{{_names}}}?
[Show|Show me|Give me] the {{{_names}}} of <v>
{{{_names}}} of <v>
How can I {{email|mail|write to}} <v>?
Under which {{{_names}}} can we reach <v>?
Which {{{_names}}} does <v> {{have|use}}?
<v>'s {{{_names}}}
I need the {{{_names}}} of [the customer] <v>
Look up the {{{_names}}} of <v>
""")
_fact("person", "SELECT city FROM customers WHERE name = <v>", """
{In which|Which|What} city does <v> live [in]?
Where does [the customer] <v> live?
What is the city of [the] {customer|client} <v>?
What's [the customer] <v>'s city?
{City|Home town} of [the] {customer|client} <v>
[In] {which|what} {city|town} is the customer <v> [living in|at home]?
Which city is [the] {customer|client} <v> from?
What {city|town} does <v> come from?
In which {city|town} can we find the customer <v>?
""")
_fact("person", "SELECT country FROM customers WHERE name = <v>", """
{In which|Which|What} country does <v> live [in]?
What is the country of [the] {customer|client} <v>?
Which country is [the] {customer|client} <v> from?
What country does <v> come from?
Country of [the customer] <v>
From which country is <v>?
What's <v>'s country?
Tell me the country of [the] {customer|client} <v>
""")
_fact("person", "SELECT title FROM employees WHERE name = <v>", """
What is the {job title|title|position|role} of <v>?
What's <v>'s {job|job title|title|position|role}?
What {job|position|role|title} does <v> have?
{Job title|Title|Position|Role} of <v>
As what does <v> work?
What does <v> do {here|in the company|for us}?
What is <v> employed as?
Which {job|position|role|job title} does <v> {have|hold}?
Tell me the {job|position|title} of <v>
""")
_fact("person", "SELECT department FROM employees WHERE name = <v>", """
{In which|Which} {department|team} does <v> work [in]?
What is the {department|team} of <v>?
What's <v>'s {department|team}?
{Department|Team} of <v>
[To] {which|what} {department|team} does <v> belong [to]?
In what {department|team} is <v>?
Where in the company does <v> work?
{Show|Tell} me the department of <v>
Which {department|team} is <v> {in|part of}?
""")
_fact("person", "SELECT city FROM employees WHERE name = <v>", """
{In which|Which} city does <v> work [in]?
Where does [the employee] <v> work?
In which {city|office} is [the employee] <v> based?
Where is [the employee] <v> based?
City of the {employee|worker} <v>
What is the city of the {employee|worker} <v>?
Which office does <v> work {in|from}?
In what city is the office of <v>?
""")
_fact("person", "SELECT name FROM employees WHERE id = (SELECT manager_id FROM employees WHERE name = <v>)", """
Who is the {manager|boss|supervisor} of <v>?
Who's <v>'s {manager|boss|supervisor}?
Who manages <v>?
[Show|Show me|Give me] the {manager|boss|supervisor} of <v>
{Manager|Boss} of <v>
[To] whom does <v> report [to]?
Who does <v> {report to|work under|work for}?
What is the name of <v>'s {manager|boss}?
Which {manager|employee} is responsible for <v>?
Who is <v> managed by?
Tell me who {manages|supervises} <v>
""")
_fact("person", "SELECT name FROM employees WHERE manager_id = (SELECT id FROM employees WHERE name = <v>)", """
Who reports to <v>?
{Which|What} {employees|people|workers} report to <v>?
Who does <v> {manage|supervise|lead}?
{Whom|Which employees} does <v> {manage|supervise|lead}?
[List|Show] [all] {employees|people|workers} {managed|supervised|led} by <v>
Who {works|is working} {for|under} <v>?
{Which|What} {employees|people} have <v> as {their|a} {manager|boss}?
Who is on the team of <v>?
Name the {people|employees} {who report to|under} <v>
Whose {manager|boss} is <v>?
""")
_fact("person", "SELECT COUNT(*) FROM employees WHERE manager_id = (SELECT id FROM employees WHERE name = <v>)", """
How many {people|employees|workers} report to <v>?
How many {people|employees|workers} does <v> {manage|supervise|lead}?
How many {people|employees} work {for|under} <v>?
Number of {employees|people} {managed|led} by <v>
How large is the team of <v>?
Count the {people|employees} {who report to|under} <v>
""")
_fact("", "SELECT name FROM employees WHERE manager_id IS NULL", """
{Which|What} employees have no {manager|boss}?
Who has no {manager|boss}?
{List|Show} [me] {employees|the employees} without a {manager|boss}
Who does not report to anyone?
Who reports to nobody?
Which {employee|worker} is at the top of the company?
Who is the {boss of everyone|head of the company}?
Name the employees who have no {manager|supervisor}
""")
_fact("product", "SELECT categories.name FROM products JOIN categories ON products.category_id = categories.id WHERE products.name = <v>", """
{In which|Which|What} {category|product category} is [the] <v> [in]?
What is the category of [the] <v>?
{Category|Product category} of [the] <v>
[To] {which|what} category does [the] <v> belong [to]?
What {kind|type} of product is [the] <v>?
Under which category do we {sell|list} [the] <v>?
What's the <v>'s category?
Tell me the category of [the] <v>
Where does the <v> belong in our categories?
""")
_fact("product", "SELECT suppliers.name FROM products JOIN suppliers ON products.supplier_id = suppliers.id WHERE products.name = <v>", """
Who {supplies|delivers|makes|provides} [the] <v>?
{Which|What} {supplier|vendor} {supplies|delivers|provides|sells us} [the] <v>?
Who is the {supplier|vendor} of [the] <v>?
{Supplier|Vendor} of [the] <v>
From {whom|which supplier|which vendor} do we {get|buy} [the] <v>?
What is the {supplier|vendor} of [the] <v>?
Where do we {get|buy|source} [the] <v> from?
Which company supplies [us with] [the] <v>?
Who do we buy [the] <v> from?
Where does the <v> come from?
""")
_fact("supplier", "SELECT country FROM suppliers WHERE name = <v>", """
{In which|Which|What} country is [the] [supplier] <v> [in|from|based in]?
What is the country of [the supplier] <v>?
Country of [the supplier] <v>
From which country is <v>?
Which country does <v> {deliver|come} from?
In what country is <v> located?
What's <v>'s country?
""")
_fact("supplier", "SELECT city FROM suppliers WHERE name = <v>", """
{In which|Which|What} city is [the] [supplier] <v> [in|from|based in]?
What is the city of [the supplier] <v>?
City of [the supplier] <v>
From which city is <v>?
Where is [the supplier] <v> {located|based}?
In what city is <v> located?
What's the supplier <v>'s city?
""")
_fact("person", f"SELECT MAX(orders.ordered_on) {C_O} WHERE customers.name = <v>", """
When did <v> last {order|buy something|buy from us}?
When was <v>'s {last|latest|most recent} {order|purchase}?
What is the date of <v>'s {last|latest|most recent} {order|purchase}?
{Date|Day} of the {last|latest|most recent} {order|purchase} {by|of|from} <v>
When did <v> place {the|their} {last|latest|most recent} order?
How recently did <v> {order|buy something}?
When was the last time <v> {ordered|bought something}?
On which day did <v> order most recently?
""")
_fact("person", f"SELECT MIN(orders.ordered_on) {C_O} WHERE customers.name = <v>", """
When did <v> first {order|buy something|buy from us}?
When was <v>'s {first|earliest} {order|purchase}?
What is the date of <v>'s {first|earliest} {order|purchase}?
{Date|Day} of the {first|earliest} {order|purchase} {by|of|from} <v>
When did <v> place {the|their} first order?
When was the first time <v> {ordered|bought something}?
On which day did <v> first order?
""")
_fact("person", f"SELECT DISTINCT products.name {C_I} JOIN products ON order_items.product_id = products.id WHERE customers.name = <v><time>", """
{Which|What} {products|items|articles} did <v> {buy|order|purchase} [<t>]?
{Which|What} {products|items} {has <v>|have been} {bought|ordered|purchased} [by <v>]?
What did <v> {buy|order|purchase} [from us] [<t>]?
What has <v> {bought|ordered|purchased}?
[List|Show|Show me] [all|all the] {products|items} <v> {bought|ordered|has bought} [<t>]
{Products|Items} {bought|ordered|purchased} by <v> [<t>]
{List|Show} [everything|all] {that|} <v> {bought|ordered} [<t>]
{Which|What} {products|items} are in the orders of <v>?
Name the {products|items} <v> {bought|purchased} [<t>]
What {things|goods} did <v> buy [<t>]?
Everything <v> ever bought
""", time="orders.ordered_on")
_fact("product", f"SELECT DISTINCT customers.name {P_I}{I_C} WHERE products.name = <v><time>", """
{Which|What} {customers|clients|people} {bought|ordered|purchased} [the] <v> [<t>]?
Who {bought|ordered|purchased|has bought} [a|the] <v> [<t>]?
[List|Show|Show me] [all|all the] {customers|clients} who {bought|ordered|purchased} [the|a] <v> [<t>]
{Customers|Buyers} of [the] <v> [<t>]
To whom did we sell [the|a] <v> [<t>]?
{Who|Which customers} {have|has} ordered [the] <v>?
Name {everyone|everybody|all customers} who {bought|purchased} [the|a] <v> [<t>]
{Which|What} customers have the <v> in {one of their|their} orders?
Find {people|customers|clients} who {bought|got} [the|a] <v> [<t>]
Who are the buyers of the <v>?
""", time="orders.ordered_on")
_fact("category", f"SELECT DISTINCT customers.name FROM categories JOIN products ON products.category_id = categories.id JOIN order_items ON order_items.product_id = products.id{I_C} WHERE categories.name = <v><time>", """
{Which|What} {customers|clients|people} {bought|ordered|purchased} {something|products|items} {from|in} [the] <v> [category] [<t>]?
Who {bought|ordered|purchased} <v> {products|items} [<t>]?
[List|Show|Show me] [all|all the] {customers|clients} who {bought|ordered|purchased} <v> {products|items} [<t>]
{Customers|Buyers} of <v> {products|items} [<t>]
Find {people|customers} who bought {something|anything} {from|in} the <v> category [<t>]
Name {everyone|all customers} who {ordered|bought} {something|products} of category <v> [<t>]
Which customers have ordered <v> products [<t>]?
""", time="orders.ordered_on")
_fact("person", "SELECT DISTINCT customers.name FROM employees JOIN orders ON orders.employee_id = employees.id JOIN customers ON orders.customer_id = customers.id WHERE employees.name = <v><time>", """
{Which|What} {customers|clients} did <v> {serve|deal with|look after|sell to} [<t>]?
{Which|What} {customers|clients} were {served|looked after} by <v> [<t>]?
[List|Show|Show me] [all|the|all the] {customers|clients} [of] {the employee|the salesperson} <v> [<t>]
{Customers|Clients} {served|looked after} by <v> [<t>]
Whose orders did <v> {handle|process|take} [<t>]?
To {which customers|whom} did <v> sell [something] [<t>]?
Name the customers <v> {served|sold to} [<t>]
Who was served by <v> [<t>]?
""", time="orders.ordered_on")
_fact("person", "SELECT DISTINCT employees.name FROM customers JOIN orders ON orders.customer_id = customers.id JOIN employees ON orders.employee_id = employees.id WHERE customers.name = <v>", """
{Which|What} {employees|workers|staff members|colleagues} {handled|processed|took} the orders of <v>?
{Which|What} {employees|workers} {served|looked after|dealt with} [the customer] <v>?
Who {handled|processed|took} {the orders of <v>|<v>'s orders}?
[List|Show] [all] [the] employees who {served|handled orders of|dealt with} <v>
{Employees|Staff} who {handled|processed} <v>'s orders
By whom was [the customer] <v> served?
Who in our company {served|dealt with} [the customer] <v>?
Which salespeople sold something to <v>?
""")
_fact("product", "SELECT DISTINCT customers.name FROM products JOIN reviews ON reviews.product_id = products.id JOIN customers ON reviews.customer_id = customers.id WHERE products.name = <v>", """
{Which|What} {customers|clients|people} reviewed [the] <v>?
Who {reviewed|rated|wrote a review of|wrote about} [the] <v>?
[List|Show|Show me] [all] {customers|clients} who {reviewed|rated} [the] <v>
{Customers|People} who {wrote|left|posted} {a review|reviews} {of|for|about} [the] <v>
Who {left|posted|wrote} {a review|reviews} {of|for} [the] <v>?
By whom was [the] <v> reviewed?
Name the {customers|reviewers} of reviews of the <v>
Find {people|customers} who reviewed the <v>
""")
_fact("person", "SELECT DISTINCT products.name FROM customers JOIN reviews ON reviews.customer_id = customers.id JOIN products ON reviews.product_id = products.id WHERE customers.name = <v>", """
{Which|What} {products|items} did <v> {review|rate}?
{Which|What} {products|items} {has <v> reviewed|were reviewed by <v>}?
[List|Show|Show me] [all] {products|items} <v> {reviewed|rated}
{Products|Items} reviewed by <v>
About {which|what} {products|items} did <v> write [reviews]?
What did <v> {review|rate}?
For which products did <v> {leave|write|post} a review?
Name the products {reviewed|rated} by <v>
""")
_fact("product", "SELECT DISTINCT orders.id FROM products JOIN order_items ON order_items.product_id = products.id JOIN orders ON order_items.order_id = orders.id WHERE products.name = <v><time>", """
{Which|What} orders {contain|include|contained} [the|a] <v> [<t>]?
[List|Show|Show me] [all|the|all the] orders {with|containing|including} [the|a] <v> [<t>]
{Orders|Purchases} {with|containing|of} [the|a] <v> [<t>]
In which orders {is|was} [the|a] <v> [<t>]?
Find the orders {that contain|that include|with} [the|a] <v> [<t>]
{Which|What} orders have the <v> in them?
Give me the orders {that include|with} [the|a] <v> [<t>]
""", time="orders.ordered_on")
_fact("category", "SELECT DISTINCT suppliers.name FROM categories JOIN products ON products.category_id = categories.id JOIN suppliers ON products.supplier_id = suppliers.id WHERE categories.name = <v>", """
{Which|What} {suppliers|vendors} {supply|deliver|provide|sell us} <v> {products|items}?
Who {supplies|delivers|provides} {<v> {products|items}|[the] {products|items} in the <v> category}?
[List|Show|Show me] [all|the] {suppliers|vendors} of <v> {products|items}
{Suppliers|Vendors} {of|for} [the] {<v> {products|items}|<v> category|category <v>}
From {whom|which suppliers|which vendors} do we {get|buy} <v> {products|items}?
{Which|What} {suppliers|vendors} have {products|items} in the <v> category?
Name the {suppliers|vendors} with <v> products
""")
_fact("supplier", "SELECT DISTINCT categories.name FROM suppliers JOIN products ON products.supplier_id = suppliers.id JOIN categories ON products.category_id = categories.id WHERE suppliers.name = <v>", """
{In which|Which|What} [product] categories does <v> {supply|deliver|sell|have products [in]}?
{Which|What} [product] categories are {supplied|covered} by <v>?
[List|Show|Show me] [all|the] categories {of|supplied by|for} [the supplier] <v>
Categories {of|supplied by} [the] [supplier] <v>
{Which|What} {kinds|types} of {products|goods} does <v> {supply|deliver|provide}?
In {which|what} categories are the products {of|from} <v>?
""")
_fact("person", f"SELECT DISTINCT shipments.carrier {C_O} JOIN shipments ON shipments.order_id = orders.id WHERE customers.name = <v>", """
{Which|What} carriers {delivered|shipped|carried} {the orders of <v>|<v>'s orders} ?
{Which|What} carriers {did we use|were used} for [the customer] <v>?
Who {delivered|shipped|carried} the {orders|parcels} {of|to} <v>?
[List|Show] the carriers {used for|of} <v>'s {orders|shipments}
{With which carriers|How} were <v>'s orders {shipped|sent}?
Carriers that delivered to <v>
""")
_fact("number", "SELECT products.name, order_items.quantity FROM order_items JOIN products ON order_items.product_id = products.id WHERE order_items.order_id = <v>", """
{Which|What} {products|items} {are|were} in order <v>?
What {is|was} in order [number|no.] <v>?
[List|Show|Show me] the {products|items|contents} {of|in} order [number] <v>
{Products|Items|Contents} of order [number] <v>
What does order [number] <v> contain?
{What|Which items} did {the customer|they} {buy|order} in order [number] <v>?
{What|Which products} {belong|belongs} to order [number] <v>?
Which products are part of order <v>?
Give me everything in order [number] <v>
""")
_fact("number", "SELECT total FROM orders WHERE id = <v>", """
What is the {total|value|amount} of order [number] <v>?
How much {was|is|did} order [number] <v> [cost|worth]?
{Total|Value|Amount} of order [number] <v>
How {large|big} {is|was} order [number] <v>?
What did order [number] <v> cost?
What's the {total|value} of order [no.] <v>?
Show [me] the {total|amount} of order [number] <v>
""")
_fact("number", "SELECT status FROM orders WHERE id = <v>", """
What is the status of order [number] <v>?
Status of order [number] <v>
What's {happening with|the status of|the state of} order [number] <v>?
{Which|What} status does order [number] <v> have?
How is order [number] <v> doing?
Tell me the status of order [number] <v>
""")
_fact("number", "SELECT customers.name FROM orders JOIN customers ON orders.customer_id = customers.id WHERE orders.id = <v>", """
Who placed order [number] <v>?
{Which|What} {customer|client} placed order [number] <v>?
{Customer|Client} of order [number] <v>
Whose order is [number|order number] <v>?
Who {made|ordered|is the customer of} order [number] <v>?
Which customer does order [number] <v> belong to?
By whom was order [number] <v> placed?
""")
_fact("number", "SELECT ordered_on FROM orders WHERE id = <v>", """
When was order [number] <v> {placed|made}?
What is the date of order [number] <v>?
{Date|Day} of order [number] <v>
On {which|what} {day|date} was order [number] <v> placed?
When did {the customer|someone} place order [number] <v>?
When did order [number] <v> come in?
""")

for _table, _nouns, _child, _verbs, _time in (
    ("customers", "customers|customers|clients|buyers", "SELECT customer_id FROM orders", "ordered [anything|something]|placed {an|any} {order|orders}|bought {anything|something} [from us]|made a purchase", "orders.ordered_on"),
    ("customers", "customers|customers|clients|buyers", "SELECT customer_id FROM reviews", "written {a|any} review[s]|left {a|any} review[s]|posted {a|any} review[s]|reviewed {anything|a product}", ""),
    ("products", "products|products|items|articles", "SELECT product_id FROM order_items", "been {sold|ordered|bought|purchased}|sold", ""),
    ("products", "products|products|items|articles", "SELECT product_id FROM reviews", "been {reviewed|rated}|received {a|any} review[s]|got {a|any} review[s]", ""),
    ("employees", "employees|employees|workers|staff members", "SELECT employee_id FROM orders", "handled {an|any} order[s]|processed {an|any} order[s]|taken {an|any} order[s]|sold anything", ""),
    ("suppliers", "suppliers|suppliers|vendors", "SELECT supplier_id FROM products", "supplied {a|any} product[s]|delivered {a|any} product[s]|provided {a|any} product[s]", ""),
    ("orders", "orders|orders|purchases", "SELECT order_id FROM shipments", "been {shipped|sent|dispatched}|been sent out", ""),
):  # fmt: skip
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
    _fact("", f"SELECT {_show} FROM {_table} WHERE {_key} NOT IN ({_inner})<where>", f"""
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
    _fact("", f"SELECT COUNT(*) FROM {_table} WHERE {_key} NOT IN ({_inner})<where>", f"""
How many {{{_nouns}}} [<post>] have {{never|not|not yet}} {{{_verbs}}}{_period}?
Count [the|all] {{{_nouns}}} [<post>] {_with}{_period}
{{Number|What is the number}} of {{{_nouns}}} [<post>] {_with}{_period}
How many {{{_nouns}}} [<post>] are {_with}{_period}?
How many of our {{{_nouns}}} [<post>] {{haven't|have not|have never}} {{{_verbs}}}{_period}?
How many {{{_nouns}}} [<post>] are there {_with}{_period}?
""", entity=_table, time=_time)
_fact("", "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders<only-time>)", """
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
):  # fmt: skip
    _plain = _all in ("departments", "job titles", "carriers") or _column == "status"
    _of = {"status": "order statuses"}.get(_column, _all)
    _do = {"customers": "do [our] customers {live in|come from}", "suppliers": "do [our] suppliers {come from|sit in|have their offices}",
           "employees": {"city": "do [our] {employees|people} work [in]", "department": "do [our] employees {work in|belong to}", "title": "do [our] employees have"}.get(_column, ""),
           "shipments": "do we {use|work with|ship with}", "orders": "can orders have"}[_table]  # fmt: skip
    _extra = f"\n{{Which|What}} {_of} {{are there|do we have|exist}}?\n{{List|Show}} {{all|all the|our}} {_of}\nName {{all|our}} {_of}" if _plain else ""
    _fact("", f"SELECT DISTINCT {_column} FROM {_table}", f"""
{{Which|What|In which}} [different] {_all} {_do}?
[List|Show|Show me] [all|all the|the] [different|distinct] {_all} {_verb}
[List|Show|Show me] [all|all the|the] {{different|distinct}} {_all} of [our|all] {_table}
[The] {{different|distinct}} {_all} of [our|the] {_table}
All {_all} {{that|where}} {_verb}
{{From|In}} {{which|what}} {_all} are our {_table}?
Give me {{every|each}} {_column} {{of|among}} our {_table}, {{once|without duplicates|no duplicates}}{_extra}
""")
    _fact("", f"SELECT COUNT(DISTINCT {_column}) FROM {_table}", f"""
[In] how many [different|distinct] {_all} {_do}?
[What is the] number of [different|distinct] {_all} of [our|the] {_table}
How many {{different|distinct}} {_all} are there {{among|for}} {{our|the}} {_table}?
Count the {{different|distinct}} {_all} of {{our|the}} {_table}
How many {_all} {_verb}?""" + (f"\nHow many [different] {_of} {{are there|do we have|exist}}?\nCount {{our|the}} {_of}" if _plain else ""))

for _table, _nouns in (("customers", "customers|clients"), ("products", "products|items|articles"), ("employees", "employees|workers"), ("suppliers", "suppliers|vendors")):  # fmt: skip
    _fact("letters", f"SELECT name FROM {_table} WHERE name LIKE <v%>", f"""
{{Which|What}} {{{_nouns}}} have {{a name|names}} {{starting|beginning}} with <v>?
[List|Show|Show me] [all] {{{_nouns}}} whose name {{starts|begins}} with [the letter|the letters] <v>
{{{_nouns}}} {{starting|beginning}} with [the letter] <v>
Find {{{_nouns}}} {{whose names {{start|begin}} with|starting with|beginning with}} <v>
{{Which|What}} {{{_nouns}}} {{start|begin}} with [the letter|the letters] <v>?
Names of {{{_nouns}}} that {{start|begin}} with <v>
Give me {{all|the}} {{{_nouns}}} {{under|with the initial}} <v>
""")
    _fact("word", f"SELECT name FROM {_table} WHERE name LIKE <%v%>", f"""
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
_fact("", "SELECT SUM(total) FROM orders<only-time>", """
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
_fact("", "SELECT SUM(quantity) FROM order_items", """
How many {units|items|pieces} {did we sell|were sold|have been sold|have we sold} [in total|altogether]?
{Total number|Number} of {units|items|pieces} sold
What is the total quantity {sold|of all orders}?
How many {units|items|pieces} did [our] customers {buy|order} [in total]?
{Count|Sum up} all {units|items} sold
What quantity did we sell {in total|altogether}?
""")
_fact("", "SELECT COUNT(DISTINCT customer_id) FROM orders<only-time>", """
How many [different] {customers|clients} {ordered|bought} [something|anything] [<t>]?
How many [different] {customers|clients} {placed an order|placed orders|made a purchase} [<t>]?
{Number|Count} of {customers|clients} who {ordered|placed an order|bought something} [<t>]
How many people {bought from us|ordered something|shopped with us} [<t>]?
How many active {customers|clients} did we have [<t>]?
How many of our customers {have ordered|placed an order|bought something} [<t>]?
Count the customers {with orders|who bought something} [<t>]
""", time="orders.ordered_on")
