(** * Composition and post-processing, for any discrete laws

    Questions and waves: each may depend on all that was seen before it ([compose_many]); the bounds
    multiply, so the epsilons add. Whatever is computed from what is seen adds nothing
    ([post_processing]), nor does what is independent of the answers ([side_information]). *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws.
Import ListNotations.
Open Scope R_scope.

Theorem post_processing {W T T'} K A (V : W -> T) (h : T -> T') f g :
  dp K A V f g -> dp K A (fun w => h (V w)) f g.
Proof. intros H E. apply (H (fun v => E (h v))). Qed.

(** Bounded test functions of the view instead of events. *)
Lemma dp_test {W T} (eqT : forall u v : T, {u = v} + {u <> v}) K A (V : W -> T) f g (h : T -> R) :
  0 <= K -> dp K A V f g -> summable A f -> summable A g -> (forall v, 0 <= h v <= 1) ->
  Sum A (fun w => f w * h (V w)) <= K * Sum A (fun w => g w * h (V w)).
Proof.
  intros HK H Sf Sg Hh.
  set (S_ := fun q v => Sum (fun w => A w /\ v = V w) q).
  assert (Q : forall q, summable A q -> summable any (fun v => h v * S_ q v) /\
     Sum A (fun w => q w * h (V w)) = Sum any (fun v => h v * S_ q v)).
  { intros q Sq.
    assert (S0 : summable A (fun w => q w * h (V w))).
    { apply (Sum_mono A _ q); auto. intros w Hw. pose proof (proj1 Sq w Hw). specialize (Hh (V w)). nra. }
    destruct (Sum_bij (fun w => (w, V w)) A (fun p => A (fst p) /\ snd p = V (fst p))
      (fun p => q (fst p) * h (snd p))) as [E1 S1]; simpl; auto.
    - intros u v _ _ X. congruence.
    - intros [w v] [Hw Hv]; simpl in *. exists w. subst; auto.
    - apply S1 in S0. destruct (tonelli eqT _ any _ (fun _ _ _ => I) S0) as [S2 E2]; simpl in *.
      assert (X : forall v, Sum (fun w => A w /\ v = V w) (fun w => q w * h v) = h v * S_ q v).
      { intros v. unfold S_. rewrite <- (proj2 (Sum_scal (fun w => A w /\ v = V w) q (h v) (proj1 (Hh v))
          (summable_sub A _ q (fun w X => proj1 X) Sq))). apply Sum_ext; [tauto|intros; ring]. }
      split; [apply (summable_ext _ _ _ (fun v _ => X v) S2)|].
      rewrite <- E1, E2. apply Sum_ext; [tauto|auto]. }
  destruct (Q f Sf) as [Sf' ->]. destruct (Q g Sg) as [Sg' ->].
  destruct (Sum_scal any _ K HK Sg') as [S3 <-]. apply Sum_mono; auto. intros v _.
  split; [apply Sf'; exact I|].
  specialize (H (fun v' => v = v')). simpl in H. fold (S_ f v) (S_ g v) in H. specialize (Hh v). nra.
Qed.

(** Two stages, the second may depend on what was seen in the first. A world is
    (second stage, first stage). *)
Section Compose.
Context {W1 W2 T1 T2 : Type} (eqW1 : forall u v : W1, {u = v} + {u <> v}) (eqT1 : forall u v : T1, {u = v} +
    {u <> v}).
Variables (A1 : W1 -> Prop) (A2 : W2 -> Prop) (V1 : W1 -> T1) (V2 : T1 -> W2 -> T2).
Let A (p : W2 * W1) : Prop := A2 (fst p) /\ A1 (snd p).
Let V (p : W2 * W1) : T2 * T1 := (V2 (V1 (snd p)) (fst p), V1 (snd p)).
Let joint (q1 : W1 -> R) (q2 : T1 -> W2 -> R) (p : W2 * W1) : R := q2 (V1 (snd p)) (fst p) * q1 (snd p).

Lemma joint_Sum q1 q2 (E : T2 * T1 -> Prop) : is_law A1 q1 -> (forall v, is_law A2 (q2 v)) ->
  let h := fun v => Sum (fun w => A2 w /\ E (V2 v w, v)) (q2 v) in
  (forall v, 0 <= h v <= 1) /\ summable (fun p => A p /\ E (V p)) (joint q1 q2) /\
  Sum (fun p => A p /\ E (V p)) (joint q1 q2) = Sum A1 (fun w => q1 w * h (V1 w)).
Proof.
  intros [S1 E1] L2 h.
  assert (SS : forall v, summable (fun w => A2 w /\ E (V2 v w, v)) (q2 v)).
  { intros v. apply summable_sub with A2; [tauto|apply L2]. }
  assert (Hh : forall v, 0 <= h v <= 1).
  { intros v. split; [apply Sum_nonneg, SS|]. rewrite <- (proj2 (L2 v)). apply Sum_least; [apply SS|].
    intros l N F. apply Sum_ub; auto; [apply L2|]. eapply Forall_impl; [|exact F]. simpl; tauto. }
  assert (SL : forall w1, A1 w1 -> summable (fun w2 => A (w2, w1) /\
      E (V (w2, w1))) (fun w2 => joint q1 q2 (w2, w1)) /\
     Sum (fun w2 => A (w2, w1) /\ E (V (w2, w1))) (fun w2 => joint q1 q2 (w2, w1)) = q1 w1 * h (V1 w1)).
  { intros w1 Hw1. unfold A, V, joint; simpl.
    destruct (Sum_scal _ _ (q1 w1) (proj1 S1 w1 Hw1) (SS (V1 w1))) as [X Y]. split.
    - apply summable_ext with (fun w2 => q1 w1 * q2 (V1 w1) w2); [intros; ring|].
      eapply summable_sub; [|exact X]. simpl; tauto.
    - unfold h. rewrite <- Y. apply Sum_ext; [tauto|intros; ring]. }
  assert (S3 : summable A1 (fun w => q1 w * h (V1 w))).
  { apply (Sum_mono A1 _ q1); auto. intros w Hw. pose proof (proj1 S1 w Hw). specialize (Hh (V1 w)). nra. }
  assert (S4 : summable (fun p => A p /\ E (V p)) (joint q1 q2)).
  { apply (tonelli_summable eqW1 _ A1); [unfold A; simpl; tauto|intros; apply SL; auto|].
    eapply summable_ext; [|exact S3]. intros w Hw. symmetry. apply SL; auto. }
  repeat split; try apply Hh; try apply S4.
  destruct (tonelli eqW1 _ A1 _ (fun a b X => proj2 (proj1 X)) S4) as [_ ->].
  apply Sum_ext; [tauto|]. intros w Hw. apply SL; auto.
Qed.

Theorem compose K1 K2 f1 g1 f2 g2 : 0 <= K1 -> 0 <= K2 ->
  is_law A1 f1 -> is_law A1 g1 -> (forall v, is_law A2 (f2 v)) -> (forall v, is_law A2 (g2 v)) ->
  dp K1 A1 V1 f1 g1 -> (forall w, A1 w -> dp K2 A2 (V2 (V1 w)) (f2 (V1 w)) (g2 (V1 w))) ->
  dp (K2 * K1) A V (joint f1 f2) (joint g1 g2).
Proof.
  intros H1 H2 Lf1 Lg1 Lf2 Lg2 D1 D2 E.
  destruct (joint_Sum f1 f2 E Lf1 Lf2) as (Hf & _ & ->).
  destruct (joint_Sum g1 g2 E Lg1 Lg2) as (Hg & _ & ->).
  set (hf := fun v => Sum (fun w => A2 w /\ E (V2 v w, v)) (f2 v)).
  set (hg := fun v => Sum (fun w => A2 w /\ E (V2 v w, v)) (g2 v)).
  change (forall v, 0 <= hf v <= 1) in Hf. change (forall v, 0 <= hg v <= 1) in Hg.
  change (Sum A1 (fun w => f1 w * hf (V1 w)) <= K2 * K1 * Sum A1 (fun w => g1 w * hg (V1 w))).
  assert (S1 : summable A1 (fun w => f1 w * hg (V1 w))).
  { apply (Sum_mono A1 _ f1); [|apply Lf1]. intros w Hw. pose proof (proj1 (proj1 Lf1) w Hw).
    specialize (Hg (V1 w)). nra. }
  apply Rle_trans with (K2 * Sum A1 (fun w => f1 w * hg (V1 w))).
  - destruct (Sum_scal _ _ K2 H2 S1) as [S2 <-]. apply Sum_mono; auto. intros w Hw.
    pose proof (proj1 (proj1 Lf1) w Hw). specialize (Hf (V1 w)).
    assert (X : hf (V1 w) <= K2 * hg (V1 w)) by exact (D2 w Hw (fun u => E (u, V1 w))). nra.
  - rewrite Rmult_assoc. apply Rmult_le_compat_l; auto.
    apply (dp_test eqT1 K1 A1 V1 f1 g1 hg); auto; [apply Lf1|apply Lg1].
Qed.

Lemma joint_law q1 q2 : is_law A1 q1 -> (forall v, is_law A2 (q2 v)) -> is_law A (joint q1 q2).
Proof.
  intros L1 L2. destruct (joint_Sum q1 q2 (fun _ => True) L1 L2) as (_ & S & E). split.
  - eapply summable_sub; [|exact S]. intros p Hp; split; [exact Hp|exact I].
  - rewrite <- Sum_True, E, <- (proj2 L1). apply Sum_ext; [tauto|]. intros w _.
    rewrite Sum_True, (proj2 (L2 (V1 w))). ring.
Qed.
End Compose.

(** m stages, newest first; stage i may depend on all that was seen before it. A i are its worlds. *)
Section Many.
Context {W T : Type} (eqW : forall u v : W, {u = v} + {u <> v}) (eqT : forall u v : T, {u = v} + {u <> v}).
Variables (A : nat -> W -> Prop) (V : list T -> W -> T) (K : nat -> R) (f g : list T -> W -> R).
Fixpoint stages (m : nat) (ws : list W) : Prop :=
  match m, ws with O, [] => True | S m', w :: ws' => A m' w /\ stages m' ws' | _, _ => False end.
Fixpoint views (ws : list W) : list T :=
  match ws with [] => [] | w :: ws' => V (views ws') w :: views ws' end.
Fixpoint history (q : list T -> W -> R) (ws : list W) : R :=
  match ws with [] => 1 | w :: ws' => q (views ws') w * history q ws' end.
Fixpoint prodK (m : nat) : R := match m with O => 1 | S m' => K m' * prodK m' end.
Hypotheses (HK : forall i, 0 <= K i).
Hypotheses (Lf : forall v, is_law (A (length v)) (f v)) (Lg : forall v, is_law (A (length v)) (g v)).
Hypothesis step : forall v, dp (K (length v)) (A (length v)) (V v) (f v) (g v).

Lemma views_length ws : length (views ws) = length ws.
Proof. induction ws; simpl; auto. Qed.
Lemma stages_length m ws : stages m ws -> length ws = m.
Proof. revert ws; induction m; intros [|w ws]; simpl; try tauto. intros [_ H]. f_equal; auto. Qed.

Lemma cons_bij m (E : list W -> Prop) (q : list W -> R) :
  let P := fun p : W * list W => (A m (fst p) /\ stages m (snd p)) /\ E (fst p :: snd p) in
  Sum (fun l => stages (S m) l /\ E l) q = Sum P (fun p => q (fst p :: snd p)) /\
  (summable (fun l => stages (S m) l /\ E l) q <-> summable P (fun p => q (fst p :: snd p))).
Proof.
  apply Sum_bij.
  - intros [a l] [[Ha F] HE]; simpl in *. auto.
  - intros [a l] [a' l'] _ _ Eq; simpl in *; congruence.
  - intros [|a l] [F HE]; [destruct F|]. exists (a, l); simpl in *. tauto.
Qed.

(** Laws of a stage whatever was seen, [t0] standing for what cannot have been. *)
Variable t0 : T.
Let at_stage (m : nat) (v : list T) : list T := if Nat.eqb (length v) m then v else repeat t0 m.
Lemma at_stage_length m v : length (at_stage m v) = m.
Proof. unfold at_stage. destruct (Nat.eqb_spec (length v) m); auto. apply repeat_length. Qed.
Lemma at_stage_seen m ws : stages m ws -> at_stage m (views ws) = views ws.
Proof.
  intros H. unfold at_stage. rewrite views_length, (stages_length m ws H), Nat.eqb_refl. auto.
Qed.
Lemma law_at (q : list T -> W -> R) m : (forall v, is_law (A (length v)) (q v)) ->
  forall v, is_law (A m) (q (at_stage m v)).
Proof. intros H v. rewrite <- (at_stage_length m v) at 1. auto. Qed.

Theorem compose_many m : dp (prodK m) (stages m) views (history f) (history g) /\
  is_law (stages m) (history f) /\ is_law (stages m) (history g) /\ 0 <= prodK m.
Proof.
  induction m as [|m (D & LF & LG & P)].
  - assert (L0 : forall q, (forall w, stages 0 w -> q w = 1) -> is_law (stages 0) q).
    { intros q Hq. destruct (Sum_finite (stages 0) q [[]]) as [S E].
      - repeat constructor. auto.
      - intros [|a l]; simpl; split; auto; try tauto. intros [X|[]]; discriminate.
      - intros w Hw. rewrite Hq; auto; lra.
      - split; auto. rewrite E. simpl. rewrite Hq; [lra|exact I]. }
    assert (X : forall q w, stages 0 w -> history q w = 1) by (intros q [|] L; [auto|destruct L]).
    repeat split; try apply L0; auto; simpl; try lra. intros E. rewrite Rmult_1_l. right.
    apply Sum_ext; [tauto|]. intros w [Hw _]. rewrite !X; auto.
  - assert (LL : forall q, (forall v, is_law (A (length v)) (q v)) -> is_law (stages m) (history q) ->
      is_law (stages (S m)) (history q)).
    { intros q Lq Lh.
      pose proof (joint_law (list_eq_dec eqW) (stages m) (A m) views V (history q)
        (fun v => q (at_stage m v)) Lh (law_at q m Lq)) as [S1 E1].
      assert (S1' : summable (fun p => A m (fst p) /\ stages m (snd p))
          (fun p => history q (fst p :: snd p))).
      { eapply summable_ext; [|exact S1]. intros p [_ Hp]. simpl. rewrite at_stage_seen; auto. }
      destruct (cons_bij m (fun _ => True) (history q)) as [E2 S2]. split.
      - apply summable_sub with (fun l => stages (S m) l /\ True); [tauto|]. apply S2.
        eapply summable_sub; [|exact S1']. intros p Hp; apply Hp.
      - rewrite <- Sum_True, E2, <- E1. apply Sum_ext; [simpl; tauto|].
        intros p [[_ Hp] _]. simpl. rewrite at_stage_seen; auto. }
    repeat split; try apply LL; auto; [|simpl; apply Rmult_le_pos; auto].
    intros E. rewrite !(proj1 (cons_bij m (fun l => E (views l)) _)).
    assert (St : forall w, stages m w ->
        dp (K m) (A m) (V (views w)) (f (at_stage m (views w))) (g (at_stage m (views w)))).
    { intros w Lw. rewrite at_stage_seen by auto.
      rewrite <- (stages_length m w Lw), <- views_length. apply step. }
    pose proof (compose (list_eq_dec eqW) (list_eq_dec eqT) (stages m) (A m) views V (prodK m) (K m)
      (history f) (history g) (fun v => f (at_stage m v)) (fun v => g (at_stage m v))
      P (HK m) LF LG (law_at f m Lf) (law_at g m Lg) D St
      (fun p => E (fst p :: snd p))) as X.
    assert (EQ : forall q, Sum (fun p => (A m (fst p) /\ stages m (snd p)) /\ E (views (fst p :: snd p)))
        (fun p => history q (fst p :: snd p)) =
      Sum (fun p => (A m (fst p) /\ stages m (snd p)) /\ E (views (fst p :: snd p)))
        (fun p => q (at_stage m (views (snd p))) (fst p) * history q (snd p))).
    { intros q. apply Sum_ext; [tauto|]. intros p [[_ Hp] _]. simpl. rewrite at_stage_seen; auto. }
    rewrite !EQ. exact X.
Qed.
End Many.

(** Independent side information may be seen in full. *)
Theorem side_information {W S T} (eqW : forall u v : W, {u = v} + {u <> v})
  (eqT : forall u v : T, {u = v} + {u <> v}) K A (V : W -> T) f g (B : S -> Prop) (q : S -> R) :
  0 <= K -> is_law A f -> is_law A g -> is_law B q -> dp K A V f g ->
  dp K (fun p => B (fst p) /\ A (snd p)) (fun p => (fst p, V (snd p)))
    (fun p => q (fst p) * f (snd p)) (fun p => q (fst p) * g (snd p)).
Proof.
  intros HK Lf Lg Lq D. rewrite <- (Rmult_1_l K).
  apply (compose eqW eqT A B V (fun _ s => s) K 1 f g (fun _ => q) (fun _ => q)); auto; try lra.
  intros w _ E. lra.
Qed.
