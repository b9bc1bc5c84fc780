(** * Reports and announcements look the same when a card moves against the coin's outcome *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model masks.
Import ListNotations.
Open Scope R_scope.

(** Add the J numbers u to the J cards of person t. *)
Fixpoint addto (t : nat) (u : list Z) (zss : list (list Z)) : list (list Z) :=
  match u, zss with
  | v :: u', zs :: zss' => upd t (fun z => z + v)%Z zs :: addto t u' zss'
  | _, _ => []
  end.
Definition neg (u : list Z) : list Z := map Z.opp u.
(** Take from the noise of every announcement of which person t is a part what was added to her. *)
Fixpoint shift (ask : asking) (t : nat) (u past : list Z) (zss : list (list Z)) (hs : list Z) : list Z :=
  match hs with
  | [] => []
  | h :: hs' => let '(j, G) := ask past in
      (h - (if G t then nth j u 0 else 0))%Z ::
      shift ask t u ((sumover G (col j zss) + h)%Z :: past) zss hs'
  end.

Lemma nth_neg j u : nth j (neg u) 0%Z = (- nth j u 0)%Z.
Proof. unfold neg. change 0%Z with (- 0)%Z at 1. apply map_nth. Qed.

Lemma addto_length t u zss : length u = length zss -> length (addto t u zss) = length zss.
Proof. revert zss; induction u; intros [|zs zss] L; simpl in *; try lia. rewrite IHu; lia. Qed.

Lemma addto_vec t u zss n J : length u = J -> vec (cards n) J zss -> vec (cards n) J (addto t u zss).
Proof.
  intros Lu [L F]. split; [rewrite addto_length; lia|]. clear J Lu L. revert u.
  induction F; intros [|v u]; simpl; auto. constructor; auto. apply upd_vec; auto.
Qed.

Lemma addto_neg t u zss : length u = length zss -> addto t (neg u) (addto t u zss) = zss.
Proof.
  revert zss; induction u; intros [|zs zss] L; simpl in *; try lia; auto.
  f_equal; [|apply IHu; lia]. rewrite upd_upd. apply upd_id. intros; lia.
Qed.

Lemma neg_neg u : neg (neg u) = u.
Proof. unfold neg. rewrite map_map. rewrite <- (map_id u) at 2. apply map_ext. intros; lia. Qed.

Lemma addto_neg' t u zss : length u = length zss -> addto t u (addto t (neg u) zss) = zss.
Proof.
  intros L. rewrite <- (neg_neg u) at 1. apply addto_neg. unfold neg. rewrite map_length. auto.
Qed.

Lemma col_addto j t u zss : length u = length zss ->
  col j (addto t u zss) = upd t (fun z => z + nth j u 0)%Z (col j zss).
Proof.
  unfold col. revert j zss; induction u; intros [|j] [|zs zss] L; simpl in *; try lia; auto;
    try (destruct t; auto; fail); try (apply IHu; lia).
Qed.

(** ** Sums *)
Lemma sumover_upd G t s zs : (t < length zs)%nat ->
  sumover G (upd t (fun z => z + s)%Z zs) = (sumover G zs + if G t then s else 0)%Z.
Proof.
  revert t G; induction zs as [|z zs IH]; intros [|t] G H; simpl in *; try lia.
  - destruct (G O); lia.
  - rewrite IH by lia. lia.
Qed.

Lemma sumover_addto G j t u zss n J : (t < n)%nat -> length u = J -> vec (cards n) J zss ->
  sumover G (col j (addto t u zss)) = (sumover G (col j zss) + if G t then nth j u 0 else 0)%Z.
Proof.
  intros Ht Lu [L F]. rewrite col_addto by lia.
  destruct (lt_dec j J) as [H|H].
  - apply sumover_upd. unfold col. rewrite Forall_forall in F.
    destruct (F (nth j zss [])) as [Lc _]; [apply nth_In; lia|]. lia.
  - unfold col. rewrite !nth_overflow by lia.
    destruct (G t), t; simpl; lia.
Qed.

Section Shift.
Context (ask : asking) (n J t : nat) (zss : list (list Z)).
Hypotheses (Ht : (t < n)%nat) (Hz : vec (cards n) J zss).

Lemma shift_length u past hs : length (shift ask t u past zss hs) = length hs.
Proof. revert past; induction hs; intros; simpl; auto. destruct (ask past). simpl. auto. Qed.

Lemma announce_shift u past hs : length u = J ->
  announce ask past (addto t u zss) (shift ask t u past zss hs) = announce ask past zss hs.
Proof.
  intros Lu. revert past; induction hs as [|h hs IH]; intros past; simpl; auto.
  destruct (ask past) as [j G] eqn:Q. simpl. rewrite Q. rewrite (sumover_addto G j t u zss n J) by auto.
  rewrite <- IH. f_equal. f_equal. destruct (G t); lia.
Qed.

Lemma shift_neg u past hs : length u = J ->
  shift ask t (neg u) past (addto t u zss) (shift ask t u past zss hs) = hs.
Proof.
  intros Lu. revert past; induction hs as [|h hs IH]; intros past; simpl; auto.
  destruct (ask past) as [j G] eqn:Q. simpl. rewrite Q. f_equal.
  - rewrite nth_neg. destruct (G t); lia.
  - rewrite (sumover_addto G j t u zss n J) by auto.
    match goal with |- shift _ _ _ (?x :: _) _ _ = _ =>
      replace x with (sumover G (col j zss) + h)%Z by (destruct (G t); lia) end.
    apply IH.
Qed.
End Shift.

Lemma shift_neg' ask n J t zss u past hs : (t < n)%nat -> vec (cards n) J zss -> length u = J ->
  shift ask t u past (addto t (neg u) zss) (shift ask t (neg u) past zss hs) = hs.
Proof.
  intros Ht Hz Lu. rewrite <- (neg_neg u) at 1. apply (shift_neg ask n J); auto.
  unfold neg. rewrite map_length. auto.
Qed.

(** ** The first view *)
Lemma plus_upd t us zs : length us = length zs ->
  plus us zs = plus (upd t (fun _ => 0%Z) us) (upd t (fun z => z + nth t us 0)%Z zs).
Proof.
  revert t zs; induction us as [|u us IH]; intros [|t] [|z zs] L; simpl in *; try lia; auto.
  - f_equal. lia.
  - f_equal. apply IH. lia.
Qed.

Lemma column_upd j t o us : column j (upd t (fun _ => o) us) =
  upd t (fun _ => nth j o 0%Z) (column j us).
Proof. unfold column. revert t; induction us; intros [|t]; simpl; auto. f_equal. auto. Qed.

Lemma nth_column j t us o : (t < length us)%nat -> nth t (column j us) 0%Z = nth j (nth t us o) 0%Z.
Proof.
  intros H. unfold column. rewrite (nth_indep _ 0%Z ((fun u => nth j u 0%Z) o)).
  - apply (map_nth (fun u => nth j u 0%Z)).
  - rewrite map_length. auto.
Qed.

Lemma nth_zeros {Y} (a : Y) j J : nth j (repeat a J) a = a.
Proof. revert j; induction J; intros [|j]; simpl; auto. Qed.

Lemma others_addto t u zss : length u = length zss ->
  map (others t) (addto t u zss) = map (others t) zss.
Proof.
  revert zss; induction u; intros [|zs zss] L; simpl in *; try lia; auto. f_equal; [|apply IHu; lia].
  unfold others. rewrite upd_upd. auto.
Qed.

Lemma first_view_moves J n t us zss : (t < n)%nat -> vec (vec any J) n us -> vec (cards n) J zss ->
  let o := repeat 0%Z J in
  first_view J t us zss = first_view J t (upd t (fun _ => o) us) (addto t (nth t us o) zss).
Proof.
  intros Ht [Lu Fu] [Lz Fz] o. unfold first_view.
  assert (Lt : length (nth t us o) = J).
  { rewrite Forall_forall in Fu. apply (Fu (nth t us o)). apply nth_In. lia. }
  rewrite others_addto by lia. f_equal. unfold reports. apply map_ext_in. intros j Hj.
  apply in_seq in Hj. rewrite col_addto, column_upd by lia. unfold o at 1. rewrite nth_zeros.
  rewrite (plus_upd t), (nth_column j t us o); auto; [lia|].
  unfold column. rewrite map_length. rewrite Forall_forall in Fz.
  destruct (Fz (col j zss)) as [Lc _]; [apply nth_In; lia|]. lia.
Qed.

(** ** The weights of the dealer's randomness, as functions of the outcome of person t *)
Fixpoint mulf (fs gs : list (Z -> R)) : list (Z -> R) :=
  match fs, gs with f :: fs', g :: gs' => (fun v => f v * g v) :: mulf fs' gs' | _, _ => [] end.

Lemma mulf_prodlaw fs gs u : length fs = length gs -> length u = length fs ->
  prodlaw (mulf fs gs) u = prodlaw fs u * prodlaw gs u.
Proof.
  revert gs u; induction fs; intros [|g gs] [|v u] L1 L2; simpl in *; try lia; [lra|].
  rewrite IHfs by lia. ring.
Qed.

Lemma mulf_length fs gs : length fs = length gs -> length (mulf fs gs) = length fs.
Proof. revert gs; induction fs; intros [|g gs] L; simpl in *; try lia. rewrite IHfs; lia. Qed.

Lemma mulf_slope c c' fs gs : Forall (slope c) fs -> Forall (slope c') gs ->
  Forall (slope (c + c')) (mulf fs gs).
Proof.
  intros F. revert gs; induction F as [|f fs Hf F IH]; intros [|g gs] G; simpl; auto.
  inversion G; subst. constructor; auto. apply slope_mult; auto.
Qed.

Lemma prodlaw_at j f gs u : (j < length gs)%nat -> length u = length gs ->
  prodlaw (upd j (fun g v => f v * g v) gs) u = f (nth j u 0%Z) * prodlaw gs u.
Proof.
  revert j u; induction gs; intros [|j] [|v u] H L; simpl in *; try lia; [ring|].
  rewrite IHgs by lia. ring.
Qed.

Lemma deck_weights a b n t zss u : length u = length zss ->
  prodlaw (repeat (deck a b n) (length zss)) (addto t (neg u) zss) =
  prodlaw (map (fun zs v => deck a b n (upd t (fun z => z - v)%Z zs)) zss) u.
Proof.
  revert u; induction zss as [|zs zss IH]; intros [|v u] L; simpl in *; try lia; auto.
  rewrite IH by lia. reflexivity.
Qed.

Lemma noise_weights ask t zss J es : Forall (fun e => 0 < e) es ->
  forall past left hs, length hs = length es -> within ask t es past left ->
  exists k gs, 0 < k /\ length gs = J /\
    (forall j, (j < J)%nat -> slope (left j) (nth j gs (fun _ => 0))) /\
    forall u, length u = J ->
      prodlaw (map lap es) (shift ask t (neg u) past zss hs) = k * prodlaw gs u.
Proof.
  induction 1 as [|e es He P IH]; intros past left [|h hs] L W; simpl in L; try discriminate.
  - exists 1, (repeat (fun _ => 1) J). split; [lra|split; [apply repeat_length|split]].
    + intros j Hj. replace (nth j (repeat (fun _ : Z => 1) J) (fun _ => 0)) with (fun _ : Z => 1).
      { apply slope_const; [apply W|lra]. }
      symmetry. apply repeat_spec with J. apply nth_In. rewrite repeat_length. auto.
    + simpl. intros u <-. rewrite Rmult_1_l. clear. induction u; simpl; auto. rewrite <- IHu. lra.
  - simpl in W |- *. destruct (ask past) as [j G]. set (told := (sumover G (col j zss) + h)%Z).
    destruct (IH _ _ hs ltac:(lia) (W told)) as (k & gs & Hk & Lg & Sg & Eg).
    destruct (G t).
    + destruct (lt_dec j J) as [Hj|Hj].
      * exists k, (upd j (fun g v => lap e (h + v)%Z * g v) gs).
        split; auto. split; [rewrite upd_length; auto|]. split.
        -- intros i Hi. pose proof (Sg i Hi) as Si. simpl in Si. destruct (Nat.eqb_spec i j) as [E|N]; [subst i|].
           ++ rewrite upd_nth_same by lia. replace (left j) with (e + (left j - e)) by ring.
              apply slope_mult; auto. apply lap_slope; auto.
           ++ rewrite upd_nth_other; auto.
        -- intros u Lu. rewrite Eg, prodlaw_at, nth_neg by lia.
           replace (h - - nth j u 0)%Z with (h + nth j u 0)%Z by lia. ring.
      * exists (lap e h * k), gs. pose proof (lap_pos e h He). split; [apply Rmult_lt_0_compat; auto|].
        split; auto. split.
        -- intros i Hi. pose proof (Sg i Hi) as Si. simpl in Si. destruct (Nat.eqb_spec i j); [lia|auto].
        -- intros u Lu. rewrite Eg, nth_neg, nth_overflow by lia.
           replace (h - - 0)%Z with h by lia. ring.
    + exists (lap e h * k), gs. pose proof (lap_pos e h He). split; [apply Rmult_lt_0_compat; auto|].
      split; auto. split; auto. intros u Lu. rewrite Eg by auto.
      replace (h - 0)%Z with h by lia. ring.
Qed.

(** Together: a product of functions of slope a + b + e, one for each number, and a constant. *)
Lemma dealer_weights a b es e ask J n t zss hs : 0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  (t < n)%nat -> dealt J n (length es) (zss, hs) -> within ask t es [] (fun _ => e) ->
  exists k fs, 0 < k /\ length fs = J /\ Forall (slope (a + b + e)) fs /\
    forall u, length u = J ->
      dealer a b es J n (addto t (neg u) zss, shift ask t (neg u) [] zss hs) = k * prodlaw fs u.
Proof.
  intros Ha Hb He Ht [[Lz Fz] [Lh _]] W. simpl in *.
  destruct (noise_weights ask t zss J es He [] _ hs Lh W) as (k & gs & Hk & Lg & Sg & Eg).
  set (ds := map (fun zs v => deck a b n (upd t (fun z => z - v)%Z zs)) zss).
  assert (Ld : length ds = J) by (unfold ds; rewrite map_length; auto).
  exists k, (mulf ds gs). split; auto. split; [rewrite mulf_length; lia|]. split.
  - apply mulf_slope.
    + unfold ds. apply Forall_map. eapply Forall_impl; [|exact Fz]. intros zs Hzs.
      apply deck_slope; auto.
    + apply Forall_forall. intros g Hg. destruct (In_nth gs g (fun _ => 0) Hg) as (j & Hj & <-).
      apply Sg. lia.
  - intros u Lu. unfold dealer; simpl. rewrite Eg, mulf_prodlaw by lia.
    rewrite <- Lz at 1. rewrite deck_weights by lia. unfold ds. ring.
Qed.
