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
  if (k == 2) c(length(column) * question$largest - sum(numbers), sum(numbers)) else colSums(numbers)
}

# What is known of the masks in these reports: in all of them, or in those of whole cells.
masks_of <- function(carded, question, cells) {
  if (is.null(question$masks) || carded == 0) return(list(mask_sum = 0, mask_variance = 0))
  if (is.null(cells)) {
    known <- question$masks$all
  } else if (question$masks$closed) { # of a part of a deck nobody tells a sum: its masks stay
    left <- question$masks$single * carded - question$with_card$mask_tie * carded * (carded - 1)
    return(list(mask_sum = 0, mask_variance = max(left, 0)))
  } else {
    told <- Filter(function(one) one$group %in% cells, question$masks$groups)
    if (!length(told)) {
      stop(question$column, ": dealers told no sum of the cards of ", paste(cells, collapse = ", "))
    }
    known <- lapply(setNames(nm = names(told[[1]])[-1]), function(name) {
      Reduce(`+`, lapply(told, function(one) one[[name]]))
    })
  }
  if (carded < known$least || carded > known$most) {
    stop(question$column, ": these rows have ", carded, " reports with a card, and dealers told ",
         "the sum of ", known$most, " cards. Masks can be taken off all rows of the export, or ",
         "off whole groups: use estimate_groups and estimate_differences",
         if (!is.null(question$by)) {
           paste0(" (groups of ", paste(question$by, collapse = " and "), " only)")
         },
         ", not a part of the rows", call. = FALSE)
  }
  known
}

# The reports of one kind of people, with a card or without: estimated counts, and their noise.
stratum <- function(column, question, m, masks) {
  n <- length(column)
  count <- (support_of(column, question) - masks$mask_sum - n * (m$q + m$base)) / m$gain
  x <- pmin(pmax(count, 0), n)
  list(n = n, count = count,
       noise = (x * m$p * (1 - m$p) + (n - x) * m$q * (1 - m$q) + n * m$own) / m$gain^2,
       lean = (x * m$lean_holder + (n - x) * m$lean_other) / m$gain,
       lean2 = (x * m$lean_holder^2 + (n - x) * m$lean_other^2) / m$gain^2,
       drawn = x * (n - x) / n,
       masks = masks$mask_variance / m$gain^2)
}

# All who were asked a question in these rows; cells: that they are in, where they are not all.
people_of <- function(data, question, cells = NULL) {
  flags <- data[[paste0(question$column, "_carded")]]
  asked <- !is.na(flags)
  column <- data[[question$column]][asked]
  carded <- toupper(as.character(flags[asked])) == "TRUE"
  with_card <- without_card <- NULL
  if (any(carded)) {
    with_card <- stratum(column[carded], question, question$with_card,
                         masks_of(sum(carded), question, cells))
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
# drawn: how much of the noise of drawing people counts, from 0 to 1.
variance_of <- function(strata, weights, m, drawn) {
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
  if (drawn > 0) {
    apart <- (m$lean_holder - m$lean_other) / m$gain
    variance <- variance + drawn * (1 - m$tied * apart^2) * total("drawn", 2)
  }
  pmax(variance, 0)
}

stderr_of <- function(people, signs, question, sampled) {
  weights <- signs / sapply(people, function(one) one$n)
  kinds <- c("with_card", "without_card")
  drawn <- if (sampled) 1 else 1 - question$asked # some of those who answered were asked
  parts <- lapply(kinds, function(kind) {
    variance_of(lapply(people, function(one) one[[kind]]), weights, question[[kind]], drawn)
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
  wide <- diff(question$ends)
  # A number was rounded by chance to one of its ends: the most noise that this can be counts. In
  # steps that is in its own noise already.
  drawn <- if (sampled || question$steps == 1) stderr_of(people, signs, question, TRUE) else found
  data.frame(answer = "mean", estimate = sum(signs) * question$ends[1] + wide * share[2],
             stderr = wide * (if (sampled) drawn[2] else max(found[2], drawn[2])))
}

estimate_question <- function(data, question, sampled = FALSE) {
  people <- people_of(data, question)
  cbind(question = question$column, n = people$n, values_of(list(people), 1, question, sampled))
}

# The combination of everybody's answers to some questions.
crossed <- function(data, by) {
  answers <- lapply(by, function(one) {
    column <- as.character(data[[one]])
    ifelse(is.na(column), "not asked", column)
  })
  do.call(paste, c(answers, sep = " \U{0000d7} "))
}

# Group -> its people; groups of fewer than min_cell reports are left out. A group is made of whole
# cells of the questions that the survey was closed by; groups that share a merged cell are one.
groups_of <- function(data, question, by) {
  if (is.null(by)) stop(question$column, ": say which columns the groups are in: by = ")
  announced <- !is.null(question$masks) && !question$masks$closed
  if (announced && !all(by %in% question$by)) {
    stop(question$column, ": dealers told no sums of the cards of groups by ",
         paste(by, collapse = " and "),
         if (!is.null(question$by)) paste(", only by", paste(question$by, collapse = " and ")),
         call. = FALSE)
  }
  unknown <- setdiff(by, names(data))
  if (length(unknown)) stop("data has no column ", paste(unknown, collapse = " and "))
  groups <- crossed(data, by)
  cells <- groups
  if (announced) {
    cells <- crossed(data, question$by)
    for (one in question$merged) cells[cells %in% one$values] <- one$group
    label <- groups
    for (cell in unique(cells)) label[label %in% label[cells == cell]] <- label[cells == cell][1]
    together <- tapply(groups, label, function(some) paste(sort(unique(some)), collapse = " + "))
    groups <- if (identical(by, question$by)) cells else as.vector(together[label])
  }
  asked <- !is.na(data[[paste0(question$column, "_carded")]])
  sizes <- table(groups[asked])
  shown <- sort(names(sizes)[sizes >= question$min_cell])
  people <- lapply(shown, function(group) {
    mine <- groups == group & asked
    people_of(data[mine, , drop = FALSE], question, unique(cells[mine]))
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

results <- do.call(rbind, lapply(questions, function(question) estimate_question(data, question)))
rownames(results) <- NULL
print(results)
