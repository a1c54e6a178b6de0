"""Word lists from which the database and the questions draw their values.

Lists called ``OTHER_*`` never enter the database: they occur in training questions only, so that the
model learns to copy a value from the question and not to recite the ones it has seen.
"""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

FIRST = (
    "Ada Amir Anna Arjun Astrid Beatriz Boris Camila Carlos Chiara Clara Daniel David Diego Elena Elif Emil "
    "Emma Erik Eva Fatima Felix Fiona Freya Gabriel Greta Hana Hannah Hugo Ines Ingrid Isabel Ivan Jakob Jana "
    "Joao Jonas Julia Karim Kenji Lara Laura Leon Lena Liam Lina Lucas Lucia Magnus Maria Marta Mateo Maya Mei "
    "Mila Mona Nadia Nina Noah Nora Oliver Omar Oscar Pablo Petra Priya Rafael Rosa Ruben Sara Selin Sofia Sven "
    "Tara Theo Thomas Tomas Vera Victor Yara Yusuf Zoe"
).split()
LAST = (
    "Abbott Almeida Andersson Aydin Bakker Baldwin Barros Bauer Becker Berg Bianchi Blom Brandt Castro Chen "
    "Conti Costa Dahl Demir Dubois Duarte Engel Eriksen Ferrari Fischer Fontaine Fuchs Garcia Gallo Gruber Haas "
    "Hansen Herrera Hoffman Holm Horvat Ito Jansen Johnson Kaya Keller Khan Klein Koch Kovacs Kowalski Lang "
    "Larsen Laurent Lindgren Lopez Mancini Marino Martin Meyer Molina Moreau Moreno Nakamura Neumann Nielsen "
    "Novak Okafor Olsen Ortega Patel Pereira Petit Popov Ramos Reyes Ricci Rossi Roux Santos Sato Schmidt Silva "
    "Simon Singh Sousa Steiner Suzuki Tanaka Torres Vargas Vidal Vogel Weber Winter Wolf Yilmaz Zimmer"
).split()
OTHER_FIRST = (
    "Agnes Albert Alice Bruno Cecilia Colin Dalia Dmitri Edith Esther Farid Fred George Gloria Harold Helga Igor "
    "Iris Jasper Joan Kamal Kurt Leila Louis Mabel Milo Naomi Nigel Olga Otto Paula Quentin Ralph Rita Saul "
    "Sergei Tessa Ulrich Uma Vikram Wanda Walter Xavier Yvonne Zara Charlotte Benjamin Hiroshi Aisha Kwame"
).split()
OTHER_LAST = (
    "Adeyemi Archer Bell Bishop Brennan Burke Carver Cooper Crane Dixon Doyle Drake Dvorak Ellis Farrell Finch "
    "Fletcher Foley Gibson Grant Greene Harper Hayes Hughes Iversen Jokinen Kramer Lambert Lowe Maddox Mercer "
    "Moss Nash Nolan O'Brien O'Connor Osborne Parker Pratt Quinn Rao Reid Sharma Shaw Stone Tucker Turner Vance "
    "Walsh Watts Whitaker Wong Yamada York Zhang"
).split()

CITIES = {
    "Portugal": ("Lisbon", "Porto", "Braga"),
    "Spain": ("Madrid", "Valencia", "Seville", "Bilbao"),
    "France": ("Paris", "Lyon", "Nantes"),
    "Germany": ("Berlin", "Hamburg", "Munich", "Leipzig"),
    "Italy": ("Rome", "Milan", "Turin"),
    "Austria": ("Vienna", "Graz"),
    "Norway": ("Oslo", "Bergen"),
    "Sweden": ("Stockholm", "Uppsala"),
    "Denmark": ("Copenhagen", "Aarhus"),
    "Poland": ("Warsaw", "Krakow"),
    "Japan": ("Tokyo", "Osaka", "Kyoto"),
    "Canada": ("Toronto", "Montreal", "Vancouver"),
}
OTHER_CITIES = (
    "Amsterdam Athens Auckland Austin Basel Belfast Boston Bristol Brussels Cairo Chicago Cork Dallas Delhi "
    "Denver Dublin Florence Geneva Ghent Glasgow Helsinki Houston Jakarta Lagos Leeds Lima London Malmo Miami "
    "Nairobi Naples Nice Perth Prague Riga Seattle Seoul Sofia Sydney Tallinn Tampere Utrecht Zagreb Zurich"
).split()
OTHER_COUNTRIES = (
    "Belgium Brazil Chile China Croatia Egypt Estonia Finland Greece Hungary Iceland India Ireland Kenya Latvia "
    "Malta Mexico Morocco Nigeria Peru Romania Serbia Slovenia Switzerland Turkey Ukraine Vietnam"
).split()

CATEGORIES = {
    "Kitchen": ("Kettle", "Saucepan", "Teapot", "Skillet", "Bowl", "Chopping Board"),
    "Garden": ("Planter", "Watering Can", "Trowel", "Bird Bath", "Rake", "Bench"),
    "Toys": ("Train Set", "Puzzle", "Doll House", "Kite", "Spinning Top", "Rocking Horse"),
    "Office": ("Notebook", "Desk Tray", "Stapler", "Pen Holder", "Letter Opener", "Clipboard"),
    "Lighting": ("Floor Lamp", "Lantern", "Desk Lamp", "Candle Holder", "Wall Light", "Chandelier"),
    "Furniture": ("Bookshelf", "Armchair", "Coffee Table", "Wardrobe", "Stool", "Bed Frame"),
    "Sports": ("Dumbbell", "Tennis Racket", "Skipping Rope", "Yoga Block", "Helmet", "Surfboard"),
    "Music": ("Guitar", "Flute", "Drum", "Music Stand", "Violin", "Ukulele"),
    "Bathroom": ("Soap Dish", "Towel Rack", "Mirror", "Bath Mat", "Shelf", "Basin"),
    "Travel": ("Suitcase", "Backpack", "Flask", "Wallet", "Umbrella", "Compass"),
}
MATERIALS = (
    "Oak Copper Walnut Bamboo Steel Glass Leather Linen Marble Brass Ceramic Cedar Cotton Silver Amber Slate "
    "Birch Velvet"
).split()
OTHER_CATEGORIES = (
    "Books Electronics Jewelry Clothing Shoes Tools Pets Beauty Grocery Stationery Camping Art Baby Automotive "
    "Games Fitness Cycling Photography"
).split()
OTHER_ITEMS = (
    "Clock|Vase|Blanket|Hammer|Scarf|Tent|Basket|Pillow|Bicycle|Camera|Jug|Ladder|Fountain Pen|Rug|Sofa|Keyboard|"
    "Speaker|Toaster|Whistle|Saddle|Harp|Necklace|Bottle|Hammock|Tray"
).split("|")
OTHER_MATERIALS = (
    "Maple Iron Wool Silk Granite Pine Golden Crystal Rubber Felt Teak Titanium Paper Ebony Canvas Jade Red Blue "
    "Green Tiny"
).split()

SUPPLIER_WORDS = (
    "Alder Kestrel Harbour Nordic Summit Juniper Orchard Beacon Falcon Meridian Granary Lighthouse Mosaic Foxglove "
    "Anchor Redwood Willow Cobalt Heron Tidewater"
).split()
OTHER_SUPPLIER_WORDS = (
    "Bramble Compass Delta Evergreen Firefly Glacier Hilltop Ironwood Keystone Lantern Maplewood Northgate Osprey "
    "Pinnacle Quarry Riverside Saffron Thistle Upland Violet"
).split()
SUPPLIER_SUFFIXES = ("Trading", "Works", "Goods", "Supply", "Crafts")

DEPARTMENTS = {
    "Sales": ("Sales Representative", "Account Manager"),
    "Support": ("Support Agent", "Support Lead"),
    "Logistics": ("Warehouse Clerk", "Dispatcher"),
    "Marketing": ("Copywriter", "Campaign Manager"),
    "Finance": ("Accountant", "Controller"),
}
OTHER_DEPARTMENTS = ("Legal", "Engineering", "Research", "Design", "Security", "Training", "Production")
OTHER_TITLES = ("Engineer", "Team Lead", "Analyst", "Driver", "Designer", "Buyer", "Intern", "Sales Director")
STATUSES = ("delivered", "shipped", "pending", "cancelled", "returned")
CARRIERS = ("Swiftline", "Bluebird", "Polar Express", "Roadrunner", "Parcelhub")
OTHER_CARRIERS = ("Skypost", "Quickship", "Northmail", "Atlas Freight", "Hermesia", "Dartline", "Cargonaut")
