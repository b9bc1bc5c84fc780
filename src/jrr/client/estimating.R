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
# drawn: how much of the noise of drawing people counts, for each of the counts.
variance_of <- function(strata, weights, m, drawn) {
  here <- !sapply(strata, is.null)
  if (!any(here)) return(0)
  strata <- strata[here]
  weights <- weights[here]
  drawn <- drawn[here]
  total <- function(name, power) {
    Reduce(`+`, Map(function(one, w) w^power * one[[name]], strata, weights))
  }
  variance <- pmax(total("noise", 2) - m$tied * (total("lean", 1)^2 - total("lean2", 2)), 0)
  variance <- variance + total("masks", 2)
  n <- sapply(strata, function(one) one$n) * weights
  variance <- variance - m$mask_tie * (sum(n)^2 - sum(n^2)) / m$gain^2
  if (any(drawn > 0)) {
    apart <- (m$lean_holder - m$lean_other) / m$gain
    variance <- variance + (1 - m$tied * apart^2) *
      Reduce(`+`, Map(function(one, w, part) part * w^2 * one$drawn, strata, weights, drawn))
  }
  pmax(variance, 0)
}

# How much of the noise of drawing n people counts: some of those who answered were asked.
drawn_of <- function(question, sampled, n) {
  if (sampled) 1 else (1 - question$asked) * n / max(n - question$asked, 1e-300)
}

stderr_of <- function(people, signs, question, sampled, more = 1) {
  drawn <- more * sapply(people, function(one) drawn_of(question, sampled, one$n))
  weights <- signs / sapply(people, function(one) one$n)
  kinds <- c("with_card", "without_card")
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

# Means of the numbers on a scale, or of a number; of everybody or of each group.
estimate_means <- function(data, question, by = NULL, sampled = FALSE) {
  people <- if (is.null(by)) list(people_of(data, question)) else groups_of(data, question, by)
  groups <- if (is.null(by)) "" else names(people)
  do.call(rbind, lapply(seq_along(people), function(at) {
    found <- if (is.null(question$numbers)) {
      if (is.null(question$ends)) stop(question$column, " is no scale and no number")
      values_of(people[at], 1, question, sampled)[, -1]
    } else scale_mean_of(people[[at]], question, sampled)
    cbind(question = question$column, group = groups[at], n = people[[at]]$n, found)
  }))
}

# The mean among those who gave a number; NA stands for an answer that is none.
scale_mean_of <- function(people, question, sampled) {
  given <- !is.na(question$numbers)
  middle <- mean(range(question$numbers[given]))
  apart <- ifelse(given, question$numbers - middle, 0)
  answered <- if (all(given)) 1 else sum(people$share[given])
  if (answered <= 0) stop(question$column, ": nobody gave a number")
  mean <- sum(apart * people$share) / answered
  slopes <- if (all(given)) apart else ifelse(given, (apart - mean) / answered, 0)
  drawn <- drawn_of(question, sampled, people$n)
  variance <- sum(sapply(c("with_card", "without_card"), function(kind) {
    one <- people[[kind]]
    if (is.null(one)) 0 else scale_variance(one, slopes, question, question[[kind]], drawn, people$n)
  }))
  data.frame(estimate = middle + mean, stderr = sqrt(variance))
}

scale_variance <- function(one, slopes, question, m, drawn, n) {
  held <- pmin(pmax(one$count, 0), one$n)
  share <- held / max(sum(held), 1e-300)
  moved <- if (length(slopes) == 2) diff(slopes)^2 else sum(slopes^2) # of two answers there is one mask
  alone <- one
  alone$masks <- 0
  if (length(m$p) > 1 || any(m$tied != 0)) { # how shares hang together is not known: as if errors added up
    m$mask_tie <- 0
    own <- sum(abs(slopes) * sqrt(variance_of(list(alone), 1 / n, m, 0)))^2
  } else {
    own <- one$n * sum(share * report_variance(m$p, m$q, slopes, question$marks)) / (m$gain * n)^2
  }
  spread <- max(sum(share * slopes^2) - sum(share * slopes)^2, 0)
  own + max(one$masks) * moved / n^2 + drawn * one$n / n^2 * spread
}

# The variance of the weights that one report marks, by what is held.
report_variance <- function(p, q, weights, marks) {
  others <- sum(weights) - weights
  squares <- sum(weights^2) - weights^2
  alone <- weights^2 * p * (1 - p) + squares * q * (1 - q)
  if (is.null(marks)) return(alone)
  k <- length(weights)
  with_held <- p * (marks - 1) / (k - 1)
  two <- p * (marks - 1) * (marks - 2) + (1 - p) * marks * (marks - 1)
  of_two <- if (k > 2) two / ((k - 1) * (k - 2)) else 0
  ties <- 2 * weights * others * (with_held - p * q) + (others^2 - squares) * (of_two - q * q)
  pmax(alone + ties, 0)
}

# Two questions that were asked as one: the table of both (share of each pair of answers), the
# shares of each, and of then and now the change.
estimate_parts <- function(data, question, sampled = FALSE) {
  if (length(question$parts) != 2) stop(question$column, " is not two questions asked as one")
  people <- people_of(data, question)
  counts <- unlist(question$parts)
  cells <- prod(counts)
  covariance <- 0
  for (kind in c("with_card", "without_card")) if (!is.null(people[[kind]])) {
    covariance <- covariance + pair_covariance(people[[kind]], question[[kind]])
  }
  n <- people$n
  shares <- possible_counts(people$share * n, n) / n
  covariance <- covariance / n^2 +
    drawn_of(question, sampled, n) / n * (diag(shares) - outer(shares, shares))
  first <- rep(seq_len(counts[1]), each = counts[2])
  second <- rep(seq_len(counts[2]), counts[1])
  of_first <- lapply(seq_len(counts[1]), function(at) as.numeric(first == at))
  of_second <- lapply(seq_len(counts[2]), function(at) as.numeric(second == at))
  wanted <- c(of_first, of_second)
  name <- rep(names(question$parts), counts)
  answer <- c(seq_len(counts[1]), seq_len(counts[2]))
  if (identical(names(question$parts), c("then", "now"))) {
    wanted <- c(wanted, Map(`-`, of_second, of_first))
    name <- c(name, rep("change", counts[2]))
    answer <- c(answer, seq_len(counts[2]))
  }
  found <- lapply(wanted, function(weights) {
    weights <- c(weights, rep(0, length(shares) - cells))
    c(sum(weights * people$share), sqrt(max(0, drop(weights %*% covariance %*% weights))))
  })
  data.frame(question = question$column, part = name, answer = answer,
             estimate = sapply(found, `[`, 1), stderr = sapply(found, `[`, 2))
}

possible_counts <- function(counts, total) {
  counts <- pmax(counts, 0)
  if (sum(counts) > 0) counts * (total / sum(counts)) else counts
}

# Of estimated counts: everybody tells one of the values, and each value has masks of its own.
pair_covariance <- function(one, m) {
  k <- length(one$count)
  if (abs(m$p[1] + (k - 1) * m$q[1] - 1) > 1e-9 || m$base != 0 || any(m$lean_holder != 0)) {
    stop("a table can be made of RR, or of MRR whose coin tells one of the values")
  }
  held <- possible_counts(one$count, one$n)
  laws <- matrix(m$q[1], k, k) + (m$p[1] - m$q[1]) * diag(k)
  told <- diag(drop(held %*% laws)) - t(laws) %*% (held * laws)
  told / m$gain[1]^2 + max(one$masks) * diag(k)
}

# Shares in this wave minus those in the one before; of numbers the change of the mean. Sampled:
# the noise of drawing people who are in both counts for the worst that their answers may hang
# together. shared: how many they are; otherwise as this export says, or all.
estimate_change <- function(data, question, before, question_before, paired = FALSE,
                            sampled = FALSE, shared = NULL) {
  if (paired) {
    now <- of_both(data, question, "answered_wave_before")
    if (!is.null(question_before$masks) && !question_before$masks$closed) {
      told <- Filter(function(one) "answered_wave_after" %in% one$by, question_before$later)
      if (!length(told)) stop(question_before$column, ": pairs need the second sums of the wave before")
      question_before[c("by", "merged", "masks")] <- told[[1]][c("by", "merged", "masks")]
    }
    then <- of_both(before, question_before, "answered_wave_after")
  } else {
    now <- people_of(data, question)
    then <- people_of(before, question_before)
  }
  if (is.null(shared)) {
    known <- data[["answered_wave_before"]][!is.na(data[[paste0(question$column, "_carded")]])]
    shared <- if (paired || is.null(known)) now$n else sum(known == "yes", na.rm = TRUE)
  }
  shared <- min(shared, now$n, then$n)
  error <- function(people, question, others, sampled, shared) {
    stderr_of(list(people), 1, question, sampled, 1 + shared / others$n)
  }
  of_waves <- function(sampled, shared) {
    sqrt(error(now, question, then, sampled, shared)^2 +
           error(then, question_before, now, sampled, shared)^2)
  }
  change <- now$share - then$share
  found <- of_waves(sampled, shared)
  common <- list(question = question$column, n_before = then$n, n_now = now$n)
  if (is.null(question$ends)) {
    return(data.frame(common, answer = question$labels, estimate = change, stderr = found))
  }
  wide <- diff(question$ends)
  if (!sampled && question$steps == 1) found <- pmax(found, of_waves(TRUE, 0)) # rounded by chance
  data.frame(common, answer = "mean", estimate = wide * change[2], stderr = wide * found[2])
}

of_both <- function(data, question, column) {
  if (is.null(data[[column]])) stop("the export has no column ", column)
  people <- groups_of(data[which(data[[column]] == "yes"), , drop = FALSE], question, column)
  if (is.null(people$yes)) stop(question$column, ": too few people answered both waves")
  people$yes
}

# Any table that was made here, as a picture: estimates with 95% of the normal law.
plot_estimates <- function(found, ...) {
  rows <- setdiff(names(found), c("question", "n", "n_before", "n_now", "estimate", "stderr"))
  names <- trimws(do.call(paste, c(found["question"], found[rows])))
  at <- rev(seq_along(names))
  low <- found$estimate - 1.96 * found$stderr
  high <- found$estimate + 1.96 * found$stderr
  old <- graphics::par(mar = c(4, 2 + max(nchar(names)) / 2, 1, 1))
  on.exit(graphics::par(old))
  graphics::plot(found$estimate, at, xlim = range(low, high), yaxt = "n", pch = 19, xlab = "",
                 ylab = "", ...)
  graphics::segments(low, at, high, at)
  graphics::axis(2, at, names, las = 1, tick = FALSE)
}

results <- do.call(rbind, lapply(questions, function(question) estimate_question(data, question)))
rownames(results) <- NULL
print(results)
