"""Make the second bundled database, a museum, whose tables and columns occur in no training data."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

from training.make_database import Row
from training.names import OTHER_FIRST, OTHER_LAST

SEED = 11
SCHEMA = """
CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT NOT NULL, nationality TEXT NOT NULL, birth_year INTEGER NOT NULL);
CREATE TABLE galleries (id INTEGER PRIMARY KEY, name TEXT NOT NULL, wing TEXT NOT NULL, benches INTEGER NOT NULL);
CREATE TABLE paintings (id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER NOT NULL REFERENCES artists,
    gallery_id INTEGER REFERENCES galleries, technique TEXT NOT NULL, acquired_on TEXT NOT NULL, insured_value INTEGER NOT NULL);
CREATE TABLE restorations (id INTEGER PRIMARY KEY, painting_id INTEGER NOT NULL REFERENCES paintings, workshop TEXT NOT NULL,
    expense INTEGER NOT NULL, finished_on TEXT NOT NULL);
"""
NATIONALITIES = "Dutch French Italian Spanish German Danish Japanese Mexican".split()
GALLERIES = (
    "Amber Room",
    "Blue Hall",
    "Cedar Room",
    "Dome",
    "East Cabinet",
    "Fountain Hall",
    "Green Room",
    "Old Chapel",
)
WINGS = "north south east west".split()
TECHNIQUES = ("oil", "watercolor", "tempera", "pastel", "fresco")
WORKSHOPS = ("Albrecht", "Lindqvist", "Moretti", "Sandoval")
FIRST_WORDS = (
    "Silent Golden Broken Distant Crimson Hollow Restless Frozen Gentle Hidden Last Pale Quiet Rising".split()
)
SECOND_WORDS = "Orchard Harvest Window Shore Lantern Meadow Mirror Procession Letter Storm Bread Garden Self Evening".split()
N_ARTISTS, N_PAINTINGS, N_RESTORATIONS = 42, 150, 80


def rows(seed: int = SEED) -> dict[str, list[Row]]:
    """Draw the rows of all tables."""
    rng = random.Random(f"museum {seed}")
    people = rng.sample(
        [f"{first} {last}" for first in OTHER_FIRST for last in OTHER_LAST if "'" not in last], N_ARTISTS
    )
    artists: list[Row] = [
        (i, name, rng.choice(NATIONALITIES), rng.randint(1580, 1990)) for i, name in enumerate(people, 1)
    ]
    galleries: list[Row] = [
        (i, name, rng.choice(WINGS), rng.randint(0, 9)) for i, name in enumerate(GALLERIES, 1)
    ]
    titles = rng.sample([f"{a} {b}" for a in FIRST_WORDS for b in SECOND_WORDS], N_PAINTINGS)
    day = date(1960, 1, 1)
    paintings: list[Row] = []
    for i, title in enumerate(titles, 1):
        gallery = None if rng.random() < 0.12 else rng.randint(1, len(galleries) - 1)
        acquired = (day + timedelta(days=rng.randint(0, 23_000))).isoformat()
        worth = round(rng.lognormvariate(11, 1.2), -3)
        artist = min(rng.randint(1, N_ARTISTS - 3), rng.randint(1, N_ARTISTS - 3))
        paintings.append(
            (i, title, artist, gallery, rng.choices(TECHNIQUES, (9, 4, 3, 2, 1))[0], acquired, int(worth))
        )
    restorations: list[Row] = []
    for i in range(1, N_RESTORATIONS + 1):
        finished = (date(2001, 1, 1) + timedelta(days=rng.randint(0, 8_500))).isoformat()
        restorations.append(
            (i, rng.randint(1, N_PAINTINGS), rng.choice(WORKSHOPS), rng.randint(2, 180) * 50, finished)
        )
    return {"artists": artists, "galleries": galleries, "paintings": paintings, "restorations": restorations}


def make_museum(path: Path, seed: int = SEED) -> Path:
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
