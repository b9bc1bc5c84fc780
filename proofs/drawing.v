(** * Drawing cards: the sampler draws the laws of [model.v]

    U is a number between 0 and 1 whose binary digits are random words; a geometric number is
    floor(-ln U / a). Of U only a whole number w below M is known, 2^64 at first and 2^128 or more
    where that does not decide: U lies between w/M and (w+1)/M. Words are idealised: all w are
    equally likely. Cards are differences of geometric numbers; a closed deck is drawn by tries of
    which some are kept. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)

(** The geometric law. *)
Definition geo (a : R) (g : nat) : R := (1 - exp (- a)) * exp (- a) ^ g.
(** All of the interval from w/M to (w+1)/M lies where floor(-ln U / a) is g. *)
Definition decides (a : R) (M g w : nat) : Prop :=
  exp (- a) ^ S g < INR w / INR M /\ (INR w + 1) / INR M <= exp (- a) ^ g.
(** The share of the words below M of which T is true. *)
Definition share (M : nat) (T : nat -> bool) : R :=
  fsum (fun w => if T w then 1 else 0) (seq 0 M) / INR M.
Definition is (o : option nat) (g : nat) : bool := match o with Some h => Nat.eqb h g | None => false end.
Definition undecided (o : option nat) : bool := match o with Some _ => false | None => true end.

(** Piles of tokens: of every person a pile of plus tokens and one of minus tokens; her card is the
    difference. *)
Definition difference (p : nat * nat) : Z := (Z.of_nat (fst p) - Z.of_nat (snd p))%Z.
Definition plus_tokens (ps : list (nat * nat)) : nat := fold_right (fun p s => fst p + s)%nat 0%nat ps.
(** The chance that a try to draw a closed deck makes these piles and is kept: minus piles are
    geometric, there are as many plus tokens as minus tokens and noise, this number G is kept with
    the chance ways G r^G / top, and its ways to lie on piles, so many, are equally likely. *)
Definition kept_try (a b top : R) (ways : nat -> R) (ps : list (nat * nat)) : R :=
  let G := plus_tokens ps in
  prodlaw (map (fun _ => geo a) ps) (map snd ps) * lap b (sumZ (map difference ps)) *
  (ways G * exp (- a) ^ G / top) * (1 / ways G).

(** ** Counting words *)
Lemma count_between A B M :
  fsum (fun w => if Nat.leb A w && Nat.ltb w B then 1 else 0) (seq 0 M) = INR (Nat.min M B - A).
Proof.
  induction M as [|M IH]; [reflexivity|]. rewrite seq_S, fsum_app, IH. cbn [fsum Nat.add].
  destruct (Nat.leb_spec A M), (Nat.ltb_spec M B); simpl andb; cbv iota;
    [replace (Nat.min (S M) B - A)%nat with (S (Nat.min M B - A)) by lia; rewrite S_INR; lra
    | | |]; rewrite Rplus_0_r, Rplus_0_r; f_equal; lia.
Qed.

Lemma whole_part r : 0 <= r -> exists n : nat, INR n <= r < INR n + 1.
Proof.
  intros H. destruct (archimed r) as [U1 U2].
  assert (Hz : (0 < up r)%Z) by (apply lt_IZR; lra).
  exists (Z.to_nat (up r - 1)). rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia. lra.
Qed.

(** Words whose interval lies between lo and hi: as many as the length says, or up to two fewer. *)
Lemma words_between M lo hi (T : nat -> bool) : (0 < M)%nat -> 0 <= lo <= hi -> hi <= 1 ->
  (forall w, (w < M)%nat -> T w = true -> lo <= INR w / INR M /\ (INR w + 1) / INR M <= hi) ->
  share M T <= hi - lo.
Proof.
  intros HM Hlo Hhi HT. apply lt_INR in HM as HMr. simpl in HMr.
  assert (L0 : 0 <= lo * INR M) by nra. assert (H0 : 0 <= hi * INR M) by nra.
  destruct (whole_part _ L0) as [A HA]. destruct (whole_part _ H0) as [B HB].
  assert (Q : forall w, INR w / INR M * INR M = INR w) by (intros; field; lra).
  assert (Q1 : forall w, (INR w + 1) / INR M * INR M = INR w + 1) by (intros; field; lra).
  set (A' := if Rle_dec (lo * INR M) (INR A) then A else S A).
  assert (HA' : lo * INR M <= INR A').
  { unfold A'. destruct (Rle_dec _ _); [lra|]. rewrite S_INR. lra. }
  assert (Bnd : fsum (fun w => if T w then 1 else 0) (seq 0 M) <= INR (Nat.min M B - A')).
  { rewrite <- count_between. apply fsum_le, Forall_forall. intros w Hw. apply in_seq in Hw.
    destruct (T w) eqn:E; [|destruct (_ && _); lra].
    destruct (HT w ltac:(lia) E) as [H1 H2].
    apply Rmult_le_compat_r with (r := INR M) in H1, H2; try lra. rewrite Q in H1. rewrite Q1 in H2.
    assert (A' <= w)%nat.
    { unfold A'. destruct (Rle_dec _ _) as [Y|N].
      - apply INR_le. lra.
      - assert (A < w)%nat by (apply INR_lt; lra). lia. }
    assert (w < B)%nat.
    { assert (S w < S B)%nat; [|lia]. apply INR_lt. rewrite !S_INR. lra. }
    destruct (Nat.leb_spec A' w), (Nat.ltb_spec w B); simpl; try lia; lra. }
  unfold share. apply Rmult_le_reg_r with (INR M); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  rewrite Rmult_1_r. apply Rle_trans with (1 := Bnd).
  destruct (Nat.le_gt_cases A' (Nat.min M B)) as [Y|N].
  - rewrite minus_INR by auto. assert (INR (Nat.min M B) <= INR B) by (apply le_INR; lia). nra.
  - replace (Nat.min M B - A')%nat with 0%nat by lia. simpl. nra.
Qed.

Lemma share_add M T1 T2 T3 : (0 < M)%nat ->
  (forall w, (w < M)%nat -> T1 w = true \/ T2 w = true \/ T3 w = true) ->
  1 <= share M T1 + share M T2 + share M T3.
Proof.
  intros HM H. apply lt_INR in HM as HMr. simpl in HMr. unfold share.
  rewrite <- !Rdiv_plus_distr. apply Rmult_le_reg_r with (INR M); auto.
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_l, Rmult_1_r by lra.
  assert (G : forall n, (n <= M)%nat -> INR n <= fsum (fun w => if T1 w then 1 else 0) (seq 0 n) +
      fsum (fun w => if T2 w then 1 else 0) (seq 0 n) + fsum (fun w => if T3 w then 1 else 0) (seq 0 n)).
  { induction n as [|n IH]; intros Hn; [simpl; lra|]. rewrite seq_S, !fsum_app, S_INR. cbn [fsum Nat.add].
    specialize (IH ltac:(lia)). destruct (H n ltac:(lia)) as [E|[E|E]]; rewrite E;
      destruct (T1 n), (T2 n), (T3 n); lra. }
  apply G. lia.
Qed.

Lemma power_between a : 0 < a -> 0 < exp (- a) < 1.
Proof. intros. split; [apply exp_pos|rewrite <- exp_0; apply exp_increasing; lra]. Qed.

Lemma power_falls r m n : 0 < r < 1 -> (m <= n)%nat -> 0 < r ^ n <= r ^ m.
Proof.
  intros Hr H. split; [apply pow_lt; lra|]. induction H; [lra|]. simpl.
  assert (0 < r ^ m0) by (apply pow_lt; lra). nra.
Qed.

(** Whatever an algorithm does with a word (floating point, decimals), if it answers only where the
    word decides, then each g is the answer of at most the geometric share of the words, and of no
    fewer than that less the share of the words that it leaves undecided, which are followed by
    further words. So if it ends at last, every number has exactly its chance. *)
Theorem geometric_words a M (says : nat -> option nat) : 0 < a -> (0 < M)%nat ->
  (forall w g, (w < M)%nat -> says w = Some g -> decides a M g w) -> forall g,
  geo a g - share M (fun w => undecided (says w)) <= share M (fun w => is (says w) g) <= geo a g.
Proof.
  intros Ha HM Sound g. pose proof (power_between a Ha) as Hr. set (r := exp (- a)) in *.
  assert (P : forall n, 0 < r ^ n <= 1).
  { intros n. pose proof (power_falls r 0 n Hr ltac:(lia)). simpl in *. lra. }
  assert (D : r ^ S g <= r ^ g) by (apply power_falls; auto).
  assert (Dec : forall w h, (w < M)%nat -> is (says w) h = true ->
      r ^ S h <= INR w / INR M /\ (INR w + 1) / INR M <= r ^ h).
  { intros w h Hw E. unfold is in E. destruct (says w) as [h'|] eqn:Sw; [|discriminate].
    apply Nat.eqb_eq in E. subst h'. destruct (Sound w h Hw Sw) as [D1 D2]. fold r in D1, D2. lra. }
  assert (Up : share M (fun w => is (says w) g) <= r ^ g - r ^ S g).
  { apply words_between; auto; try apply P. split; [left; apply P|auto]. }
  split; [|unfold geo; fold r; simpl in Up; lra].
  set (before := fun w => match says w with Some h => Nat.ltb h g | None => false end).
  set (after := fun w => match says w with Some h => Nat.ltb g h | None => false end).
  assert (B1 : share M before <= 1 - r ^ g).
  { apply words_between; auto; try lra.
    - pose proof (P g). lra.
    - intros w Hw E. unfold before in E. destruct (says w) as [h|] eqn:Sw; [|discriminate].
      apply Nat.ltb_lt in E. destruct (Sound w h Hw Sw) as [D1 D2]. fold r in D1, D2.
      pose proof (power_falls r (S h) g Hr E). pose proof (P h). lra. }
  assert (B2 : share M after <= r ^ S g - 0).
  { apply words_between; auto; try apply P.
    - pose proof (P (S g)). lra.
    - intros w Hw E. unfold after in E. destruct (says w) as [h|] eqn:Sw; [|discriminate].
      apply Nat.ltb_lt in E. destruct (Sound w h Hw Sw) as [D1 D2]. fold r in D1, D2.
      pose proof (power_falls r (S g) h Hr E). pose proof (P (S h)). lra. }
  set (other := fun w => before w || after w).
  assert (B3 : share M other <= share M before + share M after).
  { unfold share. rewrite <- Rdiv_plus_distr. apply Rmult_le_compat_r.
    - left. apply Rinv_0_lt_compat. apply lt_INR in HM. exact HM.
    - unfold other. generalize (seq 0 M). induction l; simpl; [lra|].
      destruct (before a0), (after a0); simpl; lra. }
  pose proof (share_add M (fun w => is (says w) g) (fun w => undecided (says w)) other HM) as All.
  assert (1 <= share M (fun w => is (says w) g) + share M (fun w => undecided (says w)) + share M other).
  { apply All. intros w _. unfold is, undecided, other, before, after.
    destruct (says w) as [h|]; [|auto]. destruct (Nat.eqb_spec h g), (Nat.ltb_spec h g), (Nat.ltb_spec g h);
      simpl; auto; lia. }
  unfold geo. fold r. simpl in *. lra.
Qed.

(** ** Cards are differences *)
Lemma powers_sum r : 0 <= r < 1 ->
  summable any (fun n : nat => r ^ n) /\ Sum any (fun n : nat => r ^ n) = 1 / (1 - r).
Proof.
  intros Hr.
  assert (F : forall n, fsum (fun i : nat => r ^ i) (seq 0 n) = (1 - r ^ n) / (1 - r)).
  { induction n as [|n IH]; [simpl; field; lra|]. rewrite seq_S, fsum_app, IH. simpl. field. lra. }
  assert (P : forall n : nat, 0 <= r ^ n) by (intros; apply pow_le; lra).
  destruct (Sum_least any (fun n : nat => r ^ n) (1 / (1 - r))) as [S L].
  - auto.
  - intros l N _.
    assert (B : exists n, forall i, In i l -> (i < n)%nat).
    { clear N. induction l as [|i l [n Hn]]; [exists 0%nat; intros i []|]. exists (S (i + n)).
      intros j [<-|Hj]; [lia|]. specialize (Hn j Hj). lia. }
    destruct B as [n Hn]. apply Rle_trans with (fsum (fun i : nat => r ^ i) (seq 0 n)).
    + apply fsum_incl; auto.
      * intros i Hi. apply in_seq. specialize (Hn i Hi). lia.
      * apply Forall_forall. auto.
    + rewrite F. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. pose proof (P n). lra.
  - split; auto. apply Rle_antisym; auto. apply Rnot_lt_le. intros Lt.
    set (d := (1 / (1 - r) - Sum any (fun n : nat => r ^ n)) * (1 - r)).
    assert (Hd : 0 < d) by (unfold d; apply Rmult_lt_0_compat; lra).
    destruct (pow_lt_1_zero r ltac:(rewrite Rabs_right; lra) d Hd) as [n Hn].
    specialize (Hn n ltac:(lia)). rewrite Rabs_right in Hn by (apply Rle_ge; auto).
    pose proof (Sum_ub any _ (seq 0 n) S (seq_NoDup n 0) (Forall_any _)) as U. rewrite F in U.
    apply Rmult_le_compat_r with (r := 1 - r) in U; [|lra].
    replace ((1 - r ^ n) / (1 - r) * (1 - r)) with (1 - r ^ n) in U by (field; lra).
    unfold d in Hn. rewrite Rmult_minus_distr_r in Hn.
    replace (1 / (1 - r) * (1 - r)) with 1 in Hn by (field; lra). lra.
Qed.

(** Piles with the same difference: both higher by k. *)
Definition raise (z : Z) (k : nat) : nat * nat := (k + Z.to_nat z, k + Z.to_nat (- z))%nat.
Lemma raise_difference z k : difference (raise z k) = z.
Proof. unfold difference, raise; simpl. lia. Qed.
Lemma raise_all z p : difference p = z -> exists k, raise z k = p.
Proof.
  unfold difference, raise. destruct p as [u v]; simpl. intros <-. exists (Nat.min u v). f_equal; lia.
Qed.
Lemma raise_tokens z k : (fst (raise z k) + snd (raise z k) = Z.to_nat (Z.abs z) + 2 * k)%nat.
Proof. unfold raise; simpl. lia. Qed.
Lemma raise_injective z k k' : raise z k = raise z k' -> k = k'.
Proof. unfold raise. intros H. injection H. lia. Qed.

Lemma lapw_power a z : lapw a z = exp (- a) ^ Z.to_nat (Z.abs z).
Proof. apply lapw_pow. lia. Qed.

Lemma square_below r : 0 < r < 1 -> 0 <= r ^ 2 < 1.
Proof. intros. simpl. nra. Qed.

Lemma lapw_mass a : 0 < a -> Sum any (lapw a) = (1 + exp (- a)) / (1 - exp (- a)).
Proof.
  intros Ha. pose proof (power_between a Ha) as Hr. set (r := exp (- a)) in *.
  (* All pairs of geometric numbers, by their difference. *)
  destruct (powers_sum r ltac:(lra)) as [Sr Er]. destruct (powers_sum (r ^ 2) (square_below r Hr)) as [S2 E2].
  destruct (Sum_prod Nat.eq_dec any any (fun n : nat => r ^ n) (fun n : nat => r ^ n) Sr Sr) as [Sp Ep].
  rewrite Er in Ep.
  set (P := fun w : nat * nat * Z => difference (fst w) = snd w).
  set (f := fun w : nat * nat * Z => r ^ fst (fst w) * r ^ snd (fst w)).
  assert (Slice : forall z, Sum (fun p => P (p, z)) (fun p => f (p, z)) = lapw a z * (1 / (1 - r ^ 2)) ).
  { intros z. rewrite <- E2, <- (proj2 (Sum_scal any _ (lapw a z) (Rlt_le _ _ (exp_pos _)) S2)).
    destruct (Sum_bij (raise z) any (fun p => P (p, z)) (fun p => f (p, z))) as [-> _].
    - intros k _. apply raise_difference.
    - intros k k' _ _. apply raise_injective.
    - intros p Hp. destruct (raise_all z p Hp) as [k Hk]. exists k. split; auto. exact I.
    - apply Sum_ext; [tauto|]. intros k _. unfold f; simpl fst; simpl snd.
      rewrite <- pow_add, lapw_power, <- pow_mult. fold r. rewrite <- pow_add. f_equal.
      pose proof (raise_tokens z k). unfold raise in *; simpl in *. lia. }
  assert (Sf : summable P f).
  { assert (X : summable (fun p : nat * nat => any (fst p) /\ any (snd p)) (fun p => f (p, difference p))) by exact Sp.
    destruct (Sum_bij (fun p : nat * nat => (p, difference p)) (fun p => any (fst p) /\ any (snd p)) P f) as [_ [_ Y]].
    - intros p _. reflexivity.
    - intros p p' _ _ E. congruence.
    - intros [p z] E. exists p. unfold P in E; simpl in E. subst. repeat split.
    - apply Y. exact X. }
  destruct (tonelli Z.eq_dec P any f) as [_ T]; auto; [intros; exact I|].
  assert (Total : Sum P f = 1 / (1 - r) * (1 / (1 - r))).
  { rewrite <- Ep. destruct (Sum_bij (fun p : nat * nat => (p, difference p))
      (fun p => any (fst p) /\ any (snd p)) P f) as [-> _]; [| | |reflexivity].
    - intros p _. reflexivity.
    - intros p p' _ _ E. congruence.
    - intros [p z] E. exists p. unfold P in E; simpl in E. subst. repeat split. }
  rewrite Total in T.
  rewrite (Sum_ext any any _ (fun z => (1 / (1 - r ^ 2)) * lapw a z)) in T;
    [|tauto|intros z _; rewrite Slice; ring].
  assert (N2 : 0 < 1 - r ^ 2) by (pose proof (square_below r Hr); lra).
  assert (I2 : 0 < 1 / (1 - r ^ 2)) by (unfold Rdiv; rewrite Rmult_1_l; apply Rinv_0_lt_compat; auto).
  rewrite (proj2 (Sum_scal any _ _ (Rlt_le _ _ I2) (lapw_summable a Ha))) in T.
  apply Rmult_eq_reg_l with (1 / (1 - r ^ 2)); [|lra]. rewrite <- T. simpl. field.
  simpl in N2. split; nra.
Qed.

Lemma noise_mass b : 0 < b -> 0 < Sum any (lapw b).
Proof. intros. apply Sum_pos with 0%Z; [apply lapw_summable; auto|exact I|apply exp_pos]. Qed.

(** A card, and the noise of an announced sum: the difference of two geometric numbers. *)
Theorem difference_of_geometric a z : 0 < a ->
  Sum (fun p => difference p = z) (fun p => geo a (fst p) * geo a (snd p)) = lap a z.
Proof.
  intros Ha. pose proof (power_between a Ha) as Hr.
  assert (N2 : 0 < 1 - exp (- a) ^ 2) by (pose proof (square_below _ Hr); lra).
  destruct (Sum_bij (raise z) any (fun p => difference p = z) (fun p => geo a (fst p) * geo a (snd p)))
    as [-> _].
  - intros k _. apply raise_difference.
  - intros k k' _ _. apply raise_injective.
  - intros p Hp. destruct (raise_all z p Hp) as [k Hk]. exists k. split; auto. exact I.
  - destruct (powers_sum (exp (- a) ^ 2) (square_below _ Hr)) as [S2 E2].
    rewrite (Sum_ext any any _ (fun k => ((1 - exp (- a)) ^ 2 * lapw a z) * (exp (- a) ^ 2) ^ k)).
    + rewrite (proj2 (Sum_scal any _ ((1 - exp (- a)) ^ 2 * lapw a z)
        ltac:(apply Rmult_le_pos; [apply pow2_ge_0|left; apply exp_pos]) S2)).
      rewrite E2. unfold lap, normalise. rewrite lapw_mass by auto. set (r := exp (- a)) in *.
      simpl. simpl in N2. field. repeat split; nra.
    + tauto.
    + intros k _. unfold geo. rewrite lapw_power, <- pow_mult.
      set (r := exp (- a)) in *. pose proof (raise_tokens z k) as E.
      transitivity ((1 - r) ^ 2 * r ^ (fst (raise z k) + snd (raise z k))); [rewrite pow_add; ring|].
      rewrite E, pow_add. replace (2 * k)%nat with (k * 2)%nat by lia.
      rewrite (Nat.mul_comm k 2), pow_mult. rewrite <- pow_mult. ring.
Qed.

(** ** Closed decks *)
Definition least (ps : list (nat * nat)) : list nat := map (fun p => Nat.min (fst p) (snd p)) ps.

Lemma kept_try_weight a b top ways ps : 0 < a -> 0 < b -> 0 < top -> 0 < ways (plus_tokens ps) ->
  kept_try a b top ways ps =
  (1 - exp (- a)) ^ length ps / Sum any (lapw b) / top *
  deckw a b (map difference ps) * prodlaw (repeat (fun k : nat => (exp (- a) ^ 2) ^ k) (length ps)) (least ps).
Proof.
  intros Ha Hb Ht Hw. unfold kept_try, lap, normalise.
  assert (Q : 0 < Sum any (lapw b)) by (apply noise_mass; auto).
  set (r := exp (- a)).
  assert (W : prodlaw (map (fun _ => geo a) ps) (map snd ps) * r ^ plus_tokens ps =
    (1 - r) ^ length ps * (exp (- a * IZR (sumabs (map difference ps))) *
      prodlaw (repeat (fun k : nat => (r ^ 2) ^ k) (length ps)) (least ps))).
  { clear. induction ps as [|[u v] ps IH]; [simpl; rewrite Rmult_0_r, exp_0; ring|].
    cbn [map prodlaw plus_tokens fold_right length repeat least sumabs fst snd].
    change ((1 - r) ^ S (length ps)) with ((1 - r) * (1 - r) ^ length ps).
    fold (plus_tokens ps) (least ps). rewrite pow_add, plus_IZR, Rmult_plus_distr_l, exp_plus.
    assert (C : r ^ v * r ^ u = exp (- a * IZR (Z.abs (difference (u, v)))) * (r ^ 2) ^ Nat.min u v).
    { fold (lapw a (difference (u, v))). rewrite lapw_power, <- pow_mult, <- !pow_add. f_equal.
      unfold difference; simpl. lia. }
    change (geo a v) with ((1 - r) * r ^ v).
    transitivity ((1 - r) * (r ^ v * r ^ u) * (prodlaw (map (fun _ => geo a) ps) (map snd ps) * r ^ plus_tokens ps));
      [ring|]. rewrite C, IH. cbv beta. cbn [fst snd]. generalize ((r ^ 2) ^ Nat.min u v).
    generalize (prodlaw (repeat (fun k : nat => (r ^ 2) ^ k) (length ps)) (least ps)). intros. ring. }
  unfold deckw. replace (- a * IZR (sumabs (map difference ps)) - b * IZR (Z.abs (sumZ (map difference ps))))
    with (- a * IZR (sumabs (map difference ps)) + - b * IZR (Z.abs (sumZ (map difference ps)))) by ring.
  rewrite exp_plus. fold (lapw b (sumZ (map difference ps))).
  transitivity (prodlaw (map (fun _ => geo a) ps) (map snd ps) * r ^ plus_tokens ps *
    lapw b (sumZ (map difference ps)) / Sum any (lapw b) / top); [fold r; field; lra|].
  rewrite W. field. lra.
Qed.

(** Piles with the differences zs: raise every pair. *)
Fixpoint raise_each (zs : list Z) (ks : list nat) : list (nat * nat) :=
  match zs, ks with z :: zs', k :: ks' => raise z k :: raise_each zs' ks' | _, _ => [] end.

Lemma raise_each_length zs ks : length ks = length zs -> length (raise_each zs ks) = length zs.
Proof. revert ks; induction zs; intros [|k ks] H; simpl in *; auto; try discriminate. Qed.
Lemma raise_each_difference zs ks : length ks = length zs -> map difference (raise_each zs ks) = zs.
Proof.
  revert ks; induction zs; intros [|k ks] H; try discriminate; auto.
  cbn [raise_each map]. rewrite raise_difference, IHzs; auto.
Qed.
Lemma raise_each_least zs ks : length ks = length zs -> least (raise_each zs ks) = ks.
Proof.
  revert ks; induction zs; intros [|k ks] H; try discriminate; auto.
  cbn [raise_each least map]. fold (least (raise_each zs ks)). rewrite IHzs by auto. f_equal.
  unfold raise; simpl. lia.
Qed.
Lemma raise_each_all ps : raise_each (map difference ps) (least ps) = ps.
Proof.
  induction ps as [|[u v] ps IH]; auto. cbn [map least raise_each]. fold (least ps). rewrite IH. f_equal.
  unfold raise, difference; simpl. f_equal; lia.
Qed.

Section Deck.
Context (a b top : R) (n : nat) (ways : nat -> R).
Hypotheses (Ha : 0 < a) (Hb : 0 < b) (Htop : 0 < top) (Hways : forall G, 0 < ways G).
Let try := kept_try a b top ways.
Let piles (ps : list (nat * nat)) : Prop := length ps = n.
Let C : R := (1 - exp (- a)) ^ n / Sum any (lapw b) / top * (1 / (1 - exp (- a) ^ 2)) ^ n.

Lemma C_pos : 0 < C.
Proof.
  pose proof (power_between a Ha) as Hr. pose proof (square_below _ Hr).
  assert (0 < Sum any (lapw b)) by (apply noise_mass; auto).
  unfold C, Rdiv. repeat apply Rmult_lt_0_compat; try apply pow_lt; try apply Rinv_0_lt_compat; auto; try lra.
  rewrite Rmult_1_l. apply Rinv_0_lt_compat. lra.
Qed.

Lemma piles_of zs : cards n zs ->
  summable (fun ps => piles ps /\ map difference ps = zs) try /\
  Sum (fun ps => piles ps /\ map difference ps = zs) try = C * deckw a b zs.
Proof.
  intros [Lz _]. pose proof (power_between a Ha) as Hr.
  set (r2 := fun k : nat => (exp (- a) ^ 2) ^ k).
  destruct (powers_sum (exp (- a) ^ 2) (square_below _ Hr)) as [S2 E2].
  destruct (prodlaw_Sum Nat.eq_dec any (repeat r2 n)) as [Sn En]; [apply Forall_repeat; auto|].
  rewrite repeat_length in Sn, En.
  assert (En' : Sum (vec any n) (prodlaw (repeat r2 n)) = (1 / (1 - exp (- a) ^ 2)) ^ n).
  { rewrite En. generalize n as m. induction m as [|m IH]; simpl fold_right; [auto|]. rewrite IH, <- E2. reflexivity. }
  set (k0 := (1 - exp (- a)) ^ n / Sum any (lapw b) / top * deckw a b zs).
  assert (K0 : 0 <= k0).
  { assert (0 < Sum any (lapw b)) by (apply noise_mass; auto).
    unfold k0, Rdiv. left.
    repeat apply Rmult_lt_0_compat; try apply pow_lt; try apply Rinv_0_lt_compat; auto; try lra.
    apply exp_pos. }
  destruct (Sum_scal (vec any n) (prodlaw (repeat r2 n)) k0 K0 Sn) as [Sk Ek].
  assert (X : forall ks, vec any n ks -> k0 * prodlaw (repeat r2 n) ks = try (raise_each zs ks)).
  { intros ks [Lk _]. unfold try. rewrite kept_try_weight by auto.
    rewrite raise_each_length, raise_each_difference, raise_each_least, Lz by congruence. reflexivity. }
  destruct (Sum_bij (raise_each zs) (vec any n) (fun ps => piles ps /\ map difference ps = zs) try) as [E S].
  - intros ks [Lk _]. split; [unfold piles; rewrite raise_each_length; congruence|].
    apply raise_each_difference. congruence.
  - intros ks ks' [L _] [L' _] E.
    rewrite <- (raise_each_least zs ks), <- (raise_each_least zs ks') by congruence. congruence.
  - intros ps [Lp E]. exists (least ps). split.
    + split; [unfold least; rewrite map_length; auto|apply Forall_any].
    + rewrite <- E. apply raise_each_all.
  - split.
    + apply S. eapply summable_ext; [|exact Sk]. exact X.
    + rewrite E. transitivity (k0 * Sum (vec any n) (prodlaw (repeat r2 n))).
      * rewrite <- Ek. apply Sum_ext; [tauto|]. intros ks Hk. symmetry. apply X; auto.
      * rewrite En'. unfold k0, C. ring.
Qed.

(** Of a try that is kept the cards have the law [deck]: the chance that a try is kept and has the cards
    zs is the chance that it is kept times the chance of zs. *)
Theorem closed_deck_drawn :
  let kept := Sum piles try in
  0 < kept /\ forall zs, cards n zs ->
  Sum (fun ps => piles ps /\ map difference ps = zs) try = kept * deck a b n zs.
Proof.
  pose proof C_pos as HC.
  set (P := fun w : list (nat * nat) * list Z => piles (fst w) /\ map difference (fst w) = snd w).
  set (f := fun w : list (nat * nat) * list Z => try (fst w)).
  destruct (Sum_scal (cards n) (deckw a b) C (Rlt_le _ _ HC) (deckw_summable a b n Ha (Rlt_le _ _ Hb)))
    as [Sd Ed].
  assert (Sf : summable P f).
  { apply (tonelli_summable (list_eq_dec Z.eq_dec) P (cards n) f).
    - intros ps zs [Lp E]. simpl in *. subst zs. split; [rewrite map_length; auto|apply Forall_any].
    - intros zs Hz. apply (piles_of zs Hz).
    - eapply summable_ext; [|exact Sd]. intros zs Hz. symmetry. apply (piles_of zs Hz). }
  destruct (tonelli (list_eq_dec Z.eq_dec) P (cards n) f) as [_ T]; auto.
  { intros ps zs [Lp E]. simpl in *. subst zs. split; [rewrite map_length; auto|apply Forall_any]. }
  assert (All : Sum piles try = C * Sum (cards n) (deckw a b)).
  { rewrite <- Ed. transitivity (Sum P f).
    - destruct (Sum_bij (fun ps => (ps, map difference ps)) piles P f) as [-> _]; [| | |reflexivity].
      + intros ps Hp. split; auto.
      + intros ps ps' _ _ E. congruence.
      + intros [ps zs] [Lp E]; simpl in *. exists ps. split; auto. congruence.
    - rewrite T. apply Sum_ext; [tauto|]. intros zs Hz. apply (piles_of zs Hz). }
  pose proof (deck_mass a b n Ha (Rlt_le _ _ Hb)) as M.
  cbv zeta. rewrite All. split; [apply Rmult_lt_0_compat; auto|].
  intros zs Hz. rewrite (proj2 (piles_of zs Hz)). unfold deck, normalise. field. lra.
Qed.
End Deck.

(** Trying again until a try is kept: what has the chance p in one try, of which a share k is kept,
    comes out with the chance p / k. *)
Theorem tried_again k p : 0 < k <= 1 -> 0 <= p -> Sum any (fun t : nat => (1 - k) ^ t * p) = p / k.
Proof.
  intros Hk Hp. destruct (powers_sum (1 - k) ltac:(lra)) as [S E].
  rewrite (Sum_ext any any _ (fun t : nat => p * (1 - k) ^ t)); [|tauto|intros; ring].
  rewrite (proj2 (Sum_scal any _ p Hp S)), E. replace (1 - (1 - k)) with k by ring. field. lra.
Qed.
