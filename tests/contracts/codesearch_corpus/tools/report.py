"""Prints what was ordered."""


def cached(function):
    return function


class Report:
    def __init__(self, orders):
        self.orders = orders

    @cached
    def lines(self):
        return [self.line(it) for it in self.orders]

    def line(self, order):
        return f"{order}"


def main():
    report = Report([1, 2])
    for line in report.lines():
        print(line)
