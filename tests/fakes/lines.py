"""A log that keeps its lines."""

from proxy.telemetry.log import Event


class Lines:
    """Fulfils proxy.telemetry.log.Log."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Event]] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Keep a line."""
        self.lines.append((level, event, fields))

    def told(self, name: str) -> list[object]:
        """What the lines say of `name`, in order; those that do not are left out."""
        return [fields[name] for _, _, fields in self.lines if name in fields]
