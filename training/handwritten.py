"""Questions written by hand, outside the frames, for a second and harsher measurement.

None is used in training. The answers follow the conventions of docs/embedded-model.md (a ranking shows name and
measure, "the best ones" without a number are ten).
"""

from __future__ import annotations

TOP_SPENDERS = (
    "SELECT customers.name, SUM(orders.total) AS spent FROM customers JOIN orders ON orders.customer_id = "
    "customers.id GROUP BY customers.id ORDER BY spent DESC LIMIT "
)
SOLD = (
    "SELECT products.name, SUM(order_items.quantity) AS units FROM products JOIN order_items ON "
    "order_items.product_id = products.id GROUP BY products.id ORDER BY units "
)
BY_CATEGORY = (
    "FROM categories JOIN products ON products.category_id = categories.id JOIN order_items ON "
    "order_items.product_id = products.id"
)
REVENUE = "SUM(order_items.quantity * order_items.unit_price) AS revenue"
BY_SELLER = "FROM employees JOIN orders ON orders.employee_id = employees.id"
BY_COUNTRY = "FROM customers JOIN orders ON orders.customer_id = customers.id"
DAYS = "ROUND(AVG(julianday(delivered_on) - julianday(shipped_on)), 2)"

QUESTIONS: tuple[tuple[str, str], ...] = (
    ("Which five customers spent the most?", TOP_SPENDERS + "5"),
    ("Who are our three biggest spenders?", TOP_SPENDERS + "3"),
    ("I'd love a list of the seven customers that have given us the most money", TOP_SPENDERS + "7"),
    ("Who has spent more money than anybody else?", TOP_SPENDERS + "1"),
    ("Name our best customer", TOP_SPENDERS + "1"),
    ("Who is the top customer in terms of money spent?", TOP_SPENDERS + "1"),
    ("What sells best?", SOLD + "DESC LIMIT 1"),
    ("Give me our 4 best sellers by units", SOLD + "DESC LIMIT 4"),
    ("Which product do people buy the most of?", SOLD + "DESC LIMIT 1"),
    ("Which three products hardly sell?", SOLD + "LIMIT 3"),
    ("How many customers does the shop have?", "SELECT COUNT(*) FROM customers"),
    ("How many people are registered as customers?", "SELECT COUNT(*) FROM customers"),
    ("What is the size of our customer base in Germany?", "SELECT COUNT(*) FROM customers WHERE country = 'Germany'"),
    ("How many of our customers live in Lisbon?", "SELECT COUNT(*) FROM customers WHERE city = 'Lisbon'"),
    ("Which customers are based in Oslo?", "SELECT name FROM customers WHERE city = 'Oslo'"),
    ("Show everyone who lives in Kyoto", "SELECT name FROM customers WHERE city = 'Kyoto'"),
    ("customers in Spain", "SELECT name FROM customers WHERE country = 'Spain'"),
    ("Which clients signed up after 2024?", "SELECT name FROM customers WHERE joined_on > '2024-12-31'"),
    ("How many new customers did we get in 2023?", "SELECT COUNT(*) FROM customers WHERE strftime('%Y', joined_on) = '2023'"),
    ("How many orders do we have in total?", "SELECT COUNT(*) FROM orders"),
    ("How many orders came in during March 2024?", "SELECT COUNT(*) FROM orders WHERE strftime('%Y-%m', ordered_on) = '2024-03'"),
    ("Number of orders in 2022", "SELECT COUNT(*) FROM orders WHERE strftime('%Y', ordered_on) = '2022'"),
    ("How many orders were cancelled?", "SELECT COUNT(*) FROM orders WHERE status = 'cancelled'"),
    ("How many orders are still pending?", "SELECT COUNT(*) FROM orders WHERE status = 'pending'"),
    ("Show me all the returned orders", "SELECT id, ordered_on, total FROM orders WHERE status = 'returned'"),
    ("Which orders were worth more than 2000?", "SELECT id, ordered_on, total FROM orders WHERE total > 2000"),
    ("What is the largest order we ever had?", "SELECT id, total FROM orders ORDER BY total DESC LIMIT 1"),
    ("What's the average order worth?", "SELECT ROUND(AVG(total), 2) FROM orders"),
    ("What is the average order value?", "SELECT ROUND(AVG(total), 2) FROM orders"),
    ("How much revenue did we make in 2024?", "SELECT SUM(total) FROM orders WHERE strftime('%Y', ordered_on) = '2024'"),
    ("What was our turnover in 2023?", "SELECT SUM(total) FROM orders WHERE strftime('%Y', ordered_on) = '2023'"),
    ("How much money have we made so far?", "SELECT SUM(total) FROM orders"),
    ("revenue by year", "SELECT strftime('%Y', ordered_on) AS year, SUM(total) AS revenue FROM orders GROUP BY year ORDER BY year"),
    ("How did sales go month by month in 2024?", "SELECT strftime('%Y-%m', ordered_on) AS month, SUM(total) AS revenue FROM orders WHERE strftime('%Y', ordered_on) = '2024' GROUP BY month ORDER BY month"),
    ("What was our best month?", "SELECT strftime('%Y-%m', ordered_on) AS month, SUM(total) AS revenue FROM orders GROUP BY month ORDER BY revenue DESC LIMIT 1"),
    ("Which year brought in the most money?", "SELECT strftime('%Y', ordered_on) AS year, SUM(total) AS revenue FROM orders GROUP BY year ORDER BY revenue DESC LIMIT 1"),
    ("What is the most expensive product?", "SELECT name, price FROM products ORDER BY price DESC LIMIT 1"),
    ("What's the cheapest thing we sell?", "SELECT name, price FROM products ORDER BY price LIMIT 1"),
    ("Ten cheapest products please", "SELECT name, price FROM products ORDER BY price LIMIT 10"),
    ("Which products cost less than 20?", "SELECT name FROM products WHERE price < 20"),
    ("products between 50 and 60 euros", "SELECT name FROM products WHERE price BETWEEN 50 AND 60"),
    ("How many products cost over $100?", "SELECT COUNT(*) FROM products WHERE price > 100"),
    ("Which products have run out?", "SELECT name FROM products WHERE stock = 0"),
    ("What's out of stock?", "SELECT name FROM products WHERE stock = 0"),
    ("How many products are out of stock at the moment?", "SELECT COUNT(*) FROM products WHERE stock = 0"),
    ("Which items have fewer than 10 units left?", "SELECT name FROM products WHERE stock < 10"),
    ("What is the average price of our products?", "SELECT ROUND(AVG(price), 2) FROM products"),
    ("Average price of Kitchen products?", "SELECT ROUND(AVG(products.price), 2) FROM products JOIN categories ON products.category_id = categories.id WHERE categories.name = 'Kitchen'"),
    ("What does a lighting product cost on average?", "SELECT ROUND(AVG(products.price), 2) FROM products JOIN categories ON products.category_id = categories.id WHERE categories.name = 'Lighting'"),
    ("List everything in the Garden category", "SELECT products.name FROM products JOIN categories ON products.category_id = categories.id WHERE categories.name = 'Garden'"),
    ("How many Toys do we sell?", "SELECT COUNT(*) FROM products JOIN categories ON products.category_id = categories.id WHERE categories.name = 'Toys'"),
    ("Which category makes the most money?", f"SELECT categories.name, {REVENUE} {BY_CATEGORY} GROUP BY categories.id ORDER BY revenue DESC LIMIT 1"),
    ("Revenue for each product category", f"SELECT categories.name, {REVENUE} {BY_CATEGORY} GROUP BY categories.id"),
    ("Which two categories sold the fewest units?", f"SELECT categories.name, SUM(order_items.quantity) AS units {BY_CATEGORY} GROUP BY categories.id ORDER BY units LIMIT 2"),
    ("How many products are there in each category?", "SELECT categories.name, COUNT(*) AS number FROM categories JOIN products ON products.category_id = categories.id GROUP BY categories.id"),
    ("What categories do we have?", "SELECT name FROM categories"),
    ("Which products are more expensive than average?", "SELECT name, price FROM products WHERE price > (SELECT AVG(price) FROM products)"),
    ("Which three products have the best ratings?", "SELECT products.name, ROUND(AVG(reviews.rating), 2) AS average FROM products JOIN reviews ON reviews.product_id = products.id GROUP BY products.id ORDER BY average DESC LIMIT 3"),
    ("Which products were never sold?", "SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM order_items)"),
    ("Which products nobody ever reviewed?", "SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM reviews)"),
    ("How many five star reviews do we have?", "SELECT COUNT(*) FROM reviews WHERE rating = 5"),
    ("What is our average rating?", "SELECT ROUND(AVG(rating), 2) FROM reviews"),
    ("Which customers never bought anything?", "SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)"),
    ("How many customers have yet to place an order?", "SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)"),
    ("Who ordered something in 2021?", "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE strftime('%Y', ordered_on) = '2021')"),
    ("Which customers have more than ten orders?", f"SELECT customers.name, COUNT(*) AS number {BY_COUNTRY} GROUP BY customers.id HAVING COUNT(*) > 10"),
    ("Who spent over 7000?", f"SELECT customers.name, SUM(orders.total) AS spent {BY_COUNTRY} GROUP BY customers.id HAVING SUM(orders.total) > 7000"),
    ("From which countries do our customers come?", "SELECT DISTINCT country FROM customers"),
    ("In how many countries do we have customers?", "SELECT COUNT(DISTINCT country) FROM customers"),
    ("Number of customers per country", "SELECT country, COUNT(*) AS number FROM customers GROUP BY country"),
    ("Which country has the most customers?", "SELECT country, COUNT(*) AS number FROM customers GROUP BY country ORDER BY number DESC LIMIT 1"),
    ("Which city spends the most?", f"SELECT customers.city, SUM(orders.total) AS revenue {BY_COUNTRY} GROUP BY customers.city ORDER BY revenue DESC LIMIT 1"),
    ("How much did people in France spend?", f"SELECT SUM(orders.total) AS revenue {BY_COUNTRY} WHERE customers.country = 'France'"),
    ("Total sales per country", f"SELECT customers.country, SUM(orders.total) AS revenue {BY_COUNTRY} GROUP BY customers.country"),
    ("Who earns the most?", "SELECT name, salary FROM employees ORDER BY salary DESC LIMIT 1"),
    ("Who is the lowest paid employee?", "SELECT name, salary FROM employees ORDER BY salary LIMIT 1"),
    ("What is the average salary?", "SELECT ROUND(AVG(salary), 2) FROM employees"),
    ("What's the average pay in Marketing?", "SELECT ROUND(AVG(salary), 2) AS average FROM employees WHERE department = 'Marketing'"),
    ("Average salary by department", "SELECT department, ROUND(AVG(salary), 2) AS average FROM employees GROUP BY department"),
    ("Who works in Support?", "SELECT name FROM employees WHERE department = 'Support'"),
    ("How many people work in the Sales team?", "SELECT COUNT(*) FROM employees WHERE department = 'Sales'"),
    ("Which employees make more than 70000?", "SELECT name FROM employees WHERE salary > 70000"),
    ("Who was hired in 2020?", "SELECT name FROM employees WHERE strftime('%Y', hired_on) = '2020'"),
    ("Who has been with the company the longest?", "SELECT name, hired_on FROM employees ORDER BY hired_on LIMIT 1"),
    ("Which employee handled the most orders?", f"SELECT employees.name, COUNT(*) AS number {BY_SELLER} GROUP BY employees.id ORDER BY number DESC LIMIT 1"),
    ("Top 3 employees by sales in 2023", f"SELECT employees.name, SUM(orders.total) AS revenue {BY_SELLER} WHERE strftime('%Y', orders.ordered_on) = '2023' GROUP BY employees.id ORDER BY revenue DESC LIMIT 3"),
    ("How many employees are there?", "SELECT COUNT(*) FROM employees"),
    ("What job titles are there in the company?", "SELECT DISTINCT title FROM employees"),
    ("Which carrier is the fastest?", f"SELECT carrier, {DAYS} AS days FROM shipments GROUP BY carrier ORDER BY days LIMIT 1"),
    ("How long does each carrier take?", f"SELECT carrier, {DAYS} AS days FROM shipments GROUP BY carrier"),
    ("How long does a delivery take on average?", f"SELECT {DAYS} FROM shipments"),
    ("How many parcels went out with Bluebird?", "SELECT COUNT(*) FROM shipments WHERE carrier = 'Bluebird'"),
    ("What did we spend on shipping?", "SELECT SUM(cost) FROM shipments"),
    ("Which shipments have not arrived yet?", "SELECT id, carrier, shipped_on FROM shipments WHERE delivered_on IS NULL"),
    ("List the suppliers from Poland", "SELECT name FROM suppliers WHERE country = 'Poland'"),
    ("Which suppliers don't supply anything?", "SELECT name FROM suppliers WHERE id NOT IN (SELECT supplier_id FROM products)"),
    ("Which supplier has the most products?", "SELECT suppliers.name, COUNT(*) AS number FROM suppliers JOIN products ON products.supplier_id = suppliers.id GROUP BY suppliers.id ORDER BY number DESC LIMIT 1"),
    ("How many products come from each supplier?", "SELECT suppliers.name, COUNT(*) AS number FROM suppliers JOIN products ON products.supplier_id = suppliers.id GROUP BY suppliers.id"),
    ("What was in order 42?", "SELECT products.name, order_items.quantity FROM order_items JOIN products ON order_items.product_id = products.id WHERE order_items.order_id = 42"),
    ("Who placed order 100?", "SELECT customers.name FROM orders JOIN customers ON orders.customer_id = customers.id WHERE orders.id = 100"),
)  # fmt: skip
