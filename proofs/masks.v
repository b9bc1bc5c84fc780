(** * Masks: the dealer's laws have mass 1, and what changes if one card moves *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model.
Import ListNotations.
Open Scope R_scope.

Lemma exp_le_mul u v c : u <= c + v -> exp u <= exp c * exp v.
Proof.
  intros H. rewrite <- exp_plus.
  destruct (Rle_lt_or_eq_dec _ _ H) as [H'| ->]; [left; apply exp_increasing; auto|lra].
Qed.

(** ** Two-sided geometric weights on the integers can be summed. *)
Fixpoint box (N : nat) : list Z :=
  match N with O => [0%Z] | S M => Z.of_nat N :: (- Z.of_nat N)%Z :: box M end.

Lemma box_In N z : (Z.abs z <= Z.of_nat N)%Z -> In z (box N).
Proof.
  induction N as [|N IH]; intros H.
  - left. lia.
  - simpl box. simpl In. destruct (Z.eq_dec (Z.abs z) (Z.of_nat (S N))).
    + destruct (Z_le_gt_dec 0 z); [left|right; left]; lia.
    + right; right. apply IH. lia.
Qed.

Lemma lapw_pow a N z : Z.abs z = Z.of_nat N -> lapw a z = exp (- a) ^ N.
Proof.
  intros H. unfold lapw. rewrite H, <- INR_IZR_INZ. clear.
  induction N; simpl pow.
  - simpl. now rewrite Rmult_0_r, exp_0.
  - rewrite <- IHN, S_INR, <- exp_plus. f_equal. lra.
Qed.

Lemma box_sum a N : (1 - exp (- a)) * fsum (lapw a) (box N) = 1 + exp (- a) - 2 * exp (- a) ^ (S N).
Proof.
  induction N as [|N IH].
  - simpl. rewrite (lapw_pow a 0 0%Z) by auto. simpl. lra.
  - assert (E : fsum (lapw a) (box (S N)) = 2 * exp (- a) ^ (S N) + fsum (lapw a) (box N)).
    { cbn [box fsum]. rewrite !(lapw_pow a (S N)) by lia. lra. }
    rewrite E, Rmult_plus_distr_l, IH. simpl. lra.
Qed.

Lemma lapw_summable a : 0 < a -> summable any (lapw a).
Proof.
  intros Ha. assert (Q : 0 < exp (- a) < 1) by (split; [apply exp_pos|rewrite <- exp_0; apply exp_increasing;
      lra]).
  apply (Sum_least any (lapw a) ((1 + exp (- a)) / (1 - exp (- a)))).
  - intros. left; apply exp_pos.
  - intros l N _.
    assert (B : exists M, forall z, In z l -> (Z.abs z <= Z.of_nat M)%Z).
    { clear N. induction l as [|z l [M HM]].
      - exists O. intros z [].
      - exists (M + Z.to_nat (Z.abs z))%nat. intros z' [<-|Hz']; [lia|]. specialize (HM z' Hz'). lia. }
    destruct B as [M HM].
    apply Rle_trans with (fsum (lapw a) (box M)).
    + apply fsum_incl; auto.
      * intros z Hz. apply box_In; auto.
      * apply Forall_forall. intros. left; apply exp_pos.
    + apply Rmult_le_reg_l with (1 - exp (- a)); [lra|]. rewrite box_sum.
      replace ((1 - exp (- a)) * ((1 + exp (- a)) / (1 - exp (- a)))) with (1 + exp (- a)) by (field; lra).
      pose proof (pow_lt (exp (- a)) (S M) (proj1 Q)). lra.
Qed.

Theorem lap_law a : 0 < a -> is_law any (lap a).
Proof. intros Ha. apply normalise_law with 0%Z; [apply lapw_summable; auto|exact I|apply exp_pos]. Qed.

Lemma lap_pos a z : 0 < a -> 0 < lap a z.
Proof.
  intros Ha. unfold lap, normalise, Rdiv. apply Rmult_lt_0_compat; [apply exp_pos|].
  apply Rinv_0_lt_compat. apply Sum_pos with 0%Z; [apply lapw_summable; auto|exact I|apply exp_pos].
Qed.

(** ** Columns of cards *)
Lemma cards_zero n : cards n (repeat 0%Z n).
Proof. split; [apply repeat_length|]. apply Forall_repeat. exact I. Qed.

Lemma prodlaw_lapw a zs : prodlaw (repeat (lapw a) (length zs)) zs = exp (- a * IZR (sumabs zs)).
Proof.
  induction zs; simpl; [now rewrite Rmult_0_r, exp_0|].
  rewrite IHzs. unfold lapw. rewrite <- exp_plus, plus_IZR. f_equal. ring.
Qed.

Lemma deckw_summable a b n : 0 < a -> 0 <= b -> summable (cards n) (deckw a b).
Proof.
  intros Ha Hb.
  destruct (prodlaw_Sum Z.eq_dec any (repeat (lapw a) n)) as [S _].
  { apply Forall_repeat. apply lapw_summable; auto. }
  rewrite repeat_length in S.
  apply (Sum_mono (cards n) (deckw a b) (prodlaw (repeat (lapw a) n))); auto.
  intros zs [L _]. split; [left; apply exp_pos|].
  rewrite <- L, prodlaw_lapw. rewrite <- (Rmult_1_l (exp (- a * _))), <- exp_0. apply exp_le_mul.
  assert (0 <= IZR (Z.abs (sumZ zs))) by (apply IZR_le; lia). nra.
Qed.

Lemma deck_mass a b n : 0 < a -> 0 <= b -> 0 < Sum (cards n) (deckw a b).
Proof.
  intros. apply Sum_pos with (repeat 0%Z n);
    [apply deckw_summable; auto|apply cards_zero|apply exp_pos].
Qed.

Theorem deck_law a b n : 0 < a -> 0 <= b -> is_law (cards n) (deck a b n).
Proof.
  intros Ha Hb. apply normalise_law with (repeat 0%Z n).
  - apply deckw_summable; auto.
  - apply cards_zero.
  - apply exp_pos.
Qed.

(** Independent cards are a deck with b = 0. *)
Lemma deck_independent a n zs : 0 < a -> cards n zs ->
  deck a 0 n zs = prodlaw (repeat (lap a) n) zs.
Proof.
  intros Ha [L _]. unfold deck, normalise, lap.
  set (q := Sum any (lapw a)).
  assert (Q : 0 < q) by (apply Sum_pos with 0%Z; [apply lapw_summable; auto|exact I|apply exp_pos]).
  assert (W : forall zs, deckw a 0 zs = exp (- a * IZR (sumabs zs))) by
    (intros; unfold deckw; f_equal; ring).
  assert (X : forall zs, prodlaw (repeat (fun v => lapw a v / q) (length zs)) zs =
      exp (- a * IZR (sumabs zs)) / q ^ length zs).
  { clear - Q. induction zs; simpl; [rewrite Rmult_0_r, exp_0; field|].
    rewrite IHzs. unfold lapw. rewrite plus_IZR.
    replace (- a * (IZR (Z.abs a0) + IZR (sumabs zs))) with
      (- a * IZR (Z.abs a0) + - a * IZR (sumabs zs)) by ring.
    rewrite exp_plus. field. split; [apply pow_nonzero|]; lra. }
  rewrite <- L, X, W, L. f_equal.
  destruct (prodlaw_Sum Z.eq_dec any (repeat (lapw a) n)) as [_ E].
  { apply Forall_repeat. apply lapw_summable; auto. }
  rewrite repeat_length in E. rewrite (Sum_ext (cards n) (cards n) _ (prodlaw (repeat (lapw a) n))).
  - unfold cards. rewrite E. clear. fold q. induction n; simpl; auto. rewrite IHn. auto.
  - tauto.
  - intros l [Ln _]. rewrite W, <- Ln, prodlaw_lapw; auto.
Qed.

Lemma sumZ_upd t s zs : (t < length zs)%nat -> sumZ (upd t (fun z => z - s)%Z zs) = (sumZ zs - s)%Z.
Proof. revert t; induction zs; intros [|t] H; simpl in *; try lia. rewrite IHzs; lia. Qed.

Lemma sumabs_upd t s s' zs :
  (sumabs (upd t (fun z => z - s) zs) <= sumabs (upd t (fun z => z - s') zs) + Z.abs (s - s'))%Z.
Proof. revert t; induction zs; intros [|t]; simpl in *; try lia. specialize (IHzs t). lia. Qed.

Lemma deck_nonneg a b n zs : 0 < a -> 0 <= b -> cards n zs -> 0 <= deck a b n zs.
Proof. intros. apply deck_law; auto. Qed.

(** One card moves by one: a factor of at most e^(a+b). *)
Lemma deck_step a b n t v v' zs : 0 < a -> 0 <= b -> (t < n)%nat -> cards n zs ->
  (Z.abs (v - v') <= 1)%Z ->
  deck a b n (upd t (fun z => z - v)%Z zs) <= exp (a + b) * deck a b n (upd t (fun z => z - v')%Z zs).
Proof.
  intros Ha Hb Ht [L _] Hv. unfold deck, normalise, Rdiv. rewrite <- Rmult_assoc.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, deck_mass; auto|].
  apply exp_le_mul. rewrite !sumZ_upd by lia.
  pose proof (sumabs_upd t v' v zs) as H1.
  assert (H1' : (sumabs (upd t (fun z => z - v')%Z zs) <=
      sumabs (upd t (fun z => z - v)%Z zs) + 1)%Z) by lia.
  assert (H2' : (Z.abs (sumZ zs - v') <= Z.abs (sumZ zs - v) + 1)%Z) by lia.
  apply IZR_le in H1'. apply IZR_le in H2'. rewrite plus_IZR in H1', H2'. nra.
Qed.

Lemma deck_slope a b n t zs : 0 < a -> 0 <= b -> (t < n)%nat -> cards n zs ->
  slope (a + b) (fun v => deck a b n (upd t (fun z => z - v)%Z zs)).
Proof.
  intros Ha Hb Ht Hz v. split; [|split].
  - apply deck_nonneg; auto. apply upd_vec; auto.
  - apply deck_step; auto; lia.
  - apply deck_step; auto; lia.
Qed.

(** ** Noise *)
Lemma lap_step e u v : 0 < e -> (Z.abs (u - v) <= 1)%Z -> lap e u <= exp e * lap e v.
Proof.
  intros Ha H. unfold lap, normalise, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
  - left. apply Rinv_0_lt_compat. apply Sum_pos with 0%Z; [apply lapw_summable; auto|exact I|apply exp_pos].
  - apply exp_le_mul. assert (H' : (Z.abs v <= Z.abs u + 1)%Z) by lia.
    apply IZR_le in H'. rewrite plus_IZR in H'. nra.
Qed.

Lemma lap_slope e h : 0 < e -> slope e (fun v => lap e (h + v)%Z).
Proof.
  intros He v. split; [left; apply lap_pos; auto|].
  split; apply lap_step; auto; lia.
Qed.

(** ** Functions of bounded slope *)
Lemma slope_const c k : 0 <= c -> 0 <= k -> slope c (fun _ => k).
Proof. intros Hc Hk v. pose proof (exp_ineq1_le c). repeat split; nra. Qed.

Lemma slope_mult c c' f g : slope c f -> slope c' g -> slope (c + c') (fun v => f v * g v).
Proof.
  intros Hf Hg v. destruct (Hf v) as (F0 & F1 & F2), (Hg v) as (G0 & G1 & G2).
  destruct (Hf (v + 1)%Z) as (F3 & _), (Hg (v + 1)%Z) as (G3 & _). rewrite exp_plus.
  pose proof (exp_pos c). pose proof (exp_pos c'). repeat split.
  - apply Rmult_le_pos; auto.
  - replace (exp c * exp c' * (f v * g v)) with ((exp c * f v) * (exp c' * g v)) by ring.
    apply Rmult_le_compat; auto.
  - replace (exp c * exp c' * (f (v + 1)%Z * g (v + 1)%Z)) with
      ((exp c * f (v + 1)%Z) * (exp c' * g (v + 1)%Z)) by ring.
    apply Rmult_le_compat; auto.
Qed.

Lemma slope_le c c' f : c <= c' -> slope c f -> slope c' f.
Proof.
  intros Hc Hf v. destruct (Hf v) as (F0 & F1 & F2). destruct (Hf (v + 1)%Z) as (F3 & _).
  assert (exp c <= exp c') by (destruct Hc as [Hc| ->]; [left; apply exp_increasing; auto|lra]).
  repeat split; auto; nra.
Qed.
