(** * The bound is attained

    Let the adversary know everybody else's card, as it does, and see what leaves person t's outcome
    open: reports y of hers, cards 0 of the others, and announced sums 0. For every y the likelihood
    of exactly this view is a constant times  sum over u of P(u | answer) e^(-c dist(u, y)), with
    c = a + b + e. So no smaller bound holds than the largest quotient of such sums: for a block that
    is [block_bound]. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model person masks announcements privacy coins window epsilon theorems.
Import ListNotations.
Open Scope R_scope.

(** Everybody's sum of every number is announced, one number after another. *)
Definition ask_all (past : list Z) : nat * (nat -> bool) := (length past, fun _ => true).

Lemma ask_all_within t e J : 0 <= e -> forall i past,
  (i + length past = J)%nat ->
  within ask_all t (repeat e i) past (fun j => if Nat.leb (length past) j then e else 0).
Proof.
  intros He. induction i as [|i IH]; intros past Hi; simpl.
  - intros j. destruct (Nat.leb _ _); lra.
  - intros s. specialize (IH (s :: past)). change (length (s :: past)) with (S (length past)) in IH.
    assert (W : forall ask es past left left', (forall j, left j = left' j) ->
        within ask t es past left -> within ask t es past left').
    { clear. intros ask es. induction es as [|e es IH]; intros past left left' H W; simpl in *.
      - intros j. rewrite <- H. auto.
      - destruct (ask past) as [j G]. intros s. apply IH with (2 := W s). intros i.
        destruct (G t); auto. destruct (Nat.eqb i j); rewrite H; auto. }
    apply W with (2 := IH ltac:(lia)). intros j.
    destruct (Nat.eqb_spec j (length past)) as [->|N].
    + destruct (Nat.leb_spec (S (length past)) (length past)), (Nat.leb_spec (length past) (length past));
        try lia; lra.
    + destruct (Nat.leb_spec (S (length past)) j), (Nat.leb_spec (length past) j); auto; lia.
Qed.

(** Lists that agree off t, and whose entry t is the same. *)
Lemma others_same t (zs zs' : list Z) : length zs = length zs' -> others t zs = others t zs' ->
  nth t zs 0%Z = nth t zs' 0%Z -> zs = zs'.
Proof.
  unfold others. revert t zs'; induction zs as [|z zs IH]; intros [|t] [|z' zs'] L O N; simpl in *;
    try discriminate; auto.
  - congruence.
  - injection O as -> O. f_equal. apply (IH t); auto.
Qed.

Lemma plus_inj (us us' zs : list Z) : length us = length zs -> length us' = length zs ->
  plus us zs = plus us' zs -> us = us'.
Proof.
  revert us us'; induction zs as [|z zs IH]; intros [|u us] [|u' us'] L L' P; simpl in *;
    try discriminate; auto. injection P as P1 P2. f_equal; [lia|]. apply IH; auto.
Qed.

Lemma plus_nth (us zs : list Z) t : length us = length zs -> (t < length zs)%nat ->
  nth t (plus us zs) 0%Z = (nth t us 0 + nth t zs 0)%Z.
Proof.
  revert us t; induction zs as [|z zs IH]; intros [|u us] [|t] L H; simpl in *; try lia.
  apply IH; lia.
Qed.

Lemma map_seq_eq {Y} (f g : nat -> Y) J : map f (seq 0 J) = map g (seq 0 J) ->
  forall j, (j < J)%nat -> f j = g j.
Proof.
  intros H j Hj. assert (X : nth_error (map f (seq 0 J)) j = nth_error (map g (seq 0 J)) j) by congruence.
  rewrite !nth_error_map in X. rewrite (nth_error_nth' _ 0%nat) in X by (rewrite seq_length; auto).
  simpl in X. rewrite seq_nth in X by auto. simpl in X. congruence.
Qed.

Lemma announce_inj ask zss hs hs' past : length hs = length hs' ->
  announce ask past zss hs = announce ask past zss hs' -> hs = hs'.
Proof.
  assert (Ap : forall hs past, exists new, announce ask past zss hs = new ++ past /\ length new = length hs).
  { clear. induction hs as [|h hs IH]; intros past; simpl.
    - exists []. auto.
    - destruct (ask past) as [j G]. destruct (IH ((sumover G (col j zss) + h)%Z :: past)) as (new & E & L).
      exists (new ++ [(sumover G (col j zss) + h)%Z]). rewrite E, <- app_assoc, app_length. simpl.
      split; auto. lia. }
  revert hs' past; induction hs as [|h hs IH]; intros [|h' hs'] past L E; try discriminate; auto.
  simpl in *. destruct (ask past) as [j G].
  destruct (Ap hs ((sumover G (col j zss) + h)%Z :: past)) as (n1 & E1 & L1).
  destruct (Ap hs' ((sumover G (col j zss) + h')%Z :: past)) as (n2 & E2 & L2).
  rewrite E1, E2 in E. assert (Ln : length n1 = length n2) by lia.
  assert (X : n1 = n2 /\ (sumover G (col j zss) + h)%Z :: past = (sumover G (col j zss) + h')%Z :: past).
  { clear - E Ln. revert n2 E Ln; induction n1 as [|a n1 IH]; intros [|b n2] E Ln; simpl in *;
      try discriminate; auto. injection E as -> E. destruct (IH n2 E) as [-> ->]; auto. }
  destruct X as [_ X]. injection X as X. assert (h = h') as <- by lia. f_equal.
  apply (IH hs' ((sumover G (col j zss) + h)%Z :: past)); [lia|].
  rewrite E1, E2. congruence.
Qed.

(** What is seen determines all but person t's outcome. *)
Lemma view_determines J n m t ask us us' r r' : (t < n)%nat ->
  vec (vec any J) n us -> vec (vec any J) n us' -> dealt J n m r -> dealt J n m r' ->
  nth t us (repeat 0%Z J) = repeat 0%Z J -> nth t us' (repeat 0%Z J) = repeat 0%Z J ->
  full_view J t ask us r = full_view J t ask us' r' -> us = us' /\ r = r'.
Proof.
  intros Ht [Lu Fu] [Lu' Fu'] [[Lz Fz] [Lh _]] [[Lz' Fz'] [Lh' _]] U U' V.
  destruct r as [zss hs], r' as [zss' hs']. unfold full_view in V; simpl in *.
  injection V as V1 V2 V3.
  assert (Lc : forall z l j, Forall (cards n) l -> length l = J -> (j < J)%nat -> z = col j l -> length z = n).
  { intros z l j F L Hj ->. rewrite Forall_forall in F. apply (F (col j l)). apply nth_In. lia. }
  assert (Lcol : forall j l, length (column j l) = length l) by (intros; unfold column; apply map_length).
  assert (Cols : forall j, (j < J)%nat -> col j zss = col j zss').
  { intros j Hj. pose proof (map_seq_eq _ _ J V1 j Hj) as P. simpl in P.
    pose proof (Lc _ zss j Fz Lz Hj eq_refl) as L1. pose proof (Lc _ zss' j Fz' Lz' Hj eq_refl) as L2.
    apply (others_same t); [lia| |].
    - assert (X : nth j (map (others t) zss) (others t []) = nth j (map (others t) zss') (others t []))
        by congruence.
      rewrite !map_nth in X. exact X.
    - apply (f_equal (fun l => nth t l 0%Z)) in P.
      rewrite !plus_nth in P by (rewrite ?Lcol; lia).
      rewrite !(nth_column j t _ (repeat 0%Z J)), U, U', nth_zeros in P by lia. lia. }
  assert (zss = zss') as <-.
  { apply nth_ext with [] []; [lia|]. intros j Hj. apply Cols. lia. }
  assert (us = us') as <-.
  { apply nth_ext with [] []; [lia|]. intros i Hi.
    assert (Fi : forall l : list (list Z), Forall (vec any J) l -> length l = n -> length (nth i l []) = J).
    { intros l F L. rewrite Forall_forall in F. apply (F (nth i l [])). apply nth_In. lia. }
    apply nth_ext with 0%Z 0%Z; [rewrite !Fi; auto|]. intros j Hj. rewrite Fi in Hj by auto.
    pose proof (map_seq_eq _ _ J V1 j Hj) as P. simpl in P.
    pose proof (Lc _ zss j Fz Lz Hj eq_refl) as L1.
    apply plus_inj in P; [|rewrite Lcol; lia|rewrite Lcol; lia].
    apply (f_equal (fun l => nth i l 0%Z)) in P.
    rewrite !(nth_column j i _ []) in P by lia. exact P. }
  split; auto. f_equal. apply announce_inj in V3; [auto|lia].
Qed.

(** ** The weights *)
Lemma sums_single s v m : (s < m)%nat -> let l := upd s (fun z => z + v)%Z (repeat 0%Z m) in
  sumabs l = Z.abs v /\ sumZ l = v.
Proof.
  assert (Z0 : forall m, sumabs (repeat 0%Z m) = 0%Z /\ sumZ (repeat 0%Z m) = 0%Z)
    by (induction m0; simpl; auto).
  revert s; induction m as [|m IH]; intros [|s] H; simpl; try lia.
  - destruct (Z0 m) as [-> ->]. lia.
  - destruct (IH s ltac:(lia)) as [E1 E2]. simpl in E1, E2. rewrite E1, E2. lia.
Qed.

(** The dealer's weight of the view, as a function of person t's outcome. *)
Lemma cards_weight a b n t J : 0 < a -> 0 <= b -> (t < n)%nat -> forall y u,
  length y = J -> length u = J ->
  prodlaw (repeat (deck a b n) J) (addto t (neg u) (addto t y (repeat (repeat 0%Z n) J))) =
  (/ Sum (cards n) (deckw a b)) ^ J * exp (- ((a + b) * IZR (dist u y))).
Proof.
  intros Ha Hb Ht. induction J as [|j IH]; intros y u Ly Lu.
  - destruct u, y; try discriminate. simpl. rewrite Rmult_0_r, Ropp_0, exp_0. lra.
  - destruct u as [|v u], y as [|y0 y]; try discriminate. simpl in *.
    rewrite IH by lia. rewrite upd_upd.
    assert (W : deck a b n (upd t (fun z => z + y0 + - v)%Z (repeat 0%Z n)) =
        / Sum (cards n) (deckw a b) * exp (- ((a + b) * IZR (Z.abs (v - y0))))).
    { rewrite (upd_ext t _ (fun z => z + (y0 - v))%Z) by (intros; lia).
      destruct (sums_single t (y0 - v) n Ht) as [E1 E2]. unfold deck, normalise, deckw.
      rewrite E1, E2. replace (Z.abs (y0 - v)) with (Z.abs (v - y0)) by lia.
      unfold Rdiv. rewrite Rmult_comm. f_equal. f_equal. ring. }
    rewrite W, plus_IZR.
    replace (- ((a + b) * (IZR (Z.abs (v - y0)) + IZR (dist u y)))) with
      (- ((a + b) * IZR (Z.abs (v - y0))) + - ((a + b) * IZR (dist u y))) by ring.
    rewrite exp_plus. ring.
Qed.

Lemma skipn_nth (l : list Z) i : (i < length l)%nat -> skipn i l = nth i l 0%Z :: skipn (S i) l.
Proof.
  revert i; induction l as [|z l IH]; intros [|i] H; simpl in *; try lia; auto. apply IH. lia.
Qed.

Lemma noise_weight e t J y (zs : list (list Z)) u : 0 < e -> length y = J -> length u = J ->
  forall m i past, (i + m = J)%nat -> length past = i ->
  prodlaw (repeat (lap e) m) (shift ask_all t (neg u) past zs (skipn i (neg y))) =
  lap e 0 ^ m * exp (- (e * IZR (dist (skipn i u) (skipn i y)))).
Proof.
  intros He Ly Lu. assert (Lny : length (neg y) = J) by (unfold neg; rewrite map_length; auto).
  induction m as [|m IH]; intros i past Hi Lp.
  - rewrite !skipn_all2 by lia. simpl. rewrite Rmult_0_r, Ropp_0, exp_0. lra.
  - rewrite (skipn_nth (neg y)), (skipn_nth u), (skipn_nth y) by lia.
    cbn [shift ask_all repeat prodlaw dist]. unfold ask_all at 1. cbn [prodlaw].
    rewrite IH by (simpl; lia). rewrite Lp, !nth_neg.
    set (v := nth i u 0%Z). set (w := nth i y 0%Z).
    assert (W : lap e (- w - - v)%Z = lap e 0 * exp (- (e * IZR (Z.abs (v - w))))).
    { unfold lap, normalise, lapw. replace (- w - - v)%Z with (v - w)%Z by lia.
      simpl Z.abs. rewrite Rmult_0_r, exp_0.
      replace (- e * IZR (Z.abs (v - w))) with (- (e * IZR (Z.abs (v - w)))) by ring.
      unfold Rdiv. ring. }
    rewrite W, plus_IZR.
    replace (- (e * (IZR (Z.abs (v - w)) + IZR (dist (skipn (S i) u) (skipn (S i) y))))) with
      (- (e * IZR (Z.abs (v - w))) + - (e * IZR (dist (skipn (S i) u) (skipn (S i) y)))) by ring.
    rewrite exp_plus. simpl pow. ring.
Qed.

(** ** The view *)
Section View.
Context (a b e : R) (J n t : nat) (y : list Z) (announced : bool).
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : 0 < e) (Ht : (t < n)%nat) (Ly : length y = J).
Let es : list R := if announced then repeat e J else [].
Let c : R := a + b + (if announced then e else 0).
Let zeros : list (list Z) := repeat (repeat 0%Z n) J.
(** As it looks from outside: reports y, cards 0 of the others, every sum 0. *)
Let zss : list (list Z) := addto t y zeros.
Let hs : list Z := if announced then neg y else [].

Lemma zss_ok : dealt J n (length es) (zss, hs).
Proof.
  split; simpl.
  - apply addto_vec; auto. split; [apply repeat_length|]. apply Forall_repeat, cards_zero.
  - split; [|apply Forall_any]. unfold hs, es. destruct announced; auto.
    rewrite repeat_length. unfold neg. rewrite map_length. auto.
Qed.

Lemma view_weight : exists k, 0 < k /\ forall u, length u = J ->
  dealer a b es J n (addto t (neg u) zss, shift ask_all t (neg u) [] zss hs) =
  k * exp (- (c * IZR (dist u y))).
Proof.
  pose proof (deck_mass a b n Ha Hb) as M. pose proof (lap_pos e 0 He) as P.
  assert (K1 : 0 < (/ Sum (cards n) (deckw a b)) ^ J) by (apply pow_lt, Rinv_0_lt_compat; auto).
  destruct announced eqn:An.
  - exists ((/ Sum (cards n) (deckw a b)) ^ J * lap e 0 ^ J).
    split; [apply Rmult_lt_0_compat; auto; apply pow_lt; auto|]. intros u Lu. unfold dealer, es, hs, c.
    simpl fst. simpl snd. unfold zss, zeros. rewrite cards_weight by auto.
    replace (map lap (repeat e J)) with (repeat (lap e) J) by (clear; induction J; simpl; congruence).
    pose proof (noise_weight e t J y (addto t y (repeat (repeat 0%Z n) J)) u He Ly Lu J 0 [] eq_refl eq_refl) as N. simpl skipn in N. rewrite N.
    replace (- ((a + b + e) * IZR (dist u y))) with
      (- ((a + b) * IZR (dist u y)) + - (e * IZR (dist u y))) by ring.
    rewrite exp_plus. ring.
  - exists ((/ Sum (cards n) (deckw a b)) ^ J). split; auto. intros u Lu. unfold dealer, es, hs, c.
    simpl fst. simpl snd. unfold zss, zeros. rewrite cards_weight by auto. simpl. rewrite Rplus_0_r. ring.
Qed.
End View.

(** The others' outcomes us can be any that have a positive probability together with some u of hers. *)
Theorem attained {X} (coin : X -> list Z -> R) a b e J t (y : list Z) (announced : bool) xs xs' us u :
  0 < a -> 0 <= b -> 0 < e -> (t < length xs)%nat -> length y = J ->
  Forall (fun x => is_law (vec any J) (coin x)) xs -> Forall (fun x => is_law (vec any J) (coin x)) xs' ->
  neighbours t xs xs' -> vec (vec any J) (length xs) us ->
  nth t us (repeat 0%Z J) = repeat 0%Z J ->
  length u = J -> 0 < prodlaw (map coin xs) (upd t (fun _ => u) us) ->
  let es := if announced then repeat e J else [] in
  let c := a + b + (if announced then e else 0) in
  exists (E : seen * list Z -> Prop) C, 0 < C /\
    Pr coin a b es J t (fun _ => ask_all) xs E =
      C * Sum (vec any J) (fun u => nth t (map coin xs) (fun _ => 0) u * exp (- (c * IZR (dist u y)))) /\
    Pr coin a b es J t (fun _ => ask_all) xs' E =
      C * Sum (vec any J) (fun u => nth t (map coin xs') (fun _ => 0) u * exp (- (c * IZR (dist u y)))).
Proof.
  intros Ha Hb He Ht Ly L L' Nb Hus Hn Lu Pos es c.
  set (n := length xs) in *.
  set (r := (addto t y (repeat (repeat 0%Z n) J), if announced then neg y else []) : list (list Z) * list Z).
  assert (Hes : Forall (fun e => 0 < e) es).
  { unfold es. destruct announced; [apply Forall_repeat; auto|constructor]. }
  assert (Hr : dealt J n (length es) r) by (apply zss_ok; auto).
  set (E := fun v => v = full_view J t (fun _ => ask_all) us r).
  destruct (masked_view coin a b es J t (fun _ => ask_all) xs xs' Ha Hb Hes L L' Nb Ht us r Hus Hn Hr)
    as (C & HC & P1 & P2).
  { intros us' r' H1 H2 H3 H4.
    destruct (view_determines J n (length es) t (fun _ => ask_all) us' us r' r) as [-> ->]; auto. }
  destruct (view_weight a b e J n t y announced Ha Hb He Ht Ly) as (k & Hk & Wk).
  assert (W : forall q : list Z -> R,
      (forall z, vec any J z -> 0 <= q z) -> summable (vec any J) q ->
      Sum (vec any J) (fun z => q z * dealer a b es J n (addto t (neg z) (fst r),
        shift ask_all t (neg z) [] (fst r) (snd r))) =
      k * Sum (vec any J) (fun z => q z * exp (- (c * IZR (dist z y))))).
  { intros q Q0 Sq.
    assert (S2 : summable (vec any J) (fun z => q z * exp (- (c * IZR (dist z y))))).
    { apply (Sum_mono (vec any J) _ q); auto. intros z Hz. specialize (Q0 z Hz).
      pose proof (exp_pos (- (c * IZR (dist z y)))).
      assert (exp (- (c * IZR (dist z y))) <= 1).
      { rewrite <- exp_0. assert (D : 0 <= IZR (dist z y)).
        { apply IZR_le. clear. revert y. induction z; intros [|]; simpl; try lia. specialize (IHz l). lia. }
        assert (c0 : 0 <= c) by (unfold c; destruct announced; lra).
        destruct (Req_dec (- (c * IZR (dist z y))) 0) as [->|N]; [lra|].
        left. apply exp_increasing. nra. }
      split; nra. }
    rewrite <- (proj2 (Sum_scal _ _ k (Rlt_le _ _ Hk) S2)). apply Sum_ext; [tauto|].
    intros z [Lz _]. unfold r, es. simpl fst. simpl snd. rewrite (Wk z Lz). fold c. ring. }
  assert (Lt : forall ys, length ys = n -> Forall (fun x => is_law (vec any J) (coin x)) ys ->
      is_law (vec any J) (nth t (map coin ys) (fun _ => 0))).
  { intros ys Lys F. apply Forall_map in F. rewrite Forall_forall in F. apply F, nth_In.
    rewrite map_length. lia. }
  pose proof (Lt xs eq_refl L) as [T1 _]. pose proof (Lt xs' (eq_sym (proj1 Nb)) L') as [T2 _].
  simpl in P1, P2. fold n in P1, P2. fold E in P1, P2.
  rewrite W in P1 by (auto; apply T1). rewrite W in P2 by (auto; apply T2).
  exists E, (C * k). rewrite P1, P2. split; [|split; ring].
  apply Rmult_lt_0_compat; auto. destruct (Rle_lt_or_eq_dec _ _ HC) as [H|H]; auto. exfalso.
  rewrite <- H, Rmult_0_l in P1.
  enough (0 < Pr coin a b es J t (fun _ => ask_all) xs E) by lra.
  unfold Pr. fold n.
  set (r1 := (addto t (neg u) (fst r), shift ask_all t (neg u) [] (fst r) (snd r))).
  assert (Bu : vec any J u) by (split; [auto|apply Forall_any]).
  apply Sum_pos with (upd t (fun _ => u) us, r1).
  - eapply summable_sub; [|apply (world_law coin a b es J xs Ha Hb Hes L)]. simpl. tauto.
  - assert (O1 : dealt J n (length es) r1) by (apply (ok_hide es J t (fun _ => ask_all) xs us u r); auto).
    assert (O2 : vec (vec any J) n (upd t (fun _ => u) us)) by (apply upd_vec; auto).
    simpl. split; [split; auto|]. unfold E.
    rewrite (view es J t (fun _ => ask_all) xs Ht _ r1 O2 O1).
    rewrite upd_nth_same by (destruct Hus; lia). rewrite upd_upd.
    replace (upd t (fun _ => repeat 0%Z J) us) with us
      by (rewrite <- Hn; symmetry; apply upd_const_nth).
    f_equal. exact (show_hide es J t (fun _ => ask_all) xs Ht us u r Bu Hr).
  - simpl. apply Rmult_lt_0_compat; auto. unfold r1, r, es. simpl fst. simpl snd. rewrite (Wk u Lu).
    apply Rmult_lt_0_compat; [auto|apply exp_pos].
Qed.

(** Yes or no: closed deck (announced = false) or an announced sum, c = a + b or a + b + e. *)
Corollary yes_no_attained a b e d t (announced : bool) xs xs' : 0 < a -> 0 <= b -> 0 < e -> 0 <= d ->
  neighbours t xs xs' -> nth_error xs t = Some true -> nth_error xs' t = Some false ->
  let es := if announced then [e] else [] in
  let c := a + b + (if announced then e else 0) in
  exists E, Pr (yes_no d) a b es 1 t (fun _ => ask_all) xs E =
    exp (eps c d) * Pr (yes_no d) a b es 1 t (fun _ => ask_all) xs' E /\
    0 < Pr (yes_no d) a b es 1 t (fun _ => ask_all) xs' E.
Proof.
  intros Ha Hb He Hd Nb X X' es c. pose proof (yes_no_prefers d Hd) as Pf. pose proof Pf as (Hpq & Hp & _).
  set (p := exp d / (1 + exp d)) in *. set (q := 1 / (1 + exp d)) in *.
  assert (Hq : 0 < q).
  { unfold q, Rdiv. pose proof (exp_pos d). apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra]. }
  assert (Ht : (t < length xs)%nat) by (apply nth_error_Some; congruence).
  assert (Laws : forall ys : list bool, Forall (fun x => is_law (vec any 1) (yes_no d x)) ys).
  { intros ys. apply Forall_forall. intros x _. apply (block_coin_law [2%nat]); auto. destruct x; simpl; lia. }
  assert (Lw : forall x W, (forall u, vec any 1 u -> 0 <= W u) ->
      Sum (vec any 1) (fun u => yes_no d x u * W u) =
      (if x then q else p) * W [0%Z] + (if x then p else q) * W [1%Z]).
  { intros x W HW. unfold yes_no, block_coin. fold p q.
    etransitivity; [apply (code_Sum 1 (block [2%nat])); auto|].
    - repeat constructor.
    - intros y _. unfold tell. destruct (Nat.eqb _ y); lra.
    - simpl. destruct x; unfold tell; simpl; ring. }
  assert (At : forall x, 0 < yes_no d x [0%Z]).
  { intros x. unfold yes_no, block_coin, code. simpl. fold p q.
    destruct (eq_zs [0%Z] [0%Z]) as [_|N]; [|destruct N; auto].
    destruct (eq_zs [1%Z] [0%Z]) as [N|_]; [discriminate|].
    unfold tell. destruct x; simpl; lra. }
  set (us := repeat [0%Z] (length xs)).
  destruct (attained (yes_no d) a b e 1 t [1%Z] announced xs xs' us [0%Z]) as (E & C & HC & P1 & P2); auto.
  - unfold us. split; [apply repeat_length|]. apply Forall_repeat. split; auto. apply Forall_any.
  - unfold us. apply (nth_zeros [0%Z]).
  - assert (U : upd t (fun _ => [0%Z]) us = us).
    { unfold us. generalize (length xs). clear. intros m. revert t.
      induction m; intros [|t]; simpl; auto. f_equal. auto. }
    rewrite U. unfold us. clear - At. induction xs as [|x xs IH]; simpl; [lra|].
    apply Rmult_lt_0_compat; auto.
  - exists E. fold es in P1, P2. simpl repeat in P1, P2.
    rewrite (nth_map (yes_no d)), X, Lw in P1 by (intros; left; apply exp_pos).
    rewrite (nth_map (yes_no d)), X', Lw in P2 by (intros; left; apply exp_pos).
    change (if announced then [e] else []) with es in P1, P2. fold c in P1, P2.
    rewrite P1, P2. simpl dist. rewrite !Rmult_0_r, Ropp_0, exp_0, !Rmult_1_r, exp_Ropp.
    pose proof (exp_pos c). pose proof (exp_pos d). split.
    + rewrite exp_eps, exp_plus. unfold p, q. field. repeat split; nra.
    + apply Rmult_lt_0_compat; auto. assert (0 < / exp c) by (apply Rinv_0_lt_compat; auto). nra.
Qed.

(** A number told by any coin with positive chances, as by a window: for every peak m some view has, for
    every answer, a probability proportional to the coin's chances seen through that peak. So no bound
    smaller than that of [window_private] holds. *)
Corollary window_attained N P a b e t (announced : bool) m (xs xs' : list (nat * R)) y y' :
  0 < a -> 0 <= b -> 0 < e -> (0 < N)%nat ->
  (forall r, In r (xs ++ xs') -> (forall u, (u < N)%nat -> 0 < rounded P r u) /\
    is_law (vec any 1) (number_coin N P r)) ->
  neighbours t xs xs' -> nth_error xs t = Some y -> nth_error xs' t = Some y' ->
  let es := if announced then [e] else [] in
  let c := a + b + (if announced then e else 0) in
  exists E C, 0 < C /\
    Pr (number_coin N P) a b es 1 t (fun _ => ask_all) xs E = C * through c N (rounded P y) m /\
    Pr (number_coin N P) a b es 1 t (fun _ => ask_all) xs' E = C * through c N (rounded P y') m.
Proof.
  intros Ha Hb He HN Pos Nb X X' es c.
  assert (Ht : (t < length xs)%nat) by (apply nth_error_Some; congruence).
  assert (Len : length (one_number N) = N) by (unfold one_number; rewrite map_length, seq_length; auto).
  assert (Fw : Forall (vec any 1) (one_number N)).
  { unfold one_number. apply Forall_map, Forall_forall. intros u _. split; [auto|apply Forall_any]. }
  assert (Word : forall u, (u < N)%nat -> nth u (one_number N) [] = [Z.of_nat u]).
  { intros u Hu. unfold one_number. rewrite (nth_indep _ [] [Z.of_nat 0]) by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun u => [Z.of_nat u])), seq_nth by lia. auto. }
  assert (Lw : forall r, In r (xs ++ xs') ->
      Sum (vec any 1) (fun u => number_coin N P r u * exp (- (c * IZR (dist u [Z.of_nat m])))) =
      through c N (rounded P r) m).
  { intros r Hr. unfold number_coin.
    etransitivity; [apply (code_Sum 1 (one_number N) (rounded P r) (fun u => exp (- (c * IZR (dist u [Z.of_nat m])))))|].
    - auto.
    - rewrite Len. intros u Hu. left. apply Pos; auto.
    - intros; left; apply exp_pos.
    - rewrite Len. unfold through. apply fsum_ext. intros u Hu. apply in_seq in Hu. rewrite Word by lia.
      unfold peak. simpl dist. rewrite Z.add_0_r. auto. }
  assert (At : forall r, In r (xs ++ xs') -> 0 < number_coin N P r [0%Z]).
  { intros r Hr. unfold number_coin, code. rewrite Len. destruct N as [|N']; [lia|].
    apply Rlt_le_trans with (rounded P r 0); [apply Pos; auto; lia|].
    cbn [seq fsum]. rewrite Word by lia. destruct (eq_zs [Z.of_nat 0] [0%Z]) as [_|F]; [|destruct F; auto].
    assert (0 <= fsum (fun y0 => if eq_zs (nth y0 (one_number (S N')) []) [0%Z] then rounded P r y0 else 0) (seq 1 N')).
    { apply fsum_pos, Forall_forall. intros u Hu. apply in_seq in Hu. destruct (eq_zs _ _); [|lra].
      left. apply Pos; auto; lia. }
    lra. }
  set (us := repeat [0%Z] (length xs)).
  destruct (attained (number_coin N P) a b e 1 t [Z.of_nat m] announced xs xs' us [0%Z]) as (E & C & HC & P1 & P2); auto.
  - apply Forall_forall. intros r Hr. apply Pos. apply in_or_app; auto.
  - apply Forall_forall. intros r Hr. apply Pos. apply in_or_app; auto.
  - unfold us. split; [apply repeat_length|]. apply Forall_repeat. split; auto. apply Forall_any.
  - unfold us. apply (nth_zeros [0%Z]).
  - assert (U : upd t (fun _ => [0%Z]) us = us).
    { unfold us. generalize (length xs). clear. intros k. revert t.
      induction k; intros [|t]; simpl; auto. f_equal. auto. }
    rewrite U. unfold us.
    assert (At' : forall r, In r xs -> 0 < number_coin N P r [0%Z]) by (intros; apply At, in_or_app; auto).
    clear - At'. induction xs as [|x xs IH]; simpl; [lra|].
    apply Rmult_lt_0_compat; [apply At'; left; auto|apply IH; intros; apply At'; right; auto].
  - exists E, C. fold es in P1, P2. simpl repeat in P1, P2.
    rewrite (nth_map (number_coin N P)), X in P1. rewrite (nth_map (number_coin N P)), X' in P2.
    change (if announced then [e] else []) with es in P1, P2. fold c in P1, P2.
    rewrite Lw in P1 by (apply in_or_app; left; apply nth_error_In with t; auto).
    rewrite Lw in P2 by (apply in_or_app; right; apply nth_error_In with t; auto). auto.
Qed.
