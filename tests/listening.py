"""What is heard of stages: an ear for `heard_by`."""

from collections import defaultdict

from featbert.progress import Message


class Ear:
    """Keeps what it heard: by stage (unit, total), what was done before, and what in all."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[str, int | None]] = {}
        self.begun: dict[str, int] = {}
        self.done: dict[str, int] = defaultdict(int)
        self.calls: dict[str, int] = defaultdict(int)
        self.ended: list[str] = []
        self._titles: dict[str, str] = {}

    def __call__(self, message: Message) -> None:
        kind, key, *values = message
        if kind == "begin":
            title, unit, total, done = values
            self._titles[key] = title
            self.stages[title] = (unit, total)
            self.begun[title] = self.done[title] = done
        elif kind == "advance":
            self.done[self._titles[key]] += values[0]
            self.calls[self._titles[key]] += 1
        else:
            self.ended.append(self._titles[key])
