(** * Asking each person some of the items

    Everybody is asked items of their own (which ones is public, and does not depend on answers). For a
    number that she was not asked for, her outcome is 0 and what she sends is her bare card: more than
    she sends in truth, where there is no card and no report. The bound is that of the block of the
    items that person t was asked. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks privacy coins.
Import ListNotations.
Open Scope R_scope.

(** Her numbers at the places that are asked for, 0 elsewhere. *)
Fixpoint spread_out (asked : list bool) (u : list Z) : list Z :=
  match asked, u with
  | true :: more, z :: u' => z :: spread_out more u'
  | _ :: more, _ => 0%Z :: spread_out more u
  | [], _ => []
  end.
Fixpoint picked {Y} (asked : list bool) (fs : list Y) : list Y :=
  match asked, fs with
  | true :: more, f :: fs' => f :: picked more fs'
  | false :: more, _ :: fs' => picked more fs'
  | _, _ => []
  end.
Definition count (asked : list bool) : nat := length (filter (fun b => b) asked).

(** What one person was asked, and her answer; the coin. *)
Record question := { places : list bool; sizes : list nat; p : R; q : R }.
Definition partial_coin (x : question * nat) : list Z -> R :=
  let k := fst x in code (map (spread_out (places k)) (block (sizes k))) (tell (p k) (q k) (snd x)).
Definition well_asked (J : nat) (x : question * nat) : Prop :=
  let k := fst x in
  length (places k) = J /\ count (places k) = numbers (sizes k) /\
  Forall (fun k => (2 <= k)%nat) (sizes k) /\ prefers_truth (p k) (q k) (combinations (sizes k)) /\
  (snd x < combinations (sizes k))%nat.

Lemma spread_out_length asked u : length u = count asked -> length (spread_out asked u) = length asked.
Proof.
  unfold count. revert u. induction asked as [|[|] asked IH]; intros [|z u] H; simpl in *; try discriminate; auto.
Qed.

Lemma picked_length {Y} asked (fs : list Y) : length fs = length asked -> length (picked asked fs) = count asked.
Proof.
  unfold count. revert fs. induction asked as [|[|] asked IH]; intros [|f fs] H; simpl in *; try discriminate; auto.
Qed.

Lemma picked_slope c asked fs : Forall (slope c) fs -> Forall (slope c) (picked asked fs).
Proof.
  intros F. revert asked. induction F as [|f fs Hf F IH]; intros [|[|] asked]; simpl; auto.
Qed.

Lemma spread_out_weight c asked fs : Forall (slope c) fs -> length fs = length asked ->
  exists C, 0 <= C /\ forall u, length u = count asked ->
  prodlaw fs (spread_out asked u) = C * prodlaw (picked asked fs) u.
Proof.
  intros F. revert asked. induction F as [|f fs Hf F IH]; intros [|[|] asked] L; simpl in L; try discriminate.
  - exists 1. split; [lra|]. intros [|] H; [simpl; ring|discriminate].
  - destruct (IH asked ltac:(lia)) as (C & HC & E). exists C. split; auto.
    intros [|z u] H; [discriminate|]. simpl. rewrite E by (unfold count in *; simpl in *; lia). ring.
  - destruct (IH asked ltac:(lia)) as (C & HC & E). exists (f 0%Z * C). split.
    + apply Rmult_le_pos; auto. apply Hf.
    + intros u H. simpl. rewrite E by auto. ring.
Qed.

Section Words.
Context (J : nat) (k : question).
Hypotheses (Lp : length (places k) = J) (Cp : count (places k) = numbers (sizes k)).

Lemma spread_words : Forall (vec any J) (map (spread_out (places k)) (block (sizes k))).
Proof.
  apply Forall_map. eapply Forall_impl; [|apply block_numbers]. intros u [Lu _].
  split; [rewrite spread_out_length; congruence|apply Forall_any].
Qed.

Lemma nth_spread y : (y < combinations (sizes k))%nat ->
  nth y (map (spread_out (places k)) (block (sizes k))) [] = spread_out (places k) (nth y (block (sizes k)) []).
Proof.
  intros H. rewrite (nth_indep _ [] (spread_out (places k) [])) by (rewrite map_length, block_length; auto).
  apply map_nth.
Qed.

Lemma asked_lets c x x' : Forall (fun k => (2 <= k)%nat) (sizes k) ->
  prefers_truth (p k) (q k) (combinations (sizes k)) -> 0 <= c ->
  (x < combinations (sizes k))%nat -> (x' < combinations (sizes k))%nat ->
  lets J partial_coin c (block_bound (sizes k) (p k) (q k) c) (k, x) (k, x').
Proof.
  intros Hs (Hpq & Hp & _) Hc Hx Hx'.
  set (P := fun (y : question * nat) => tell (p k) (q k) (snd y)).
  assert (T : forall x y, 0 <= tell (p k) (q k) x y).
  { intros. unfold tell. destruct (Nat.eqb _ _); lra. }
  intros fs Lf Sf S1 S2.
  assert (N : forall u, vec any J u -> 0 <= prodlaw fs u).
  { intros u _. apply prodlaw_nonneg with any; [|apply Forall_any].
    eapply Forall_impl; [|exact Sf]. intros f Hf z _. apply Hf. }
  unfold partial_coin. simpl fst. simpl snd.
  rewrite (proj2 (code_Sum J _ _ (prodlaw fs) spread_words (fun y _ => T x y) N)).
  rewrite (proj2 (code_Sum J _ _ (prodlaw fs) spread_words (fun y _ => T x' y) N)).
  rewrite map_length, block_length.
  destruct (spread_out_weight c (places k) fs Sf ltac:(congruence)) as (C & HC & EC).
  set (gs := picked (places k) fs).
  assert (Sg : Forall (slope c) gs) by (apply picked_slope; auto).
  assert (M : forall x, fsum (fun y => tell (p k) (q k) x y *
      prodlaw fs (nth y (map (spread_out (places k)) (block (sizes k))) [])) (seq 0 (combinations (sizes k))) =
      C * fsum (fun y => tell (p k) (q k) x y * prodlaw gs (nth y (block (sizes k)) []))
        (seq 0 (combinations (sizes k)))).
  { intros z. rewrite <- fsum_scal. apply fsum_ext. intros y Hy. apply in_seq in Hy.
    rewrite nth_spread by lia. rewrite EC; [fold gs; ring|].
    pose proof (block_numbers (sizes k)) as F. rewrite Forall_forall in F.
    destruct (F (nth y (block (sizes k)) [])) as [-> _]; [apply nth_In; rewrite block_length; lia|auto]. }
  rewrite !M.
  pose proof (block_lets (sizes k) (p k) (q k) c x x' Hs Hpq Hp Hc Hx Hx' gs) as B.
  assert (Ng : forall u, vec any (numbers (sizes k)) u -> 0 <= prodlaw gs u).
  { intros u _. apply prodlaw_nonneg with any; [|apply Forall_any].
    eapply Forall_impl; [|exact Sg]. intros f Hf z _. apply Hf. }
  destruct (code_Sum (numbers (sizes k)) _ _ (prodlaw gs) (block_numbers (sizes k)) (fun y _ => T x y) Ng) as [Q1 E1].
  destruct (code_Sum (numbers (sizes k)) _ _ (prodlaw gs) (block_numbers (sizes k)) (fun y _ => T x' y) Ng) as [Q2 E2].
  rewrite block_length in E1, E2. unfold block_coin in B. rewrite E1, E2 in B.
  rewrite <- Rmult_assoc, (Rmult_comm _ C), Rmult_assoc. apply Rmult_le_compat_l; auto. apply B; auto.
  unfold gs. rewrite picked_length; congruence.
Qed.

Lemma asked_law x : prefers_truth (p k) (q k) (combinations (sizes k)) -> (x < combinations (sizes k))%nat ->
  is_law (vec any J) (partial_coin (k, x)).
Proof.
  intros Coin Hx. pose proof Coin as (Hpq & _ & H1). unfold partial_coin. simpl fst. simpl snd. apply code_law.
  - apply spread_words.
  - intros y _. unfold tell. destruct (Nat.eqb x y); lra.
  - rewrite map_length, block_length.
    rewrite (fsum_ext _ (fun y => tell (p k) (q k) x y * 1)) by (intros; ring).
    rewrite (fsum_tell (p k) (q k) x (fun _ => 1)) by auto.
    assert (D : forall l : list nat, fsum (fun _ => 1) l = INR (length l)).
    { clear. induction l; simpl length; [auto|]. rewrite S_INR. simpl. lra. }
    rewrite D, seq_length. unfold combinations in *. lra.
Qed.
End Words.

Lemma block_bound_nonneg sizes p q c : Forall (fun k => (2 <= k)%nat) sizes ->
  prefers_truth p q (combinations sizes) -> 0 <= c -> 0 <= block_bound sizes p q c.
Proof.
  intros Hs (Hpq & Hp & _) Hc. pose proof (spread_ge1 sizes c Hc Hs) as S1. pose proof (far_ge1 sizes c Hc) as F1.
  unfold block_bound. fold (far sizes c) (spread sizes c). unfold Rdiv.
  apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat]; nra.
Qed.

(** The bare coin: p / q. *)
Lemma partial_dealer k x x' u : 0 < q k <= p k -> partial_coin (k, x) u <= p k / q k * partial_coin (k, x') u.
Proof.
  intros H. unfold partial_coin, code. simpl fst. simpl snd. rewrite <- fsum_scal. apply fsum_le, Forall_forall.
  intros y _. assert (1 <= p k / q k).
  { apply Rmult_le_reg_r with (q k); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (p k / q k * q k = p k) by (field; lra).
  destruct (eq_zs _ u); [|lra]. unfold tell. destruct (Nat.eqb x y), (Nat.eqb x' y); nra.
Qed.

(** Her items are the same for both answers; everybody else may have been asked anything. *)
Theorem asked_private J a b e es t ask k x x' (xs xs' : list (question * nat)) :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e ->
  (forall s, within (ask s) t es [] (fun _ => e)) ->
  Forall (well_asked J) xs -> Forall (well_asked J) xs' ->
  neighbours t xs xs' -> nth_error xs t = Some (k, x) -> nth_error xs' t = Some (k, x') ->
  forall E, Pr partial_coin a b es J t ask xs E <=
    block_bound (sizes k) (p k) (q k) (a + b + e) * Pr partial_coin a b es J t ask xs' E.
Proof.
  intros Ha Hb He He0 W Ok Ok' Nb X X' E.
  assert (Ht : (t < length xs)%nat) by (apply nth_error_Some; congruence).
  assert (Law : forall ys, Forall (well_asked J) ys -> Forall (fun x => is_law (vec any J) (partial_coin x)) ys).
  { intros ys F. eapply Forall_impl; [|exact F]. intros [k' y] (Lk & Ck & _ & Coin & Hy).
    apply asked_law; auto. }
  assert (Hc : 0 <= a + b + e) by lra.
  assert (O1 : well_asked J (k, x)) by (rewrite Forall_forall in Ok; apply Ok; apply nth_error_In with t; auto).
  assert (O2 : well_asked J (k, x')) by (rewrite Forall_forall in Ok'; apply Ok'; apply nth_error_In with t; auto).
  destruct O1 as (Lk & Ck & Hs & Coin & Hx), O2 as (_ & _ & _ & _ & Hx').
  simpl fst in *. simpl snd in *.
  apply masked with (e := e); auto.
  - apply block_bound_nonneg; auto.
  - intros y y' Y Y'. rewrite X in Y. rewrite X' in Y'. injection Y as <-. injection Y' as <-.
    apply asked_lets; auto.
Qed.
