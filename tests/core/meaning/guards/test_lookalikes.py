import pytest

from proxy.core.meaning.guards import lookalikes
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    # Misspelt
    ("is it definite", "is it definate"),
    ("bronchitis cure", "brochitis cure"),
    ("chloride in water", "cloride in water"),
    ("cholesterol", "cholestrol"),
    ("diabetes", "diabetis"),
    ("zoloft", "zolof"),
    # Spelt or inflected otherwise
    ("sulphate in soap", "sulfate in soap"),
    ("anaemia", "anemia"),
    ("leukaemia", "leukemia"),
    ("definition of sulfites", "definition of sulfite"),
    ("routing a parcel", "routes of a parcel"),
    ("the employee's rights", "the employees rights"),
    # Written in two words or one
    ("a non smoker", "a nonsmoker"),
    ("an antivirus tool", "an anti virus tool"),
    # The same with a beginning and without
    ("is it flammable", "is it inflammable"),
    ("How do I become less visible?", "How do I become more invisible?"),
    ("enabled", "unabled"),
    # Common words that come and go
    ("Do you know a good form for tax?", "From whom do I get help with tax?"),
    # The other text has both
    ("is a sulfite dangerous", "is a sulfite or a sulfate dangerous"),
    # No single word
    (
        "one sulfite two three four five six seven",
        "sulfate eight nine ten eleven twelve thirteen fourteen",
    ),
    ("café", "cafés"),
]

DIFFERENT = [
    # Endings
    ("what is a sulfite", "what is a sulphate", "sulfite", "sulphate"),
    ("is sulfide bad", "is sulfite bad", "sulfide", "sulfite"),
    ("is nitric acid bad", "is nitrous acid bad", "nitric", "nitrous"),
    ("lactose in milk", "lactase in milk", "lactose", "lactase"),
    ("uses of propane", "uses of propene", "propane", "propene"),
    ("nephritis", "nephrosis", "nephritis", "nephrosis"),
    ("tracheotomy", "tracheostomy", "tracheotomy", "tracheostomy"),
    ("duty of the transferor", "duty of the transferee", "transferor", "transferee"),
    ("dysphagia", "dysphasia", "dysphagia", "dysphasia"),
    # Beginnings
    ("hyperkalemia", "hypokalemia", "hyperkalemia", "hypokalemia"),
    ("macroeconomics", "microeconomics", "macroeconomics", "microeconomics"),
    ("intercellular", "intracellular", "intercellular", "intracellular"),
    ("a postpaid plan", "a prepaid plan", "postpaid", "prepaid"),
    ("adrenaline", "noradrenaline", "adrenaline", "noradrenaline"),
    ("a symmetric shape", "an asymmetric shape", "symmetric", "asymmetric"),
    ("the anaerobic case", "the aerobic case", "anaerobic", "aerobic"),
    # Terms
    ("is it bronchitis", "bronchiolitis treatment", "bronchitis", "bronchiolitis"),
    ("cortisone", "cortisol", "cortisone", "cortisol"),
    ("celebrex with milk", "celexa with milk", "celebrex", "celexa"),
    ("ethanol", "methanol", "ethanol", "methanol"),
    # Words
    ("is the desert big", "is the dessert big", "desert", "dessert"),
    ("how to lose a tooth", "how to loose a tooth", "lose", "loose"),
    ("what affects sleep", "what effects sleep", "affects", "effects"),
    ("new meteors today", "new meteorites today", "meteors", "meteorites"),
    ("silicon", "silicone", "silicon", "silicone"),
    ("good moral here", "good morale here", "moral", "morale"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return lookalikes.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_words(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(lookalikes.NAME, mine, yours)
    assert compare(asked, stored) == Objection(lookalikes.NAME, yours, mine)


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
