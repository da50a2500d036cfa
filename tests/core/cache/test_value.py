from proxy.core.cache.value import entry_id, tenant_name
from tests.core.values import stored_response


def test_an_entry_is_named_by_key_and_time() -> None:
    stored = stored_response(key=bytes(range(32)), created=1_760_000_000.1234)
    assert stored.id == "00010203040506070809-199c82cc07b"
    assert stored.id == entry_id(stored.key, stored.created)


def test_the_name_of_an_entry_tells_answers_apart_but_not_the_key() -> None:
    one, later = stored_response(created=1.0), stored_response(created=1.5)
    assert one.id != later.id
    assert one.id != stored_response(key=b"K" * 32, created=1.0).id
    assert one.key.hex() not in one.id


def test_a_tenant_is_named_by_the_beginning_of_its_digest() -> None:
    assert tenant_name(bytes(range(32))) == "000102030405"
