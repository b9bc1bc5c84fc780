(** * The theorems that jrr cites, each for one way of asking and closing

    c is the most by which one step of a number changes the weight of what is seen: a + b where the
    deck is closed, a + e where sums are announced, a + the sum of all e_k where K are. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks announcements privacy coins epsilon.
Import ListNotations.
Open Scope R_scope.

(** ** Budgets of announcements *)
Definition total (es : list R) : R := fold_right Rplus 0 es.

Lemma within_total ask t es : Forall (fun e => 0 < e) es -> forall past left,
  (forall j, total es <= left j) -> within ask t es past left.
Proof.
  induction 1 as [|e es He F IH]; intros past left H; simpl in *; auto.
  destruct (ask past) as [j G]. intros told. apply IH. intros i. specialize (H i).
  destruct (G t); [destruct (Nat.eqb i j)|]; lra.
Qed.

(** ** A block of items: what all the others are cases of *)
Section Block.
Context (sizes : list nat) (p q a b e : R) (es : list R) (t : nat) (ask : seen -> asking).
Context (xs xs' : list nat).
Hypothesis Sizes : Forall (fun k => (2 <= k)%nat) sizes.
Hypothesis Coin : prefers_truth p q (combinations sizes).
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es) (He0 : 0 <= e).
Hypotheses (Ok : Forall (fun x => (x < combinations sizes)%nat) xs).
Hypotheses (Ok' : Forall (fun x => (x < combinations sizes)%nat) xs').
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat).

Theorem block_private : (forall s, within (ask s) t es [] (fun _ => e)) -> forall E,
  Pr (block_coin sizes p q) a b es (numbers sizes) t ask xs E <=
  block_bound sizes p q (a + b + e) * Pr (block_coin sizes p q) a b es (numbers sizes) t ask xs' E.
Proof.
  intros W E. pose proof Coin as (Hpq & Hp & _).
  assert (Hc : 0 <= a + b + e) by lra.
  assert (K0 : 0 <= block_bound sizes p q (a + b + e)).
  { pose proof (spread_ge1 sizes _ Hc Sizes) as S1. pose proof (far_ge1 sizes _ Hc) as F1.
    unfold block_bound. fold (far sizes (a + b + e)) (spread sizes (a + b + e)). unfold Rdiv.
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; nra. }
  apply masked with (e := e); auto.
  - eapply Forall_impl; [|exact Ok]. intros x Hx. apply block_coin_law; auto.
  - eapply Forall_impl; [|exact Ok']. intros x Hx. apply block_coin_law; auto.
  - intros x x' Hx Hx'. apply block_lets; auto.
    + rewrite Forall_forall in Ok. apply Ok. apply nth_error_In with t; auto.
    + rewrite Forall_forall in Ok'. apply Ok'. apply nth_error_In with t; auto.
Qed.
End Block.

(** One of k answers, k at least 3: k numbers, a single 1. *)
Corollary k_answers_private k p q a b e es t ask xs xs' : (3 <= k)%nat -> prefers_truth p q k ->
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e ->
  Forall (fun x => (x < k)%nat) xs -> Forall (fun x => (x < k)%nat) xs' ->
  neighbours t xs xs' -> (t < length xs)%nat ->
  (forall s, within (ask s) t es [] (fun _ => e)) -> forall E,
  let c := a + b + e in
  Pr (block_coin [k] p q) a b es (numbers [k]) t ask xs E <=
  (p * exp (2 * c) + q * (INR k - 1)) / (p + q * exp (2 * c) + q * (INR k - 2)) *
  Pr (block_coin [k] p q) a b es (numbers [k]) t ask xs' E.
Proof.
  intros Hk Coin Ha Hb He He0 Ok Ok' Nb Ht W E c. pose proof Coin as (Hpq & Hp & _).
  assert (Ck : combinations [k] = k) by (simpl; lia).
  rewrite <- (bound_k_answers k p q c) by (auto; lra).
  apply block_private; auto; try (rewrite Ck; auto; fail). repeat constructor. lia.
Qed.

(** ** Yes or no. d is what the coin alone loses: p = e^d q. *)
Definition yes_no (d : R) (x : bool) : list Z -> R :=
  block_coin [2%nat] (exp d / (1 + exp d)) (1 / (1 + exp d)) (if x then 1%nat else 0%nat).

Lemma yes_no_prefers d : 0 <= d -> prefers_truth (exp d / (1 + exp d)) (1 / (1 + exp d)) 2.
Proof.
  intros Hd. pose proof (exp_ineq1_le d). unfold prefers_truth, Rdiv.
  assert (0 < / (1 + exp d)) by (apply Rinv_0_lt_compat; lra). simpl. repeat split; try nra.
  replace (exp d * / (1 + exp d) + (1 + 1 - 1) * (1 * / (1 + exp d))) with ((1 + exp d) * / (1 + exp d))
    by ring. apply Rinv_r. lra.
Qed.

(** The general form: a deck closed or not (b), any announcements (es) of which e is the most that the
    sums with her card in them add up to. *)
Theorem yes_no_private a b e es d t ask xs xs' :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e -> 0 <= d ->
  (forall s, within (ask s) t es [] (fun _ => e)) ->
  neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  Pr (yes_no d) a b es 1 t ask xs E <= exp (eps (a + b + e) d) * Pr (yes_no d) a b es 1 t ask xs' E.
Proof.
  intros Ha Hb He He0 Hd W Nb Ht E.
  pose proof (yes_no_prefers d Hd) as Pf.
  assert (Hx : forall x : bool, ((if x then 1 else 0) < 2)%nat) by (intros []; lia).
  assert (Hc : 0 <= a + b + e) by lra. pose proof Pf as (Hpq & Hp & _).
  apply masked with (e := e); auto.
  - apply Forall_forall. intros x _. apply (block_coin_law [2%nat]); auto.
  - apply Forall_forall. intros x _. apply (block_coin_law [2%nat]); auto.
  - left; apply exp_pos.
  - intros x x' _ _. rewrite <- (bound_yes_no (exp d / (1 + exp d)) (1 / (1 + exp d))).
    + unfold lets, yes_no. apply (block_lets [2%nat]); auto; repeat constructor.
    + pose proof (exp_pos d). apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra].
    + unfold Rdiv. ring.
Qed.

(** Closed deck: nothing is announced. *)
Corollary closed_deck a b d t ask xs xs' : 0 < a -> 0 <= b -> 0 <= d ->
  neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  Pr (yes_no d) a b [] 1 t ask xs E <= exp (eps (a + b) d) * Pr (yes_no d) a b [] 1 t ask xs' E.
Proof.
  intros Ha Hb Hd Nb Ht E. rewrite <- (Rplus_0_r (a + b)).
  apply yes_no_private; auto; try lra. intros s j; simpl. lra.
Qed.

(** Independent cards and one announced sum, of whatever reporters the adversary names. *)
Corollary announced_sum a e d t ask xs xs' : 0 < a -> 0 < e -> 0 <= d ->
  neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  Pr (yes_no d) a 0 [e] 1 t ask xs E <= exp (eps (a + e) d) * Pr (yes_no d) a 0 [e] 1 t ask xs' E.
Proof.
  intros Ha He Hd Nb Ht E. replace (a + e) with (a + 0 + e) by ring.
  apply yes_no_private; auto; try lra. intros s. apply within_total; auto. intros j. simpl. lra.
Qed.

(** K announcements, each of whatever subset the adversary names once he has seen those before. *)
Corollary several_announcements a es d t ask xs xs' : 0 < a -> Forall (fun e => 0 < e) es -> 0 <= d ->
  neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  Pr (yes_no d) a 0 es 1 t ask xs E <=
  exp (eps (a + total es) d) * Pr (yes_no d) a 0 es 1 t ask xs' E.
Proof.
  intros Ha He Hd Nb Ht E. replace (a + total es) with (a + 0 + total es) by ring.
  assert (T0 : 0 <= total es).
  { clear - He. induction He; simpl; lra. }
  apply yes_no_private; auto; try lra. intros s. apply within_total; auto. intros j. lra.
Qed.
