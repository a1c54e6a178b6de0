"""Questions about the museum, written by hand before any answer was seen, with the queries that answer them.

They are of the kinds that lessons about drawn schemas are of (``foreign_questions.py``), in other words: a test sees to it that
no lesson would ask one of them.
"""

from __future__ import annotations

BY_ARTIST = "WHERE artist_id = (SELECT id FROM artists WHERE name = '{}')"
MOST = "SELECT {0}.{1} FROM {0} JOIN {2} ON {3} = {0}.id GROUP BY {0}.id ORDER BY COUNT(*)"

ARTIST, PAINTING = "Fred Shaw", "Distant Window"  # of the database
MUSEUM = (
    ("How many paintings does the museum own?", "SELECT COUNT(*) FROM paintings"),
    ("How many artists do we know?", "SELECT COUNT(*) FROM artists"),
    ("Tell me how many restorations there were", "SELECT COUNT(*) FROM restorations"),
    ("What is the galleries count?", "SELECT COUNT(*) FROM galleries"),
    ("How many of the artists have the nationality Dutch?", "SELECT COUNT(*) FROM artists WHERE nationality = 'Dutch'"),
    ("How many paintings use the technique watercolor?", "SELECT COUNT(*) FROM paintings WHERE technique = 'watercolor'"),
    ("How many paintings have an insured value above 100000?", "SELECT COUNT(*) FROM paintings WHERE insured_value > 100000"),
    ("How many restorations had an expense below 2000?", "SELECT COUNT(*) FROM restorations WHERE expense < 2000"),
    ("How many paintings were acquired on a day after 2010-01-01?", "SELECT COUNT(*) FROM paintings WHERE acquired_on > '2010-01-01'"),
    ("How many restorations did the workshop Moretti do?", "SELECT COUNT(*) FROM restorations WHERE workshop = 'Moretti'"),
    ("How many artists have a birth year before 1700?", "SELECT COUNT(*) FROM artists WHERE birth_year < 1700"),
    ("How many galleries have at least 5 benches?", "SELECT COUNT(*) FROM galleries WHERE benches >= 5"),
    ("Please list the names of our galleries", "SELECT name FROM galleries"),
    ("Every artist in the database", "SELECT name FROM artists"),
    ("I need the titles of all the paintings", "SELECT title FROM paintings"),
    ("Which of the artists have the nationality Japanese?", "SELECT name FROM artists WHERE nationality = 'Japanese'"),
    ("Show me every painting whose technique is fresco", "SELECT title FROM paintings WHERE technique = 'fresco'"),
    ("Which galleries lie in the wing north?", "SELECT name FROM galleries WHERE wing = 'north'"),
    ("Paintings insured for an insured value over 300000", "SELECT title FROM paintings WHERE insured_value > 300000"),
    ("All galleries that have fewer than 4 benches", "SELECT name FROM galleries WHERE benches < 4"),
    ("Artists who have a birth year later than 1950", "SELECT name FROM artists WHERE birth_year > 1950"),
    ("Which paintings have the technique pastel and an insured value under 50000?", "SELECT title FROM paintings WHERE technique = 'pastel' AND insured_value < 50000"),
    ("What is the average insured value of our paintings?", "SELECT AVG(insured_value) FROM paintings"),
    ("What did the restorations cost on average, by expense?", "SELECT AVG(expense) FROM restorations"),
    ("What is the total expense of all the restorations?", "SELECT SUM(expense) FROM restorations"),
    ("What is the highest insured value a painting has?", "SELECT MAX(insured_value) FROM paintings"),
    ("What is the lowest birth year of any artist?", "SELECT MIN(birth_year) FROM artists"),
    ("How high is the average number of benches in galleries?", "SELECT AVG(benches) FROM galleries"),
    ("What is the total insured value of paintings with the technique oil?", "SELECT SUM(insured_value) FROM paintings WHERE technique = 'oil'"),
    ("What is the average expense of restorations by the workshop Sandoval?", "SELECT AVG(expense) FROM restorations WHERE workshop = 'Sandoval'"),
    ("Which painting has by far the highest insured value?", "SELECT title FROM paintings ORDER BY insured_value DESC LIMIT 1"),
    ("Give me the five paintings with the highest insured value", "SELECT title FROM paintings ORDER BY insured_value DESC LIMIT 5"),
    ("Which gallery has the most benches of all?", "SELECT name FROM galleries ORDER BY benches DESC LIMIT 1"),
    ("Which artist has the earliest birth year?", "SELECT name FROM artists ORDER BY birth_year LIMIT 1"),
    ("Name the 3 artists with the latest birth year", "SELECT name FROM artists ORDER BY birth_year DESC LIMIT 3"),
    ("Which painting was acquired most recently, by its acquired on?", "SELECT title FROM paintings ORDER BY acquired_on DESC LIMIT 1"),
    ("Which techniques do our paintings use?", "SELECT DISTINCT technique FROM paintings"),
    ("What nationalities do the artists have?", "SELECT DISTINCT nationality FROM artists"),
    ("How many different workshops did restorations?", "SELECT COUNT(DISTINCT workshop) FROM restorations"),
    ("How many distinct nationalities are there?", "SELECT COUNT(DISTINCT nationality) FROM artists"),
    ("For every technique, the number of paintings", "SELECT technique, COUNT(*) FROM paintings GROUP BY technique"),
    ("How many artists are there of each nationality?", "SELECT nationality, COUNT(*) FROM artists GROUP BY nationality"),
    ("How many restorations did each workshop do?", "SELECT workshop, COUNT(*) FROM restorations GROUP BY workshop"),
    ("The average expense of restorations per workshop, please", "SELECT workshop, AVG(expense) FROM restorations GROUP BY workshop"),
    ("Total insured value of paintings for each technique", "SELECT technique, SUM(insured_value) FROM paintings GROUP BY technique"),
    ("What is the most frequent nationality among our artists?", "SELECT nationality FROM artists GROUP BY nationality ORDER BY COUNT(*) DESC LIMIT 1"),
    ("Which technique is used most in paintings?", "SELECT technique FROM paintings GROUP BY technique ORDER BY COUNT(*) DESC LIMIT 1"),
    ("What nationality is {artist}?", "SELECT nationality FROM artists WHERE name = '{artist}'"),
    ("What is the birth year of the artist called {artist}?", "SELECT birth_year FROM artists WHERE name = '{artist}'"),
    ("In which wing is the Amber Room?", "SELECT wing FROM galleries WHERE name = 'Amber Room'"),
    ("Which technique does the painting {painting} have?", "SELECT technique FROM paintings WHERE title = '{painting}'"),
    ("What insured value does the painting {painting} have?", "SELECT insured_value FROM paintings WHERE title = '{painting}'"),
    ("Which paintings have an insured value higher than the average?", "SELECT title FROM paintings WHERE insured_value > (SELECT AVG(insured_value) FROM paintings)"),
    ("How many paintings are there by the artist {artist}?", "SELECT COUNT(*) FROM paintings " + BY_ARTIST.format("{artist}")),
    ("Show the paintings of the artist {artist}", "SELECT title FROM paintings " + BY_ARTIST.format("{artist}")),
    ("How many paintings hang in the gallery Blue Hall?", "SELECT COUNT(*) FROM paintings WHERE gallery_id = (SELECT id FROM galleries WHERE name = 'Blue Hall')"),
    ("Which artist do we have the most paintings of?", MOST.format("artists", "name", "paintings", "artist_id") + " DESC LIMIT 1"),
    ("Which 3 galleries hold the most paintings?", MOST.format("galleries", "name", "paintings", "gallery_id") + " DESC LIMIT 3"),
    ("How many paintings are in each gallery?", "SELECT galleries.name, COUNT(*) FROM galleries JOIN paintings ON gallery_id = galleries.id GROUP BY galleries.id"),
    ("Which artists are without any painting?", "SELECT name FROM artists WHERE id NOT IN (SELECT artist_id FROM paintings)"),
)  # fmt: skip


def museum_questions() -> list[tuple[str, str]]:
    """Return (question, SQL) pairs."""
    names = {"artist": ARTIST, "painting": PAINTING}
    return [(question.format(**names), sql.format(**names)) for question, sql in MUSEUM]
