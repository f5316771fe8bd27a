"""Detection of invented facts: hard facts in a value that were never given.

Detected are dates, numbers and percentages, e-mails, phones and URLs that occur neither in the
person's words nor in the resume, anywhere in a value; and names of companies, schools, issuers and
people in the fields for such names. Spelling does not matter: 2021年7月 is 2021-07, "last year" is
a year, 百分之三十 is 30%, 1.2万 is 12k, 北大 is 北京大学, 腾讯 is Tencent (for the names in
`names.yaml`). Consequences of facts are not inventions: the end of "two years from 2019", the
years between two dates, the number of entries in a section.

Not detected: facts without figures (an achievement, a technology, a title, a company named in the
middle of a text, which `unsaid_names` covers); a known number used for something else; a day or a
month of another year; single numbers in Chinese or English words that count something small. False
positives are a name that the person has written only in another script, unless it is listed, and a
number that was computed or rounded differently. The model then asks, and the person confirms it.
"""

from .changes import unsaid_by
from .claims import unsaid
from .known import Known
from .mentions import unsaid_names

__all__ = ["Known", "unsaid", "unsaid_by", "unsaid_names"]
