(** * Windows as they run: whole numbers of words, and a check that Coq can compute

    The bound of [window.v] asks for sums of powers of e^-c. With a fraction M / D of at least e^c in the
    place of e^c, which only makes what is let through more, they are whole numbers. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks privacy coins window.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)
Definition zsum (f : nat -> Z) (l : list nat) : Z := fold_right (fun u s => (f u + s)%Z) 0%Z l.
Definition steps_apart (u m : nat) : nat := (u - m + (m - u))%nat.
(** M^N times the power d of D / M. *)
Definition weight (N : nat) (M D : Z) (d : nat) : Z := (M ^ Z.of_nat (N - d) * D ^ Z.of_nat d)%Z.
Definition weights (N : nat) (M D : Z) : list Z := map (weight N M D) (seq 0 (S N)).
(** [through] of a coin with so many words for each number: of the window from x on, and of others. *)
Definition near (ws : list Z) (m : nat) (l : list nat) : Z := zsum (fun u => nth (steps_apart u m) ws 0%Z) l.
Definition words_through (ws : list Z) (N L : nat) (told other : Z) (m x : nat) : Z :=
  (other * near ws m (seq 0 N) + (told - other) * near ws m (seq x L))%Z.
(** Behind every peak m, every answer weighs at most kn / kd times what any other weighs. *)
Definition bounded (s L : nat) (told last other M D kn kd : Z) : bool :=
  let ws := weights (s + L) M D in
  forallb (fun m =>
    let all := near ws m (seq 0 (s + L)) in
    let windows := map (fun x => near ws m (seq x L)) (seq 0 (S s)) in
    Z.leb (kd * (other * all + (told - other) * fold_right Z.max 0 windows))
      (kn * (other * all + (last - other) * fold_right Z.min all windows)))%Z (seq 0 (s + L)).

(** ** They are what [window.v] speaks of *)
Lemma zsum_fsum f l : IZR (zsum f l) = fsum (fun u => IZR (f u)) l.
Proof. induction l; simpl; auto. rewrite plus_IZR. lra. Qed.

Lemma fsum_window p q L x N (W : nat -> R) : (x + L <= N)%nat ->
  fsum (fun u => likelier p q L x u * W u) (seq 0 N) = q * fsum W (seq 0 N) + (p - q) * fsum W (seq x L).
Proof.
  intros H. replace N with (x + (L + (N - x - L)))%nat by lia. rewrite !seq_app, !fsum_app. rewrite ?Nat.add_0_l.
  assert (Out : forall l, (forall u, In u l -> (u < x \/ x + L <= u)%nat) ->
      fsum (fun u => likelier p q L x u * W u) l = q * fsum W l).
  { intros l Hl. rewrite <- fsum_scal. apply fsum_ext. intros u Hu. f_equal. unfold likelier.
    destruct (Hl u Hu); destruct (Nat.leb_spec x u), (Nat.ltb_spec u (x + L)); simpl; auto; lia. }
  assert (Ins : fsum (fun u => likelier p q L x u * W u) (seq x L) = p * fsum W (seq x L)).
  { rewrite <- fsum_scal. apply fsum_ext. intros u Hu. apply in_seq in Hu. f_equal. unfold likelier.
    destruct (Nat.leb_spec x u), (Nat.ltb_spec u (x + L)); simpl; auto; lia. }
  rewrite Ins, !Out; [ring| |]; intros u Hu; apply in_seq in Hu; lia.
Qed.

Section Whole.
Context (N : nat) (M D : Z) (W : R).
Hypotheses (HD : (0 < D)%Z) (HM : (D < M)%Z) (HW : 0 < W).
Let r := IZR M / IZR D.

Lemma D_pos : 0 < IZR D. Proof. apply IZR_lt; auto. Qed.
Lemma M_pos : 0 < IZR M. Proof. apply IZR_lt; lia. Qed.
Lemma r_above : 1 < r.
Proof.
  pose proof D_pos. assert (IZR D < IZR M) by (apply IZR_lt; auto). unfold r, Rdiv.
  apply Rmult_lt_reg_r with (IZR D); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma apart u m : Z.abs (Z.of_nat u - Z.of_nat m) = Z.of_nat (steps_apart u m).
Proof. unfold steps_apart. lia. Qed.

Lemma weight_peak u m : (u < N)%nat -> (m < N)%nat ->
  peak (ln r) m u * IZR M ^ N = IZR (nth (steps_apart u m) (weights N M D) 0%Z).
Proof.
  intros Hu Hm. set (d := steps_apart u m). assert (Hd : (d <= N)%nat) by (unfold d, steps_apart; lia).
  unfold weights. rewrite (nth_indep _ 0%Z (weight N M D 0)) by (rewrite map_length, seq_length; lia).
  rewrite map_nth, seq_nth by lia. unfold peak. rewrite apart. fold d. rewrite <- INR_IZR_INZ.
  pose proof M_pos. pose proof D_pos. pose proof r_above.
  assert (P : forall k, exp (- (ln r * INR k)) = (IZR D / IZR M) ^ k).
  { induction k as [|k IH]; [simpl; rewrite Rmult_0_r, Ropp_0; apply exp_0|].
    rewrite S_INR. replace (- (ln r * (INR k + 1))) with (- (ln r * INR k) + - ln r) by ring.
    rewrite exp_plus, IH, exp_Ropp, exp_ln by lra. simpl. unfold r. field. split; lra. }
  rewrite P. unfold weight. rewrite mult_IZR, <- !pow_IZR. rewrite ?Nat.add_0_l.
  replace (IZR M ^ N) with (IZR M ^ (N - d) * IZR M ^ d) by (rewrite <- pow_add; f_equal; lia).
  unfold Rdiv. rewrite Rpow_mult_distr, pow_inv. field. apply pow_nonzero. lra.
Qed.

Lemma through_words L told other m x : (x + L <= N)%nat -> (m < N)%nat ->
  through (ln r) N (likelier (IZR told / W) (IZR other / W) L x) m * (W * IZR M ^ N) =
  IZR (words_through (weights N M D) N L told other m x).
Proof.
  intros Hx Hm. unfold through. rewrite fsum_window by auto.
  unfold words_through, near. rewrite plus_IZR, !mult_IZR, minus_IZR, !zsum_fsum.
  assert (Q : forall l, (forall u, In u l -> (u < N)%nat) ->
    fsum (fun u => IZR (nth (steps_apart u m) (weights N M D) 0%Z)) l = IZR M ^ N * fsum (peak (ln r) m) l).
  { intros l Hl. rewrite <- fsum_scal. apply fsum_ext. intros u Hu. rewrite <- weight_peak by auto. ring. }
  rewrite !Q by (intros u Hu; apply in_seq in Hu; lia). field. lra.
Qed.
End Whole.

Lemma lets_less {X} J (coin : X -> list Z -> R) c c' K x x' : c <= c' ->
  lets J coin c' K x x' -> lets J coin c K x x'.
Proof.
  intros H L fs Lf Sf. apply L; auto. eapply Forall_impl; [|exact Sf]. intros f. apply slope_le; auto.
Qed.

(** ** The theorem: what the check says is a bound for everybody who sees masks of slope c *)
Section Private.
Context (s L : nat) (told last other M D kn kd : Z) (W a b e : R) (es : list R) (t : nat).
Context (ask : seen -> asking) (P : nat -> nat -> R) (xs xs' : list (nat * R)).
Let N := (s + L)%nat.
Let K := IZR kn / IZR kd.
Hypotheses (HL : (0 < L)%nat) (HD : (0 < D)%Z) (HM : (D < M)%Z) (HW : 0 < W).
Hypotheses (Ho : (0 <= other <= last)%Z) (Hlt : (last <= told)%Z) (Hkd : (0 < kd)%Z) (Hkn : (kd <= kn)%Z).
Hypothesis Hlast : (kd * told <= kn * last)%Z.
Hypothesis Check : bounded s L told last other M D kn kd = true.
Hypothesis Slope : exp (a + b + e) <= IZR M / IZR D.
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es) (He0 : 0 <= e).
Hypothesis Law : forall x, (x <= s)%nat -> fsum (P x) (seq 0 N) = 1.
Hypothesis Chances : forall x u, (x <= s)%nat -> (u < N)%nat ->
  likelier (IZR last / W) (IZR other / W) L x u <= P x u <= likelier (IZR told / W) (IZR other / W) L x u.
Hypotheses (Ok : Forall (in_range s) xs) (Ok' : Forall (in_range s) xs').
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat).

Lemma over_kd u v : (kd * u <= kn * v)%Z -> IZR u / W <= K * (IZR v / W).
Proof.
  intros H. apply IZR_le in H. rewrite !mult_IZR in H. assert (0 < IZR kd) by (apply IZR_lt; auto).
  unfold K, Rdiv. replace (IZR kn * / IZR kd * (IZR v * / W)) with (IZR kn * IZR v * / IZR kd * / W) by ring.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|].
  apply Rmult_le_reg_r with (IZR kd); auto. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Theorem window_computed : (forall s, within (ask s) t es [] (fun _ => e)) -> forall E,
  Pr (number_coin N P) a b es 1 t ask xs E <= K * Pr (number_coin N P) a b es 1 t ask xs' E.
Proof.
  intros Budget E. set (r := IZR M / IZR D).
  pose proof (r_above M D HD HM) as R1. fold r in R1.
  assert (Cl : a + b + e <= ln r).
  { destruct (Rle_lt_dec (a + b + e) (ln r)) as [|B]; auto. apply exp_increasing in B.
    rewrite exp_ln in B by lra. fold r in Slope. lra. }
  assert (Lp : 0 < ln r) by lra.
  assert (K0 : 0 <= K).
  { assert (0 < IZR kd <= IZR kn) by (split; [apply IZR_lt; auto|apply IZR_le; auto]).
    unfold K, Rdiv. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]. }
  assert (Q : forall z, (0 <= z)%Z -> 0 <= IZR z / W).
  { intros z Hz. apply IZR_le in Hz. unfold Rdiv. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; auto]. }
  assert (Le : forall u v, (u <= v)%Z -> IZR u / W <= IZR v / W).
  { intros u v H. apply IZR_le in H. unfold Rdiv. apply Rmult_le_compat_r; auto. left; apply Rinv_0_lt_compat; auto. }
  assert (Bound : forall m x x', (m < N)%nat -> (x <= s)%nat -> (x' <= s)%nat ->
    through (ln r) N (likelier (IZR told / W) (IZR other / W) L x) m <=
    K * through (ln r) N (likelier (IZR last / W) (IZR other / W) L x') m).
  { intros m x x' Hm Hx Hx'. unfold bounded in Check. rewrite forallb_forall in Check.
    assert (Im : In m (seq 0 (s + L))) by (apply in_seq; unfold N in Hm; lia).
    specialize (Check m Im). cbv zeta in Check. apply Z.leb_le in Check.
    set (ws := weights (s + L) M D) in *. set (all := near ws m (seq 0 (s + L))) in *.
    set (windows := map (fun x => near ws m (seq x L)) (seq 0 (S s))) in *.
    assert (Ix : forall y, (y <= s)%nat -> (fold_right Z.min all windows <= near ws m (seq y L) <= fold_right Z.max 0 windows)%Z).
    { intros y Hy. assert (Iy : In (near ws m (seq y L)) windows).
      { unfold windows. apply (in_map (fun x => near ws m (seq x L))). apply in_seq. lia. }
      clear - Iy. induction windows as [|z l IH]; simpl in *; [tauto|]. destruct Iy as [->|I]; [lia|]. specialize (IH I). lia. }
    assert (Ch : (kd * words_through ws (s + L) L told other m x <= kn * words_through ws (s + L) L last other m x')%Z).
    { unfold words_through. fold all. pose proof (Ix x Hx). pose proof (Ix x' Hx').
      apply Z.le_trans with (kd * (other * all + (told - other) * fold_right Z.max 0 windows))%Z.
      - apply Z.mul_le_mono_nonneg_l; [lia|]. apply Z.add_le_mono_l, Z.mul_le_mono_nonneg_l; lia.
      - apply Z.le_trans with (1 := Check). apply Z.mul_le_mono_nonneg_l; [lia|].
        apply Z.add_le_mono_l, Z.mul_le_mono_nonneg_l; lia. }
    clear Check. rename Ch into Check. apply IZR_le in Check. unfold ws in Check.
    rewrite !mult_IZR in Check. fold N in Check.
    rewrite <- !(through_words N M D W HD HM HW) in Check by (unfold N; lia). fold r in Check.
    set (A := through _ _ _ _) in Check |- *. set (B := through _ _ _ m) in Check |- *.
    pose proof (M_pos M D HD HM) as Mp. assert (V : 0 < W * IZR M ^ N) by (apply Rmult_lt_0_compat; auto; apply pow_lt; auto).
    assert (kp : 0 < IZR kd) by (apply IZR_lt; auto).
    assert (F : IZR kd * A <= IZR kn * B).
    { apply Rmult_le_reg_r with (W * IZR M ^ N); auto. lra. }
    unfold K. apply Rmult_le_reg_l with (IZR kd); auto.
    replace (IZR kd * (IZR kn / IZR kd * B)) with (IZR kn * B) by (field; lra). auto. }
  apply masked with (e := e); auto.
  - eapply Forall_impl; [|exact Ok]. intros y. apply (number_coin_law s L (IZR told / W) (IZR other / W) (IZR last / W) (IZR other / W) t P xs); auto; apply Q || apply Le; lia.
  - eapply Forall_impl; [|exact Ok']. intros y. apply (number_coin_law s L (IZR told / W) (IZR other / W) (IZR last / W) (IZR other / W) t P xs); auto; apply Q || apply Le; lia.
  - intros y y' Hy Hy'. apply lets_less with (ln r); auto.
    apply (window_lets s L (IZR told / W) (IZR other / W) (IZR last / W) (IZR other / W)); auto;
      try (intros; apply Chances; auto); try (apply Q; lia).
    + apply over_kd. auto.
    + apply over_kd. nia.
    + apply over_kd. nia.
    + rewrite Forall_forall in Ok. apply Ok. apply nth_error_In with t; auto.
    + rewrite Forall_forall in Ok'. apply Ok'. apply nth_error_In with t; auto.
Qed.
End Private.

(** ** The coin that runs, and what settings.v says of it
    Each number of the window takes `told` of the words but its last one, which takes what is left. *)
Definition words_of (L : nat) (told last other : Z) (x u : nat) : Z :=
  if Nat.leb x u && Nat.ltb u (x + L) then (if Nat.eqb (x + L) (S u) then last else told) else other.
Definition runs (L : nat) (told last other : Z) (x u : nat) : R := IZR (words_of L told last other x u) / 2 ^ 63.

Definition stated_window (s L : nat) (told last other alone_told alone_last alone_other M D kn kd : Z)
  (c eps own : R) : Prop :=
  ((0 < L)%nat /\ (0 <= other <= last)%Z /\ (last <= told)%Z /\
   (other * Z.of_nat s + told * (Z.of_nat L - 1) + last = 2 ^ 63)%Z /\
   (0 < D < M)%Z /\ (0 < kd <= kn)%Z /\ (kd * told <= kn * last)%Z) /\
  bounded s L told last other M D kn kd = true /\
  0 < c /\ exp c <= IZR M / IZR D /\ IZR kn / IZR kd <= exp eps /\
  (IZR alone_told <= exp eps * IZR alone_other /\ IZR alone_told <= exp eps * IZR alone_last) /\
  (IZR told <= exp own * IZR other /\ IZR told <= exp own * IZR last).

Lemma runs_law s L told last other x : (0 < L)%nat -> (x <= s)%nat ->
  (other * Z.of_nat s + told * (Z.of_nat L - 1) + last = 2 ^ 63)%Z ->
  fsum (runs L told last other x) (seq 0 (s + L)) = 1.
Proof.
  intros HL Hx Hw. assert (W : 0 < 2 ^ 63) by lra.
  transitivity (fsum (fun u => / 2 ^ 63 * (likelier (IZR told) (IZR other) (L - 1) x u * 1 +
      (if Nat.eq_dec (x + L - 1)%nat u then IZR last - IZR other else 0) * 1)) (seq 0 (s + L))).
  { apply fsum_ext. intros u _. unfold runs, words_of, likelier.
    destruct (Nat.eq_dec (x + L - 1)%nat u); destruct (Nat.leb_spec x u), (Nat.ltb_spec u (x + L)),
      (Nat.ltb_spec u (x + (L - 1))), (Nat.eqb_spec (x + L) (S u)); simpl andb; cbv iota; try lia; field. }
  rewrite fsum_scal.
  assert (Add : forall (f g : nat -> R) l, fsum (fun u => f u + g u) l = fsum f l + fsum g l).
  { induction l; simpl; lra. }
  rewrite Add, fsum_window by lia.
  rewrite (fsum_pick1 Nat.eq_dec (x + L - 1)%nat (IZR last - IZR other) (fun _ => 1))
    by (try apply seq_NoDup; apply in_seq; lia).
  assert (One : forall l : list nat, fsum (fun _ => 1) l = INR (length l)).
  { induction l; [auto|]. cbn [fsum length]. rewrite S_INR. lra. }
  rewrite !One, !seq_length, plus_INR, minus_INR by lia. simpl (INR 1).
  apply (f_equal IZR) in Hw. rewrite !plus_IZR, !mult_IZR, minus_IZR, <- !INR_IZR_INZ in Hw.
  pose proof (pow_IZR 2 63) as P. change (Z.of_nat 63) with 63%Z in P. rewrite <- P in Hw.
  apply Rmult_eq_reg_l with (2 ^ 63); [|lra]. rewrite <- Rmult_assoc, Rinv_r by lra. rewrite Rmult_1_r, <- Hw. ring.
Qed.

Theorem window_runs s L told last other at_ al ao M D kn kd eps own a b e es t ask (xs xs' : list (nat * R)) :
  stated_window s L told last other at_ al ao M D kn kd (a + b + e) eps own ->
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e ->
  (forall s, within (ask s) t es [] (fun _ => e)) ->
  Forall (in_range s) xs -> Forall (in_range s) xs' -> neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  let coin := number_coin (s + L) (runs L told last other) in
  Pr coin a b es 1 t ask xs E <= exp eps * Pr coin a b es 1 t ask xs' E.
Proof.
  intros ((HL & Ho & Hl & Hw & HD & Hk & Hkl) & Ch & Hc & Hr & Hkn & _ & _) Ha Hb He He0 Bud Ok Ok' Nb Ht E coin.
  assert (W : 0 < 2 ^ 63) by lra. pose proof (Rinv_0_lt_compat _ W) as Wi.
  assert (Ch' : forall x u, (x <= s)%nat -> (u < s + L)%nat ->
    likelier (IZR last / 2 ^ 63) (IZR other / 2 ^ 63) L x u <= runs L told last other x u <=
    likelier (IZR told / 2 ^ 63) (IZR other / 2 ^ 63) L x u).
  { intros x u _ _. apply IZR_le in Hl. unfold runs, words_of, likelier.
    destruct (_ && _); [|lra]. destruct (Nat.eqb _ _); unfold Rdiv; split; nra. }
  apply Rle_trans with (IZR kn / IZR kd * Pr coin a b es 1 t ask xs' E).
  - apply (window_computed s L told last other M D kn kd (2 ^ 63) a b e es t ask); auto; try lia.
    intros x Hx. apply runs_law; auto.
  - apply Rmult_le_compat_r; auto. apply Sum_nonneg.
    apply summable_sub with (fun v => vec (vec any 1) (length xs') (fst v) /\ dealt 1 (length xs') (length es) (snd v)).
    + tauto.
    + apply world_law; auto. eapply Forall_impl; [|exact Ok']. intros y.
      apply (number_coin_law s L (IZR told / 2 ^ 63) (IZR other / 2 ^ 63) (IZR last / 2 ^ 63) (IZR other / 2 ^ 63) t
        (runs L told last other) xs); auto; try (intros; apply runs_law; auto).
      * destruct Ho as [Ho _]. apply IZR_le in Ho. unfold Rdiv. nra.
      * destruct Ho as [_ Ho]. apply IZR_le in Ho. unfold Rdiv. nra.
Qed.
