"""The names of answers are the same from both sides."""

from proxy.core.cache.bloom import KnownKeys
from proxy.store.redis_keys import EntryKeys
from proxy.store.redis_names import KnownAnswers, Names, digest_of
from tests.store.changes import key


def test_names_are_those_under_which_answers_are_written() -> None:
    keys, names = EntryKeys("a:b", keep_stale=0.0), Names("a:b")
    assert names.answer(digest_of(key(1))) == keys.answer(key(1))
    assert names.meaning(digest_of(key(1))) == keys.meaning(key(1))


def test_a_name_gives_its_digest() -> None:
    names = Names("a:b")
    digest = digest_of(key(1))
    assert names.digest_in(names.answer(digest).encode()) == digest


def test_other_names_give_none() -> None:
    names = Names("a")
    good = names.answer(digest_of(key(1))).encode()
    wrong = (
        *(good[:-1] + b"m", b"b" + good[1:], good + b"x", good[:5] + good[6:], b"", b"a:{}:e"),
        *(
            good.upper(),
            good.replace(b"{", b"{ "),
            b"a:{\xff}:e",
            names.meaning(b"\0" * 16).encode(),
        ),
    )
    for name in wrong:
        assert names.digest_in(name) is None


def test_keys_are_known_by_their_digests() -> None:
    digests = KnownKeys(100)
    answers = KnownAnswers(digests)
    assert not answers.complete()
    digests.add(digest_of(key(1)))
    digests.finish()
    assert answers.complete()
    assert key(1) in answers
    assert key(2) not in answers
