(** * Whole surveys: several questions and waves, several dealers, cells, and who knows the cards *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model person masks announcements privacy coins epsilon composition theorems.
Import ListNotations.
Open Scope R_scope.

(** The worlds of one question, and their law. *)
Definition outcome : Type := list (list Z) * (list (list Z) * list Z).
Definition worlds (J n m : nat) (v : outcome) : Prop :=
  vec (vec any J) n (fst v) /\ dealt J n m (snd v).
Definition joint_law_of {X} (coin : X -> list Z -> R) (a b : R) (es : list R) (J n : nat)
  (xs : list X) (v : outcome) : R :=
  prodlaw (map coin xs) (fst v) * dealer a b es J n (snd v).
Definition told (J t : nat) (ask : seen -> asking) (v : outcome) : seen * list Z :=
  full_view J t ask (fst v) (snd v).

Lemma eq_outcome : forall u v : outcome, {u = v} + {u <> v}.
Proof. decide equality; [apply eq_dealt|apply list_eq_dec, eq_zs]. Qed.
Lemma eq_told : forall u v : seen * list Z, {u = v} + {u <> v}.
Proof. unfold seen. repeat decide equality. Qed.

Lemma masked_dp {X} (coin : X -> list Z -> R) a b e es J t ask xs xs' K :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> (forall s, within (ask s) t es [] (fun _ => e)) ->
  Forall (fun x => is_law (vec any J) (coin x)) xs -> Forall (fun x => is_law (vec any J) (coin x)) xs' ->
  neighbours t xs xs' -> (t < length xs)%nat -> 0 <= K ->
  (forall x x', nth_error xs t = Some x -> nth_error xs' t = Some x' -> lets J coin (a + b + e) K x x') ->
  dp K (worlds J (length xs) (length es)) (told J t ask)
    (joint_law_of coin a b es J (length xs) xs) (joint_law_of coin a b es J (length xs) xs').
Proof.
  intros Ha Hb He W L L' Nb Ht HK Hl E.
  pose proof (masked coin a b e es J t ask xs xs' Ha Hb He W L L' Nb Ht K HK Hl E) as M.
  unfold Pr in M. rewrite <- (proj1 Nb) in M. exact M.
Qed.

(** ** Several questions and waves.
    Stage i may depend on all that was seen in the stages before it: who is asked, what they answer,
    which sums are asked for. t i is person t's place in stage i. *)
Section Questions.
Context {X : Type} (coin : nat -> X -> list Z -> R) (a b e K : nat -> R) (es : nat -> list R).
Context (J n t : nat -> nat) (ask : list (seen * list Z) -> seen -> asking).
Context (xs xs' : list (seen * list Z) -> list X).
Hypotheses (Ha : forall i, 0 < a i) (Hb : forall i, 0 <= b i) (HK : forall i, 0 <= K i).
Hypothesis He : forall i, Forall (fun e => 0 < e) (es i).
Hypothesis budget : forall v s, within (ask v s) (t (length v)) (es (length v)) [] (fun _ => e (length v)).
Hypothesis Laws : forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (xs v).
Hypothesis Laws' : forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (xs' v).
Hypothesis People : forall v, length (xs v) = n (length v) /\ (t (length v) < n (length v))%nat.
Hypothesis Nb : forall v, neighbours (t (length v)) (xs v) (xs' v).
Hypothesis Let : forall v x x', let i := length v in
  nth_error (xs v) (t i) = Some x -> nth_error (xs' v) (t i) = Some x' ->
  lets (J i) (coin i) (a i + b i + e i) (K i) x x'.

Theorem several_questions m :
  let law ys := history (fun v : list (seen * list Z) => told (J (length v)) (t (length v)) (ask v))
    (fun v : list (seen * list Z) => let i := length v in joint_law_of (coin i) (a i) (b i) (es i) (J i) (n i) (ys v)) in
  dp (prodK K m) (stages (fun i => worlds (J i) (n i) (length (es i))) m)
    (views (fun v : list (seen * list Z) => told (J (length v)) (t (length v)) (ask v))) (law xs) (law xs').
Proof.
  intros law.
  assert (LL : forall ys : list (seen * list Z) -> list X, (forall v, length (ys v) = n (length v)) ->
      (forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (ys v)) ->
      forall v, is_law (worlds (J (length v)) (n (length v)) (length (es (length v))))
        (joint_law_of (coin (length v)) (a (length v)) (b (length v)) (es (length v)) (J (length v))
          (n (length v)) (ys v))).
  { intros ys Ly Fy v. rewrite <- (Ly v). apply world_law; auto. }
  apply (compose_many eq_outcome eq_told (fun i => worlds (J i) (n i) (length (es i)))
    (fun v => told (J (length v)) (t (length v)) (ask v)) K
    (fun v => joint_law_of (coin (length v)) (a (length v)) (b (length v)) (es (length v)) (J (length v))
          (n (length v)) (xs v))
    (fun v => joint_law_of (coin (length v)) (a (length v)) (b (length v)) (es (length v)) (J (length v))
          (n (length v)) (xs' v))); auto.
  - apply LL; auto. intros v. apply People.
  - apply LL; auto. intros v. rewrite <- (proj1 (Nb v)). apply People.
  - intros v. destruct (People v) as [Ln Ht]. rewrite <- Ln. apply masked_dp with (e := e (length v)); auto.
    + rewrite Ln. auto.
  - exact ((([] , []), []) : seen * list Z).
Qed.
End Questions.

(** If K i = e^(eps i), the epsilons add. *)
Lemma epsilons_add (eps : nat -> R) m :
  prodK (fun i => exp (eps i)) m = exp (fold_right (fun i s => eps i + s) 0 (rev (seq 0 m))).
Proof.
  induction m as [|m IH]; [simpl; symmetry; apply exp_0|].
  rewrite seq_S, rev_app_distr. simpl. rewrite IH, exp_plus. auto.
Qed.

(** ** Several dealers.
    Everybody adds the cards of all dealers. One dealer keeps her cards to herself; the others draw
    what they like, s, from any law, and the adversary knows all of s. *)
Fixpoint plus_all (rs zss : list (list Z)) : list (list Z) :=
  match rs, zss with r :: rs', zs :: zss' => plus r zs :: plus_all rs' zss' | _, _ => [] end.

Theorem several_dealers {X S} (eqS : forall u v : S, {u = v} + {u <> v})
  (coin : X -> list Z -> R) a b e es J t (ask : S -> seen -> asking) xs xs' K
  (B : S -> Prop) (q : S -> R) (dealt_by_others : S -> list (list Z)) :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> (forall o s, within (ask o s) t es [] (fun _ => e)) ->
  Forall (fun x => is_law (vec any J) (coin x)) xs -> Forall (fun x => is_law (vec any J) (coin x)) xs' ->
  neighbours t xs xs' -> (t < length xs)%nat -> 0 <= K -> is_law B q ->
  (forall x x', nth_error xs t = Some x -> nth_error xs' t = Some x' -> lets J coin (a + b + e) K x x') ->
  let seen_with o (v : outcome) := let s := told J t (ask o) v in
    (plus_all (fst (fst s)) (dealt_by_others o), s, o) in       (* the reports that are sent *)
  dp K (fun p => worlds J (length xs) (length es) (fst p) /\ B (snd p))
    (fun p => seen_with (snd p) (fst p))
    (fun p => joint_law_of coin a b es J (length xs) xs (fst p) * q (snd p))
    (fun p => joint_law_of coin a b es J (length xs) xs' (fst p) * q (snd p)).
Proof.
  intros Ha Hb He W L L' Nb Ht HK Lq Hl seen_with.
  assert (LL : forall ys, length ys = length xs -> Forall (fun x => is_law (vec any J) (coin x)) ys ->
      is_law (worlds J (length xs) (length es)) (joint_law_of coin a b es J (length xs) ys)).
  { intros ys Ly Fy. rewrite <- Ly. apply world_law; auto. }
  assert (D : dp (K * 1) (fun p : outcome * S => worlds J (length xs) (length es) (fst p) /\ B (snd p))
      (fun p => (told J t (ask (snd p)) (fst p), snd p))
      (fun p => joint_law_of coin a b es J (length xs) xs (fst p) * q (snd p))
      (fun p => joint_law_of coin a b es J (length xs) xs' (fst p) * q (snd p))).
  { apply (compose eqS eqS B (worlds J (length xs) (length es)) (fun o => o)
      (fun o => told J t (ask o)) 1 K q q
      (fun _ => joint_law_of coin a b es J (length xs) xs)
      (fun _ => joint_law_of coin a b es J (length xs) xs')); auto; try lra.
    - intros _. apply LL; auto. symmetry. apply Nb.
    - intros E. lra.
    - intros o _. apply masked_dp with (e := e); auto. }
  rewrite Rmult_1_r in D. intros E.
  exact (D (fun w => E (plus_all (fst (fst (fst w))) (dealt_by_others (snd w)), fst w, snd w))).
Qed.

(** ** Who knows all cards: the dealer, also together with everybody else.
    Everything is seen, also what every coin said. *)
Theorem dealer_sees {X} (coin : X -> list Z -> R) a b es J t xs xs' K :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  Forall (fun x => is_law (vec any J) (coin x)) xs -> Forall (fun x => is_law (vec any J) (coin x)) xs' ->
  neighbours t xs xs' -> (t < length xs)%nat -> 0 <= K ->
  (forall x x' u, nth_error xs t = Some x -> nth_error xs' t = Some x' -> vec any J u ->
    coin x u <= K * coin x' u) ->
  dp K (worlds J (length xs) (length es)) (fun v => v)
    (joint_law_of coin a b es J (length xs) xs) (joint_law_of coin a b es J (length xs) xs').
Proof.
  intros Ha Hb He L L' Nb Ht HK Hc E.
  set (n := length xs) in *. set (o := repeat 0%Z J).
  assert (Lw : is_law (worlds J n (length es)) (joint_law_of coin a b es J n xs')).
  { unfold n. rewrite (proj1 Nb). apply world_law; auto. }
  assert (S : summable (fun v => worlds J n (length es) v /\ E v) (joint_law_of coin a b es J n xs')).
  { eapply summable_sub; [|apply Lw]. tauto. }
  destruct (Sum_scal _ _ K HK S) as [S' <-]. apply Sum_mono; auto.
  intros [us r] [[[Lu Fu] Hr] _]; simpl in *.
  destruct (prodlaw_upd (vec any J) (fun _ => 0) t (map coin xs) (map coin xs') us)
    as (C & HC & EC); auto.
  - rewrite !map_length. apply Nb.
  - intros i Hi. rewrite !nth_map, (proj2 Nb); auto.
  - rewrite map_length; auto.
  - rewrite map_length; auto.
  - apply Forall_map. eapply Forall_impl; [|exact L]. intros x [[P _] _]; auto.
  - destruct (EC (nth t us o)) as [E1 E2]. rewrite upd_const_nth in E1, E2. unfold joint_law_of; simpl.
    rewrite E1, E2, !nth_map.
    destruct (nth_error xs t) as [x|] eqn:Ex; [|apply nth_error_None in Ex; unfold n in *; lia].
    destruct (nth_error xs' t) as [x'|] eqn:Ex'.
    2:{ apply nth_error_None in Ex'. rewrite <- (proj1 Nb) in Ex'. unfold n in *; lia. }
    assert (Bu : vec any J (nth t us o)).
    { rewrite Forall_forall in Fu. apply Fu, nth_In. lia. }
    specialize (Hc x x' (nth t us o) eq_refl eq_refl Bu).
    assert (D0 : 0 <= dealer a b es J n r) by (apply (dealer_law a b es J n); auto).
    assert (P : 0 <= coin x (nth t us o)).
    { rewrite Forall_forall in L. apply (L x); auto. apply nth_error_In with t; auto. }
    split.
    + apply Rmult_le_pos; auto. apply Rmult_le_pos; auto.
    + rewrite <- !Rmult_assoc. apply Rmult_le_compat_r; auto.
      rewrite (Rmult_comm K C), !Rmult_assoc. apply Rmult_le_compat_l; auto.
Qed.

(** A block's coin: p / q. *)
Lemma block_dealer sizes p q x x' u : 0 < q <= p ->
  block_coin sizes p q x u <= p / q * block_coin sizes p q x' u.
Proof.
  intros H. unfold block_coin, code. rewrite <- fsum_scal. apply fsum_le, Forall_forall. intros y _.
  assert (1 <= p / q).
  { apply Rmult_le_reg_r with q; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (p / q * q = p) by (field; lra).
  destruct (eq_zs _ u); [|lra]. unfold tell. destruct (Nat.eqb x y), (Nat.eqb x' y); nra.
Qed.

(** ** Cells.
    Announcement number k tells, for every number j < J and every cell l < L, the sum of the cards of
    the people in cell l. Who is in which cell ([cell], from person to cell) is chosen once all earlier
    announcements are known. Every person is in at most one cell: the announcement costs its rate once,
    however many cells there are. *)
Section Cells.
Context (J L : nat) (cell : list Z -> nat -> nat) (t : nat).
(** What is asked for when i sums of this announcement have been told: number i / L, cell i mod L. *)
Definition ask_cells (past : list Z) : nat * (nat -> bool) :=
  let i := Nat.modulo (length past) (J * L) in
  (Nat.div i L, fun person => Nat.eqb (cell (skipn i past) person) (Nat.modulo i L)).
(** One announcement after another, with the rates of [rates]. *)
Definition cell_rates (rates : list R) : list R := flat_map (fun e => repeat e (J * L)) rates.

Hypotheses (HJ : (0 < J)%nat) (HL : (0 < L)%nat).

Lemma within_monotone ask es : forall past left left', (forall j, left j <= left' j) ->
  within ask t es past left -> within ask t es past left'.
Proof.
  induction es as [|e es IH]; intros past left left' H W; simpl in *.
  - intros j. specialize (H j); specialize (W j). lra.
  - destruct (ask past) as [j G]. intros s. apply IH with (2 := W s). intros i. specialize (H i).
    destruct (G t); auto. destruct (Nat.eqb i j); lra.
Qed.

(** Within an announcement: i sums are told, her cell is c0; the numbers whose sum with her card is
    still to come have e more left than the others. *)
Lemma one_announcement e rest es' start c0 : 0 <= e -> (length start mod (J * L) = 0)%nat ->
  cell start t = c0 ->
  (forall past, (length past mod (J * L) = 0)%nat -> within ask_cells t es' past (fun _ => rest)) ->
  forall m i past, (i + m = J * L)%nat -> length past = (i + length start)%nat -> skipn i past = start ->
  within ask_cells t (repeat e m ++ es') past
    (fun j => rest + (if Nat.leb i (j * L + c0) then e else 0)).
Proof.
  intros He Hs Hc Hrest. induction m as [|m IH]; intros i past Him Lp Sk.
  - simpl. apply within_monotone with (fun _ => rest).
    + intros j. destruct (Nat.leb i (j * L + c0)); lra.
    + apply Hrest. rewrite Lp. replace i with (J * L)%nat by lia.
      rewrite Nat.add_mod, Nat.mod_same, Hs by nia. simpl. apply Nat.mod_0_l. nia.
  - simpl. unfold ask_cells at 1.
    assert (Li : (length past mod (J * L) = i)%nat).
    { rewrite Lp, Nat.add_mod, Hs, Nat.add_0_r by nia. rewrite Nat.mod_mod by nia.
      apply Nat.mod_small. lia. }
    rewrite Li, Sk, Hc. intros s.
    apply within_monotone with (fun j => rest + (if Nat.leb (S i) (j * L + c0) then e else 0)).
    2:{ apply IH; [lia|simpl; lia|exact Sk]. }
    intros j. pose proof (Nat.div_mod i L ltac:(lia)) as DM. pose proof (Nat.mod_upper_bound i L ltac:(lia)) as MB.
    set (d := (i / L)%nat) in *. set (r := (i mod L)%nat) in *. clearbody d r.
    destruct (Nat.eqb_spec c0 r) as [E1|E1].
    + destruct (Nat.eqb_spec j d) as [E2|E2].
      * rewrite E1, E2. destruct (Nat.leb_spec i (d * L + r)), (Nat.leb_spec (S i) (d * L + r)); try lra; nia.
      * destruct (Nat.leb_spec i (j * L + c0)), (Nat.leb_spec (S i) (j * L + c0)); try lra; nia.
    + destruct (Nat.leb_spec i (j * L + c0)), (Nat.leb_spec (S i) (j * L + c0)); try lra; nia.
Qed.

Theorem cells_cost_once rates : Forall (fun e => 0 < e) rates -> forall past,
  (length past mod (J * L) = 0)%nat ->
  within ask_cells t (cell_rates rates) past (fun _ => total rates).
Proof.
  induction 1 as [|e rates He F IH]; intros past Lp; simpl.
  - intros _. lra.
  - apply within_monotone with (fun j => total rates + (if Nat.leb 0 (j * L + cell past t) then e else 0)).
    + intros j. simpl. lra.
    + apply (one_announcement e (total rates) (cell_rates rates) past (cell past t)); auto; lra.
Qed.
End Cells.

(** Yes or no: K announcements of cells, c = a + the sum of all e_k. *)
Corollary announced_cells a rates L cell d t xs xs' : 0 < a -> Forall (fun e => 0 < e) rates -> 0 <= d ->
  (0 < L)%nat -> neighbours t xs xs' -> (t < length xs)%nat -> forall E,
  let ask s := ask_cells 1 L (cell s) in let es := cell_rates 1 L rates in
  Pr (yes_no d) a 0 es 1 t ask xs E <=
  exp (eps (a + total rates) d) * Pr (yes_no d) a 0 es 1 t ask xs' E.
Proof.
  intros Ha He Hd HL Nb Ht E ask es. replace (a + total rates) with (a + 0 + total rates) by ring.
  assert (T0 : 0 <= total rates) by (clear - He; induction He; simpl; lra).
  apply yes_no_private; auto; try lra.
  - unfold es, cell_rates. apply Forall_forall. intros x Hx. apply in_flat_map in Hx.
    destruct Hx as (e & Hi & Hr). apply repeat_spec in Hr. subst. rewrite Forall_forall in He. auto.
  - intros s. apply cells_cost_once; auto. simpl. rewrite Nat.add_0_r. apply Nat.mod_0_l. lia.
Qed.
