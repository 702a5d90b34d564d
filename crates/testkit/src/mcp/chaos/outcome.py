"""How the answering of a request ends early."""


class Stop(Exception):
    """The script is over and sends nothing more."""


class Refused(Exception):
    """An error answer."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
