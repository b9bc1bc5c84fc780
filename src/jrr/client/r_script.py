"""An R script that reads a survey's export and estimates what jrr estimates.

It needs nothing but R (for Parquet the package arrow). What it must know of a mechanism is written
into it as numbers: the moments from which all estimates and standard errors follow
(docs/theory.md, Theorem 4; jrr.estimation.moments), and what dealers told of their cards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jrr import __version__
from jrr.estimation.masks import Known
from jrr.estimation.moments import Moments
from jrr.mechanisms.report_formats import BitsFormat, MaskedFormat, NumberFormat
from jrr.survey.surveys import Survey, SurveyPart
from jrr.survey.told import ToldSums

_HEAD = """\
# Reads {file} and estimates shares and means with standard errors.
# Written by jrr {version} for the survey {survey}
# (wave {wave}); {file}.codebook.csv says what the columns are.
#
# How: a report supports an answer with probability p if the person holds it, else q, so that
#     count = (support - n q) / (p - q)
# is right on average. People with and without a card are estimated apart and added. Reports with a
# card hide a secret number (a mask); mask_sum is what dealers told of these, and comes off.
# Standard errors are of the people who answered; sampled = TRUE adds those of drawing them at
# random from a large population. jrr's intervals are not value +- 1.96 stderr: they test every
# value under its own noise (jrr campaign report).
#
#     source("{file}.R")     # makes data, items and results

file <- {quoted}
"""
_READ_CSV = """\
data <- read.csv(file, colClasses = "character", na.strings = "", check.names = FALSE,
                 encoding = "UTF-8")
"""
_READ_PARQUET = """\
data <- as.data.frame(arrow::read_parquet(file)) # install.packages("arrow")
"""
_FUNCTIONS = """\
# How many reports support each answer; a matrix has a column for each of them.
as_numbers <- function(column) {
  if (is.list(column)) return(do.call(rbind, lapply(column, as.numeric)))
  do.call(rbind, lapply(strsplit(as.character(column), " ", fixed = TRUE), as.numeric))
}

as_bits <- function(column, k) {
  digits <- as.character(column)
  sapply(seq_len(k) - 1, function(v) {
    byte <- strtoi(substr(digits, 2 * (v %/% 8) + 1, 2 * (v %/% 8) + 2), 16L)
    (byte %/% 2^(v %% 8)) %% 2
  })
}

support_of <- function(column, item) {
  k <- length(item$labels)
  if (item$form == "number") {
    reports <- as.numeric(column)
    return(sapply(seq_len(k) - 1, function(v) sum(reports == v)))
  }
  if (item$form == "bits") return(colSums(matrix(as_bits(column, k), ncol = k)))
  numbers <- as_numbers(column)
  if (k == 2) c(length(column) - sum(numbers), sum(numbers)) else colSums(numbers)
}

# Estimated counts of one kind of people, and the variance of each.
stratum <- function(column, item, m, sampled) {
  n <- length(column)
  count <- (support_of(column, item) - m$mask_sum - n * m$q) / m$gain
  x <- pmin(pmax(count, 0), n)
  noise <- (x * m$p * (1 - m$p) + (n - x) * m$q * (1 - m$q)) / m$gain^2
  lean <- (x * m$lean_holder + (n - x) * m$lean_other) / m$gain
  lean2 <- (x * m$lean_holder^2 + (n - x) * m$lean_other^2) / m$gain^2
  variance <- pmax(noise - m$tied * (lean^2 - lean2), 0) + m$mask_variance / m$gain^2
  if (sampled) {
    drawn <- x * (n - x) / n
    apart <- (m$lean_holder - m$lean_other) / m$gain
    variance <- pmax(variance + drawn - m$tied * apart^2 * drawn, 0)
  }
  list(count = count, variance = variance)
}

shares <- function(data, item, sampled = FALSE) {
  flags <- data[[paste0(item$column, "_carded")]]
  asked <- !is.na(flags)
  column <- data[[item$column]][asked]
  carded <- toupper(as.character(flags[asked])) == "TRUE"
  n <- length(column)
  count <- variance <- numeric(length(item$labels))
  for (with_card in c(TRUE, FALSE)) {
    mine <- carded == with_card
    if (!any(mine)) next
    m <- if (with_card) item$with_card else item$without_card
    found <- stratum(column[mine], item, m, sampled)
    count <- count + found$count
    variance <- variance + found$variance
  }
  list(n = n, share = count / n, stderr = sqrt(variance) / n)
}

estimate_item <- function(data, item, sampled = FALSE) {
  found <- shares(data, item, sampled)
  if (is.null(item$ends)) {
    return(data.frame(item = item$column, answer = item$labels, n = found$n,
                      estimate = found$share, stderr = found$stderr))
  }
  # A number was rounded by chance to one of its ends: the most noise that this can be counts.
  drawn <- shares(data, item, TRUE)
  wide <- diff(item$ends)
  data.frame(item = item$column, answer = "mean", n = found$n,
             estimate = item$ends[1] + wide * found$share[2],
             stderr = wide * (if (sampled) drawn$stderr[2]
                              else max(found$stderr[2], drawn$stderr[2])))
}
"""
_TAIL = """\
results <- do.call(rbind, lapply(items, function(item) estimate_item(data, item)))
rownames(results) <- NULL
print(results)
"""
_TYPES = """\
data <- type.convert(data, as.is = TRUE) # open answers as numbers and texts, for your own work
"""


def r_script(survey: Survey, results: Mapping[str, Any], file: str) -> str:
    """The script.

    Args:
        survey: Which was asked.
        results: Part -> the collector's estimate, or why there is none, as
            `SurveyOperator.estimates` returns it.
        file: The name of the export beside which the script lies; .csv or .parquet.

    Returns:
        The script, in ASCII. Parts without a result are named in a comment, and so are those
        whose reports R cannot read.
    """
    items, left_out = [], []
    for part in survey.parts:
        reason = _unfit(part, results.get(part.name, {}))
        if reason is None:
            items.append(_item(part, results[part.name]))
        else:
            left_out.append(f"# {_ascii(part.name)} is left out: {_ascii(reason)}.\n")
    head = _HEAD.format(
        file=_ascii(file),
        quoted=_text(file),
        version=__version__,
        survey=survey.hash,
        wave=survey.wave,
    )
    is_csv = not file.endswith(".parquet")
    read = _READ_CSV if is_csv else _READ_PARQUET
    listed = "items <- list(\n" + ",\n".join(items) + "\n)\n"
    if not items:
        return "\n".join([head + read, *left_out])
    return "\n".join(
        [head + read, listed + "".join(left_out), _FUNCTIONS, _TAIL + (_TYPES if is_csv else "")]
    )


def _unfit(part: SurveyPart, result: Mapping[str, Any]) -> str | None:
    """Why a part cannot be estimated in R; None: it can."""
    mechanism = part.campaign.mechanism
    known = isinstance(mechanism.report_format, NumberFormat | MaskedFormat | BitsFormat)
    if not known or mechanism.steps > 1:
        return f"this script cannot read reports of {mechanism.name}; jrr can"
    if "estimate" not in result:
        return "there is no result yet, export again when the survey is closed"
    return None


def _item(part: SurveyPart, result: Mapping[str, Any]) -> str:
    campaign = part.campaign
    form = campaign.mechanism.report_format
    kind = "number" if isinstance(form, NumberFormat) else "masked"
    fields = {
        "column": _text(part.name),
        "text": _text(campaign.question),
        "form": _text("bits" if isinstance(form, BitsFormat) else kind),
        "labels": _vector(map(_text, campaign.labels)),
        "ends": "NULL" if campaign.number is None else _vector(map(_number, campaign.number)),
        "with_card": _with_card(part, result),
        "without_card": _moments(campaign.mechanism.moments.without_cards()),
    }
    return "  list(" + ",\n       ".join(f"{name} = {code}" for name, code in fields.items()) + ")"


def _with_card(part: SurveyPart, result: Mapping[str, Any]) -> str:
    """The moments of those with a card, and what is known of their masks."""
    mechanism = part.campaign.mechanism
    if not mechanism.deals:
        return "NULL"
    moments, carded, decks = mechanism.moments, int(result["carded"]), int(result["decks"])
    if moments.masks is None or not carded:
        return _moments(moments, moments.pair_weight(decks))
    taken_off, known = masks_told(part, result)
    left = moments.masks.variance_of(carded, decks, known)
    return _moments(moments, moments.pair_weight(decks), taken_off, left)


def masks_told(part: SurveyPart, result: Mapping[str, Any]) -> tuple[list[int], Known]:
    """What comes off the support of every answer, and of what noise is left after it."""
    mechanism, document = part.campaign.mechanism, result.get("sums")
    told = ToldSums() if document is None else ToldSums.from_document(part.campaign, document)
    known, masks = Known(), np.zeros(1 if mechanism.k == 2 else mechanism.k, np.int64)
    sums = [one.sum for dealer in told.announced for one in dealer.rounds[0].values() if one.cards]
    if sums:
        masks = masks + np.array(sums, np.int64).reshape(len(sums), -1).sum(axis=0)
        known = known._replace(announcements=len(sums), covered=int(result["carded"]))
    if told.undealt is not None and told.undealt.cards:
        masks = masks - np.array(told.undealt.sums[0], np.int64).reshape(-1)
        known = known._replace(undealt=told.undealt.cards)
    off = [-int(masks[0]), int(masks[0])] if mechanism.k == 2 else [int(mask) for mask in masks]
    return off, known


def _moments(
    moments: Moments, tied: float = 0.0, mask_sum: Sequence[int] = (0,), mask_variance: float = 0.0
) -> str:
    arrays = {
        name: _vector(map(_number, getattr(moments, name).tolist()))
        for name in ("p", "q", "gain", "lean_holder", "lean_other")
    }
    numbers = {
        "tied": _number(tied),
        "mask_sum": _vector(map(_number, mask_sum)),
        "mask_variance": _number(mask_variance),
    }
    listed = [f"{name} = {code}" for name, code in (arrays | numbers).items()]
    return "list(" + ",\n         ".join(listed) + ")"


def _vector(codes: Any) -> str:
    listed = list(codes)
    return listed[0] if len(listed) == 1 else f"c({', '.join(listed)})"


def _number(value: float) -> str:
    return repr(value)  # as many digits as tell it from every other number


def _text(words: str) -> str:
    """A string of R: whatever is no plain letter is written by its number."""
    return '"' + "".join(map(_letter, words)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if " " <= letter <= "~" else f"\\U{{{ord(letter):06x}}}"


def _ascii(words: str) -> str:
    """Words in a comment: in one line, without letters that some systems cannot read."""
    return " ".join(words.split()).encode("ascii", "replace").decode()
