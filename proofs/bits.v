(** * Marks by themselves (OUE): each of k values is marked with a chance of its own

    The value that is held is marked with the chance 1/2, each other one with q. Behind masks two marks
    tell a change, and what they let through is what one yes or no lets through. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks announcements privacy coins epsilon.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)
Definition mark (r : R) (v : Z) : R := if Z.eqb v 1 then r else if Z.eqb v 0 then 1 - r else 0.
Definition chance (q : R) (x j : nat) : R := if Nat.eqb j x then 1 / 2 else q.
Definition bits_coin (k : nat) (q : R) (x : nat) : list Z -> R :=
  prodlaw (map (fun j => mark (chance q x j)) (seq 0 k)).

(** ** One mark *)
Definition seen_mark (r : R) (f : Z -> R) : R := r * f 1%Z + (1 - r) * f 0%Z.

Lemma mark_Sum r f : 0 <= r <= 1 -> (forall v, 0 <= f v) ->
  summable any (fun v => mark r v * f v) /\ Sum any (fun v => mark r v * f v) = seen_mark r f.
Proof.
  intros Hr Hf. destruct (Sum_support any (fun v => mark r v * f v) [1%Z; 0%Z]) as [S E].
  - constructor; [intros [H|[]]; discriminate|]. constructor; [intros []|constructor].
  - apply Forall_any.
  - intros v _. unfold mark. specialize (Hf v).
    destruct (Z.eqb_spec v 1), (Z.eqb_spec v 0); nra.
  - intros v _ N. unfold mark. destruct (Z.eqb_spec v 1); [subst; simpl in N; tauto|].
    destruct (Z.eqb_spec v 0); [subst; simpl in N; tauto|]. ring.
  - apply Z.eq_dec.
  - split; auto. rewrite E. unfold seen_mark, mark. simpl. ring.
Qed.

Fixpoint seen_marks (q : R) (x i : nat) (fs : list (Z -> R)) : R :=
  match fs with [] => 1 | f :: fs' => seen_mark (chance q x i) f * seen_marks q x (S i) fs' end.

Lemma marks_Sum q x fs : 0 <= q <= 1 -> Forall (fun f => forall v, 0 <= f v) fs -> forall i,
  Forall (summable any) (mulf (map (fun j => mark (chance q x j)) (seq i (length fs))) fs) /\
  fold_right (fun f s => Sum any f * s) 1 (mulf (map (fun j => mark (chance q x j)) (seq i (length fs))) fs) =
  seen_marks q x i fs.
Proof.
  intros Hq F. induction F as [|f fs Hf F IH]; intros i; simpl; [split; auto|].
  destruct (IH (S i)) as [S E]. rewrite E.
  assert (Hr : 0 <= chance q x i <= 1) by (unfold chance; destruct (Nat.eqb _ _); lra).
  destruct (mark_Sum _ f Hr Hf) as [S1 E1]. rewrite E1. split; auto.
Qed.

(** ** The two marks that change *)
Section Change.
Context (q c : R).
Hypotheses (Hq : 0 < q <= 1 / 2) (Hc : 0 <= c).
Let e := exp c.
Let held := (e + 1) / 2 / (q * e + 1 - q).
Let other := (q + (1 - q) * e) / ((1 + e) / 2).

Lemma e_ge1 : 1 <= e. Proof. unfold e. pose proof (exp_ineq1_le c). lra. Qed.

Lemma seen_held f : slope c f -> seen_mark (1 / 2) f <= held * seen_mark q f.
Proof.
  intros F. destruct (F 0%Z) as (F0 & U & D). destruct (F 1%Z) as (F1 & _). change (0 + 1)%Z with 1%Z in *.
  fold e in U, D. pose proof e_ge1 as H1. unfold seen_mark, held.
  assert (P : 0 < q * e + 1 - q) by nra.
  apply Rmult_le_reg_r with (q * e + 1 - q); auto.
  replace ((e + 1) / 2 / (q * e + 1 - q) * (q * f 1%Z + (1 - q) * f 0%Z) * (q * e + 1 - q))
    with ((e + 1) / 2 * (q * f 1%Z + (1 - q) * f 0%Z)) by (field; lra).
  (* the difference is (1/2 - q) (e f 0 - f 1) *)
  assert (0 <= (1 / 2 - q) * (e * f 0%Z - f 1%Z)) by (apply Rmult_le_pos; lra). nra.
Qed.

Lemma seen_other f : slope c f -> seen_mark q f <= other * seen_mark (1 / 2) f.
Proof.
  intros F. destruct (F 0%Z) as (F0 & U & D). destruct (F 1%Z) as (F1 & _). change (0 + 1)%Z with 1%Z in *.
  fold e in U, D. pose proof e_ge1 as H1. unfold seen_mark, other.
  apply Rmult_le_reg_r with ((1 + e) / 2); [lra|].
  replace ((q + (1 - q) * e) / ((1 + e) / 2) * (1 / 2 * f 1%Z + (1 - 1 / 2) * f 0%Z) * ((1 + e) / 2))
    with ((q + (1 - q) * e) * (1 / 2 * f 1%Z + (1 - 1 / 2) * f 0%Z)) by (field; lra).
  assert (0 <= (1 / 2 - q) * (e * f 1%Z - f 0%Z)) by (apply Rmult_le_pos; lra). nra.
Qed.

Lemma seen_nonneg r f : 0 <= r <= 1 -> slope c f -> 0 <= seen_mark r f.
Proof. intros Hr F. unfold seen_mark. destruct (F 0%Z), (F 1%Z). nra. Qed.

Lemma held_ge1 : 1 <= held.
Proof.
  pose proof e_ge1. unfold held. assert (P : 0 < q * e + 1 - q) by nra.
  apply Rmult_le_reg_r with (q * e + 1 - q); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.
Lemma other_ge1 : 1 <= other.
Proof.
  pose proof e_ge1. unfold other. apply Rmult_le_reg_r with ((1 + e) / 2); [lra|].
  unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Let among (x i n : nat) (k : R) : R := if Nat.leb i x && Nat.ltb x (i + n) then k else 1.

Lemma among_ge1 x i n k : 1 <= k -> 1 <= among x i n k.
Proof. intros. unfold among. destruct (_ && _); lra. Qed.

Lemma among_here x n k : among x x (S n) k = k /\ among x (S x) n k = 1.
Proof.
  unfold among. destruct (Nat.leb_spec x x), (Nat.ltb_spec x (x + S n)), (Nat.leb_spec (S x) x); simpl; try lia; auto.
Qed.
Lemma among_there x i n k : x <> i -> among x i (S n) k = among x (S i) n k.
Proof.
  intros. unfold among. destruct (Nat.leb_spec i x), (Nat.ltb_spec x (i + S n)), (Nat.leb_spec (S i) x),
    (Nat.ltb_spec x (S i + n)); simpl; auto; lia.
Qed.

Lemma marks_nonneg x fs : Forall (slope c) fs -> forall i, 0 <= seen_marks q x i fs.
Proof.
  induction 1 as [|f fs Hf F IH]; intros i; simpl; [lra|]. apply Rmult_le_pos; auto.
  apply seen_nonneg; auto. unfold chance. destruct (Nat.eqb _ _); lra.
Qed.

Lemma marks_compare x x' fs : x <> x' -> Forall (slope c) fs -> forall i,
  seen_marks q x i fs <= among x i (length fs) held * among x' i (length fs) other * seen_marks q x' i fs.
Proof.
  intros N. induction 1 as [|f fs Hf F IH]; intros i; simpl length; simpl seen_marks.
  - pose proof (among_ge1 x i 0 held held_ge1). pose proof (among_ge1 x' i 0 other other_ge1).
    assert (1 <= among x i 0 held * among x' i 0 other) by nra. lra.
  - specialize (IH (S i)). pose proof (marks_nonneg x fs F (S i)). pose proof (marks_nonneg x' fs F (S i)).
    assert (Q : 0 <= q <= 1) by lra. assert (H2 : 0 <= 1 / 2 <= 1) by lra.
    pose proof (seen_nonneg q f Q Hf). pose proof (seen_nonneg (1 / 2) f H2 Hf).
    pose proof (seen_held f Hf). pose proof (seen_other f Hf).
    pose proof (among_ge1 x (S i) (length fs) held held_ge1). pose proof (among_ge1 x' (S i) (length fs) other other_ge1).
    pose proof held_ge1. pose proof other_ge1.
    set (A := seen_marks q x (S i) fs) in *. set (B := seen_marks q x' (S i) fs) in *.
    unfold chance. destruct (Nat.eqb_spec i x) as [E|Nx], (Nat.eqb_spec i x') as [E'|Nx']; try congruence.
    + subst i. destruct (among_here x (length fs) held) as [-> Eh]. rewrite Eh in IH. rewrite among_there by auto.
      rewrite Rmult_1_l in IH. set (b := among x' (S x) (length fs) other) in *.
      apply Rle_trans with (held * seen_mark q f * (b * B)); [apply Rmult_le_compat; auto|right; ring].
    + subst i. destruct (among_here x' (length fs) other) as [-> Eo]. rewrite Eo in IH. rewrite among_there by auto.
      rewrite Rmult_1_r in IH. set (b := among x (S x') (length fs) held) in *.
      apply Rle_trans with (other * seen_mark (1 / 2) f * (b * B)); [apply Rmult_le_compat; auto|right; ring].
    + rewrite !among_there by auto. set (b := among x (S i) (length fs) held) in *.
      set (b' := among x' (S i) (length fs) other) in *.
      apply Rle_trans with (seen_mark q f * (b * b' * B)); [apply Rmult_le_compat_l; auto|right; ring].
Qed.

(** Theorem 28 (b) of docs/theory.md. *)
Theorem bits_lets k x x' d : q = 1 / (1 + exp d) -> (x < k)%nat -> (x' < k)%nat ->
  lets k (bits_coin k q) c (exp (eps c d)) x x'.
Proof.
  intros Ed Hx Hx' fs Lf Sf _ _.
  assert (N : Forall (fun f : Z -> R => forall v, 0 <= f v) fs).
  { eapply Forall_impl; [|exact Sf]. intros f Hf v. apply Hf. }
  assert (Q : 0 <= q <= 1) by lra.
  assert (Eq : forall y, Sum (vec any k) (fun u => bits_coin k q y u * prodlaw fs u) = seen_marks q y 0 fs).
  { intros y. destruct (marks_Sum q y fs Q N 0) as [Sm Em]. rewrite Lf in Sm, Em. rewrite <- Em.
    set (gs := map (fun j => mark (chance q y j)) (seq 0 k)) in *.
    assert (Lg : length gs = length fs) by (unfold gs; rewrite map_length, seq_length; lia).
    rewrite <- (proj2 (prodlaw_Sum Z.eq_dec any (mulf gs fs) Sm)).
    rewrite mulf_length, Lg, Lf by auto. apply Sum_ext; [tauto|]. intros u [Lu _].
    unfold bits_coin. fold gs. rewrite mulf_prodlaw by lia. reflexivity. }
  rewrite !Eq. pose proof (marks_nonneg x' fs Sf 0) as P. pose proof held_ge1 as H1. pose proof other_ge1 as H2.
  pose proof e_ge1 as E1. pose proof (exp_pos d) as D1.
  assert (B : held * other = exp (eps c d)).
  { unfold held, other. rewrite exp_eps, exp_plus. fold e. rewrite Ed. field.
    repeat split; try lra; try nra. }
  rewrite <- B.
  destruct (Nat.eq_dec x x') as [->|Nx].
  - assert (1 <= held * other) by nra. nra.
  - pose proof (marks_compare x x' fs Nx Sf 0) as M. unfold among in M. rewrite Lf in M.
    destruct (Nat.ltb_spec x (0 + k)), (Nat.ltb_spec x' (0 + k)); try lia. exact M.
Qed.
End Change.

Lemma bits_coin_law k q x : 0 <= q <= 1 -> is_law (vec any k) (bits_coin k q x).
Proof.
  intros Hq. unfold bits_coin. rewrite <- (seq_length k 0) at 1.
  rewrite <- (map_length (fun j => mark (chance q x j))). apply prodlaw_law; [apply Z.eq_dec|].
  apply Forall_map, Forall_forall. intros j _.
  assert (Hr : 0 <= chance q x j <= 1) by (unfold chance; destruct (Nat.eqb _ _); lra).
  destruct (mark_Sum _ (fun _ => 1) Hr ltac:(intros; lra)) as [S E].
  assert (X : forall v, mark (chance q x j) v * 1 = mark (chance q x j) v) by (intros; ring).
  split.
  - eapply summable_ext; [|exact S]. intros v _. apply X.
  - rewrite (Sum_ext any any _ (fun v => mark (chance q x j) v * 1)); [|tauto|intros; ring].
    rewrite E. unfold seen_mark. ring.
Qed.

Theorem bits_private k q d a b e es t ask (xs xs' : list nat) :
  0 <= d -> q = 1 / (1 + exp d) -> 0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e ->
  (forall s, within (ask s) t es [] (fun _ => e)) ->
  Forall (fun x => (x < k)%nat) xs -> Forall (fun x => (x < k)%nat) xs' ->
  neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  Pr (bits_coin k q) a b es k t ask xs E <= exp (eps (a + b + e) d) * Pr (bits_coin k q) a b es k t ask xs' E.
Proof.
  intros Hd Eq Ha Hb He He0 W Ok Ok' Nb Ht E.
  assert (Hq : 0 < q <= 1 / 2).
  { rewrite Eq. pose proof (exp_ineq1_le d). assert (P : 0 < 1 + exp d) by lra. split.
    - apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; auto].
    - unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; lra. }
  apply masked with (e := e); auto.
  - apply Forall_forall. intros x _. apply bits_coin_law. lra.
  - apply Forall_forall. intros x _. apply bits_coin_law. lra.
  - left; apply exp_pos.
  - intros x x' X X'. apply bits_lets; auto; try lra.
    + rewrite Forall_forall in Ok. apply Ok. apply nth_error_In with t; auto.
    + rewrite Forall_forall in Ok'. apply Ok'. apply nth_error_In with t; auto.
Qed.
