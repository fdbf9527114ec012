"""Mutations of a module: small changes of its code, each to be noticed by a test.

A mutation is text in place of other text, so that the rest of the file stays. Excluded are
annotations, decorators, `assert` and `validate`, checks themselves, and texts for people: lines for
a log, `__repr__`, messages. A named limit of a module becomes 0: a test that repeats the number
would be worthless, a test of its effect is not.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

VARIABLE = "HERON_MUTATION"
"""Of a process of tests, JSON: a module's name, the path of its file, and the mutated source."""
LOGS = ("log", "_log", "logger", "_transition_log", "transition_log")
CHECKS = ("validate", "assert_never")
NUMBERS = (int, float)
TEXTS = ("__repr__", "__str__")
FORMATS = "heron_core/wire/"
"""Modules whose numbers are part of a wire format: a changed number is another format."""
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""Operator -> its replacements: a moved boundary, or the opposite outcome."""
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
}
REMOVED = (ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Mutation:
    """`after` in place of the text from byte `start` to byte `end` of a file."""

    path: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(each.split()) for each in (self.before, self.after))
        return f"{self.path}:{self.line} {self.function}: `{before}` becomes `{after}`"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutations(path: str, source: bytes) -> list[Mutation]:
    """All of a module, in the order of their places."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda each: (each.start, each.end, each.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self.found: list[Mutation] = []
        self._path = path
        self._source = source
        self._scope: list[str] = []
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def _add(self, node: ast.expr | ast.stmt, after: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        before = self._source[start:end].decode()
        where = ".".join(self._scope)
        self.found.append(Mutation(self._path, where, node.lineno, start, end, before, after))

    def _put(self, node: ast.expr, instead: ast.expr) -> None:
        self._add(node, f"({ast.unparse(instead)})")

    # --- where ----------------------------------------------------------------------------------

    def _visit_scope(self, name: str, body: list[ast.stmt]) -> None:
        if name in (*CHECKS, *TEXTS):
            return
        self._scope.append(name)
        for each in body:
            self.visit(each)
        self._scope.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_scope(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for each in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(each)
        self._visit_scope(node.name, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_scope(node.name, node.body)

    def visit_Assert(self, node: ast.Assert) -> None:
        """A check."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    # --- what -----------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, REMOVED):
            self._add(node, "pass")
        super().visit(node)

    def _negate(self, test: ast.expr) -> None:
        """Comparisons have mutations of their own, and `not` is removed."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self._put(test, ast.UnaryOp(ast.Not(), test))

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _is_logged(node.value):
            self._add(node, "pass")
            self.generic_visit(node)
        elif isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._is_limit(node):
            self._put(node.value, ast.Constant(0))
            return
        is_kept = all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
        if is_kept and self._scope[-1:] != ["__init__"]:
            self._add(node, "pass")
        self.visit(node.value)

    def _is_limit(self, node: ast.Assign) -> bool:
        """Whether a statement names a number for the whole module."""
        value, (target, *_) = node.value, node.targets
        if self._scope or self._path.startswith(FORMATS) or not isinstance(target, ast.Name):
            return False
        parts = [each for each in ast.walk(value) if not isinstance(each, ast.operator | ast.BinOp)]
        numbers = [
            x.value for x in parts if isinstance(x, ast.Constant) and type(x.value) in NUMBERS
        ]
        return target.id.isupper() and len(numbers) == len(parts) and any(numbers)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node, "return None")
            self.visit(node.value)
        elif isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            for instead in COMPARED[type(operator)]:
                ops = [*node.ops[:at], instead(), *node.ops[at + 1 :]]
                self._put(node, ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        instead = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._put(node, ast.BoolOp(instead, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self._put(node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        instead = CALCULATED.get(type(node.op))
        is_type = not self._scope and isinstance(node.op, ast.BitOr)
        if instead is not None and not is_type and not _is_text(node):
            self._put(node, ast.BinOp(node.left, instead(), node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._put(node, ast.Constant(not node.value))
        elif isinstance(node.value, int):
            self._put(node, ast.Constant(node.value + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text for people."""


def _is_logged(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return isinstance(function, ast.Name) and function.id in CHECKS
    owner = function.value
    return getattr(owner, "id", getattr(owner, "attr", "")) in LOGS


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in (node.left, node.right)
    )


def of_files(files: dict[str, bytes]) -> Iterator[Mutation]:
    """Those of several modules, by path."""
    for path in sorted(files):
        yield from mutations(path, files[path])
