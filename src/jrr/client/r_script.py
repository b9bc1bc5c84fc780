"""An R script that reads a survey's export and estimates what jrr estimates.

It needs nothing but R (for Parquet the package arrow). What it must know of a mechanism is written
into it as numbers: the moments from which all estimates and standard errors follow
(docs/theory.md, Theorem 4; jrr.estimation.moments), and what dealers told of their cards.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jrr import __version__
from jrr.estimation.masks import Known
from jrr.estimation.told_sums import CardSums
from jrr.mechanisms.report_formats import BitsFormat, MaskedFormat, NumberFormat

if TYPE_CHECKING:
    from jrr.estimation.moments import Moments
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

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
# value under its own noise (jrr survey report).
#
# Masks come off all reports together, or off those of the groups that the survey was closed with:
# the functions refuse any other part of the rows.
#
#     source("{file}.R")     # makes data, questions and results; then, for each of questions:
#     estimate_groups(data, questions[[1]], by = "column")
#     estimate_differences(data, questions[[1]], by = "column")

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

support_of <- function(column, question) {
  k <- length(question$labels)
  if (question$form == "number") {
    reports <- as.numeric(column)
    return(sapply(seq_len(k) - 1, function(v) sum(reports == v)))
  }
  if (question$form == "bits") return(colSums(matrix(as_bits(column, k), ncol = k)))
  numbers <- as_numbers(column)
  if (k == 2) c(length(column) - sum(numbers), sum(numbers)) else colSums(numbers)
}

# What is known of the masks in these reports: in all of them, or in those of one group.
masks_of <- function(carded, question, group) {
  if (is.null(question$masks) || carded == 0) return(list(mask_sum = 0, mask_variance = 0))
  if (is.null(group)) {
    known <- question$masks$all
  } else if (question$masks$closed) { # of a part of a deck nobody tells a sum: its masks stay
    left <- question$masks$single * carded - question$with_card$mask_tie * carded * (carded - 1)
    return(list(mask_sum = 0, mask_variance = max(left, 0)))
  } else {
    named <- Filter(function(one) one$group == group, question$masks$groups)
    if (!length(named)) stop(question$column, ": dealers told no sum of the cards of ", group)
    known <- named[[1]]
  }
  if (carded < known$least || carded > known$most) {
    stop(question$column, ": these rows have ", carded, " reports with a card, and dealers told ",
         "the sum of ", known$most, " cards", if (!is.null(group)) paste(" of", group), ". Masks ",
         "can be taken off all rows of the export, or off whole groups: use estimate_groups and ",
         "estimate_differences",
         if (!is.null(question$by)) paste(" (groups of", question$by, "only)"),
         ", not a part of the rows", call. = FALSE)
  }
  known
}

# The reports of one kind of people, with a card or without: estimated counts, and their noise.
stratum <- function(column, question, m, masks) {
  n <- length(column)
  count <- (support_of(column, question) - masks$mask_sum - n * m$q) / m$gain
  x <- pmin(pmax(count, 0), n)
  list(n = n, count = count,
       noise = (x * m$p * (1 - m$p) + (n - x) * m$q * (1 - m$q)) / m$gain^2,
       lean = (x * m$lean_holder + (n - x) * m$lean_other) / m$gain,
       lean2 = (x * m$lean_holder^2 + (n - x) * m$lean_other^2) / m$gain^2,
       drawn = x * (n - x) / n,
       masks = masks$mask_variance / m$gain^2)
}

# All who were asked a question in these rows, or in those of one group.
people_of <- function(data, question, group = NULL) {
  flags <- data[[paste0(question$column, "_carded")]]
  asked <- !is.na(flags)
  column <- data[[question$column]][asked]
  carded <- toupper(as.character(flags[asked])) == "TRUE"
  with_card <- without_card <- NULL
  if (any(carded)) {
    with_card <- stratum(column[carded], question, question$with_card,
                         masks_of(sum(carded), question, group))
  }
  if (any(!carded)) {
    without_card <- stratum(column[!carded], question, question$without_card,
                            list(mask_sum = 0, mask_variance = 0))
  }
  count <- numeric(length(question$labels))
  for (one in list(with_card, without_card)) if (!is.null(one)) count <- count + one$count
  list(n = length(column), share = count / length(column), with_card = with_card,
       without_card = without_card)
}

# The variance of a weighted sum of counts; those with a card of one deck are tied together.
variance_of <- function(strata, weights, m, sampled) {
  here <- !sapply(strata, is.null)
  if (!any(here)) return(0)
  strata <- strata[here]
  weights <- weights[here]
  total <- function(name, power) {
    Reduce(`+`, Map(function(one, w) w^power * one[[name]], strata, weights))
  }
  variance <- pmax(total("noise", 2) - m$tied * (total("lean", 1)^2 - total("lean2", 2)), 0)
  variance <- variance + total("masks", 2)
  n <- sapply(strata, function(one) one$n) * weights
  variance <- variance - m$mask_tie * (sum(n)^2 - sum(n^2)) / m$gain^2
  if (sampled) {
    apart <- (m$lean_holder - m$lean_other) / m$gain
    variance <- variance + (1 - m$tied * apart^2) * total("drawn", 2)
  }
  pmax(variance, 0)
}

stderr_of <- function(people, signs, question, sampled) {
  weights <- signs / sapply(people, function(one) one$n)
  kinds <- c("with_card", "without_card")
  parts <- lapply(kinds, function(kind) {
    variance_of(lapply(people, function(one) one[[kind]]), weights, question[[kind]], sampled)
  })
  sqrt(Reduce(`+`, parts))
}

# Shares, or the mean of a number, of these people (signs 1) or of one group less another (1, -1).
values_of <- function(people, signs, question, sampled) {
  share <- Reduce(`+`, Map(function(one, sign) sign * one$share, people, signs))
  found <- stderr_of(people, signs, question, sampled)
  if (is.null(question$ends)) {
    return(data.frame(answer = question$labels, estimate = share, stderr = found))
  }
  # A number was rounded by chance to one of its ends: the most noise that this can be counts.
  drawn <- stderr_of(people, signs, question, TRUE)
  wide <- diff(question$ends)
  data.frame(answer = "mean", estimate = sum(signs) * question$ends[1] + wide * share[2],
             stderr = wide * (if (sampled) drawn[2] else max(found[2], drawn[2])))
}

estimate_question <- function(data, question, sampled = FALSE) {
  people <- people_of(data, question)
  cbind(question = question$column, n = people$n, values_of(list(people), 1, question, sampled))
}

# Group -> its people; groups of fewer than min_cell reports are left out.
groups_of <- function(data, question, by) {
  if (is.null(by)) stop(question$column, ": say which column the groups are in: by = ")
  if (!is.null(question$masks) && !question$masks$closed && !identical(by, question$by)) {
    stop(question$column, ": dealers told no sums of the cards of groups by ", by,
         if (!is.null(question$by)) paste0(", only by ", question$by), call. = FALSE)
  }
  if (is.null(data[[by]])) stop("data has no column ", by)
  names <- as.character(data[[by]])
  if (identical(by, question$by)) { # values whose cards have one sum together are one group
    for (one in question$merged) names[names %in% one$values] <- one$group
  }
  asked <- !is.na(data[[paste0(question$column, "_carded")]])
  sizes <- table(names[asked])
  shown <- sort(names(sizes)[sizes >= question$min_cell])
  people <- lapply(shown, function(group) {
    people_of(data[names %in% group, , drop = FALSE], question, group)
  })
  setNames(people, shown)
}

estimate_groups <- function(data, question, by = question$by, sampled = FALSE) {
  people <- groups_of(data, question, by)
  do.call(rbind, lapply(names(people), function(group) {
    cbind(question = question$column, group = group, n = people[[group]]$n,
          values_of(people[group], 1, question, sampled))
  }))
}

# Every pair of groups: the first less the second.
estimate_differences <- function(data, question, by = question$by, sampled = FALSE) {
  people <- groups_of(data, question, by)
  if (length(people) < 2) return(NULL)
  do.call(rbind, combn(names(people), 2, simplify = FALSE, FUN = function(pair) {
    cbind(question = question$column, first = pair[1], second = pair[2],
          values_of(people[pair], c(1, -1), question, sampled))
  }))
}
"""
_TAIL = """\
results <- do.call(rbind, lapply(questions, function(question) estimate_question(data, question)))
rownames(results) <- NULL
print(results)
"""
_TYPES = """\
data <- type.convert(data, as.is = TRUE) # open answers as numbers and texts, for your own work
"""


def r_script(survey: "Survey", results: Mapping[str, Any], file: str) -> str:
    """The script.

    Args:
        survey: Which was asked.
        results: Question -> the collector's estimate, or why there is none, as
            `Operator.estimates` returns it.
        file: The name of the export beside which the script lies; .csv or .parquet.

    Returns:
        The script, in ASCII. Questions without a result are named in a comment, and so are those
        whose reports R cannot read.
    """
    questions, left_out = [], []
    for one in survey.sensitive:
        reason = _unfit(one, results.get(one.name, {}))
        if reason is None:
            questions.append(_entry(one, results[one.name]))
        else:
            left_out.append(f"# {_ascii(one.name)} is left out: {_ascii(reason)}.\n")
    head = _HEAD.format(
        file=_ascii(file),
        quoted=_text(file),
        version=__version__,
        survey=survey.hash,
        wave=survey.wave,
    )
    is_csv = not file.endswith(".parquet")
    read = _READ_CSV if is_csv else _READ_PARQUET
    listed = "questions <- list(\n" + ",\n".join(questions) + "\n)\n"
    if not questions:
        return "\n".join([head + read, *left_out])
    return "\n".join(
        [head + read, listed + "".join(left_out), _FUNCTIONS, _TAIL + (_TYPES if is_csv else "")]
    )


def _unfit(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str | None:
    """Why a question cannot be estimated in R; None: it can."""
    mechanism = question.mechanism
    known = isinstance(mechanism.report_format, NumberFormat | MaskedFormat | BitsFormat)
    if not known or mechanism.steps > 1:
        return f"this script cannot read reports of {mechanism.name}; jrr can"
    if "estimate" not in result:
        return "there is no result yet, export again when the survey is closed"
    return None


def _entry(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str:
    form = question.mechanism.report_format
    kind = "number" if isinstance(form, NumberFormat) else "masked"
    told = _told(question, result)
    merged = [
        f"list(group = {_text(name)}, values = {_vector(map(_text, values))})"
        for name, values in told.merged.items()
    ]
    fields = {
        "column": _text(question.name),
        "text": _text(question.text),
        "form": _text("bits" if isinstance(form, BitsFormat) else kind),
        "labels": _vector(map(_text, question.labels)),
        "ends": "NULL" if question.number is None else _vector(map(_number, question.number)),
        "by": "NULL" if told.by is None else _text(told.by),
        "merged": f"list({', '.join(merged)})",
        "min_cell": _number(question.survey.min_cell),
        "with_card": _with_card(question, result),
        "masks": _masks(question, result),
        "without_card": _moments(question.mechanism.moments.without_cards()),
    }
    return "  list(" + ",\n       ".join(f"{name} = {code}" for name, code in fields.items()) + ")"


def _with_card(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str:
    """The moments of those with a card, and what is known of their masks."""
    mechanism = question.mechanism
    if not mechanism.deals:
        return "NULL"
    moments, decks = mechanism.moments, int(result["decks"])
    mask_tie = 0.0 if moments.masks is None else moments.masks.tie(decks)
    return _moments(moments, moments.pair_weight(decks), mask_tie)


def _masks(question: "SensitiveQuestion", result: Mapping[str, Any]) -> str:
    """What is known of the masks of those with a card: in all reports, and group by group."""
    mechanism, carded = question.mechanism, int(result["carded"])
    law, decks = mechanism.moments.masks, int(result["decks"])
    if law is None or not carded:
        return "NULL"
    off, known = masks_told(question, result)
    everybody = _known_masks(carded, carded, off, law.variance_of(carded, decks, known))
    groups = []
    for group, sums in _told(question, result).announced.items():
        told = [one for one in sums if one.sum is not None]
        if told:
            off = _support_of_masks(mechanism, [one.sum for one in told])
            left = law.variance_of(carded, decks, Known(announcements=len(told), covered=carded))
            cards = [one.cards for one in told]  # a report may have those of several dealers
            numbers = _known_masks(max(cards), sum(cards), off, left)
            groups.append(f"list(group = {_text(group)}, {numbers.removeprefix('list(')}")
    fields = {
        "all": everybody,
        "closed": "FALSE" if mechanism.announced else "TRUE",
        "single": _number(law.single),
        "groups": "list(" + ",\n         ".join(groups) + ")",
    }
    return "list(" + ",\n         ".join(f"{name} = {code}" for name, code in fields.items()) + ")"


def _known_masks(least: int, most: int, mask_sum: Sequence[int], mask_variance: float) -> str:
    """How many reports with a card there may be, and what is known of the masks in them."""
    return (
        f"list(least = {least}, most = {most}, mask_sum = {_vector(map(_number, mask_sum))}, "
        f"mask_variance = {_number(mask_variance)})"
    )


def _told(question: "SensitiveQuestion", result: Mapping[str, Any]) -> CardSums:
    document, k = result.get("sums"), question.mechanism.k
    if document is None:
        return CardSums()
    return CardSums.from_document(document, 1 if k == 2 else k)


def masks_told(question: "SensitiveQuestion", result: Mapping[str, Any]) -> tuple[list[int], Known]:
    """What comes off the support of every answer, and of what noise is left after it."""
    mechanism, told = question.mechanism, _told(question, result)
    known, off = Known(), [0] * mechanism.k
    sums = [one.sum for dealers in told.announced.values() for one in dealers if one.cards]
    if sums:
        off = _support_of_masks(mechanism, sums)
        known = known._replace(announcements=len(sums), covered=int(result["carded"]))
    if told.undealt is not None and told.undealt.cards:
        off = [-mask for mask in _support_of_masks(mechanism, [told.undealt.sum])]
        known = known._replace(undealt=told.undealt.cards)
    return off, known


def _support_of_masks(mechanism: "Mechanism", sums: Sequence[Any]) -> list[int]:
    """What masks with these sums add to the support of every answer."""
    masks = np.array(sums, np.int64).reshape(len(sums), -1).sum(axis=0)
    of_two = (-int(masks[0]), int(masks[0]))
    return list(of_two) if mechanism.k == 2 else [int(mask) for mask in masks]


def _moments(moments: "Moments", tied: float = 0.0, mask_tie: float = 0.0) -> str:
    fields = {
        name: _vector(map(_number, getattr(moments, name).tolist()))
        for name in ("p", "q", "gain", "lean_holder", "lean_other")
    }
    fields |= {"tied": _number(tied), "mask_tie": _number(mask_tie)}
    listed = [f"{name} = {code}" for name, code in fields.items()]
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
