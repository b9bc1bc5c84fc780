(** * Numbers: a coin that says one of N numbers, those of a window from the answer on likelier

    The answer x is one of 0..s, rounded at random to a whole step; the coin says one of 0..N-1, where
    N = s + L, and prefers the L numbers x..x+L-1. What it lets through masks is what it lets through
    the N weights that fall by e^-c a step on both sides of one number (Theorem 33). *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks privacy coins.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)

(** p for a number of the window x..x+L-1, q for any other one. *)
Definition likelier (p q : R) (L x u : nat) : R := if Nat.leb x u && Nat.ltb u (x + L) then p else q.
(** Weights that fall on both sides of m; the weight of chances P through them. *)
Definition peak (c : R) (m u : nat) : R := exp (- (c * IZR (Z.abs (Z.of_nat u - Z.of_nat m)))).
Definition through (c : R) (N : nat) (P : nat -> R) (m : nat) : R :=
  fsum (fun u => P u * peak c m u) (seq 0 N).
(** The coin that says u with the chance P x u, for an answer that lies the part w of a step above x. *)
Definition one_number (N : nat) : list (list Z) := map (fun u => [Z.of_nat u]) (seq 0 N).
Definition rounded (P : nat -> nat -> R) (t : nat * R) (u : nat) : R :=
  (1 - snd t) * P (fst t) u + snd t * P (S (fst t)) u.
Definition number_coin (N : nat) (P : nat -> nat -> R) (t : nat * R) : list Z -> R :=
  code (one_number N) (rounded P t).
Definition in_range (s : nat) (t : nat * R) : Prop := (fst t < s)%nat /\ 0 <= snd t <= 1.

(** ** One peak is the worst *)
Section Peak.
Context (c : R) (f : Z -> R) (g : nat -> R) (N i j : nat).
Hypotheses (Hc : 0 < c) (Sf : slope c f) (Hij : (i <= j < N)%nat).

Lemma distance u m : IZR (Z.abs (Z.of_nat u - Z.of_nat m)) = Rabs (INR u - INR m).
Proof. rewrite abs_IZR, minus_IZR, <- !INR_IZR_INZ. auto. Qed.
Lemma peak_left m u : (u <= m)%nat -> peak c m u = exp (c * (INR u - INR m)).
Proof.
  intros H. unfold peak. rewrite distance. apply le_INR in H. rewrite Rabs_left1 by lra. f_equal. ring.
Qed.
Lemma peak_right m u : (m <= u)%nat -> peak c m u = exp (c * (INR m - INR u)).
Proof.
  intros H. unfold peak. rewrite distance. apply le_INR in H. rewrite Rabs_right by lra. f_equal. ring.
Qed.

(** The most that the weights can be to the right of i, and to the left of j. *)
Let up (u : nat) : R := f (Z.of_nat i) * exp (c * (INR u - INR i)).
Let down (u : nat) : R := f (Z.of_nat j) * exp (c * (INR j - INR u)).

Lemma up_S u : up (S u) = exp c * up u.
Proof.
  unfold up. rewrite S_INR. replace (c * (INR u + 1 - INR i)) with (c + c * (INR u - INR i)) by ring.
  rewrite exp_plus. ring.
Qed.
Lemma down_S u : down u = exp c * down (S u).
Proof.
  unfold down. rewrite S_INR. replace (c * (INR j - INR u)) with (c + c * (INR j - (INR u + 1))) by ring.
  rewrite exp_plus. ring.
Qed.

Lemma within_slope u v : f (Z.of_nat u) <= exp (c * Rabs (INR u - INR v)) * f (Z.of_nat v).
Proof. rewrite <- distance. apply slope_dist; auto. Qed.

(** Where the smaller of the two changes. *)
Lemma meeting : up i <= down i -> down j <= up j -> i <> j ->
  exists m, (i <= m < j)%nat /\ up m <= down m /\ down (S m) <= up (S m).
Proof.
  intros Hi Hj N0.
  assert (G : forall n, (i + S n <= j)%nat -> down (i + S n) <= up (i + S n) ->
    exists m, (i <= m < j)%nat /\ up m <= down m /\ down (S m) <= up (S m)).
  { induction n as [|n IH]; intros L D.
    - exists i. replace (i + 1)%nat with (S i) in D by lia. repeat split; auto; lia.
    - destruct (Rle_dec (down (i + S n)) (up (i + S n))) as [Y|Y].
      + apply IH; [lia|auto].
      + exists (i + S n)%nat. replace (i + S (S n))%nat with (S (i + S n)) in D by lia.
        repeat split; auto; try lia. lra. }
  apply (G (j - i - 1)%nat); replace (i + S (j - i - 1))%nat with j by lia; auto.
Qed.

Lemma fsum_two (p r : nat -> R) a b l :
  a * fsum p l + b * fsum r l = fsum (fun u => a * p u + b * r u) l.
Proof. induction l; simpl; lra. Qed.

Lemma one_peak :
  (forall u, (i <= u <= j)%nat -> 0 <= g u) ->
  (forall u, (u < N)%nat -> (u < i \/ j < u)%nat -> g u <= 0) ->
  (forall m, (m < N)%nat -> through c N g m <= 0) ->
  fsum (fun u => g u * f (Z.of_nat u)) (seq 0 N) <= 0.
Proof.
  intros Gin Gout Gm.
  assert (E1 : 1 < exp c) by (pose proof (exp_ineq1 c ltac:(lra)); lra).
  assert (Fi : 0 <= f (Z.of_nat i)) by apply Sf. assert (Fj : 0 <= f (Z.of_nat j)) by apply Sf.
  set (h := fun u => Rmin (up u) (down u)).
  apply Rle_trans with (fsum (fun u => g u * h u) (seq 0 N)).
  { apply fsum_le, Forall_forall. intros u Hu. apply in_seq in Hu.
    destruct (Nat.lt_ge_cases u i) as [L|L]; [|destruct (Nat.lt_ge_cases j u) as [R|R]].
    - assert (h u <= f (Z.of_nat u)).
      { apply Rle_trans with (1 := Rmin_l _ _). unfold up. pose proof (within_slope i u) as W.
        apply lt_INR in L. rewrite Rabs_right in W by lra.
        pose proof (exp_pos (c * (INR u - INR i))) as X.
        apply Rmult_le_compat_r with (r := exp (c * (INR u - INR i))) in W; [|lra].
        replace (exp (c * (INR i - INR u)) * f (Z.of_nat u) * exp (c * (INR u - INR i))) with
          ((exp (c * (INR i - INR u)) * exp (c * (INR u - INR i))) * f (Z.of_nat u)) in W by ring.
        rewrite <- exp_plus in W.
        replace (c * (INR i - INR u) + c * (INR u - INR i)) with 0 in W by ring. rewrite exp_0 in W. lra. }
      specialize (Gout u ltac:(lia) ltac:(lia)). nra.
    - assert (h u <= f (Z.of_nat u)).
      { apply Rle_trans with (1 := Rmin_r _ _). unfold down. pose proof (within_slope j u) as W.
        apply lt_INR in R. rewrite Rabs_left1 in W by lra.
        pose proof (exp_pos (c * (INR j - INR u))) as X.
        apply Rmult_le_compat_r with (r := exp (c * (INR j - INR u))) in W; [|lra].
        replace (exp (c * - (INR j - INR u)) * f (Z.of_nat u) * exp (c * (INR j - INR u))) with
          ((exp (c * - (INR j - INR u)) * exp (c * (INR j - INR u))) * f (Z.of_nat u)) in W by ring.
        rewrite <- exp_plus in W.
        replace (c * - (INR j - INR u) + c * (INR j - INR u)) with 0 in W by ring. rewrite exp_0 in W. lra. }
      specialize (Gout u ltac:(lia) ltac:(lia)). nra.
    - assert (f (Z.of_nat u) <= h u).
      { apply le_INR in L, R. apply Rmin_glb.
        - pose proof (within_slope u i) as W. rewrite Rabs_right in W by lra. unfold up. lra.
        - pose proof (within_slope u j) as W. rewrite Rabs_left1 in W by lra. unfold down.
          replace (- (INR u - INR j)) with (INR j - INR u) in W by ring. lra. }
      specialize (Gin u ltac:(lia)). nra. }
  assert (upmono : forall u v, (u <= v)%nat -> up v = exp (c * (INR v - INR u)) * up u).
  { intros u v _. unfold up. replace (c * (INR v - INR i)) with (c * (INR v - INR u) + c * (INR u - INR i)) by ring.
    rewrite exp_plus. ring. }
  assert (downmono : forall u v, (u <= v)%nat -> down u = exp (c * (INR v - INR u)) * down v).
  { intros u v _. unfold down. replace (c * (INR j - INR u)) with (c * (INR v - INR u) + c * (INR j - INR v)) by ring.
    rewrite exp_plus. ring. }
  assert (up0 : forall u, 0 <= up u) by (intros; unfold up; apply Rmult_le_pos; [auto|left; apply exp_pos]).
  assert (down0 : forall u, 0 <= down u) by (intros; unfold down; apply Rmult_le_pos; [auto|left; apply exp_pos]).
  assert (grow : forall u v, (u <= v)%nat -> 1 <= exp (c * (INR v - INR u))).
  { intros u v H. apply le_INR in H. pose proof (exp_ineq1_le (c * (INR v - INR u))). nra. }
  assert (lower : forall u m, (u <= m)%nat -> up m <= down m -> up u <= down u).
  { intros u m H D. rewrite (upmono u m H) in D. rewrite (downmono u m H).
    pose proof (grow u m H). pose proof (up0 u). pose proof (down0 m). nra. }
  assert (upper : forall u m, (m <= u)%nat -> down m <= up m -> down u <= up u).
  { intros u m H D. rewrite (downmono m u H) in D. rewrite (upmono m u H).
    pose proof (grow m u H). pose proof (up0 m). pose proof (down0 u). nra. }
  assert (Hi : up i <= down i).
  { unfold up, down. pose proof (within_slope i j) as W. destruct Hij as [Lij _]. apply le_INR in Lij.
    rewrite Rabs_left1 in W by lra. replace (INR i - INR i) with 0 by ring. rewrite Rmult_0_r, exp_0.
    replace (- (INR i - INR j)) with (INR j - INR i) in W by ring. lra. }
  assert (Hj : down j <= up j).
  { unfold up, down. pose proof (within_slope j i) as W. destruct Hij as [Lij _]. apply le_INR in Lij.
    rewrite Rabs_right in W by lra. replace (INR j - INR j) with 0 by ring. rewrite Rmult_0_r, exp_0. lra. }
  destruct (Nat.eq_dec i j) as [Eij|Nij].
  - rewrite (fsum_ext _ (fun u => f (Z.of_nat i) * (g u * peak c i u))).
    + rewrite fsum_scal. specialize (Gm i ltac:(lia)). unfold through in Gm. nra.
    + intros u _. unfold h. destruct (Nat.le_gt_cases u i) as [L|L].
      * rewrite Rmin_left, peak_left by (try apply (lower u i); auto). unfold up. ring.
      * rewrite Rmin_right, peak_right by (try apply (upper u j); auto; lia).
        unfold down. rewrite <- Eij. ring.
  - destruct (meeting Hi Hj Nij) as (m & Hm & U & D).
    pose proof (Gm m ltac:(lia)) as G1. pose proof (Gm (S m) ltac:(lia)) as G2. unfold through in G1, G2.
    set (x := up m) in *. set (y := down (S m)) in *.
    assert (Ux : up (S m) = exp c * x) by apply up_S.
    assert (Dy : down m = exp c * y) by apply down_S.
    rewrite Ux in D. rewrite Dy in U.
    (* (E^2 - 1) h = E (E x - y) peak_m + E (E y - x) peak_m+1, where E = e^c *)
    assert (Q : (exp c * exp c - 1) * fsum (fun u => g u * h u) (seq 0 N) =
      (exp c * (exp c * x - y)) * fsum (fun u => g u * peak c m u) (seq 0 N) +
      (exp c * (exp c * y - x)) * fsum (fun u => g u * peak c (S m) u) (seq 0 N)).
    { rewrite fsum_two, <- fsum_scal. apply fsum_ext. intros u _.
      destruct (Nat.le_gt_cases u m) as [L|L].
      - assert (hu : h u = x * peak c m u).
        { unfold h. rewrite Rmin_left, peak_left by (try apply (lower u m); auto; rewrite ?Dy; auto).
          unfold x, up. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
        assert (P : peak c m u = exp c * peak c (S m) u).
        { rewrite !peak_left by lia. rewrite S_INR, <- exp_plus. f_equal. ring. }
        rewrite hu, P. ring.
      - assert (hu : h u = y * peak c (S m) u).
        { unfold h. rewrite Rmin_right, peak_right by (try apply (upper u (S m)); auto; rewrite ?Ux; auto).
          unfold y, down. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
        assert (P : peak c (S m) u = exp c * peak c m u).
        { rewrite !peak_right by lia. rewrite S_INR, <- exp_plus. f_equal. ring. }
        rewrite hu, P. ring. }
    assert (C1 : 0 <= exp c * (exp c * x - y)) by (apply Rmult_le_pos; lra).
    assert (C2 : 0 <= exp c * (exp c * y - x)) by (apply Rmult_le_pos; lra).
    assert (E2 : 0 < exp c * exp c - 1) by nra.
    set (S0 := fsum (fun u => g u * h u) (seq 0 N)) in *.
    set (S1 := fsum (fun u => g u * peak c m u) (seq 0 N)) in *.
    set (S2 := fsum (fun u => g u * peak c (S m) u) (seq 0 N)) in *.
    apply Rmult_le_reg_l with (1 := E2). rewrite Rmult_0_r, Q. nra.
Qed.
End Peak.

(** ** What a window lets through masks *)
Section Window.
Context (s L : nat) (p q p' q' c K : R).
Let N := (s + L)%nat.
(** The chances P of the coin lie between two pairs; for the coin on paper the two are the same, for
    the one that runs they differ by what is left over where words are divided by L. *)
Context (P : nat -> nat -> R).
Hypothesis Low : forall x u, (x <= s)%nat -> (u < N)%nat -> likelier p' q' L x u <= P x u.
Hypothesis High : forall x u, (x <= s)%nat -> (u < N)%nat -> P x u <= likelier p q L x u.
Hypotheses (Hc : 0 < c) (HL : (0 < L)%nat) (Hq : 0 <= q') (Hp : 0 <= p').
Hypotheses (HK : 0 <= K) (Kp : p <= K * p') (Kq : q <= K * q') (Kqp : q <= K * p').
Hypothesis Bound : forall m x x', (m < N)%nat -> (x <= s)%nat -> (x' <= s)%nat ->
  through c N (likelier p q L x) m <= K * through c N (likelier p' q' L x') m.

Lemma nonneg_through f x : slope c f -> (x <= s)%nat ->
  fsum (fun u => P x u * f (Z.of_nat u)) (seq 0 N) <=
  fsum (fun u => likelier p q L x u * f (Z.of_nat u)) (seq 0 N) /\
  fsum (fun u => likelier p' q' L x u * f (Z.of_nat u)) (seq 0 N) <=
  fsum (fun u => P x u * f (Z.of_nat u)) (seq 0 N).
Proof.
  intros Sf Hx. split; apply fsum_le, Forall_forall; intros u Hu; apply in_seq in Hu;
    apply Rmult_le_compat_r; try apply Sf; [apply High|apply Low]; auto; lia.
Qed.

Lemma two_windows f x x' : slope c f -> (x <= s)%nat -> (x' <= s)%nat ->
  fsum (fun u => likelier p q L x u * f (Z.of_nat u)) (seq 0 N) <=
  K * fsum (fun u => likelier p' q' L x' u * f (Z.of_nat u)) (seq 0 N).
Proof.
  intros Sf Hx Hx'. set (g := fun u => likelier p q L x u - K * likelier p' q' L x' u).
  assert (G : forall W, fsum (fun u => g u * W u) (seq 0 N) =
      fsum (fun u => likelier p q L x u * W u) (seq 0 N) -
      K * fsum (fun u => likelier p' q' L x' u * W u) (seq 0 N)).
  { intros W. unfold g. generalize (seq 0 N). induction l as [|u l IH]; simpl; [lra|]. rewrite IH. ring. }
  enough (fsum (fun u => g u * f (Z.of_nat u)) (seq 0 N) <= 0) by (rewrite G in H; lra).
  assert (Gs : forall u, g u = match Nat.leb x u && Nat.ltb u (x + L), Nat.leb x' u && Nat.ltb u (x' + L) with
      | true, true => p - K * p' | true, false => p - K * q'
      | false, true => q - K * p' | false, false => q - K * q' end).
  { intros u. unfold g, likelier. destruct (_ && _), (_ && _); auto. }
  assert (Gm : forall m, (m < N)%nat -> through c N g m <= 0).
  { intros m Hm. unfold through. rewrite G. specialize (Bound m x x' Hm Hx Hx'). unfold through in Bound. lra. }
  destruct (Rle_dec (p - K * q') 0) as [Neg|Pos].
  { rewrite <- (Rmult_0_r 0). apply Rle_trans with (fsum (fun _ : nat => 0) (seq 0 N)).
    - apply fsum_le, Forall_forall. intros u _. rewrite Gs.
      assert (0 <= f (Z.of_nat u)) by apply Sf. destruct (_ && _), (_ && _); nra.
    - clear. induction (seq 0 N); simpl; lra. }
  (* the numbers of the first window that are not in the other: from i to j *)
  set (i := if Nat.leb x' x then Nat.max x (x' + L) else x).
  set (j := if Nat.leb x' x then (x + L - 1)%nat else (Nat.min x' (x + L) - 1)%nat).
  destruct (Nat.eq_dec x x') as [->|Nx].
  { apply Rle_trans with (fsum (fun _ : nat => 0) (seq 0 N)).
    - apply fsum_le, Forall_forall. intros u _. rewrite Gs.
      assert (0 <= f (Z.of_nat u)) by apply Sf. destruct (_ && _); nra.
    - clear. induction (seq 0 N); simpl; lra. }
  apply (one_peak c f g N i j); auto.
  - unfold i, j, N. destruct (Nat.leb_spec x' x); lia.
  - intros u Hu. rewrite Gs. unfold i, j in Hu.
    destruct (Nat.leb_spec x' x), (Nat.leb_spec x u), (Nat.ltb_spec u (x + L)), (Nat.leb_spec x' u),
      (Nat.ltb_spec u (x' + L)); simpl; try lia; lra.
  - intros u Hu Out. rewrite Gs. unfold i, j in Out.
    destruct (Nat.leb_spec x' x), (Nat.leb_spec x u), (Nat.ltb_spec u (x + L)), (Nat.leb_spec x' u),
      (Nat.ltb_spec u (x' + L)); simpl; try lia; lra.
Qed.

Theorem window_lets t t' : in_range s t -> in_range s t' -> lets 1 (number_coin N P) c K t t'.
Proof.
  intros [Hx Hw] [Hx' Hw']. unfold number_coin.
  assert (Len : length (one_number N) = N) by (unfold one_number; rewrite map_length, seq_length; auto).
  assert (P0 : forall x u, (x <= s)%nat -> (u < N)%nat -> 0 <= P x u).
  { intros x u H H'. apply Rle_trans with (2 := Low x u H H'). unfold likelier. destruct (_ && _); auto. }
  apply code_lets.
  - unfold one_number. apply Forall_map, Forall_forall. intros u _. split; [auto|apply Forall_any].
  - rewrite Len. intros u Hu. unfold rounded.
    pose proof (P0 (fst t) u ltac:(lia) Hu). pose proof (P0 (S (fst t)) u ltac:(lia) Hu).
    pose proof (P0 (fst t') u ltac:(lia) Hu). pose proof (P0 (S (fst t')) u ltac:(lia) Hu).
    split; nra.
  - rewrite Len. intros fs Lf Sf. destruct fs as [|f [|]]; simpl in Lf; try lia. inversion_clear Sf.
    assert (W : forall u, (u < N)%nat -> prodlaw [f] (nth u (one_number N) []) = f (Z.of_nat u)).
    { intros u Hu. unfold one_number. rewrite (nth_indep _ [] [Z.of_nat 0]) by (rewrite map_length, seq_length; auto).
      rewrite (map_nth (fun u => [Z.of_nat u])), seq_nth by auto. simpl. ring. }
    set (A := fun x => fsum (fun u => P x u * f (Z.of_nat u)) (seq 0 N)).
    assert (M : forall r, fsum (fun u => rounded P r u * prodlaw [f] (nth u (one_number N) [])) (seq 0 N) =
        (1 - snd r) * A (fst r) + snd r * A (S (fst r))).
    { intros r. unfold A. rewrite fsum_two. apply fsum_ext. intros u Hu. apply in_seq in Hu.
      rewrite W by lia. unfold rounded. ring. }
    rewrite !M.
    assert (B : forall x x', (x <= s)%nat -> (x' <= s)%nat -> A x <= K * A x').
    { intros x x' H1 H2. pose proof (two_windows f x x' H H1 H2).
      destruct (nonneg_through f x H H1) as [U _]. destruct (nonneg_through f x' H H2) as [_ V].
      unfold A. apply Rle_trans with (1 := U). apply Rle_trans with (1 := H3).
      apply Rmult_le_compat_l; auto. }
    pose proof (B (fst t) (fst t') ltac:(lia) ltac:(lia)). pose proof (B (fst t) (S (fst t')) ltac:(lia) ltac:(lia)).
    pose proof (B (S (fst t)) (fst t') ltac:(lia) ltac:(lia)).
    pose proof (B (S (fst t)) (S (fst t')) ltac:(lia) ltac:(lia)).
    set (B0 := A (fst t')) in *. set (B1 := A (S (fst t'))) in *.
    assert (R1 : A (fst t) <= K * ((1 - snd t') * B0 + snd t' * B1)) by nra.
    assert (R2 : A (S (fst t)) <= K * ((1 - snd t') * B0 + snd t' * B1)) by nra.
    nra.
Qed.
End Window.

(** ** The theorem: numbers by a window, behind masks *)
Section Private.
Context (s L : nat) (p q p' q' a b e K : R) (es : list R) (t : nat) (ask : seen -> asking).
Context (P : nat -> nat -> R) (xs xs' : list (nat * R)).
Let N := (s + L)%nat.
Hypothesis Law : forall x, (x <= s)%nat -> fsum (P x) (seq 0 N) = 1.
Hypothesis Chances : forall x u, (x <= s)%nat -> (u < N)%nat ->
  likelier p' q' L x u <= P x u <= likelier p q L x u.
Hypotheses (Hq : 0 <= q') (Hqp : q' <= p') (HL : (0 < L)%nat) (Kp : p <= K * p') (Kq : q <= K * q').
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es) (He0 : 0 <= e).
Hypotheses (Ok : Forall (in_range s) xs) (Ok' : Forall (in_range s) xs') (HK : 0 <= K).
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat).

Lemma number_coin_law r : in_range s r -> is_law (vec any 1) (number_coin N P r).
Proof.
  intros [Hx Hw]. unfold number_coin.
  assert (Len : length (one_number N) = N) by (unfold one_number; rewrite map_length, seq_length; auto).
  assert (P0 : forall x u, (x <= s)%nat -> (u < N)%nat -> 0 <= P x u).
  { intros x u H H'. apply Rle_trans with (2 := proj1 (Chances x u H H')). unfold likelier.
    destruct (_ && _); lra. }
  apply code_law.
  - unfold one_number. apply Forall_map, Forall_forall. intros u _. split; [auto|apply Forall_any].
  - rewrite Len. intros u Hu. unfold rounded.
    pose proof (P0 (fst r) u ltac:(lia) Hu). pose proof (P0 (S (fst r)) u ltac:(lia) Hu). nra.
  - rewrite Len. unfold rounded. rewrite <- fsum_two, !Law by lia. ring.
Qed.

Theorem window_private : (forall s, within (ask s) t es [] (fun _ => e)) ->
  (forall m x x', (m < N)%nat -> (x <= s)%nat -> (x' <= s)%nat ->
    through (a + b + e) N (likelier p q L x) m <= K * through (a + b + e) N (likelier p' q' L x') m) ->
  forall E, Pr (number_coin N P) a b es 1 t ask xs E <= K * Pr (number_coin N P) a b es 1 t ask xs' E.
Proof.
  intros W Bound E. apply masked with (e := e); auto.
  - eapply Forall_impl; [|exact Ok]. intros r. apply number_coin_law.
  - eapply Forall_impl; [|exact Ok']. intros r. apply number_coin_law.
  - intros r r' Hr Hr'. apply (window_lets s L p q p' q'); auto; try (intros; apply Chances; auto); try lra.
    + apply Rle_trans with (1 := Kq). apply Rmult_le_compat_l; auto.
    + rewrite Forall_forall in Ok. apply Ok. apply nth_error_In with t; auto.
    + rewrite Forall_forall in Ok'. apply Ok'. apply nth_error_In with t; auto.
Qed.
End Private.
