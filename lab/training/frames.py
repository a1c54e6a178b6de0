"""Sentence frames of every intent; a fifth of each list is kept back from training.

Slots: ``<D>``/``<d>`` the subject with its conditions, plural and singular; ``<n>`` a count; ``<most>``, ``<adj>``,
``<noun>`` wordings of a measure; ``<high>``, ``<top>`` its direction; ``<Who>``, ``<rel>`` fit the subject; ``<v>`` a
value; ``<verb>`` a condition as the predicate.
"""

from __future__ import annotations

FRAMES: dict[str, tuple[str, ...]] = {}


def _frames(intent: str, text: str) -> None:
    FRAMES[intent] = tuple(line.strip() for line in text.strip().splitlines())


_frames(
    "top clause",
    """
Which <n> <D> <most>?
What <n> <D> <most>?
<Who> are the <n> <D> <rel> <most>?
[Show|Show me|List] the <n> <D> <rel> <most>
Name the <n> <D> <rel> <most>
I {want|need|would like} to {see|know} the <n> <D> <rel> <most>
Tell me which <n> <D> <most>
Find the <n> <D> <rel> <most>
Of all <D>, which <n> <most>?
Can you {list|show me|find} the <n> <D> <rel> <most>?
Get the <n> <D> <rel> <most>
Do you know which <n> <D> <most>?
Which <D> <most>? {Show|List|Give} [me] [only] the {top|first} <n>
Among {all|our} <D>, <Who> are the <n> <rel> <most>?
Give me {the|a list of the} <n> <D> <rel> <most>
Who or what are the <n> <D> <rel> <most>?
Identify the <n> <D> <rel> <most>
I'm looking for the <n> <D> <rel> <most>
We want to know which <n> <D> <most>
Which are the <n> <D> <rel> <most>?
Could you tell me the <n> <D> <rel> <most>?
Find out which <n> <D> <most>
The <n> <D> <rel> <most>, please
Which of {our|the} <D> <most>? Limit {it|the answer} to <n>
Which <n> people <most>?
Who are the <n> people who <most>?
""",
)
_frames(
    "top noun",
    """
[The] top <n> <D> by <noun>
<Who> are the <top> <n> <D> by <noun>?
{Show|List|Give me} [the] <top> <n> <D> by <noun>
<n> <best> <D> {by|in terms of|measured by|according to} <noun>
Which <n> <D> rank {<high>|<first>} by <noun>?
Rank {the|all} <D> by <noun> and {keep|show} the <top> <n>
<D> with the <n> <high> <noun>
[Show|List|Find] the <n> <D> with the <high> <noun>
Which <n> <D> have the <high> <noun>?
Sort {the|all} <D> by <noun> and {give me|take|return} the <top> <n>
{Show|Give} me the <n> <D> with the <high> <noun>
What are the <n> <D> with the <high> <noun>?
Leaderboard of the <top> <n> <D> by <noun>
I need the <top> <n> <D> {by|in} <noun>
By <noun>, which <n> <D> come {<first>|out on <top>}?
In terms of <noun>, {what|which} are the <top> <n> <D>?
Which <n> <D> have the <high> <noun> {overall|of all}?
Name the <top> <n> <D> {by|ranked by|sorted by} <noun>
<n> <D> with <high> <noun>
Who has the <high> <noun>? {Show|List|Name} <n> <D>
Get the <n> <D> whose <noun> is <high>
Find the <top> <n> <D> based on <noun>
""",
)
_frames(
    "top adjective",
    """
{Which|What|Who} are the <n> <adj> <D>?
<Who> are our <n> <adj> <D>?
[Show|Show me|List|Name] [the|our] <n> <adj> <D>
Give me the {names|list} of the <n> <adj> <D>
What are {our|the} <n> <adj> <D>?
I {want|need|would like} {to see|to know} the <n> <adj> <D>
Find {our|the} <n> <adj> <D>
{Our|The} <n> <adj> <D>
Which <n> <D> are {the|our} <adj>?
Which <n> <D> are <adj>?
Tell me {the|our} <n> <adj> <D>
Can you {list|show me|name} the <n> <adj> <D>?
Get the <n> <adj> <D> [from the database]
Who or what are the <n> <adj> <D>?
{Print|Display|Return} the <n> <adj> <D>
What <n> <D> are the <adj>?
Top <n> <adj> <D>
A list of the <n> <adj> <D>, please
""",
)
_frames(
    "one clause",
    """
{Which|What} <d> <most>?
<Who> is the <d> <rel> <most>?
{Show|Find|Name} [me] the <d> <rel> <most>
Tell me which <d> <most>
Which of {our|the} <D> <most>?
I {want|would like} to know which <d> <most>
Of all <D>, which one <most>?
Do you know which <d> <most>?
Among {all|our} <D>, which one <most>?
Give me the {name of the|one} <d> <rel> <most>
Can you tell me which <d> <most>?
Which one of the <D> <most>?
{Get|Identify|Find} the <d> <rel> <most>
What's the name of the <d> <rel> <most>?
The <d> <rel> <most>
Which single <d> <most>?
Who <most>?
Who {of all|in our data} <most>?
Who is the person who <most>?
Which person <most>?
Find out which <d> <most>
""",
)
_frames(
    "one noun",
    """
{Which|What} <d> has the <high> <noun>?
[Show|Show me|Find|Find me|Name] the <d> with the <high> <noun>
<Who> is the <d> with the <high> <noun>?
Which of {our|the} <D> has the <high> <noun>?
Which <d> ranks <first> by <noun>?
<D> with the <high> <noun>: which one [is it]?
Tell me the <d> with the <high> <noun>
The <top> <d> by <noun>
{Get|Return} the <d> whose <noun> is [the] <high>
<Who> is number one among {our|the} <D> by <noun>?
By <noun>, which <d> is <first>?
Who or what has the <high> <noun> of all <D>?
Give me the one <d> with the <high> <noun>
""",
)
_frames(
    "one adjective",
    """
{Which|What|Who} is {the|our} <adj> <d>?
<Who> is {our|the} <adj> <d>?
[Show|Show me|Name|Find|Find me] {the|our} <adj> <d>
Which <d> is [the] <adj>?
What's {the|our} <adj> <d>?
Which of {our|the} <D> is [the] <adj>?
Tell me {the|our} <adj> <d>
Give me the name of {our|the} <adj> <d>
I {want|would like} to know {our|the} <adj> <d>
What is the name of {the|our} <adj> <d>?
{Get|Return|Display} the <adj> <d>
Can you tell me {our|the} <adj> <d>?
Of all <D>, which {one|<d>} is the <adj>?
""",
)
_frames(
    "each",
    """
<noun> {by|per|for each|for every} <d>
{Show|Give me|List} the <noun> {by|per|for each|for every|of each} <d>
What is the <noun> {of|for|in} {each|every} <d>?
Break down the <noun> by <d>
List {each|every} <d> with {its|the|their} <noun>
For {each|every} <d>, {show|give|list} the <noun>
I {need|want} the <noun> {grouped by|per|by} <d>
{Show|List} all <D> with their <noun>
<D> and their <noun>
What are the <noun> figures per <d>?
Group {the <noun>|<noun>} by <d>
{Calculate|Compute|Determine} the <noun> {for each|per|of every} <d>
A table of <noun> {per|by} <d>
How does the <noun> {differ|vary} {between|across} <D>?
Split the <noun> by <d>
Compare the <D> by <noun>
Report the <noun> {of|for} all <D>
What is the <noun> per <d>?
Tell me the <noun> {of|for} {each|every} <d>
""",
)
_frames(
    "rank",
    """
Rank {all|the} <D> by <noun> <direction>
{Sort|Order} {all|the} <D> by <noun> <direction>
List {all|the} <D> {sorted|ordered} by <noun> <direction>
{Show|Give} me all <D> {sorted|ordered|ranked} by <noun> <direction>
<D> {sorted|ordered} by <noun> <direction>
Show {the|all} <D> {by|in order of} <noun> <direction>
All <D> by <noun> <direction>
I want {the|all} <D> ranked by <noun> <direction>
Print every <d>, {sorted|ordered} by <noun> <direction>
A ranking of {all|the} <D> by <noun> <direction>
Put {all|the} <D> in order of <noun> <direction>
""",
)
_frames(
    "having",
    """
{Which|What} <D> <verb>?
[Show|Show me|List] {all|the|every one of the} <D> <restriction>
Find {all|the} <D> <restriction>
Who or what are the <D> <restriction>?
Name the <D> <restriction>
<D> <restriction>
Are there <D> <restriction>?
Tell me which <D> <verb>
I {need|want} [all|a list of] <D> <restriction>
Give me {all|the names of all|the} <D> <restriction>
Do we have <D> <restriction>?
Which of {our|the} <D> <verb>?
Get {the|all} <D> <restriction>
""",
)
_frames(
    "having count",
    """
How many <D> <verb>?
Count the <D> <restriction>
What is the number of <D> <restriction>?
How many <D> are there <restriction>?
Number of <D> <restriction>
Tell me how many <D> <verb>
How many of our <D> <verb>?
""",
)
_frames(
    "single",
    """
What is the <noun> {of|for} <v>?
What's the <noun> {of|for} <v>?
[Show|Show me|Give me] the <noun> {of|for} <v>
<noun> {of|for} <v>
Tell me the <noun> {of|for} <v>
I {want|would like} to know the <noun> {of|for} <v>
What <noun> does <v> have?
{Calculate|Get|Compute} the <noun> {of|for} <v>
How {high|large} is the <noun> {of|for} <v>?
<v>: <noun>?
Can you tell me the <noun> {of|for} <v>?
""",
)
_frames(
    "count",
    """
How many <D> are there?
How many <D> do we have?
How many <D>?
Count [all] [the|our] <D>
What is the [total] number of <D>?
[Total] number of <D>
Tell me how many <D> there are
How many <D> {exist|are in the database|are on record}?
{Give|Show} me the {count|number} of <D>
I {want|would like|need} to know how many <D> we have
What's the count of <D>?
How many <D> can you find?
Do you know how many <D> we have?
How large is the number of <D>?
Please count {the|all} <D>
Determine how many <D> there are
How many <N> do we have <post>?
How many <N> are there <post>?
How many <N> exist <post>?
How many <N> can you find <post>?
""",
)
_frames(
    "count verb",
    """
How many <D> <verb>?
How many of {our|the} <D> <verb>?
Tell me how many <D> <verb>
What number of <D> <verb>?
Can you tell me how many <D> <verb>?
I {want|would like} to know how many <D> <verb>
Find out how many <D> <verb>
""",
)
_frames(
    "list",
    """
{List|Show|Display} [all|all the|the] <D>
{Show|Give} me [all|all the|the] <D>
{Which|What} <D> are there?
{Which|What} <D> do we have?
[All] <D>
Name [all|the] <D>
{What|Who} are [all] the <D>?
Find [all|the] <D>
I {want|need|would like} [to see] [all|the] <D>
{What are|Give me} the names of [all|the] <D>
Get [all|me all|the] <D>
List the names of [all|the] <D>
{Can|Could} you {list|show me|find} [all|the] <D>?
{Print|Return} [all|the] <D>
Are there {any|} <D>? {List|Show|Name} them
Tell me {the names of|about} [all] [the] <D>
A list of [all] <D>[, please]
Do we have {any|} <D>?
Which are the <D>?
I'm looking for <D>
{Which|What} <N> do we have <post>?
{Which|What} <N> are there <post>?
""",
)
_frames(
    "list verb",
    """
{Which|What} <D> <verb>?
Which of {our|the} <D> <verb>?
Tell me which <D> <verb>
Do you know which <D> <verb>?
Find out which <D> <verb>
I {want|would like} to know which <D> <verb>
Can you {say|tell me} which <D> <verb>?
""",
)
_frames(
    "list column",
    """
What are the <columns> of {all|the} <D>?
{List|Show|Give me} the <columns> of [all|the] <D>
<columns> of [all|the] <D>
{Which|What} <columns> do {the|our} <D> have?
Find the <columns> of [all|the] <D>
I need the <columns> of [all|the] <D>
Get [me] the <columns> of [all|the] <D>
Tell me the <columns> of {all|the} <D>
{Print|Return} the <columns> of [all|the] <D>
""",
)
_frames(
    "list name column",
    """
{List|Show} [all|the] <D> {with|and|along with|together with} their <columns>
{Show|Give} me the names and <columns> of [all|the] <D>
What are the names and <columns> of {all|the} <D>?
<D> {with|and} their <columns>
For each of the <D>, {show|give|list} the name and the <column>
I {want|need} [all|the] <D> {with|and} their <columns>
{List|Print} the name and <column> of {every|each} <d>
Names and <columns> of {all|the} <D>
{Show|Get} every <d> {with|and} {its|the} <column>
Give me the <columns> of {all|the} <D>, with names
""",
)
_frames(
    "average",
    """
What is the {average|mean} <x> of {all|the|our} <D>?
What is the {average|mean} <x> [of] [the|our] <D>?
{Average|Mean} <x> of [all|the] <D>
{Show|Give|Tell} me the {average|mean} <x> of [all|the] <D>
{Calculate|Compute|Determine} the {average|mean} <x> of [all|the] <D>
How {high|large} is the {average|mean} <x> of [the|our] <D>?
On average, what is the <x> of [the|our] <D>?
I {want|need} to know the {average|mean} <x> of [all|the] <D>
What's the {average|mean} <x> {of|for|across} [all|the|our] <D>?
What <x> do [the|our] <D> have on average?
Find the {average|mean} <x> {of|for} [all|the] <D>
""",
)
_frames(
    "highest",
    """
What is the {highest|largest|maximum|biggest|top} <x> {of|among} {all|the|our} <D>?
{Highest|Maximum|Largest} <x> {of|among} [all|the] <D>
{Show|Give|Tell} me the {highest|maximum|largest} <x> {of|among} [all|the] <D>
{Find|Get|Determine} the {highest|maximum|largest} <x> of [all|the] <D>
How high is the {highest|maximum|top} <x> {of|among} [the|our] <D>?
What's the {highest|maximum|top} <x> {of|for|among} [all|the|our] <D>?
I {want|need} to know the {highest|maximum} <x> of [all|the] <D>
Max <x> of [the] <D>
""",
)
_frames(
    "lowest",
    """
What is the {lowest|smallest|minimum} <x> {of|among} {all|the|our} <D>?
{Lowest|Minimum|Smallest} <x> {of|among} [all|the] <D>
{Show|Give|Tell} me the {lowest|minimum|smallest} <x> {of|among} [all|the] <D>
{Find|Get|Determine} the {lowest|minimum|smallest} <x> of [all|the] <D>
How low is the {lowest|minimum} <x> {of|among} [the|our] <D>?
What's the {lowest|minimum} <x> {of|for|among} [all|the|our] <D>?
I {want|need} to know the {lowest|minimum} <x> of [all|the] <D>
Min <x> of [the] <D>
""",
)
_frames(
    "total",
    """
What is the {total|combined|overall} <x> of {all|the|our} <D>?
{Total|Combined} <x> of [all|the] <D>
{Show|Give|Tell} me the {total|combined} <x> of [all|the] <D>
{Calculate|Compute|Determine} the {total|sum of the} <x> of [all|the] <D>
What is the sum of the <x> of [all|the] <D>?
{Sum|Add} up the <x> of [all|the] <D>
How {high|large} is the total <x> of [the|our] <D>?
What's the {total|overall} <x> {of|for|across} [all|the|our] <D>?
What does the <x> of [all|the] <D> {add up|sum up|come} to?
""",
)
_frames(
    "above average",
    """
{Which|What} <D> have {a|an} <x> <above> [the] average?
{List|Show|Find} [all|the] <D> with {a|an} <x> <above> [the] average
[All] <D> whose <x> is <above> [the] average
<D> with [an] <above> average <x>
Which <D> are <above> average {in|by} <x>?
Give me {all|the} <D> <above> the average <x>
Which <D> have an <above> average <x>?
Name {all|the} <D> whose <x> is <above> the {mean|average}
{Get|Return} the <D> with {a|an} <x> <above> the {mean|average}
Compared with the average <x>, which <D> are <above>?
""",
)
_frames(
    "bare number",
    """
What is {the|our} <which> <x>?
What's {the|our} <which> <x>?
<which> <x>
{Show|Tell|Give} me the <which> <x>
{Calculate|Compute} the <which> <x>
How {high|large} is {the|our} <which> <x>?
I {want|need} to know the <which> <x>
<which> <x> in our {data|database|shop}
Find the <which> <x>
What <which> <x> do we have?
""",
)
_frames(
    "each count",
    """
How many <things> {per|by} <d><when>?
How many <things> are there {per|for each|for every|in each} <d><when>?
Count <things> {per|by|for each|for every} <d><when>
Count [of] <things> {per|by} <d><when>
<things> {per|by|for each} <d><when>
How many <things> do we have {per|for each|in each|in every} <d><when>?
Show me how many <things> there are {per|for each|for every} <d><when>
I need a count of <things> {per|by|for every} <d><when>
""",
)
