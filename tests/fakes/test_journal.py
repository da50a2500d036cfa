"""The fake journal does what the real ones do."""

import pytest

from proxy.ports import Journal
from tests.contracts.journal import JournalContract
from tests.fakes.journal import FakeJournal, FakePlace


class TestFakeJournal(JournalContract):
    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.place = FakePlace()

    def make(self) -> Journal:
        return FakeJournal(self.place)
