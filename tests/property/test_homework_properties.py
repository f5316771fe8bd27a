"""What holds for every calculation, every equation and every text."""

from fractions import Fraction
from typing import Literal

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tools.homework import (
    ExpressionError,
    HomeworkError,
    Item,
    check,
    collect,
    gives_away,
    hint,
    score,
    summarise,
    topic_label,
)
from mcp_tools.homework.arithmetic import decimal_places, value, written
from mcp_tools.homework.expression import parse
from mcp_tools.homework.numerals import in_digits

WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
SMALL, TENS = WORDS.split()[:20], WORDS.split()[20:]
SIGNS = {"*": ["×", "*", "·"], "/": ["÷"], "+": ["+", "＋"], "-": ["-", "−"]}


@st.composite
def calculations(draw: st.DrawFn, depth: int = 3) -> tuple[str, Fraction]:
    """A text with brackets around every operation, and its value by our own arithmetic."""
    if depth == 0 or draw(st.booleans()):
        number = draw(st.integers(0, 99) | st.decimals(0, 20, places=1))
        return str(number), Fraction(str(number))
    left, a = draw(calculations(depth=depth - 1))
    right, b = draw(calculations(depth=depth - 1))
    sign = draw(st.sampled_from("+-*/" if b else "+-*"))
    result = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else Fraction(0)}[sign]
    return f"({left}{draw(st.sampled_from(SIGNS[sign]))}{right})", result


def spellings(number: Fraction) -> list[str]:
    """Ways in which a child may write a number."""
    found = [str(number), f" {number} ", f"= {number}", f"答：{number}", f"{number}个"]
    if decimal_places(number) is not None:
        found += [written(number, "decimal"), written(number, "percent")]
    if abs(number) > 1:
        found.append(written(number, "mixed"))
    return found


@given(calculations(), st.data())
def test_the_value_is_right_however_it_is_written(
    calculation: tuple[str, Fraction], data: st.DataObject
) -> None:
    question, result = calculation
    answer = data.draw(st.sampled_from(spellings(result)))
    verdict = check(Item(question=question, answer=answer))
    assert verdict.correct is True, verdict
    assert verdict.checked_by == "code"


@given(calculations(), st.fractions(-100, 100, max_denominator=20).filter(bool))
def test_another_value_is_wrong_and_the_right_one_is_told(
    calculation: tuple[str, Fraction], error: Fraction
) -> None:
    question, result = calculation
    verdict = check(Item(question=question, answer=str(result + error)))
    assert verdict.correct is not True
    if verdict.correct is False:
        assert verdict.expected is not None
        assert check(Item(question=question, answer=verdict.expected)).correct is True


@given(st.integers(0, 500), st.integers(1, 60))
def test_a_division_with_remainder(dividend: int, divisor: int) -> None:
    quotient, remainder = divmod(dividend, divisor)
    question = f"{dividend}÷{divisor}"
    for mark in ("……", "余", " r ", "..."):
        assert check(Item(question=question, answer=f"{quotient}{mark}{remainder}")).correct
        wrong = Item(question=question, answer=f"{quotient}{mark}{remainder + 1}")
        assert check(wrong).correct is False


@given(
    st.integers(-9, 9).filter(bool),
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.sampled_from(["x", "y", "a"]),
)
def test_a_linear_equation(a: int, b: int, solution: int, name: str) -> None:
    question = f"{a}{name}+({b})={a * solution + b}"
    assert check(Item(question=question, answer=f"{name}={solution}")).correct is True
    assert check(Item(question=question, answer=str(solution))).correct is True
    assert check(Item(question=question, answer=f"{name}={solution + 1}")).correct is False


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_a_product_of_brackets_expands_and_factorises(p: int, q: int) -> None:
    product, terms = f"(x+({p}))(x+({q}))", f"x^2+({p + q})x+({p * q})"
    assert check(Item(question=f"展开 {product}", answer=terms)).correct is True
    assert check(Item(question=f"因式分解 {terms}", answer=product)).correct is True
    assert check(Item(question=f"因式分解 {terms}", answer=f"{product}+1")).correct is False
    roots = {-p, -q}
    answer = "或".join(f"x={root}" for root in roots)
    assert check(Item(question=f"{terms}=0", answer=answer)).correct is True


@given(st.integers(0, 99_999_999))
def test_chinese_and_english_numerals_are_read(number: int) -> None:
    assert in_digits(chinese(number)) == str(number)
    if number < 1000:
        assert in_digits(english(number)) == str(number)


def chinese(number: int) -> str:
    if number >= 10_000:
        rest = number % 10_000
        joint = "零" if 0 < rest < 1000 else ""
        return chinese(number // 10_000) + "万" + (joint + chinese(rest) if rest else "")
    text, gap = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // size % 10
        if digit:
            text += ("零" if gap and text else "") + "零一二三四五六七八九"[digit] + name
        gap = not digit
    return text or "零"


def english(number: int) -> str:
    if number < 20:
        return SMALL[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f"-{SMALL[number % 10]}" if number % 10 else "")
    rest = number % 100
    return f"{SMALL[number // 100]} hundred" + (f" and {english(rest)}" if rest else "")


FRAGMENTS = (
    "0 1 7 99 3/4 0.5 + - × ÷ * / ^ ** ( ) = < > □ √ % x y ab 个 米 km 小时 答： 解方程 化简 "
    "因式分解 判断 多少 等于 加 的 和 或 或者 1. ① ？ ? ； ， … r 零 十 万 two half of is "
    "\\frac{ } { $ __import__('os') exec 9999999999999999999999 ^99"
)
pieces = st.sampled_from([" ", "\n", *FRAGMENTS.split()])
texts = st.lists(pieces, max_size=25).map("".join) | st.text(max_size=60)


@given(texts, texts)
@example("9**9**9**9", "1")
@example("(9^9)^9", "1")
@example("((9^60)^60)^60", "1")
@example("(" * 10_000, ")" * 10_000)
@example("9" * 10_000, "9" * 10_000)
@example("x^99999999=1", "x=1")
@example("(a+b+c)^8*(a+b+c)^8", "0")
@example("(√2+√3+√5+√7)^8", "√" * 150)
@example("__import__('os').system('true')", "__import__('os')")
@example("is " * 5000, "1," * 5000)
@example("√99999999999999999999", "x=±" * 80)
def test_no_text_does_more_than_get_a_verdict(question: str, answer: str) -> None:
    verdict = check(Item(question=question, answer=answer))
    assert (verdict.correct is None) == (verdict.checked_by == "none")
    assert verdict.comment
    assert topic_label(verdict.topic, "en")
    for level in (1, 2, 3):
        assert hint(Item(question=question), level).hint


@given(st.lists(texts, max_size=6).map("\n".join))
@example("x=1\n" * 4000)
@example("1," * 9000)
@example("a" + " " * 9000 + "b")
def test_every_page_is_taken_apart_or_refused_with_a_reason(page: str) -> None:
    try:
        items = collect(page)
    except HomeworkError as error:
        assert error.message("zh") and error.message("en")
        return
    assert all(item.question for item in items)
    verdicts = [check(item) for item in items]
    assert score(verdicts) in {None, *range(101)}
    assert summarise(verdicts, "en").summary


@given(texts)
def test_a_parsed_expression_has_a_value_or_a_typed_error(text: str) -> None:
    try:
        value(parse(text))
    except ExpressionError as error:
        assert error.message("zh") and error.message("en")


@st.composite
def questions(draw: st.DrawFn) -> str:
    a, b, c = (draw(st.integers(1, 60)) for _ in range(3))
    return draw(
        st.sampled_from(
            [
                f"{a}+{b}",
                f"{a + b}-{b}",
                f"{a}×{b}",
                f"{a * b}÷{b}",
                f"{a}÷{b}",
                f"{a}+{b}×{c}",
                f"({a}+{b})×{c}",
                f"{a}/{b}+{c}/{a}",
                f"{a}/{b}×{c}",
                f"{a}.{b}+{c}",
                f"{a}%×{b}",
                f"{a % 6 + 2}^{b % 4 + 1}",
                f"{a}/{b} ○ {b}/{c}",
                f"{a}+□={a + b}",
                f"{a}×□={a * b}",
                f"{a}小时=( )分钟",
                f"{a}km=( )m",
                f"{a}x+{b}={a * c + b}",
                f"x²-{a + b}x+{a * b}=0",
                f"x+y={a + b}, x-y={a - b}",
                f"化简 {a}x+{b}x",
                f"展开 (x+{a})(x+{b})",
                f"因式分解 x²-{a * a}",
                f"判断：{a}+{b}={c}",
            ]
        )
    )


@given(questions(), st.sampled_from(["zh", "en"]))
def test_the_first_two_levels_hold_no_number_of_the_answer(
    question: str, language: Literal["zh", "en"]
) -> None:
    item = Item(question=question)
    way = hint(item, 3, language)
    assert way.reveals_answer
    answer = way.hint.rpartition("答案是 " if language == "zh" else "The answer is ")[2]
    for level in (1, 2):
        help = hint(item, level, language)
        assert not help.reveals_answer
        assert not gives_away(help.hint, question, [answer.rstrip("。.")])
