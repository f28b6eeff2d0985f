"""The one kind of error that streams have of their own."""


class Error(Exception):
    """What is wrong, and what mends it. A stream that has raised it gives nothing more, and raises it again."""

    __module__ = 'trama'

    def __init__(self, text: str, hint: str = '') -> None:
        super().__init__(text, hint)
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        return f'{self.text} ({self.hint})' if self.hint else self.text
