import pytest

from proxy.core.meaning.guards import surface
from proxy.core.meaning.text import Objection, Pair, Text
from tests.effort import grows_linearly

EQUAL = [
    # Ordinary case
    ("How do I fry tofu?", "how do i fry tofu"),
    ("HOW DO I FRY IT", "How do I fry it?"),
    ("How Do I Polish My Silver Spoons", "How do I polish my silver spoons?"),
    ("what is the capital of turkey", "What is the capital of Turkey?"),
    ("who is the president of the us", "Who is the president of the US?"),
    ("where can I change my pin", "Where can I change my PIN?"),
    ("How to save a PDF on windows?", "How to save a pdf on Windows?"),
    ("Is vitamin d good for me?", "Is vitamin D good for me?"),
    ("What happens in may in Peru?", "What happens in May in Peru?"),
    ("us army ranks", "US Army ranks"),
    ("How do I fix a t-shirt?", "How do I fix a T-shirt?"),
    ("solve for k", "Solve for K"),
    ("Polish shoes how?", "polish shoes how?"),
    ("How do I use Sha256 here?", "How do I use SHA256 here?"),
    ("Is Galaxy24 waterproof?", "Is galaxy24 waterproof?"),
    ("Us or them", "us or them"),
    ("How is 5 MG taken?", "How is 5 mg taken?"),
    ("Capitalize fog here", "capitalize fog here?"),
    ("Where is PART1234 made?", "Where is part1234 made?"),
    ("How many characters are in Faust?", "how many characters are in Faust"),
    ("Is it us US or us?", "Is it us US?"),
    ("The Long Road To May Day Sales", "The long road to may day sales"),
    ("Is x Here In Your Long Title Words", "Is X Here In Your Long Title Words"),
    # Ordinary blanks and lines
    ("How do  I fry   tofu?", "How do I fry tofu?"),
    ("How do I fry tofu?\n\nThanks", "How do I fry tofu? Thanks"),
    ("Write a poem:\nabout fog", "Write a poem: about fog"),
    ("What is 7 - 3?", "What is 7-3?"),
    ("What is SQL(a language)?", "What is SQL (a language)?"),
    ("yes and/or no", "yes and / or no"),
    ("What is a well - known song?", "What is a well-known song?"),
    ("What is 5 % of 9?", "What is 5% of 9?"),
    ("Run this:\n```\nx = 1\n```", "What does it give?\n```\nx = 1  \n\n```\n"),
    ("what is a<b", "what is a < b"),
    # Ordinary signs
    ("How do I fry tofu ?", "How do I fry tofu"),
    ("thanks", "Thanks!"),
    ("Thanks...", "thanks"),
    ("Tell me about fog.", "Tell me about fog?"),
    ("fog causes", "fog causes?"),
    ("My keys are lost, where do I call", "My keys are lost, where do I call?"),
    ("What’s up?", "What's up?"),
    ("What is a regex?", "What is a regex"),
    ("Quick question: how do I fry tofu", "Quick question: How do I fry tofu?"),
    ("I am 40! What now?", "I am 40. What now?"),
    ("Why 5! times?", "Why many times?"),
    ("雾是什么", "雾是什么？"),
    ("我想退货", "我想退货。"),
    ("谢谢 ~", "谢谢"),
    ("请介绍雾。", "请介绍雾？"),
    ("?", "?!"),
    # Quotes
    ('Who sang "blue moon"?', 'who sang "Blue Moon"?'),
    ('Who sang "Blue Moon?"', 'Who sang "Blue Moon"?'),
    ("What does 'moin' mean?", "what does “moin” mean"),
    ('Is "one" a word?', 'Is "two" a word?'),
    ('Is "one" a word?', "Is one a word?"),
]

DIFFERENT = [
    # Case
    ("Does Ann like us?", "Does Ann like US?", "us", "US"),
    ("what does it cost", "what does IT cost", "it", "IT"),
    ("How do I polish a ring?", "How do I Polish a ring?", "polish", "Polish"),
    ("How do I cook a turkey?", "How do I cook a Turkey?", "turkey", "Turkey"),
    ("Is it sad or SAD?", "Is it SAD or sad?", "sad", "SAD"),
    ("How long is 3 mW?", "How long is 3 MW?", "mW", "MW"),
    ("How long is 3mm?", "How long is 3mM?", "mm", "mM"),
    ("How is ph measured?", "How is pH measured?", "ph", "pH"),
    ("Why is k in the formula?", "Why is K in the formula?", "k", "K"),
    ("set k to 3", "set K to 3", "k", "K"),
    ("Which is read, README or readme?", "Which is read, readme or README?", "README", "readme"),
    ("Is my code Zebra12345 safe?", "Is my code zebra12345 safe?", "Zebra12345", "zebra12345"),
    ("Capitalize this: fog", "Capitalize this: Fog", "fog", "Fog"),
    ("改成大写：fog", "改成大写：Fog", "fog", "Fog"),
    ("Does SELECT * FROM Fog work?", "Does SELECT * FROM fog work?", "Fog", "fog"),
    # Code in running text
    ("What is foo_bar for?", "What is FOO_BAR for?", "foo_bar", "FOO_BAR"),
    (r"What does \s match?", r"What does \S match?", r"\s", r"\S"),
    ("What does [a-f] match?", "What does [A-F] match?", "[a-f]", "[A-F]"),
    ("What does %d print?", "What does %D print?", "%d", "%D"),
    ("What is in /etc/fog?", "What is in /etc/Fog?", "/etc/fog", "/etc/Fog"),
    ("What does `Fog` do?", "What does `fog` do?", "Fog", "fog"),
    ("What does `a  b` do?", "What does `a b` do?", "a  b", "a b"),
    # Lines
    ("Why?\nif a:\n  b()\n  c()", "Why?\nif a:\n  b()\nc()", "c()", "c()"),
    ("Why?\n```\na:\n  b: 1\n```", "Why?\n```\na:\nb: 1\n```", "b: 1", "b: 1"),
    ("Why?\nx = 1\ny = 2", "Why?\nx = 1", "y = 2", ""),
    ("Why?\nx = 1", "Why?\nx = 1\ny = 2", "", "y = 2"),
    ("Join these:\nfog\nmist", "Join these:\nfog mist", "fog\nmist", "fog mist"),
    # Blanks
    ("Is rm / tmp bad?", "Is rm /tmp bad?", "rm / tmp", "rm /tmp"),
    ("What does $ FOG print?", "What does $FOG print?", "does $ FOG", "does $FOG"),
    ("What is k - m?", "What is k -m?", "k - m", "k -m"),
    ("Why $A = b?", "Why $A=b?", "A = b", "A=b"),
    ("What does f() g() do?", "What does f()g() do?", "() g", "()g"),
    ("How many spaces: a  b", "How many spaces: a b", "How many spaces: a  b", None),
    ("How many words: a.b", "How many words: a. b", "How many words: a.b", None),
    # Signs
    ("What is 12!", "What is 12?", "12!", ""),
    ("What is 12", "What is 12!", "", "12!"),
    ("How do I type ?", "How do I type !", "?", "!"),
    ("What is my folder ~", "What is my folder", "~", ""),
    ("Name this: ;", "Name this: ~", ";", "~"),
    ("Does the regex hold ab.?", "Does the regex hold ab.", ".?", "."),
    ("Explain the glob fog?", "Explain the glob fog", "?", ""),
    ("Correct this: He left.", "Correct this: He left", ".", ""),
    ('Does "fog!" work?', 'Does "fog" work?', "fog!", "fog"),
    ('Is "Fog" like "fog"?', 'Is "fog" like "Fog"?', "Fog", "fog"),
    # Said and asked
    ("The door is open.", "The door is open?", ".", "?"),
    ("It is safe", "It is safe?", "", "?"),
    ("done", "done?", "", "?"),
    ("她是老师。", "她是老师？", "。", "?"),
    ("她睡了", "她睡了？", "", "?"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return surface.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(
    stored: str, asked: str, mine: str, yours: str | None
) -> None:
    objection = compare(stored, asked)
    assert objection is not None
    assert objection.guard == surface.NAME
    assert objection.stored == mine
    # Where blanks are counted, the whole text is the piece.
    assert objection.asked == (asked if yours is None else yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None


@pytest.mark.parametrize(
    "piece", ["!", "\n", "' ", "` ", "5!", "```\n", ";  ", "a: \n", "(x ", "$"]
)
def test_long_texts_take_linear_time(piece: str) -> None:
    def work(count: int) -> None:
        text = "is it " + piece * count
        compare(text, text.capitalize() + " It?")
        compare(text, text + "?")

    assert grows_linearly(work, 2500)
