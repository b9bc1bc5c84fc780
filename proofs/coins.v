(** * What coins let through masks

    Coins that tell the truth with probability p and each other of k combinations of answers with q,
    told as whole numbers: yes or no (one number, 0 or 1), one of k (k numbers, a single 1), and a
    block (the answers to several items, one after another). *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model masks privacy.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)

(** A coin that says the y-th of some words (lists of numbers) with probability P y. *)
Definition code (words : list (list Z)) (P : nat -> R) (u : list Z) : R :=
  fsum (fun y => if eq_zs (nth y words []) u then P y else 0) (seq 0 (length words)).
(** The truth with probability p, everything else with q. *)
Definition tell (p q : R) (x y : nat) : R := if Nat.eqb x y then p else q.

(** How an answer to an item with k possible answers is written: one number for two answers, k
    numbers for more. A block writes one item after another. *)
Definition unit (k i : nat) : list Z := map (fun j => if Nat.eqb j i then 1%Z else 0%Z) (seq 0 k).
Definition item (k : nat) : list (list Z) :=
  if Nat.eqb k 2 then [[0%Z]; [1%Z]] else map (unit k) (seq 0 k).
Fixpoint block (sizes : list nat) : list (list Z) :=
  match sizes with
  | [] => [[]]
  | k :: sizes' => flat_map (fun w => map (fun v => w ++ v) (block sizes')) (item k)
  end.
Definition numbers (sizes : list nat) : nat :=
  fold_right (fun k s => (if Nat.eqb k 2 then 1 else k) + s)%nat 0%nat sizes.
Definition combinations (sizes : list nat) : nat := fold_right Nat.mul 1%nat sizes.
Definition block_coin (sizes : list nat) (p q : R) (x : nat) : list Z -> R :=
  code (block sizes) (tell p q x).
(** p and q are the probabilities of a coin that prefers the truth. *)
Definition prefers_truth (p q : R) (k : nat) : Prop := 0 <= q <= p /\ 0 < p /\ p + (INR k - 1) * q = 1.

(** e^c for an item of two answers, e^2c for one of more: so far a change of the answer moves. *)
Definition E (c : R) (k : nat) : R := exp (if Nat.eqb k 2 then c else 2 * c).
(** e^epsilon of a block behind masks of slope c. *)
Definition block_bound (sizes : list nat) (p q c : R) : R :=
  let far := fold_right (fun k r => E c k * r) 1 sizes in
  let spread := fold_right (fun k r => (E c k + INR k - 1) * r) 1 sizes in
  ((p - q) * far + q * spread) / ((p - q) + q * spread).

(** ** Codes *)
Lemma fsum_swap {U Y} (f : U -> Y -> R) l m :
  fsum (fun u => fsum (f u) m) l = fsum (fun y => fsum (fun u => f u y) l) m.
Proof.
  induction l as [|u l IH]; simpl.
  - induction m; simpl; lra.
  - rewrite IH. clear. induction m; simpl; lra.
Qed.

Lemma fsum_pick1 {U} (eqU : forall u v : U, {u = v} + {u <> v}) (v : U) a (W : U -> R) l :
  NoDup l -> In v l -> fsum (fun u => (if eqU v u then a else 0) * W u) l = a * W v.
Proof.
  assert (Z : forall l, ~ In v l -> fsum (fun u => (if eqU v u then a else 0) * W u) l = 0).
  { clear. induction l; simpl; auto. intros H. rewrite IHl by tauto. destruct (eqU v a0); [subst; tauto|lra]. }
  induction 1 as [|u l Hu N IH]; simpl; [tauto|]. intros [->|H].
  - destruct (eqU v v); [|tauto]. rewrite Z by auto. lra.
  - rewrite IH by auto. destruct (eqU v u); [subst; tauto|lra].
Qed.

Lemma code_nonneg words P u : (forall y, (y < length words)%nat -> 0 <= P y) -> 0 <= code words P u.
Proof.
  intros H. apply fsum_pos. apply Forall_forall. intros y Hy. apply in_seq in Hy.
  destruct (eq_zs _ u); [apply H; lia|lra].
Qed.

Lemma code_Sum J words P W : Forall (vec any J) words ->
  (forall y, (y < length words)%nat -> 0 <= P y) -> (forall u, vec any J u -> 0 <= W u) ->
  summable (vec any J) (fun u => code words P u * W u) /\
  Sum (vec any J) (fun u => code words P u * W u) =
  fsum (fun y => P y * W (nth y words [])) (seq 0 (length words)).
Proof.
  intros F HP HW.
  destruct (Sum_support (vec any J) (fun u => code words P u * W u) (nodup eq_zs words)) as [S Q].
  - apply NoDup_nodup.
  - apply Forall_forall. intros u Hu. apply nodup_In in Hu. rewrite Forall_forall in F. auto.
  - intros u Hu. apply Rmult_le_pos; auto. apply code_nonneg; auto.
  - intros u _ Hu. replace (code words P u) with 0; [lra|]. unfold code. symmetry.
    assert (Z : forall l, (forall y, In y l -> nth y words [] <> u) ->
        fsum (fun y => if eq_zs (nth y words []) u then P y else 0) l = 0).
    { clear. induction l; simpl; auto. intros H. rewrite IHl by auto.
      destruct (eq_zs _ u); [destruct (H a); auto|lra]. }
    apply Z. intros y Hy <-. apply in_seq in Hy. apply Hu, nodup_In, nth_In. lia.
  - exact eq_zs.
  - split; auto. rewrite Q. unfold code.
    rewrite (fsum_ext _ (fun u => fsum (fun y => (if eq_zs (nth y words []) u then P y else 0) * W u)
      (seq 0 (length words)))).
    + rewrite fsum_swap. apply fsum_ext. intros y Hy. apply in_seq in Hy.
      apply fsum_pick1; [apply NoDup_nodup|]. apply nodup_In, nth_In. lia.
    + intros u _. generalize (seq 0 (length words)). clear. induction l; simpl; [lra|]. rewrite <- IHl. ring.
Qed.

Lemma code_law J words P : Forall (vec any J) words ->
  (forall y, (y < length words)%nat -> 0 <= P y) -> fsum P (seq 0 (length words)) = 1 ->
  is_law (vec any J) (code words P).
Proof.
  intros F HP H1. destruct (code_Sum J words P (fun _ => 1) F HP) as [S Q]; [intros; lra|].
  split.
  - eapply summable_ext; [|exact S]. intros; cbv beta; ring.
  - rewrite (Sum_ext _ (vec any J) _ (fun u => code words P u * 1)); [|tauto|intros; ring].
    etransitivity; [exact Q|]. etransitivity; [|exact H1]. apply fsum_ext. intros; ring.
Qed.

(** A coin lets through what its words let through. *)
Lemma code_lets {X} J words (P : X -> nat -> R) c K x x' : Forall (vec any J) words ->
  (forall y, (y < length words)%nat -> 0 <= P x y /\ 0 <= P x' y) ->
  (forall fs, length fs = J -> Forall (slope c) fs ->
    fsum (fun y => P x y * prodlaw fs (nth y words [])) (seq 0 (length words)) <=
    K * fsum (fun y => P x' y * prodlaw fs (nth y words [])) (seq 0 (length words))) ->
  lets J (fun x => code words (P x)) c K x x'.
Proof.
  intros F HP H fs Lf Sf _ _.
  assert (N : forall u, vec any J u -> 0 <= prodlaw fs u).
  { intros u [Lu _]. apply prodlaw_nonneg with any; [|apply Forall_any].
    eapply Forall_impl; [|exact Sf]. intros f Hf z _. apply Hf. }
  rewrite (proj2 (code_Sum J words (P x) (prodlaw fs) F (fun y Hy => proj1 (HP y Hy)) N)).
  rewrite (proj2 (code_Sum J words (P x') (prodlaw fs) F (fun y Hy => proj2 (HP y Hy)) N)).
  apply H; auto.
Qed.

(** ** Distance *)
Fixpoint dist (u v : list Z) : Z :=
  match u, v with a :: u', b :: v' => (Z.abs (a - b) + dist u' v')%Z | _, _ => 0%Z end.

Lemma slope_dist c f u v : slope c f -> f u <= exp (c * IZR (Z.abs (u - v))) * f v.
Proof.
  intros Hf.
  assert (H : forall m v, f (v + Z.of_nat m)%Z <= exp (c * INR m) * f v /\
                          f v <= exp (c * INR m) * f (v + Z.of_nat m)%Z).
  { induction m as [|m IH]; intros w.
    - simpl. rewrite Rmult_0_r, exp_0, Z.add_0_r. lra.
    - destruct (IH w) as [H1 H2]. destruct (Hf (w + Z.of_nat m)%Z) as (_ & H3 & H4).
      replace (w + Z.of_nat (S m))%Z with (w + Z.of_nat m + 1)%Z by lia.
      replace (c * INR (S m)) with (c + c * INR m) by (rewrite S_INR; ring). rewrite exp_plus.
      pose proof (exp_pos c). pose proof (exp_pos (c * INR m)). split; nra. }
  destruct (Z_le_gt_dec v u).
  - destruct (H (Z.to_nat (u - v)) v) as [H1 _]. rewrite INR_IZR_INZ in H1.
    rewrite Z2Nat.id in H1 by lia. replace (Z.abs (u - v)) with (u - v)%Z by lia.
    replace (v + (u - v))%Z with u in H1 by lia. auto.
  - destruct (H (Z.to_nat (v - u)) u) as [_ H1]. rewrite INR_IZR_INZ in H1.
    rewrite Z2Nat.id in H1 by lia. replace (Z.abs (u - v)) with (v - u)%Z by lia.
    replace (u + (v - u))%Z with v in H1 by lia. auto.
Qed.

Lemma prodlaw_dist c fs u v : Forall (slope c) fs -> length u = length fs -> length v = length fs ->
  prodlaw fs u <= exp (c * IZR (dist u v)) * prodlaw fs v.
Proof.
  intros F. revert u v; induction F as [|f fs Hf F IH]; intros [|a u] [|b v] Lu Lv; simpl in *; try lia.
  - rewrite Rmult_0_r, exp_0. lra.
  - rewrite plus_IZR, Rmult_plus_distr_l, exp_plus.
    replace (exp (c * IZR (Z.abs (a - b))) * exp (c * IZR (dist u v)) * (f b * prodlaw fs v)) with
      ((exp (c * IZR (Z.abs (a - b))) * f b) * (exp (c * IZR (dist u v)) * prodlaw fs v)) by ring.
    apply Rmult_le_compat.
    + apply Hf.
    + apply prodlaw_nonneg with any; [|apply Forall_any]. eapply Forall_impl; [|exact F].
      intros g Hg z _. apply Hg.
    + apply slope_dist; auto.
    + apply IH; lia.
Qed.

Lemma dist_app u v u' v' : length u = length v -> dist (u ++ u') (v ++ v') = (dist u v + dist u' v')%Z.
Proof. revert v; induction u; intros [|b v] L; simpl in *; try lia; auto. rewrite IHu; lia. Qed.

(** ** A coin that prefers the truth, any words *)
Lemma fsum_tell p q x (W : nat -> R) k : (x < k)%nat ->
  fsum (fun y => tell p q x y * W y) (seq 0 k) = q * fsum W (seq 0 k) + (p - q) * W x.
Proof.
  intros H.
  rewrite (fsum_ext _ (fun y => q * W y + (if Nat.eq_dec x y then p - q else 0) * W y)).
  - rewrite <- (fsum_pick1 Nat.eq_dec x (p - q) W (seq 0 k)); [|apply seq_NoDup|apply in_seq; lia].
    rewrite <- fsum_scal. generalize (seq 0 k). clear. induction l; simpl; [lra|]. rewrite IHl. ring.
  - intros y _. unfold tell. destruct (Nat.eqb_spec x y), (Nat.eq_dec x y); try tauto; ring.
Qed.

Theorem truth_lets J words p q c K x x' D : Forall (vec any J) words -> 0 <= q <= p ->
  (x < length words)%nat -> (x' < length words)%nat -> 1 <= K ->
  let near := fsum (fun w => exp (- (c * IZR (dist (nth x words []) w)))) words in
  0 <= c -> IZR (dist (nth x words []) (nth x' words [])) <= D ->
  q * near + (p - q) <= K * (q * near + (p - q) * exp (- (c * D))) ->
  lets J (fun x => code words (tell p q x)) c K x x'.
Proof.
  intros F Hpq Hx Hx' HK near Hc HD H. apply code_lets; auto.
  { intros y _. unfold tell. destruct (Nat.eqb x y), (Nat.eqb x' y); lra. }
  intros fs Lf Sf. set (W := fun y => prodlaw fs (nth y words [])).
  rewrite !(fsum_tell p q _ W) by auto.
  assert (Lw : forall y, (y < length words)%nat -> length (nth y words []) = length fs).
  { intros y Hy. rewrite Forall_forall in F. destruct (F (nth y words [])) as [L _]; [apply nth_In; auto|lia]. }
  assert (P0 : 0 <= W x).
  { apply prodlaw_nonneg with any; [|apply Forall_any]. eapply Forall_impl; [|exact Sf].
    intros g Hg z _. apply Hg. }
  assert (Wy : forall y, (y < length words)%nat ->
      exp (- (c * IZR (dist (nth x words []) (nth y words [])))) * W x <= W y).
  { intros y Hy. rewrite exp_Ropp. pose proof (exp_pos (c * IZR (dist (nth x words []) (nth y words [])))) as X.
    apply Rmult_le_reg_l with (exp (c * IZR (dist (nth x words []) (nth y words [])))); auto.
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. apply prodlaw_dist; auto. }
  assert (T1 : near * W x <= fsum W (seq 0 (length words))).
  { replace near with (fsum (fun y => exp (- (c * IZR (dist (nth x words []) (nth y words [])))))
      (seq 0 (length words))).
    - rewrite Rmult_comm, <- fsum_scal. apply fsum_le. apply Forall_forall. intros y Hy.
      apply in_seq in Hy. rewrite Rmult_comm. apply Wy; lia.
    - unfold near. rewrite <- (fsum_map (fun y => nth y words [])
        (fun w => exp (- (c * IZR (dist (nth x words []) w))))).
      f_equal. clear. apply nth_ext with [] []; [rewrite map_length, seq_length; auto|].
      intros i Hi. rewrite map_length, seq_length in Hi.
      rewrite (nth_indep _ [] (nth 0 words [])) by (rewrite map_length, seq_length; auto).
      rewrite (map_nth (fun y => nth y words [])), seq_nth by auto. reflexivity. }
  assert (T2 : exp (- (c * D)) * W x <= W x').
  { apply Rle_trans with (2 := Wy x' Hx'). apply Rmult_le_compat_r; auto.
    destruct (Rle_lt_or_eq_dec (c * IZR (dist (nth x words []) (nth x' words []))) (c * D)) as [L|L].
    - apply Rmult_le_compat_l; auto.
    - left. apply exp_increasing. lra.
    - rewrite L. lra. }
  set (T := fsum W (seq 0 (length words))) in *.
  assert (X1 : (K - 1) * q * (near * W x) <= (K - 1) * q * T).
  { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra. }
  assert (X2 : K * (p - q) * (exp (- (c * D)) * W x) <= K * (p - q) * W x').
  { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra. }
  assert (X3 : W x * (q * near + (p - q)) <= W x * (K * (q * near + (p - q) * exp (- (c * D))))).
  { apply Rmult_le_compat_l; auto. }
  nra.
Qed.

(** ** The words of a block *)
Lemma unit_length k i : length (unit k i) = k.
Proof. unfold unit. rewrite map_length, seq_length. auto. Qed.

Definition marks (i : nat) (l : list nat) : list Z := map (fun j => if Nat.eqb j i then 1%Z else 0%Z) l.

Lemma dist_sym u v : dist u v = dist v u.
Proof. revert v; induction u; intros [|b v]; simpl; auto. rewrite IHu. lia. Qed.

Lemma marks_none i i' l : ~ In i l -> ~ In i' l -> dist (marks i l) (marks i' l) = 0%Z.
Proof.
  induction l as [|a l IH]; simpl; auto. intros H H'. rewrite IH by tauto.
  destruct (Nat.eqb_spec a i); [tauto|]. destruct (Nat.eqb_spec a i'); [tauto|]. reflexivity.
Qed.

Lemma marks_one i i' l : i <> i' -> NoDup l -> In i l -> ~ In i' l -> dist (marks i l) (marks i' l) = 1%Z.
Proof.
  intros N D. induction D as [|a l Ha D IH]; simpl; [tauto|]. intros H H'.
  destruct (Nat.eqb_spec a i) as [E|A1], (Nat.eqb_spec a i') as [E'|A2]; try tauto.
  subst a. rewrite marks_none by (auto; tauto); auto.
Qed.

Lemma marks_two i i' l : i <> i' -> NoDup l -> In i l -> In i' l -> dist (marks i l) (marks i' l) = 2%Z.
Proof.
  intros N D. induction D as [|a l Ha D IH]; simpl; [tauto|]. intros H H'.
  destruct (Nat.eqb_spec a i) as [E|A1], (Nat.eqb_spec a i') as [E'|A2].
  - congruence.
  - subst a. rewrite dist_sym, marks_one; auto; tauto.
  - subst a. rewrite marks_one; auto; tauto.
  - rewrite IH by (auto; tauto); auto.
Qed.

Lemma dist_unit k i i' : (i < k)%nat -> (i' < k)%nat ->
  dist (unit k i) (unit k i') = if Nat.eqb i i' then 0%Z else 2%Z.
Proof.
  intros Hi Hi'. change (unit k i) with (marks i (seq 0 k)). change (unit k i') with (marks i' (seq 0 k)).
  destruct (Nat.eqb_spec i i') as [->|N].
  - generalize (marks i' (seq 0 k)). clear. induction l; simpl; auto. rewrite IHl. lia.
  - apply marks_two; auto; [apply seq_NoDup|apply in_seq; lia|apply in_seq; lia].
Qed.

Definition moves (k : nat) : R := if Nat.eqb k 2 then 1 else 2.
Definition width (k : nat) : nat := if Nat.eqb k 2 then 1%nat else k.

Lemma item_length k : length (item k) = k.
Proof. unfold item. destruct (Nat.eqb_spec k 2); [subst; auto|]. rewrite map_length, seq_length. auto. Qed.

Lemma item_width k : Forall (vec any (width k)) (item k).
Proof.
  unfold item, width. destruct (Nat.eqb_spec k 2).
  - repeat constructor.
  - apply Forall_map, Forall_forall. intros i _. split; [apply unit_length|apply Forall_any].
Qed.

Lemma item_dist k w v : In w (item k) -> In v (item k) -> IZR (dist w v) <= moves k.
Proof.
  unfold item, moves. destruct (Nat.eqb_spec k 2).
  - intros [<-|[<-|[]]] [<-|[<-|[]]]; simpl; lra.
  - intros Hw Hv. apply in_map_iff in Hw. apply in_map_iff in Hv.
    destruct Hw as (i & <- & Hi), Hv as (i' & <- & Hi'). apply in_seq in Hi, Hi'.
    rewrite dist_unit by lia. destruct (Nat.eqb i i'); lra.
Qed.

Lemma item_near c k w : In w (item k) ->
  fsum (fun v => exp (- (c * IZR (dist w v)))) (item k) = 1 + (INR k - 1) * exp (- (c * moves k)).
Proof.
  unfold item, moves. destruct (Nat.eqb_spec k 2) as [->|Nk].
  - intros [<-|[<-|[]]]; simpl; rewrite ?Rmult_0_r, ?Ropp_0, ?exp_0; ring.
  - intros Hw. apply in_map_iff in Hw. destruct Hw as (i & <- & Hi). apply in_seq in Hi.
    rewrite fsum_map.
    rewrite (fsum_ext _ (fun j => exp (- (c * 2)) * 1 + (if Nat.eq_dec i j then 1 - exp (- (c * 2)) else 0) * 1)).
    + assert (A : forall (f g : nat -> R) l, fsum (fun j => f j + g j) l = fsum f l + fsum g l).
      { clear. induction l; simpl; lra. }
      rewrite A, (fsum_pick1 Nat.eq_dec i _ (fun _ => 1)); [|apply seq_NoDup|apply in_seq; lia].
      rewrite fsum_scal. assert (C : forall l : list nat, fsum (fun _ => 1) l = INR (length l)).
      { clear. induction l; simpl length; [auto|]. rewrite S_INR. simpl. lra. }
      rewrite C, seq_length. ring.
    + intros j Hj. apply in_seq in Hj. rewrite dist_unit by lia.
      destruct (Nat.eqb_spec i j), (Nat.eq_dec i j); try tauto.
      * rewrite Rmult_0_r, Ropp_0, exp_0. ring.
      * ring.
Qed.

Lemma block_length sizes : length (block sizes) = combinations sizes.
Proof.
  induction sizes as [|k sizes IH]; auto. cbn [block combinations fold_right].
  fold (combinations sizes). rewrite <- (item_length k) at 2. rewrite <- IH. clear.
  induction (item k) as [|w l IH]; simpl; auto. rewrite app_length, map_length, IH. auto.
Qed.

Lemma block_in k sizes x : In x (block (k :: sizes)) ->
  exists w v, In w (item k) /\ In v (block sizes) /\ x = w ++ v.
Proof.
  cbn [block]. intros H. apply in_flat_map in H. destruct H as (w & Hw & H). apply in_map_iff in H.
  destruct H as (v & <- & Hv). eauto.
Qed.

Lemma block_numbers sizes : Forall (vec any (numbers sizes)) (block sizes).
Proof.
  induction sizes as [|k sizes IH]; [repeat constructor|]. apply Forall_forall. intros x Hx.
  apply block_in in Hx. destruct Hx as (w & v & Hw & Hv & ->). split; [|apply Forall_any].
  pose proof (item_width k) as IW. rewrite Forall_forall in IH, IW. rewrite app_length.
  destruct (IH v Hv) as [-> _]. destruct (IW w Hw) as [-> _]. reflexivity.
Qed.

Definition total_moves (sizes : list nat) : R := fold_right (fun k s => moves k + s) 0 sizes.

Lemma block_dist sizes w v : In w (block sizes) -> In v (block sizes) ->
  IZR (dist w v) <= total_moves sizes.
Proof.
  revert w v; induction sizes as [|k sizes IH]; intros x y Hx Hy.
  - destruct Hx as [<-|[]], Hy as [<-|[]]. simpl. lra.
  - apply block_in in Hx, Hy. destruct Hx as (w & v & Hw & Hv & ->), Hy as (w' & v' & Hw' & Hv' & ->).
    pose proof (item_width k) as IW. rewrite Forall_forall in IW.
    rewrite dist_app, plus_IZR by (destruct (IW w Hw) as [-> _], (IW w' Hw') as [-> _]; auto).
    simpl. apply Rplus_le_compat; auto. apply item_dist; auto.
Qed.

Definition near_block (c : R) (sizes : list nat) : R :=
  fold_right (fun k r => (1 + (INR k - 1) * exp (- (c * moves k))) * r) 1 sizes.

Lemma block_near c sizes x : In x (block sizes) ->
  fsum (fun v => exp (- (c * IZR (dist x v)))) (block sizes) = near_block c sizes.
Proof.
  revert x; induction sizes as [|k sizes IH]; intros x Hx.
  - destruct Hx as [<-|[]]. simpl. rewrite Rmult_0_r, Ropp_0, exp_0. lra.
  - apply block_in in Hx. destruct Hx as (w & v & Hw & Hv & ->).
    cbn [near_block fold_right block]. fold (near_block c sizes).
    rewrite <- (item_near c k w Hw), <- (IH v Hv).
    pose proof (item_width k) as IW. rewrite Forall_forall in IW. destruct (IW w Hw) as [Lw _].
    assert (G : forall l, (forall u, In u l -> length u = width k) ->
      fsum (fun u => exp (- (c * IZR (dist (w ++ v) u))))
        (flat_map (fun u => map (fun u' => u ++ u') (block sizes)) l) =
      fsum (fun u => exp (- (c * IZR (dist w u)))) l *
      fsum (fun u => exp (- (c * IZR (dist v u)))) (block sizes)).
    { clear IH IW. induction l as [|u l IH]; intros Hl; simpl; [lra|].
      rewrite fsum_app, IH by (intros; apply Hl; now right). rewrite fsum_map, Rmult_plus_distr_r.
      f_equal. rewrite <- fsum_scal. apply fsum_ext. intros u' _.
      rewrite dist_app, plus_IZR by (rewrite Lw; symmetry; apply Hl; now left).
      rewrite <- exp_plus. f_equal. ring. }
    apply G. intros u Hu. apply IW; auto.
Qed.

(** ** The bound of a block *)
Lemma E_pos c k : 0 < E c k. Proof. apply exp_pos. Qed.
Lemma E_ge1 c k : 0 <= c -> 1 <= E c k.
Proof. intros H. unfold E. destruct (Nat.eqb k 2); [pose proof (exp_ineq1_le c)|pose proof (exp_ineq1_le (2 * c))]; lra. Qed.
Lemma E_moves c k : exp (- (c * moves k)) = / E c k.
Proof. unfold E, moves. rewrite <- exp_Ropp. f_equal. destruct (Nat.eqb k 2); ring. Qed.

Definition far (sizes : list nat) (c : R) : R := fold_right (fun k r => E c k * r) 1 sizes.
Definition spread (sizes : list nat) (c : R) : R := fold_right (fun k r => (E c k + INR k - 1) * r) 1 sizes.

Lemma far_ge1 sizes c : 0 <= c -> 1 <= far sizes c.
Proof. intros H. induction sizes; simpl; [lra|]. pose proof (E_ge1 c a H). fold (far sizes c). nra. Qed.

Lemma far_moves sizes c : exp (- (c * total_moves sizes)) = / far sizes c.
Proof.
  induction sizes as [|k sizes IH]; simpl; [rewrite Rmult_0_r, Ropp_0, exp_0; lra|].
  fold (total_moves sizes) (far sizes c).
  rewrite Rinv_mult, <- IH, <- E_moves, <- exp_plus. f_equal. ring.
Qed.

Lemma near_spread sizes c : near_block c sizes * far sizes c = spread sizes c.
Proof.
  induction sizes as [|k sizes IH]; simpl; [lra|]. fold (near_block c sizes) (far sizes c) (spread sizes c).
  rewrite <- IH, E_moves. pose proof (E_pos c k). field. lra.
Qed.

Lemma spread_ge1 sizes c : 0 <= c -> Forall (fun k => (2 <= k)%nat) sizes -> 1 <= spread sizes c.
Proof.
  intros H. induction 1 as [|k sizes Hk F IH]; simpl; [lra|]. fold (spread sizes c).
  pose proof (E_ge1 c k H). apply le_INR in Hk. simpl in Hk. nra.
Qed.

Theorem block_lets sizes p q c x x' : Forall (fun k => (2 <= k)%nat) sizes -> 0 <= q <= p -> 0 < p -> 0 <= c ->
  (x < combinations sizes)%nat -> (x' < combinations sizes)%nat ->
  lets (numbers sizes) (block_coin sizes p q) c (block_bound sizes p q c) x x'.
Proof.
  intros Hs Hpq Hp Hc Hx Hx'. unfold block_coin.
  pose proof (spread_ge1 sizes c Hc Hs) as S1. pose proof (far_ge1 sizes c Hc) as F1.
  pose proof (near_spread sizes c) as NS.
  set (D := (p - q) + q * spread sizes c).
  assert (HD : 0 < D) by (unfold D; nra).
  assert (EK : block_bound sizes p q c = ((p - q) * far sizes c + q * spread sizes c) / D) by reflexivity.
  assert (In1 : In (nth x (block sizes) []) (block sizes)) by (apply nth_In; rewrite block_length; auto).
  assert (In2 : In (nth x' (block sizes) []) (block sizes)) by (apply nth_In; rewrite block_length; auto).
  apply truth_lets with (D := total_moves sizes); auto; try (rewrite block_length; auto).
  - apply block_numbers.
  - rewrite EK. apply Rmult_le_reg_r with D; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    unfold D. nra.
  - apply block_dist; auto.
  - rewrite block_near by auto. rewrite far_moves, EK.
    assert (X : (q * near_block c sizes + (p - q)) * far sizes c = (p - q) * far sizes c + q * spread sizes c)
      by (rewrite <- NS; ring).
    assert (Y : (q * near_block c sizes + (p - q) * / far sizes c) * far sizes c = D).
    { unfold D. rewrite <- NS. field. lra. }
    rewrite <- X. apply Req_le.
    set (A := q * near_block c sizes + (p - q)) in *. set (Z := q * near_block c sizes + (p - q) * / far sizes c) in *.
    transitivity (A / D * (Z * far sizes c)); [rewrite Y; field; lra|field; lra].
Qed.

(** The coin is a law, whatever the answer. *)
Theorem block_coin_law sizes p q x : prefers_truth p q (combinations sizes) ->
  (x < combinations sizes)%nat -> is_law (vec any (numbers sizes)) (block_coin sizes p q x).
Proof.
  intros (Hpq & _ & H1) Hx. apply code_law.
  - apply block_numbers.
  - intros y _. unfold tell. destruct (Nat.eqb x y); lra.
  - rewrite block_length.
    rewrite (fsum_ext _ (fun y => tell p q x y * 1)) by (intros; ring).
    rewrite (fsum_tell p q x (fun _ => 1)) by auto.
    assert (C : forall l : list nat, fsum (fun _ => 1) l = INR (length l)).
    { clear. induction l; simpl length; [auto|]. rewrite S_INR. simpl. lra. }
    rewrite C, seq_length. unfold combinations in *. lra.
Qed.
