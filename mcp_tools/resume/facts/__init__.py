"""Facts of hard kinds: which of those that a value states has nobody ever given?

Caught are dates, numbers and percentages, e-mails, phones and URLs that stand neither in the words
of the person nor in the resume, wherever a value states them; and names of companies, schools,
issuers and people in the fields that hold such names. Spelling does not matter: 2021年7月 is
2021-07, "last year" is a year, 百分之三十 is 30%, 1.2万 is 12k, 北大 is 北京大学, 腾讯 is Tencent
(for the names in `names.yaml`). What follows from the facts is no invention: the end of "two years
from 2019", the years between two dates, the number of entries in a section.

Not caught: what is put in words only (an achievement, a technology, a title, a company that is
named in the middle of a text, which `unsaid_names` judges); a known number that is said of
something else; a day or a month that belongs to another year; single numbers in Chinese or English
words that count something small.
Wrongly refused are a name that the person has written in another script only, unless it is listed,
and a number that was computed or rounded otherwise. Then the model asks, and the person says it.
"""

from .changes import unsaid_by
from .claims import unsaid
from .known import Known
from .mentions import unsaid_names

__all__ = ["Known", "unsaid", "unsaid_by", "unsaid_names"]
