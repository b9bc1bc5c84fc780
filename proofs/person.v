(** * One person against everything else

    The argument behind every theorem about masks. A world has the outcomes us of everybody's coin
    and the dealer's randomness r. Person t's outcome can be exchanged for another one if the
    dealer's randomness is exchanged with it, so that nothing that is seen changes: [show] turns the
    dealer's randomness into what it looks like from outside, [hide] turns it back for an outcome u.
    What is seen then has the likelihood  sum over u of P(u | answer) * weight (hide u),  and all that
    is left is to compare these sums for two answers ([report]). *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws.
Import ListNotations.
Open Scope R_scope.

Section OnePerson.
Context {U D T : Type}.
Context (eqU : forall a b : U, {a = b} + {a <> b}) (eqD : forall a b : D, {a = b} + {a <> b}).
Variables (o : U) (n t : nat) (B : U -> Prop) (ok : D -> Prop) (w : D -> R).
Variables (show hide : list U -> U -> D -> D) (V : list U -> D -> T) (E : T -> Prop).
Hypotheses (Ht : (t < n)%nat) (Bo : B o).
Hypothesis w_ok : summable ok w.
Hypothesis ok_show : forall us u r, vec B n us -> B u -> ok r -> ok (show us u r).
Hypothesis ok_hide : forall us u r, vec B n us -> B u -> ok r -> ok (hide us u r).
Hypothesis hide_show : forall us u r, vec B n us -> B u -> ok r -> hide us u (show us u r) = r.
Hypothesis show_hide : forall us u r, vec B n us -> B u -> ok r -> show us u (hide us u r) = r.
Hypothesis view : forall us r, vec B n us -> ok r ->
  let us0 := upd t (fun _ => o) us in V us r = V us0 (show us0 (nth t us o) r).

Definition world (v : list U * D) : Prop := vec B n (fst v) /\ ok (snd v).
Definition law (ps : list (U -> R)) (v : list U * D) : R := prodlaw ps (fst v) * w (snd v).
Let Ev (v : list U * D) : Prop := world v /\ E (V (fst v) (snd v)).
Let Obs (v : list U * D) : Prop :=
  (vec B n (fst v) /\ nth t (fst v) o = o) /\ ok (snd v) /\ E (V (fst v) (snd v)).
Let place (u : U) (v : list U * D) := (upd t (fun _ => u) (fst v), hide (fst v) u (snd v)).

Lemma law_summable ps : length ps = n -> Forall (is_law B) ps -> summable world (law ps).
Proof.
  intros L F. destruct (prodlaw_law eqU B ps F) as [Sc _]. rewrite L in Sc.
  apply (Sum_prod eqD (vec B n) ok (prodlaw ps) w); auto.
Qed.

Lemma orbit (f : list U * D -> R) : summable world f ->
  (forall v, Obs v -> summable B (fun u => f (place u v))) /\
  summable Obs (fun v => Sum B (fun u => f (place u v))) /\
  Sum Ev f = Sum Obs (fun v => Sum B (fun u => f (place u v))).
Proof.
  intros Sf.
  assert (SE : summable Ev f) by (apply summable_sub with world; auto; unfold Ev; tauto).
  assert (V0 : forall u us, B u -> vec B n us -> vec B n (upd t (fun _ => u) us)).
  { intros. apply upd_vec; auto. }
  assert (Back : forall us, nth t us o = o -> upd t (fun _ => o) us = us).
  { intros us N0. transitivity (upd t (fun _ => nth t us o) us); [now rewrite N0|apply upd_const_nth]. }
  destruct (Sum_bij (fun p => place (fst p) (snd p)) (fun p => B (fst p) /\ Obs (snd p)) Ev f)
    as [E1 S1].
  - intros [u [us r]] [Hu [[A N0] [O HE]]]; simpl in *. unfold Ev, world, place; simpl.
    repeat split; auto.
    + apply (V0 u us); auto.
    + apply (V0 u us); auto.
    + rewrite view; auto.
      rewrite upd_nth_same by (destruct A; lia). rewrite upd_upd, Back, show_hide; auto.
  - intros [u [us r]] [u' [us' r']] [Hu [[A N0] [O _]]] [Hu' [[A' N0'] [O' _]]] Eq; simpl in *.
    unfold place in Eq; simpl in Eq. injection Eq as Eys Er.
    assert (u = u') as <-.
    { assert (X : nth t (upd t (fun _ => u) us) o = nth t (upd t (fun _ => u') us') o) by congruence.
      rewrite !upd_nth_same in X; auto; [destruct A'; lia|destruct A; lia]. }
    assert (us = us') as <-.
    { rewrite <- (Back us), <- (Back us') by auto.
      rewrite <- (upd_upd t (fun _ => o) (fun _ => u) us), Eys, upd_upd. auto. }
    assert (r = r') as <-; auto.
    rewrite <- (show_hide us u r), Er, show_hide; auto.
  - intros [us r] [[A O] HE]; simpl in *.
    set (us0 := upd t (fun _ => o) us).
    exists (nth t us o, (us0, show us0 (nth t us o) r)). unfold place; simpl.
    assert (Hn : B (nth t us o)).
    { destruct A as [L FA]. rewrite Forall_forall in FA. apply FA, nth_In. lia. }
    assert (A0 : vec B n us0) by (apply V0; auto).
    assert (N0 : nth t us0 o = o) by (unfold us0; rewrite upd_nth_same; auto; destruct A; lia).
    rewrite hide_show by auto.
    replace (upd t (fun _ => nth t us o) us0) with us
      by (unfold us0; rewrite upd_upd; symmetry; apply upd_const_nth).
    repeat split; auto; try apply A0; simpl.
    + apply ok_show; auto.
    + unfold us0. rewrite <- view; auto.
  - apply S1 in SE.
    assert (eqW : forall a b : list U * D, {a = b} + {a <> b}).
    { decide equality. apply list_eq_dec, eqU. }
    assert (X : forall v, Obs v -> Sum (fun u => B u /\ Obs v) (fun u => f (place u v)) =
        Sum B (fun u => f (place u v))) by (intros v Hv; apply Sum_ext; [tauto|auto]).
    destruct (tonelli eqW _ Obs _ (fun u v H => proj2 H) SE) as [S2 E2]. simpl in *. split; [|split].
    + intros v Hv. pose proof (slice_summable _ (fun p => f (place (fst p) (snd p))) v SE) as S3.
      simpl in S3. eapply summable_sub; [|exact S3]. simpl; tauto.
    + eapply summable_ext; [|exact S2]. intros v Hv. simpl. apply X; auto.
    + rewrite E1, E2. apply Sum_ext; [tauto|]. intros v Hv. simpl. apply X; auto.
Qed.

(** Two lists of laws that differ at most at person t. [K] bounds what one report can tell. *)
Variables (ps ps' : list (U -> R)) (K : R).
Hypotheses (HK : 0 <= K) (Lp : length ps = n) (Lp' : length ps' = n).
Hypotheses (Laws : Forall (is_law B) ps) (Laws' : Forall (is_law B) ps').
Let p0 : U -> R := fun _ => 0.
Hypothesis same : forall i, i <> t -> nth i ps p0 = nth i ps' p0.
Hypothesis report : forall us r, vec B n us -> ok r ->
  summable B (fun u => nth t ps  p0 u * w (hide us u r)) ->
  summable B (fun u => nth t ps' p0 u * w (hide us u r)) ->
  Sum B (fun u => nth t ps p0 u * w (hide us u r)) <=
  K * Sum B (fun u => nth t ps' p0 u * w (hide us u r)).

Lemma law_of_t qs : length qs = n -> Forall (is_law B) qs -> is_law B (nth t qs p0).
Proof. intros L F. rewrite Forall_forall in F. apply F, nth_In. lia. Qed.

Lemma slice qs us r : vec B n us -> ok r -> length qs = n -> Forall (is_law B) qs ->
  summable B (fun u => nth t qs p0 u * w (hide us u r)).
Proof.
  intros A O L F. destruct (law_of_t qs L F) as [[Q [M HM]] _]. destruct w_ok as [WP [MW HW]].
  assert (W1 : forall u, B u -> 0 <= w (hide us u r) <= MW).
  { intros u Hu. assert (O' : ok (hide us u r)) by auto. split; [apply WP; auto|].
    assert (X : fsum w [hide us u r] <= MW) by (apply HW; repeat constructor; auto).
    simpl in X. lra. }
  split.
  - intros u Hu. apply Rmult_le_pos; [auto|apply W1; auto].
  - exists (MW * M). intros l N Fl. apply Rle_trans with (fsum (fun u => MW * nth t qs p0 u) l).
    + apply fsum_le. eapply Forall_impl; [|exact Fl]. simpl. intros u Hu. specialize (Q u Hu).
      destruct (W1 u Hu). nra.
    + rewrite fsum_scal. apply Rmult_le_compat_l; [|apply HM; auto].
      apply Rle_trans with (fsum w []); [simpl; lra|apply HW; constructor].
Qed.

(** The others' coins factor out, the same for both lists. *)
Lemma factor us r : vec B n us -> ok r -> exists C, 0 <= C /\
  Sum B (fun u => law ps (place u (us, r))) = C * Sum B (fun u => nth t ps p0 u * w (hide us u r)) /\
  Sum B (fun u => law ps' (place u (us, r))) = C * Sum B (fun u => nth t ps' p0 u * w (hide us u r)).
Proof.
  intros A O. unfold law, place; simpl.
  destruct (prodlaw_upd B p0 t ps ps' us) as (C & HC & EC); auto; try lia.
  { destruct A; lia. } { apply A. }
  { eapply Forall_impl; [|exact Laws]. intros p [[P _] _]; auto. }
  exists C. split; auto.
  assert (X : forall qs, length qs = n -> Forall (is_law B) qs ->
      (forall u, prodlaw qs (upd t (fun _ => u) us) = C * nth t qs p0 u) ->
      Sum B (fun u => prodlaw qs (upd t (fun _ => u) us) * w (hide us u r)) =
      C * Sum B (fun u => nth t qs p0 u * w (hide us u r))).
  { intros qs L F Eq. rewrite <- (proj2 (Sum_scal B _ C HC (slice qs us r A O L F))).
    apply Sum_ext; [tauto|]. intros u _. rewrite Eq. ring. }
  split; apply X; auto; apply EC.
Qed.

Theorem one_person : Sum Ev (law ps) <= K * Sum Ev (law ps').
Proof.
  destruct (orbit (law ps) (law_summable ps Lp Laws)) as (_ & S1 & ->).
  destruct (orbit (law ps') (law_summable ps' Lp' Laws')) as (_ & S2 & ->).
  destruct (Sum_scal Obs _ K HK S2) as [S3 <-].
  apply Sum_mono; auto. intros [us r] [[A N0] [O HE]].
  split; [apply S1; repeat split; auto; apply A|].
  simpl in A, O. destruct (factor us r A O) as (C & HC & -> & ->).
  rewrite <- Rmult_assoc, (Rmult_comm K C), Rmult_assoc. apply Rmult_le_compat_l; auto.
  apply report; auto; apply slice; auto.
Qed.

(** Where only one such exchange lies behind what is seen, the sums over u are all there is. *)
Theorem one_view us r : Obs (us, r) -> (forall v, Obs v -> v = (us, r)) ->
  exists C, 0 <= C /\
  Sum Ev (law ps) = C * Sum B (fun u => nth t ps p0 u * w (hide us u r)) /\
  Sum Ev (law ps') = C * Sum B (fun u => nth t ps' p0 u * w (hide us u r)).
Proof.
  intros H1 H2.
  destruct (orbit (law ps) (law_summable ps Lp Laws)) as (_ & S1 & ->).
  destruct (orbit (law ps') (law_summable ps' Lp' Laws')) as (_ & S2 & ->).
  assert (One : forall f, summable Obs f -> Sum Obs f = f (us, r)).
  { intros f Sf. destruct (Sum_finite Obs f [(us, r)]) as [_ ->].
    - repeat constructor. auto.
    - intros v. simpl. split; [intros Hv; left; symmetry; auto|intros [<-|[]]; auto].
    - apply Sf.
    - simpl. lra. }
  rewrite !One by auto. apply factor; apply H1.
Qed.
End OnePerson.
