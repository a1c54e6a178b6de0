"""Word the measures of groups (countries, departments, years) and of single rows (prices, salaries)."""

from __future__ import annotations

from training.metrics import COUNT, ORDERED, SPENT, add_measure

for _key, _what in (("countries", "country"), ("cities", "city")):
    add_measure(
        _key,
        COUNT,
        "number",
        "",
        (2, 40),
        f"""
most: @have the {{most|highest number of|largest number of}} {{customers|clients|buyers}}; @are home to the most {{customers|clients}}; most [of our] {{customers|clients}} {{live in|come from}}; do most [of our] {{customers|clients}} {{live in|come from}}; the most customers {{come from|live in|are from|are in}}
least: @have the {{fewest|lowest number of|smallest number of}} {{customers|clients|buyers}}; @are home to the fewest {{customers|clients}}; the fewest customers {{come from|live in|are from}}
noun: number of {{customers|clients}}; customer count; how many {{customers|clients}} {{they have|live there}}; count of customers; customers
compare: with <c> {{customers|clients}}; @have <c> {{customers|clients}}; where <c> {{customers|clients}} live; <c> customers {{live in|come from}}
each: How many {{customers|clients}} {{are there in|live in|come from|are from|do we have in}} {{each|every}} {_what}?; How many customers does {{each|every}} {_what} have?; Count the {{customers|clients}} in {{each|every}} {_what}; In each {_what}, how many customers {{are there|do we have}}?; For {{each|every}} {_what}, {{count the customers|how many customers are there}}?; How are our customers {{distributed|spread}} {{over|across}} {{countries|the countries}}?
"""
        if _what == "country"
        else f"""
most: @have the {{most|highest number of|largest number of}} {{customers|clients|buyers}}; @are home to the most {{customers|clients}}; most [of our] {{customers|clients}} {{live in|come from}}; do most [of our] {{customers|clients}} {{live in|come from}}; the most customers {{come from|live in|are from|are in}}
least: @have the {{fewest|lowest number of|smallest number of}} {{customers|clients|buyers}}; @are home to the fewest {{customers|clients}}; the fewest customers {{come from|live in|are from}}
noun: number of {{customers|clients}}; customer count; how many {{customers|clients}} {{they have|live there}}; count of customers; customers
compare: with <c> {{customers|clients}}; @have <c> {{customers|clients}}; where <c> {{customers|clients}} live; <c> customers {{live in|come from}}
each: How many {{customers|clients}} {{are there in|live in|come from|are from|do we have in}} {{each|every}} {_what}?; How many customers does {{each|every}} {_what} have?; Count the {{customers|clients}} in {{each|every}} {_what}; In each {_what}, how many customers {{are there|do we have}}?; For {{each|every}} {_what}, {{count the customers|how many customers are there}}?
""",
    )
    add_measure(
        _key,
        SPENT,
        "revenue",
        "orders",
        (2000, 90000),
        f"""
most: spent the most [money]; brought in the most {{money|revenue}}; generated the {{most|highest}} {{revenue|sales|turnover}}; @have the {{highest|largest|biggest}} {{revenue|sales|turnover|total spending}}; where {{customers|people}} spent the most [money]; earned us the most [money]; the most {{revenue|money}} {{comes|came}} from
least: spent the least [money]; brought in the least {{money|revenue}}; generated the {{least|lowest}} {{revenue|sales|turnover}}; @have the {{lowest|smallest}} {{revenue|sales|turnover|total spending}}; where customers spent the least; the least {{revenue|money}} {{comes|came}} from
noun: revenue; total revenue; sales; {{total sales|turnover}}; total spending; {{amount|money}} spent; {{money|revenue}} {{generated|brought in}}; income; how much {{customers|people}} spent
compare: spent <c>; generated <c> [in {{revenue|sales}}]; with {{revenue|sales|[a] total revenue}} {{of|}} <c>; brought in <c>; where customers spent <c>
single: How much did {{customers|clients|people|buyers}} {{from|in}} <v> spend?; How much {{revenue|money}} {{came|comes|did we get}} from <v>?; What is the [total] revenue {{from|in}} <v>?; [Total] {{revenue|sales}} {{from|in}} <v>; How much did we {{sell in|earn in|make in}} <v>?; What did customers {{from|in|living in}} <v> spend [in total]?; What are our sales in <v>?; How much have {{customers|clients}} {{from|in}} <v> spent?
each: How much did {{customers|people}} {{in|from}} {{each|every}} {_what} spend?; How much {{revenue|money}} {{came|comes|did we get}} from each {_what}?; What is the revenue {{from|of|in}} {{each|every}} {_what}?; What did each {_what} spend?
""",
        time=ORDERED,
    )
    add_measure(
        _key,
        COUNT,
        "number",
        "orders",
        (10, 300),
        f"""
most: placed the most orders; @have the {{most orders|highest number of orders}}; the most orders {{come|came}} from; ordered the most [often]; where the most orders {{come from|were placed}}
least: placed the fewest orders; @have the {{fewest orders|lowest number of orders}}; the fewest orders {{come|came}} from
noun: number of orders; order count; orders [placed]; count of orders
compare: placed <c> orders; with <c> orders; @have <c> orders
single: How many orders {{came|come|did we get|did we receive|were placed}} from {{<v>|customers in <v>}}?; How many orders did {{customers|clients}} {{from|in}} <v> place?; Number of orders {{from|in}} <v>; Count the orders {{from|of}} {{<v>|customers in <v>}}; How many orders were placed in <v>?
each: How many orders {{came|come|did we get|were placed}} {{from|in}} {{each|every}} {_what}?; How many orders did {{customers in|people from}} {{each|every}} {_what} place?; Count the orders {{from|of}} each {_what}
""",
        time=ORDERED,
    )

    add_measure(
        _key,
        "ROUND(AVG(orders.total), 2)",
        "average",
        "orders",
        (100, 900),
        f"""
most: @have the {{highest|largest}} average order [value|total]; spend@s the most per order [on average]; place@s the largest orders on average
least: @have the {{lowest|smallest}} average order [value|total]; spend@s the least per order [on average]; place@s the smallest orders on average
noun: average order [value|total|size]; [average] spend per order; mean order value; average value of [their] orders
compare: with an average order [value] {{of|}} <c>; whose average order [value] is <c>
single: What is the average order [value] {{in|from|of customers in|of customers from}} <v>?; How much do {{customers|people}} {{from|in}} <v> spend per order [on average]?; Average order {{value|size}} {{in|from}} <v>; How large is the average order from <v>?; What does an order from <v> come to on average?
each: What is the average order value {{in|for|from}} {{each|every}} {_what}?; How much do customers in {{each|every}} {_what} spend per order [on average]?
""",
        time=ORDERED,
    )

for _key, _what in (("departments", "department"), ("titles", "job title")):
    add_measure(
        _key,
        COUNT,
        "number",
        "",
        (1, 12),
        f"""
most: @have the {{most|highest number of|largest number of}} {{employees|workers|staff members|people}}; employ@s the most people
least: @have the {{fewest|lowest number of|smallest number of}} {{employees|workers|staff members|people}}; employ@s the fewest people
adjective_most: largest; biggest
adjective_least: smallest
noun: number of {{employees|staff|people|workers}}; headcount; {{employee|staff}} count; employees; how many {{people|employees}} they have
compare: with <c> {{employees|people|workers}}; @have <c> {{employees|people}}; employ@s <c> people
each: How many {{employees|people|workers}} {{are in|work in|are there in|does}} {{each|every}} {_what} [have]?; Count the {{employees|staff|people}} in {{each|every}} {_what}; How many {{people|employees}} {{are there in|work in}} each {_what}?; For each {_what}, how many employees {{are there|do we have}}?
""",
    )
    add_measure(
        _key,
        "ROUND(AVG(employees.salary), 2)",
        "average",
        "",
        (30000, 80000),
        f"""
most: @have the highest average {{salary|pay}}; pay@s best [on average]; pay@s the {{most|highest salaries}} [on average]; earn@s the most on average
least: @have the lowest average {{salary|pay}}; pay@s worst [on average]; pay@s the {{least|lowest salaries}} [on average]; earn@s the least on average
adjective_most: best-paid; best-paying; highest-paid
adjective_least: worst-paid; lowest-paid; worst-paying
noun: average salary; mean salary; average pay; average earnings
compare: with an average salary {{of|}} <c>; whose average {{salary|pay}} is <c>; pay@s <c> on average
single: What is the average salary {{in|of}} [the] <v> [department]?; How much do {{people|employees|workers}} in [the] <v> [department] earn on average?; Average {{salary|pay}} {{in|of}} [the] <v> [department]; What does {{someone|an employee}} in <v> earn on average?; What's the mean salary in <v>?; How well are people in <v> paid on average?
each: What is the average salary {{in|of|for|per}} {{each|every}} {_what}?; How much {{does each {_what} pay|do people in each {_what} earn}} on average?; How much do {{employees|people}} earn on average in each {_what}?; What does each {_what} pay on average?
"""
        if _what == "department"
        else f"""
most: @have the highest average {{salary|pay}}; pay@s best [on average]; earn@s the most on average
least: @have the lowest average {{salary|pay}}; pay@s worst [on average]; earn@s the least on average
adjective_most: best-paid; highest-paid
adjective_least: worst-paid; lowest-paid
noun: average salary; mean salary; average pay
compare: with an average salary {{of|}} <c>; whose average {{salary|pay}} is <c>
single: What is the average salary of {{people with the title|employees with the title|the title|the position}} <v>?; How much does [a|an] <v> earn on average?; Average {{salary|pay}} of [a|an] <v>; What does [a|an] <v> earn on average?
each: What is the average salary {{in|of|for|per}} {{each|every}} {_what}?; How much does each {_what} earn on average?
""",
    )
add_measure(
    "departments",
    "SUM(employees.salary)",
    "total",
    "",
    (90000, 500000),
    """
most: @have the {highest|largest} {total salary|payroll|salary costs|wage bill}; cost@s the most in salaries; spend@s the most on salaries
least: @have the {lowest|smallest} {total salary|payroll|salary costs|wage bill}; cost@s the least in salaries; spend@s the least on salaries
noun: total salary; payroll; salary costs; total pay; sum of salaries; wage bill
compare: with a {payroll|total salary} {of|} <c>; whose salaries add up to <c>
single: What is the {total salary|payroll|sum of salaries|wage bill} of [the] <v> [department]?; How much do we pay the <v> department [in total]?; Total {salary|salaries|pay} in [the] <v> [department]; How much do the salaries in <v> add up to?
each: What is the {total salary|payroll|sum of salaries} of {each|every} department?; How much do we pay each department in total?; How much does each department cost in salaries?
""",
)

add_measure(
    "statuses",
    COUNT,
    "number",
    "",
    (10, 900),
    """
most: @have the most orders; @are {most common|most frequent}
least: @have the fewest orders; @are {least common|rarest}
adjective_most: most common; most frequent
adjective_least: least common; rarest
noun: number of orders; order count; orders; count of orders
each: How many orders {are there with each status|are in each status|does each status have|have each status}?; Count the orders {in|by|of|for} each status; How many orders {are there|do we have} {for|in|per} each status?; For each status, {how many orders are there|count the orders}?
""",
    time=ORDERED,
)
add_measure(
    "statuses",
    SPENT,
    "revenue",
    "",
    (1000, 300000),
    """
noun: [total] order value; total value of orders; revenue; sum of orders; total amount
each: What is the total {order value|value of orders|value of the orders} {in|for|of} each status?; How much are the orders in each status worth?
""",
    time=ORDERED,
)
add_measure(
    "carriers",
    COUNT,
    "number",
    "",
    (50, 400),
    """
most: {delivered|shipped|handled|carried} the most {shipments|parcels|orders}; @have the {most shipments|most deliveries|highest number of shipments}; @are used {most|most often|the most}; we use most [often]; transported the most {parcels|shipments}
least: {delivered|shipped|handled|carried} the fewest {shipments|parcels|orders}; @have the {fewest shipments|fewest deliveries|lowest number of shipments}; @are used {least|least often}; we use least [often]
adjective_most: most used; most popular; busiest
adjective_least: least used; least popular
noun: number of {shipments|deliveries|parcels}; shipment count; shipments; how many {shipments|parcels} they {handled|delivered}; how often {they are|we} used
compare: with <c> {shipments|deliveries|parcels}; {delivered|handled|carried|shipped} <c> {shipments|parcels}; @have <c> shipments
each: How many {shipments|parcels|deliveries} {did each carrier {handle|deliver|ship|carry}|does each carrier have|are there for each carrier}?; Count the shipments {of|by|for} {each|every} carrier; How often {was|did we use} each carrier [used]?; How many parcels went with each carrier?
""",
    time="shipments.shipped_on",
)
add_measure(
    "carriers",
    "ROUND(AVG(shipments.cost), 2)",
    "average",
    "",
    (8, 25),
    """
most: @are the most expensive [on average]; @have the highest average [shipping] cost; cost@s the most per {shipment|parcel|delivery}; charge@s the most [per shipment] [on average]
least: @are the cheapest [on average]; @have the lowest average [shipping] cost; cost@s the least per {shipment|parcel|delivery}; charge@s the least [per shipment] [on average]
adjective_most: most expensive; priciest; dearest
adjective_least: cheapest; least expensive; most affordable
noun: average [shipping] cost; mean [shipping] cost; [average] cost per shipment; average price per parcel
compare: with an average cost {of|} <c>; cost@s <c> on average; charge@s <c> per {shipment|parcel} on average
single: What is the average [shipping] cost {of|for|with} <v>?; How much does <v> {charge|cost} [per {shipment|parcel}] on average?; Average [shipping] cost of <v>; What does {a shipment|a parcel|shipping} with <v> cost on average?; How expensive is <v> on average?; What does <v> charge per shipment on average?
each: What is the average [shipping] cost {of|for|per} {each|every} carrier?; How much does {each|every} carrier {cost|charge} on average?; What does {a shipment|a parcel} cost on average with each carrier?
""",
    time="shipments.shipped_on",
)
add_measure(
    "carriers",
    "SUM(shipments.cost)",
    "total",
    "",
    (500, 6000),
    """
most: cost us the most [in total]; @have the highest total [shipping] cost; received the most money [from us]; we paid the most
least: cost us the least [in total]; @have the lowest total [shipping] cost; we paid the least
noun: total [shipping] cost; [total] shipping costs; money paid; total amount paid
compare: with total costs of <c>; cost us <c> [in total]; we paid <c> [in total]
single: How much did we {pay|spend on} <v> [in total]?; What is the total [shipping] cost {of|for|with} <v>?; Total shipping cost of <v>; How much has <v> cost us [in total]?; What did we pay <v> in total?
each: What is the total [shipping] cost {of|for|per} {each|every} carrier?; How much did we {pay|spend on} {each|every} carrier [in total]?; How much did each carrier cost us in total?
""",
    time="shipments.shipped_on",
)
add_measure(
    "carriers",
    "ROUND(AVG(julianday(shipments.delivered_on) - julianday(shipments.shipped_on)), 2)",
    "days",
    "",
    (4, 9),
    """
most: @are the slowest [on average]; need@s the most {days|time} [to deliver] [on average]; take@s [the] longest [to deliver] [on average]; @have the {longest|highest} [average] delivery time
least: @are the {fastest|quickest} [on average]; need@s the {fewest days|least time} [to deliver] [on average]; deliver@s {fastest|the fastest|most quickly} [on average]; @have the {shortest|lowest} [average] delivery time
adjective_most: slowest
adjective_least: fastest; quickest; speediest
noun: [average] delivery time; average {days to deliver|number of days}; days needed [to deliver]; mean delivery time
compare: with an average delivery time of <c> days; need@s <c> days on average; take@s <c> days [to deliver] on average
single: How long does <v> {take|need} [to deliver] [on average]?; How many days does <v> {take|need} [to deliver] [on average]?; What is the average delivery time {of|for|with} <v>?; How {fast|quick|slow} is <v> on average?; Average delivery time of <v>
each: How long does {each|every} carrier {take|need} [to deliver] [on average]?; What is the average delivery time of {each|every} carrier?; How many days does {each|every} carrier need on average?; How fast is each carrier [on average]?
""",
    time="shipments.shipped_on",
)
add_measure(
    "supplier countries",
    COUNT,
    "number",
    "",
    (1, 5),
    """
most: @have the {most|highest number of} {suppliers|vendors}; the most suppliers {come|are} from; most [of our] suppliers come from
least: @have the {fewest|lowest number of} {suppliers|vendors}; the fewest suppliers {come|are} from
noun: number of {suppliers|vendors}; supplier count; count of suppliers; suppliers
compare: with <c> {suppliers|vendors}; @have <c> {suppliers|vendors}
each: How many {suppliers|vendors} {are there in|come from|are in|are from|do we have in} {each|every} country?; Count the suppliers in {each|every} country; How many suppliers does {each|every} country have?
""",
)
for _key, _what in (("years", "year"), ("months", "month")):
    add_measure(
        _key,
        COUNT,
        "number",
        "",
        (10, 300),
        f"""
most: had the {{most orders|highest number of orders}}; saw the most orders; @have the most orders; the most orders were placed in; we {{got|received}} the most orders in
least: had the {{fewest orders|lowest number of orders}}; saw the fewest orders; @have the fewest orders; the fewest orders were placed in
adjective_most: busiest
adjective_least: quietest; slowest
noun: number of orders; order count; orders; count of orders
compare: with <c> orders; had <c> orders; in which we {{got|had|received}} <c> orders
each: How many orders {{were placed|were there|did we get|came in|did we receive|did we have}} {{each|every}} {_what}?; How many orders did customers place {{each|every}} {_what}?; Count the orders {{of|for|in}} each {_what}; How did the number of orders {{develop|change}} {{by|per}} {_what}?
""",
    )
    add_measure(
        _key,
        SPENT,
        "revenue",
        "",
        (5000, 150000),
        f"""
most: had the {{highest|most|largest}} {{revenue|sales|turnover}}; brought in the most {{money|revenue}}; @have the {{highest|most}} {{revenue|sales|turnover}}; we {{earned|made|took in}} the most [money] in; customers spent the most in; saw the highest {{revenue|sales}}
least: had the {{lowest|least|smallest}} {{revenue|sales|turnover}}; brought in the least {{money|revenue}}; @have the {{lowest|least}} {{revenue|sales}}; we {{earned|made}} the least [money] in; customers spent the least in
adjective_most: best; most profitable; strongest; most successful
adjective_least: worst; least profitable; weakest
noun: revenue; total revenue; sales; {{total sales|turnover}}; income; {{money|amount}} {{earned|spent}}; earnings; total order value
compare: with {{revenue|sales}} {{of|}} <c>; had {{revenue|sales}} of <c>; in which we {{earned|made|sold for}} <c>
each: How much {{revenue|money}} {{did we {{make|earn|have}}|came in|was made}} {{each|every}} {_what}?; What was the revenue {{of|in}} {{each|every}} {_what}?; How much did {{customers spend|we sell|we earn|we make}} {{each|every}} {_what}?; How did {{revenue|sales}} {{develop|change}} {{by|per}} {_what}?
""",
    )
    add_measure(
        _key,
        "ROUND(AVG(orders.total), 2)",
        "average",
        "",
        (100, 900),
        f"""
most: had the {{highest|largest}} average order [value|total]; @have the highest average order [value|total]
least: had the {{lowest|smallest}} average order [value|total]; @have the lowest average order [value|total]
noun: average order [value|total|size]; mean order value; average value of orders; average spend per order
compare: with an average order [value] {{of|}} <c>
each: What was the average order value {{in|of|for}} {{each|every}} {_what}?; How {{large|big}} was the average order {{each|every}} {_what}?
""",
    )
add_measure(
    "joining years",
    COUNT,
    "number",
    "",
    (20, 120),
    """
most: saw the most {customers|clients} {join|sign up}; most customers {joined|signed up} in; @have the most {sign-ups|new customers|registrations}; brought the most new customers
least: saw the fewest {customers|clients} {join|sign up}; the fewest customers {joined|signed up} in; @have the fewest {sign-ups|new customers|registrations}
noun: number of {new customers|sign-ups|registrations}; {new customers|sign-ups|registrations}; customers who joined
compare: with <c> {new customers|sign-ups|registrations}; in which <c> customers {joined|signed up}
each: How many customers {joined|signed up|registered} {each|every} year?; How many new customers did we {get|have|win} {each|every} year?; Count the {sign-ups|new customers|registrations} of each year
""",
)

add_measure(
    "products",
    "products.price",
    "price",
    "",
    (0, 0),
    """
most: cost@s the most; @are [the] most expensive; @have the {highest|steepest} price [tag]; @are {priciest|the priciest|the dearest}; @are priced highest; sell@s for the {most|highest price}
least: cost@s the least; @are [the] cheapest; @have the lowest price [tag]; @are the least expensive; @are priced lowest; sell@s for the {least|lowest price}
adjective_most: most expensive; priciest; dearest; costliest; highest-priced; most costly
adjective_least: cheapest; least expensive; lowest-priced; most affordable; least costly
noun: price; unit price; cost; list price; how much they cost
single: {What is|What's} the price of [the] <v>?; How much {is|does} [the] <v> [cost]?; How much does {a|the} <v> cost?; What does {a|the} <v> cost?; [The] price of [the] <v>; [Show|Tell] me the price of [the] <v>; At what price do we sell [the] <v>?; How expensive is [the] <v>?; What do {we charge|customers pay} for {a|the} <v>?; <v> price; How much must I pay for {a|the} <v>?; What is [the] <v>'s price?
""",
    plain=True,
)
add_measure(
    "products",
    "products.stock",
    "stock",
    "",
    (0, 0),
    """
most: @have the {highest|most|largest} stock; @have the most {units|pieces} {in stock|left}; @are best stocked
least: @have the {lowest|least|smallest} stock; @have the fewest {units|pieces} {in stock|left}
adjective_most: best-stocked; most stocked
noun: stock; stock level; {units|pieces} in stock; inventory; {number|quantity} in stock
single: How many {<v>s|units of [the] <v>|pieces of [the] <v>} {are|do we have} {in stock|left}?; What is the stock [level] of [the] <v>?; How much stock {of|do we have of} [the] <v> [is left]?; Stock of [the] <v>; How many <v>s {do we have|are available|remain}?; Units in stock of the <v>; What's {left|the inventory} of [the] <v>?; How many units of [the] <v> remain [in stock]?
""",
    plain=True,
)
add_measure(
    "employees",
    "employees.salary",
    "salary",
    "",
    (0, 0),
    """
most: earn@s the most [money]; @have the {highest|biggest|largest} {salary|pay|wage}; @are paid {best|the most|most}; make@s the most [money]; get@s the {highest|biggest} {salary|paycheck}; @are [the] best paid
least: earn@s the least [money]; @have the {lowest|smallest} {salary|pay|wage}; @are paid {worst|the least|least}; make@s the least [money]; get@s the {lowest|smallest} salary
adjective_most: best-paid; highest-paid; best paid; highest-earning; top-earning; highest paid
adjective_least: worst-paid; lowest-paid; lowest paid; lowest-earning; worst paid
noun: salary; pay; wage; income; earnings; how much they earn
single: {What is|What's} the salary of <v>?; How much does <v> {earn|make|get paid}?; {What is|What's} <v>'s {salary|pay|wage|income}?; What does <v> earn?; [The] salary of <v>; How much {is <v> paid|do we pay <v>}?; How well is <v> paid?; Tell me <v>'s salary; What do we pay <v>?; How high is the salary of <v>?; Show <v>'s {salary|pay}
""",
    plain=True,
)
add_measure(
    "employees",
    "employees.hired_on",
    "hired_on",
    "",
    (0, 0),
    """
most: {were hired|joined|started [work]} {most recently|last|latest}; @have been here [the] shortest; @are the newest
least: {were hired|joined|started [work]} {first|earliest}; @have been {here|with us|with the company} [the] longest; @have worked {here|for us} the longest
adjective_most: newest; most recently hired; latest
adjective_least: longest-serving; most senior; first hired; longest-standing
noun: hiring date; hire date; date of hire; start date; date they were hired
single: When was <v> hired?; When did <v> {join|start} [the company|work|working here|here]?; {What is|What's} the {hiring|hire|start} date of <v>?; Since when {has <v> worked|does <v> work} {here|for us}?; {Hire|Hiring|Start} date of <v>; {What is|What's} <v>'s {hire|start} date?; On {which|what} {day|date} {was <v> hired|did <v> start}?; How long has <v> {been here|worked for us}?
""",
    plain=True,
)
add_measure(
    "customers",
    "customers.joined_on",
    "joined_on",
    "",
    (0, 0),
    """
most: {joined|signed up|registered} {most recently|last|latest}; became customers {most recently|last}; @have been {with us|customers} [the] shortest; @are the newest
least: {joined|signed up|registered} {first|earliest}; @have been {with us|customers} [the] longest; became customers first
adjective_most: newest; latest; most recent
adjective_least: oldest; longest-standing; first; earliest
noun: {joining|join|sign-up|registration} date; date they {joined|signed up|registered}
single: When did <v> {join|sign up|register|become a customer|open an account}?; {What is|What's} the {joining|join|sign-up|registration} date of <v>?; Since when {has <v> been|is <v>} {a|our} customer?; {Joining|Sign-up|Join} date of <v>; On {which|what} {day|date} did <v> {join|sign up|register}?; How long has <v> been {a customer|with us}?; When was <v>'s account {created|opened}?
""",
    plain=True,
)
add_measure(
    "orders",
    "orders.total",
    "total",
    "",
    (0, 0),
    """
most: cost the most; @have the {highest|largest|biggest} {total|value|amount}; @were worth the most; brought in the most [money]; @are worth [the] most
least: cost the least; @have the {lowest|smallest} {total|value|amount}; @were worth the least; brought in the least [money]
adjective_most: largest; biggest; most expensive; most valuable; highest
adjective_least: smallest; cheapest; least expensive; least valuable; lowest
noun: total; value; [total] amount; order {value|total}; size; order amount
""",
    plain=True,
)
add_measure(
    "orders",
    "orders.ordered_on",
    "ordered_on",
    "",
    (0, 0),
    """
most: {were placed|came in|arrived|were made} {last|most recently|latest}; @are the {newest|latest|most recent}
least: {were placed|came in|were made} {first|earliest}; @are the {oldest|earliest}
adjective_most: latest; newest; most recent; last
adjective_least: oldest; earliest; first
noun: date; order date; date of order
""",
    plain=True,
)
add_measure(
    "shipments",
    "shipments.cost",
    "cost",
    "",
    (0, 0),
    """
most: cost the most; @have the {highest|largest} {cost|shipping cost}; @were [the] most expensive
least: cost the least; @have the {lowest|smallest} {cost|shipping cost}; @were [the] cheapest
adjective_most: most expensive; costliest; priciest; dearest
adjective_least: cheapest; least expensive; least costly
noun: cost; shipping cost; price
""",
    plain=True,
)
add_measure(
    "shipments",
    "shipments.shipped_on",
    "shipped_on",
    "",
    (0, 0),
    """
most: {were sent|were shipped|went out|left} {last|most recently|latest}
least: {were sent|were shipped|went out|left} {first|earliest}
adjective_most: latest; newest; most recent; last
adjective_least: oldest; earliest; first
noun: date; shipping date; date of shipping
""",
    plain=True,
)
add_measure(
    "categories",
    "ROUND(AVG(reviews.rating), 2)",
    "average",
    "products reviews",
    (2, 4.9),
    """
most: @have the {best|highest} {average rating|rating|ratings|reviews|review score}; @are rated {best|highest}; got the {best|highest} {ratings|reviews}
least: @have the {worst|lowest} {average rating|rating|ratings|reviews|review score}; @are rated {worst|lowest}; got the {worst|lowest} {ratings|reviews}
adjective_most: best-rated; top-rated; highest-rated; best reviewed; best rated
adjective_least: worst-rated; lowest-rated; worst rated; worst reviewed
noun: average rating; rating; average review score; mean rating; [average] customer rating
compare: with an average rating {of|} <c>; whose [average] rating is <c>; @are rated <c> on average
single: What is the average rating {of <v> products|in the <v> category|in <v>|of products in <v>}?; How are <v> products rated [on average]?; Average rating of {<v> products|products in <v>}; How well are <v> {products|items} rated?; What's the mean rating of the <v> category?
each: What is the average rating {of|in|for} {each|every} category?; How are products rated in each category [on average]?
""",
)
