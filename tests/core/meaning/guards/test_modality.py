import pytest

from proxy.core.meaning.guards import modality
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("Can I park here?", "Am I allowed to park here?"),
    ("Can I park here?", "May I park here?"),
    ("Could I pay in cash?", "Is it possible to pay in cash?"),
    ("Can I change seats?", "Will I be able to change seats?"),
    ("Must I tip?", "Do I have to tip?"),
    ("Do I need to tip?", "Am I required to tip?"),
    ("Will I need to tip?", "Do I need to tip?"),
    ("Should I tip?", "Is it a good idea to tip?"),
    ("How can I fix a leak?", "How should I fix a leak?"),
    ("Where can I buy stamps?", "Where should I buy stamps?"),
    ("Which birds should I see?", "Which birds must I see?"),
    ("Can you tell me if I should rinse rice?", "Should I rinse rice?"),
    ("Could you lend me a pen?", "Would you lend me a pen?"),
    ("Why shouldn't dogs eat onions?", "Why can't dogs eat onions?"),
    ("Is the can full of paint?", "Should the paint be full?"),
    ("I have to cancel my gym plan", "How can I cancel my gym plan?"),
    ("Is the shop open?", "Must the shop open?"),
    ("可以退货吗", "能退货吗"),
    ("必须带护照吗", "一定要带护照吗"),
    ("需要打疫苗吗", "应该打疫苗吗"),
    ("感冒应该吃什么", "感冒能吃什么"),
    ("狗会游泳吗", "狗能游泳吗"),
    ("这个功能必须开吗", "这个功能开吗"),
]

DIFFERENT = [
    ("Can my tenant paint the walls?", "Should my tenant paint the walls?", "Can", "Should"),
    ("Must I insure my boat?", "Can I insure my boat?", "Must", "Can"),
    ("Should seniors lift weights?", "Must seniors lift weights?", "Should", "Must"),
    ("Do drivers have to stop here?", "Can drivers stop here?", "have to", "Can"),
    ("Do I have to leave the jury?", "May I leave the jury?", "Do I have to", "May"),
    ("Could my visa be cancelled?", "Will my visa be cancelled?", "Could", "Will"),
    ("When can I repaint the deck?", "When should I repaint the deck?", "can", "should"),
    ("Am I able to ski?", "Am I allowed to ski?", "able to", "allowed to"),
    ("Are schools required to open?", "Are schools allowed to open?", "required to", "allowed to"),
    ("应该喂猫牛奶吗", "可以喂猫牛奶吗", "应该", "可以"),
    ("必须年检吗", "可以年检吗", "必须", "可以"),
    ("我该辞职吗", "我能辞职吗", "该", "能"),
    ("他会来吗", "他应该来吗", "会", "应该"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_the_same_modality_is_let_through(stored: str, asked: str) -> None:
    assert modality.compare(Pair(Text(stored), Text(asked))) is None
    assert modality.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_modality_is_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert modality.compare(Pair(first, second)) == Objection("modality", here, there)
    assert modality.compare(Pair(second, first)) == Objection("modality", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert modality.compare(Pair(Text(text), Text(text))) is None


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("Can hens swim?", "Should Greta sell her flat in Utah?"),
        ("Can hens swim in the cold lake?", "Should hens lay in the warm barn?"),
    ],
)
def test_texts_with_little_in_common_do_not_hang_on_one_word(stored: str, asked: str) -> None:
    assert modality.compare(Pair(Text(stored), Text(asked))) is None
