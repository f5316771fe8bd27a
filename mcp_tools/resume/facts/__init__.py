"""Detection of invented facts: hard facts in a value that were never given.

Detected are dates, numbers and percentages, e-mails, phones and URLs that occur neither in the
person's words nor in the resume, anywhere in a value; and names of companies, schools, issuers and
people in the fields for such names. Spelling does not matter: 2021年7月 is 2021-07, "last year" is
a year, 百分之三十 is 30%, 1.2万 is 12k, 北大 is 北京大学, 腾讯 is Tencent (for the names in
`names.yaml`). Consequences of facts are not inventions: the end of "two years from 2019", the
years between two dates, the number of entries in a section.

`unsaid_by` judges a change of a resume, and also finds titles, awards, skills, degrees, languages
and employers that were never given, in their fields and inside of sentences (`stated.py`, by the
bilingual lists of `terms.yaml`). What is known may be written in the other language: 技术总监 as
Technical Director, 张三 as Zhang San, 云帆科技 as Yunfan Technology.

Not detected: other achievements without figures, and places; a known number used for something
else; a day or a month of another year; single numbers in Chinese or English words that count
something small; words that are not listed, where a text is translated. False positives are a name
spelt otherwise than by its sound, and a number that was computed or rounded differently. The model
then asks, and the person confirms it.
"""

from .changes import unsaid_by
from .claims import unsaid
from .known import Known, plain_lines
from .mentions import unsaid_names
from .terms import asked_terms, evidence_in

__all__ = [
    "Known",
    "asked_terms",
    "evidence_in",
    "plain_lines",
    "unsaid",
    "unsaid_by",
    "unsaid_names",
]
