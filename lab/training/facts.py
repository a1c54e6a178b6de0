"""Intents that have their own sentences: look-ups, who bought what, what never happened, what there is.

Every block is ``SQL`` and, below it, frames. In SQL, ``<v>`` is the quoted value; a period ``<t>`` in a frame
adds its condition at ``<time>``.
"""

# fmt: off
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


def add_fact(value: str, sql: str, text: str, *, time: str = "", entity: str = "") -> None:
    """Register a fact; ``text`` holds one frame a line."""
    frames = tuple(line.strip() for line in text.strip().splitlines())
    FACTS.append(Fact(f"fact {len(FACTS) + 1}", value, sql, frames, time, entity))


C_O = "FROM customers JOIN orders ON orders.customer_id = customers.id"
C_I = C_O + " JOIN order_items ON order_items.order_id = orders.id"
P_I = "FROM products JOIN order_items ON order_items.product_id = products.id"
I_C = " JOIN orders ON order_items.order_id = orders.id JOIN customers ON orders.customer_id = customers.id"

add_fact("person", "SELECT email FROM customers WHERE name = <v>", """
What is the {e-mail|email|email address|e-mail address|mail address} of <v>?
What's <v>'s {e-mail|email|email address|e-mail address|mail address}?
[Show|Show me|Give me] the {e-mail|email|email address|e-mail address|mail address} of <v>
{e-mail|email|email address|e-mail address|mail address} of <v>
How can I {email|mail|write to} <v>?
Under which {e-mail|email|email address|e-mail address|mail address} can we reach <v>?
Which {e-mail|email|email address|e-mail address|mail address} does <v> {have|use}?
<v>'s {e-mail|email|email address|e-mail address|mail address}
I need the {e-mail|email|email address|e-mail address|mail address} of [the customer] <v>
Look up the {e-mail|email|email address|e-mail address|mail address} of <v>
""")
add_fact("person", "SELECT city FROM customers WHERE name = <v>", """
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
add_fact("person", "SELECT country FROM customers WHERE name = <v>", """
{In which|Which|What} country does <v> live [in]?
What is the country of [the] {customer|client} <v>?
Which country is [the] {customer|client} <v> from?
What country does <v> come from?
Country of [the customer] <v>
From which country is <v>?
What's <v>'s country?
Tell me the country of [the] {customer|client} <v>
""")
add_fact("person", "SELECT title FROM employees WHERE name = <v>", """
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
add_fact("person", "SELECT department FROM employees WHERE name = <v>", """
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
add_fact("person", "SELECT city FROM employees WHERE name = <v>", """
{In which|Which} city does <v> work [in]?
Where does [the employee] <v> work?
In which {city|office} is [the employee] <v> based?
Where is [the employee] <v> based?
City of the {employee|worker} <v>
What is the city of the {employee|worker} <v>?
Which office does <v> work {in|from}?
In what city is the office of <v>?
""")
add_fact("person", "SELECT name FROM employees WHERE id = (SELECT manager_id FROM employees WHERE name = <v>)", """
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
add_fact("person", "SELECT name FROM employees WHERE manager_id = (SELECT id FROM employees WHERE name = <v>)", """
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
add_fact("person", "SELECT COUNT(*) FROM employees WHERE manager_id = (SELECT id FROM employees WHERE name = <v>)", """
How many {people|employees|workers} report to <v>?
How many {people|employees|workers} does <v> {manage|supervise|lead}?
How many {people|employees} work {for|under} <v>?
Number of {employees|people} {managed|led} by <v>
How large is the team of <v>?
Count the {people|employees} {who report to|under} <v>
""")
add_fact("", "SELECT name FROM employees WHERE manager_id IS NULL", """
{Which|What} employees have no {manager|boss}?
Who has no {manager|boss}?
{List|Show} [me] {employees|the employees} without a {manager|boss}
Who does not report to anyone?
Who reports to nobody?
Which {employee|worker} is at the top of the company?
Who is the {boss of everyone|head of the company}?
Name the employees who have no {manager|supervisor}
""")
add_fact("product", "SELECT categories.name FROM products JOIN categories ON products.category_id = categories.id WHERE products.name = <v>", """
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
add_fact("product", "SELECT suppliers.name FROM products JOIN suppliers ON products.supplier_id = suppliers.id WHERE products.name = <v>", """
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
add_fact("supplier", "SELECT country FROM suppliers WHERE name = <v>", """
{In which|Which|What} country is [the] [supplier] <v> [in|from|based in]?
What is the country of [the supplier] <v>?
Country of [the supplier] <v>
From which country is <v>?
Which country does <v> {deliver|come} from?
In what country is <v> located?
What's <v>'s country?
""")
add_fact("supplier", "SELECT city FROM suppliers WHERE name = <v>", """
{In which|Which|What} city is [the] [supplier] <v> [in|from|based in]?
What is the city of [the supplier] <v>?
City of [the supplier] <v>
From which city is <v>?
Where is [the supplier] <v> {located|based}?
In what city is <v> located?
What's the supplier <v>'s city?
""")
add_fact("person", f"SELECT MAX(orders.ordered_on) {C_O} WHERE customers.name = <v>", """
When did <v> last {order|buy something|buy from us}?
When was <v>'s {last|latest|most recent} {order|purchase}?
What is the date of <v>'s {last|latest|most recent} {order|purchase}?
{Date|Day} of the {last|latest|most recent} {order|purchase} {by|of|from} <v>
When did <v> place {the|their} {last|latest|most recent} order?
How recently did <v> {order|buy something}?
When was the last time <v> {ordered|bought something}?
On which day did <v> order most recently?
""")
add_fact("person", f"SELECT MIN(orders.ordered_on) {C_O} WHERE customers.name = <v>", """
When did <v> first {order|buy something|buy from us}?
When was <v>'s {first|earliest} {order|purchase}?
What is the date of <v>'s {first|earliest} {order|purchase}?
{Date|Day} of the {first|earliest} {order|purchase} {by|of|from} <v>
When did <v> place {the|their} first order?
When was the first time <v> {ordered|bought something}?
On which day did <v> first order?
""")
add_fact("person", f"SELECT DISTINCT products.name {C_I} JOIN products ON order_items.product_id = products.id WHERE customers.name = <v><time>", """
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
add_fact("product", f"SELECT DISTINCT customers.name {P_I}{I_C} WHERE products.name = <v><time>", """
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
add_fact("category", f"SELECT DISTINCT customers.name FROM categories JOIN products ON products.category_id = categories.id JOIN order_items ON order_items.product_id = products.id{I_C} WHERE categories.name = <v><time>", """
{Which|What} {customers|clients|people} {bought|ordered|purchased} {something|products|items} {from|in} [the] <v> [category] [<t>]?
Who {bought|ordered|purchased} <v> {products|items} [<t>]?
[List|Show|Show me] [all|all the] {customers|clients} who {bought|ordered|purchased} <v> {products|items} [<t>]
{Customers|Buyers} of <v> {products|items} [<t>]
Find {people|customers} who bought {something|anything} {from|in} the <v> category [<t>]
Name {everyone|all customers} who {ordered|bought} {something|products} of category <v> [<t>]
Which customers have ordered <v> products [<t>]?
""", time="orders.ordered_on")
add_fact("person", "SELECT DISTINCT customers.name FROM employees JOIN orders ON orders.employee_id = employees.id JOIN customers ON orders.customer_id = customers.id WHERE employees.name = <v><time>", """
{Which|What} {customers|clients} did <v> {serve|deal with|look after|sell to} [<t>]?
{Which|What} {customers|clients} were {served|looked after} by <v> [<t>]?
[List|Show|Show me] [all|the|all the] {customers|clients} [of] {the employee|the salesperson} <v> [<t>]
{Customers|Clients} {served|looked after} by <v> [<t>]
Whose orders did <v> {handle|process|take} [<t>]?
To {which customers|whom} did <v> sell [something] [<t>]?
Name the customers <v> {served|sold to} [<t>]
Who was served by <v> [<t>]?
""", time="orders.ordered_on")
add_fact("person", "SELECT DISTINCT employees.name FROM customers JOIN orders ON orders.customer_id = customers.id JOIN employees ON orders.employee_id = employees.id WHERE customers.name = <v>", """
{Which|What} {employees|workers|staff members|colleagues} {handled|processed|took} the orders of <v>?
{Which|What} {employees|workers} {served|looked after|dealt with} [the customer] <v>?
Who {handled|processed|took} {the orders of <v>|<v>'s orders}?
[List|Show] [all] [the] employees who {served|handled orders of|dealt with} <v>
{Employees|Staff} who {handled|processed} <v>'s orders
By whom was [the customer] <v> served?
Who in our company {served|dealt with} [the customer] <v>?
Which salespeople sold something to <v>?
""")
add_fact("product", "SELECT DISTINCT customers.name FROM products JOIN reviews ON reviews.product_id = products.id JOIN customers ON reviews.customer_id = customers.id WHERE products.name = <v>", """
{Which|What} {customers|clients|people} reviewed [the] <v>?
Who {reviewed|rated|wrote a review of|wrote about} [the] <v>?
[List|Show|Show me] [all] {customers|clients} who {reviewed|rated} [the] <v>
{Customers|People} who {wrote|left|posted} {a review|reviews} {of|for|about} [the] <v>
Who {left|posted|wrote} {a review|reviews} {of|for} [the] <v>?
By whom was [the] <v> reviewed?
Name the {customers|reviewers} of reviews of the <v>
Find {people|customers} who reviewed the <v>
""")
add_fact("person", "SELECT DISTINCT products.name FROM customers JOIN reviews ON reviews.customer_id = customers.id JOIN products ON reviews.product_id = products.id WHERE customers.name = <v>", """
{Which|What} {products|items} did <v> {review|rate}?
{Which|What} {products|items} {has <v> reviewed|were reviewed by <v>}?
[List|Show|Show me] [all] {products|items} <v> {reviewed|rated}
{Products|Items} reviewed by <v>
About {which|what} {products|items} did <v> write [reviews]?
What did <v> {review|rate}?
For which products did <v> {leave|write|post} a review?
Name the products {reviewed|rated} by <v>
""")
add_fact("product", "SELECT DISTINCT orders.id FROM products JOIN order_items ON order_items.product_id = products.id JOIN orders ON order_items.order_id = orders.id WHERE products.name = <v><time>", """
{Which|What} orders {contain|include|contained} [the|a] <v> [<t>]?
[List|Show|Show me] [all|the|all the] orders {with|containing|including} [the|a] <v> [<t>]
{Orders|Purchases} {with|containing|of} [the|a] <v> [<t>]
In which orders {is|was} [the|a] <v> [<t>]?
Find the orders {that contain|that include|with} [the|a] <v> [<t>]
{Which|What} orders have the <v> in them?
Give me the orders {that include|with} [the|a] <v> [<t>]
""", time="orders.ordered_on")
add_fact("category", "SELECT DISTINCT suppliers.name FROM categories JOIN products ON products.category_id = categories.id JOIN suppliers ON products.supplier_id = suppliers.id WHERE categories.name = <v>", """
{Which|What} {suppliers|vendors} {supply|deliver|provide|sell us} <v> {products|items}?
Who {supplies|delivers|provides} {<v> {products|items}|[the] {products|items} in the <v> category}?
[List|Show|Show me] [all|the] {suppliers|vendors} of <v> {products|items}
{Suppliers|Vendors} {of|for} [the] {<v> {products|items}|<v> category|category <v>}
From {whom|which suppliers|which vendors} do we {get|buy} <v> {products|items}?
{Which|What} {suppliers|vendors} have {products|items} in the <v> category?
Name the {suppliers|vendors} with <v> products
""")
add_fact("supplier", "SELECT DISTINCT categories.name FROM suppliers JOIN products ON products.supplier_id = suppliers.id JOIN categories ON products.category_id = categories.id WHERE suppliers.name = <v>", """
{In which|Which|What} [product] categories does <v> {supply|deliver|sell|have products [in]}?
{Which|What} [product] categories are {supplied|covered} by <v>?
[List|Show|Show me] [all|the] categories {of|supplied by|for} [the supplier] <v>
Categories {of|supplied by} [the] [supplier] <v>
{Which|What} {kinds|types} of {products|goods} does <v> {supply|deliver|provide}?
In {which|what} categories are the products {of|from} <v>?
""")
add_fact("person", f"SELECT DISTINCT shipments.carrier {C_O} JOIN shipments ON shipments.order_id = orders.id WHERE customers.name = <v>", """
{Which|What} carriers {delivered|shipped|carried} {the orders of <v>|<v>'s orders} ?
{Which|What} carriers {did we use|were used} for [the customer] <v>?
Who {delivered|shipped|carried} the {orders|parcels} {of|to} <v>?
[List|Show] the carriers {used for|of} <v>'s {orders|shipments}
{With which carriers|How} were <v>'s orders {shipped|sent}?
Carriers that delivered to <v>
""")
add_fact("number", "SELECT products.name, order_items.quantity FROM order_items JOIN products ON order_items.product_id = products.id WHERE order_items.order_id = <v>", """
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
add_fact("number", "SELECT total FROM orders WHERE id = <v>", """
What is the {total|value|amount} of order [number] <v>?
How much {was|is|did} order [number] <v> [cost|worth]?
{Total|Value|Amount} of order [number] <v>
How {large|big} {is|was} order [number] <v>?
What did order [number] <v> cost?
What's the {total|value} of order [no.] <v>?
Show [me] the {total|amount} of order [number] <v>
""")
add_fact("number", "SELECT status FROM orders WHERE id = <v>", """
What is the status of order [number] <v>?
Status of order [number] <v>
What's {happening with|the status of|the state of} order [number] <v>?
{Which|What} status does order [number] <v> have?
How is order [number] <v> doing?
Tell me the status of order [number] <v>
""")
add_fact("number", "SELECT customers.name FROM orders JOIN customers ON orders.customer_id = customers.id WHERE orders.id = <v>", """
Who placed order [number] <v>?
{Which|What} {customer|client} placed order [number] <v>?
{Customer|Client} of order [number] <v>
Whose order is [number|order number] <v>?
Who {made|ordered|is the customer of} order [number] <v>?
Which customer does order [number] <v> belong to?
By whom was order [number] <v> placed?
""")
add_fact("number", "SELECT ordered_on FROM orders WHERE id = <v>", """
When was order [number] <v> {placed|made}?
What is the date of order [number] <v>?
{Date|Day} of order [number] <v>
On {which|what} {day|date} was order [number] <v> placed?
When did {the customer|someone} place order [number] <v>?
When did order [number] <v> come in?
""")
