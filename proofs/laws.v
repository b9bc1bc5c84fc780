(** * Laws on discrete sets: sums, products, pairs (nothing here is about the mechanism)

    The first section has the definitions that the statements of the theorems use. All that follows
    it is proved from them. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
Set Warnings "-ambiguous-paths".
From Coquelicot Require Import Rbar Lub.      (* only for [Lub_Rbar], the supremum in [-oo,+oo] *)
Import ListNotations.
Open Scope R_scope.

(** ** Definitions.
    [Sum A f] is the sum of the nonnegative f over all w with A w: the supremum of the sums over
    finite lists without repetition. (If there is no finite supremum the value is meaningless;
    [summable] says that there is one, and [is_law] includes it.) *)
Fixpoint fsum {W} (f : W -> R) (l : list W) : R :=
  match l with [] => 0 | w :: l' => f w + fsum f l' end.
Definition partial {W} (A : W -> Prop) (f : W -> R) (s : R) : Prop :=
  exists l, NoDup l /\ Forall A l /\ s = fsum f l.
Definition Sum {W} (A : W -> Prop) (f : W -> R) : R := real (Lub_Rbar (partial A f)).
Definition summable {W} (A : W -> Prop) (f : W -> R) : Prop :=
  (forall w, A w -> 0 <= f w) /\
  exists M, forall l, NoDup l -> Forall A l -> fsum f l <= M.

(** A probability law on the set A; the law proportional to the weights w; no restriction;
    lists of n elements of A; the law of independent draws, one from each law of a list. *)
Definition is_law {W} (A : W -> Prop) (f : W -> R) : Prop := summable A f /\ Sum A f = 1.
Definition normalise {W} (A : W -> Prop) (w : W -> R) : W -> R := fun v => w v / Sum A w.
Definition any {W} : W -> Prop := fun _ => True.
Definition vec {Y} (A : Y -> Prop) (n : nat) (l : list Y) : Prop := length l = n /\ Forall A l.
Fixpoint prodlaw {Y} (fs : list (Y -> R)) (ys : list Y) : R :=
  match fs, ys with
  | [], [] => 1
  | f :: fs', y :: ys' => f y * prodlaw fs' ys'
  | _, _ => 0
  end.

(** A list with entry t changed by f. *)
Fixpoint upd {Y} (t : nat) (f : Y -> Y) (l : list Y) : list Y :=
  match l, t with
  | [], _ => []
  | a :: l', O => f a :: l'
  | a :: l', S t' => a :: upd t' f l'
  end.

(** What is seen of a world w is V w. [dp K A V f g]: whatever event E the adversary looks at, it is
    at most K times as likely under the law f as under the law g. *)
Definition dp {W T} (K : R) (A : W -> Prop) (V : W -> T) (f g : W -> R) : Prop :=
  forall E : T -> Prop, Sum (fun w => A w /\ E (V w)) f <= K * Sum (fun w => A w /\ E (V w)) g.

(** ** Finite and infinite sums *)
Section SumFacts.
Context {W : Type}.
Implicit Types (A : W -> Prop) (f g : W -> R) (l : list W).

Lemma fsum_app f l1 l2 : fsum f (l1 ++ l2) = fsum f l1 + fsum f l2.
Proof. induction l1; simpl; lra. Qed.

Lemma fsum_scal k f l : fsum (fun w => k * f w) l = k * fsum f l.
Proof. induction l; simpl; lra. Qed.

Lemma fsum_le f g l : Forall (fun w => f w <= g w) l -> fsum f l <= fsum g l.
Proof. induction 1; simpl; lra. Qed.

Lemma fsum_pos f l : Forall (fun w => 0 <= f w) l -> 0 <= fsum f l.
Proof. induction 1; simpl; lra. Qed.

Lemma fsum_ext f g l : (forall w, In w l -> f w = g w) -> fsum f l = fsum g l.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.

Lemma fsum_split f p l : fsum f l = fsum f (filter p l) + fsum f (filter (fun w => negb (p w)) l).
Proof. induction l; simpl; [lra|]. destruct (p a); simpl; lra. Qed.

Lemma fsum_incl f l l' : NoDup l -> incl l l' -> Forall (fun w => 0 <= f w) l' ->
  fsum f l <= fsum f l'.
Proof.
  intros N; revert l'; induction N as [|a l Ha N IH]; intros l' I P.
  - apply fsum_pos; auto.
  - destruct (in_split a l') as (u & v & ->); [apply I; now left|].
    rewrite fsum_app; simpl.
    assert (fsum f l <= fsum f (u ++ v)).
    { apply IH.
      - intros b Hb. specialize (I b (or_intror Hb)).
        apply in_app_iff in I. simpl in I. apply in_app_iff.
        destruct I as [|[->|]]; auto. contradiction.
      - rewrite Forall_app in *. destruct P as [P1 P2]; inversion P2; auto. }
    rewrite fsum_app in H. lra.
Qed.

Lemma Sum_lub A f : summable A f -> is_lub (partial A f) (Sum A f).
Proof.
  intros [_ [M HM]]. unfold Sum.
  destruct (Lub_Rbar_correct (partial A f)) as [U L].
  assert (Z0 : partial A f 0) by (exists []; repeat split; constructor).
  assert (UM : is_ub_Rbar (partial A f) (Finite M)) by (intros s (l & N & F & ->); simpl; auto).
  specialize (L _ UM) as LM. specialize (U _ Z0) as U0.
  destruct (Lub_Rbar (partial A f)) as [r| |]; simpl in *; try contradiction.
  split.
  - intros s Hs. exact (U s Hs).
  - intros b Hb. apply (L (Finite b)). intros s Hs. exact (Hb s Hs).
Qed.

Lemma Sum_ub A f l : summable A f -> NoDup l -> Forall A l -> fsum f l <= Sum A f.
Proof. intros S N F. apply (Sum_lub A f S). exists l; auto. Qed.

Lemma Sum_least A f M : (forall w, A w -> 0 <= f w) ->
  (forall l, NoDup l -> Forall A l -> fsum f l <= M) -> summable A f /\ Sum A f <= M.
Proof.
  intros P H. assert (S : summable A f) by (split; eauto).
  split; auto. apply (Sum_lub A f S). intros s (l & N & F & ->); auto.
Qed.

Lemma Sum_nonneg A f : summable A f -> 0 <= Sum A f.
Proof. intros S. apply (Sum_ub A f [] S); constructor. Qed.

Lemma Sum_mono A f g : (forall w, A w -> 0 <= f w <= g w) -> summable A g ->
  summable A f /\ Sum A f <= Sum A g.
Proof.
  intros H S. apply Sum_least; [intros w Hw; apply H; auto|].
  intros l N F. apply Rle_trans with (fsum g l).
  - apply fsum_le. eapply Forall_impl; [|exact F]. intros w Hw; apply H; auto.
  - apply Sum_ub; auto.
Qed.

Lemma Sum_scal A f k : 0 <= k -> summable A f ->
  summable A (fun w => k * f w) /\ Sum A (fun w => k * f w) = k * Sum A f.
Proof.
  intros Hk S.
  assert (P : forall w, A w -> 0 <= k * f w) by (intros; apply Rmult_le_pos; [|apply S]; auto).
  destruct (Sum_least A (fun w => k * f w) (k * Sum A f) P) as [S' L].
  { intros l N F. rewrite fsum_scal. apply Rmult_le_compat_l; auto. apply Sum_ub; auto. }
  split; auto. apply Rle_antisym; auto.
  destruct (Rle_lt_or_eq_dec _ _ Hk) as [K|<-].
  - apply Rmult_le_reg_l with (/ k); [apply Rinv_0_lt_compat; auto|].
    replace (/ k * (k * Sum A f)) with (Sum A f) by (field; lra).
    apply Sum_least; [apply S|]. intros l N F.
    apply Rmult_le_reg_l with k; auto.
    replace (k * (/ k * Sum A (fun w => k * f w))) with (Sum A (fun w => k * f w)) by (field; lra).
    rewrite <- fsum_scal. apply Sum_ub; auto.
  - rewrite Rmult_0_l. apply Sum_nonneg; auto.
Qed.

Lemma summable_sub A A' f : (forall w, A' w -> A w) -> summable A f -> summable A' f.
Proof.
  intros H [P [M HM]]. split; [auto|]. exists M. intros l N F. apply HM; auto.
  eapply Forall_impl; eauto.
Qed.

Lemma Sum_ext A A' f f' : (forall w, A w <-> A' w) -> (forall w, A w -> f w = f' w) ->
  Sum A f = Sum A' f'.
Proof.
  intros HA Hf. unfold Sum. f_equal. apply Lub_Rbar_eqset. intros s.
  split; intros (l & N & F & ->); exists l; repeat split; auto.
  - eapply Forall_impl; [|exact F]. apply HA.
  - apply fsum_ext. rewrite Forall_forall in F. auto.
  - eapply Forall_impl; [|exact F]. apply HA.
  - symmetry. apply fsum_ext. rewrite Forall_forall in F. intros w Hw. apply Hf, HA; auto.
Qed.

Lemma Sum_True A f : Sum (fun w => A w /\ True) f = Sum A f.
Proof. apply Sum_ext; [tauto|auto]. Qed.

Lemma summable_ext A f f' : (forall w, A w -> f w = f' w) -> summable A f -> summable A f'.
Proof.
  intros E [P [M HM]]. split.
  - intros w Hw. rewrite <- E; auto.
  - exists M. intros l N F. rewrite <- (fsum_ext f); auto. rewrite Forall_forall in F; auto.
Qed.

Lemma Sum_finite A f l : NoDup l -> (forall w, A w <-> In w l) -> (forall w, A w -> 0 <= f w) ->
  summable A f /\ Sum A f = fsum f l.
Proof.
  intros N H P.
  assert (F : Forall A l) by (apply Forall_forall; intros; apply H; auto).
  destruct (Sum_least A f (fsum f l) P) as [S L].
  { intros l' N' F'. apply fsum_incl; auto.
    - intros w Hw. apply H. rewrite Forall_forall in F'; auto.
    - eapply Forall_impl; [|exact F]. auto. }
  split; auto. apply Rle_antisym; auto. apply Sum_ub; auto.
Qed.
End SumFacts.

Lemma fsum_map {W W'} (h : W -> W') (f : W' -> R) l :
  fsum f (map h l) = fsum (fun w => f (h w)) l.
Proof. induction l; simpl; congruence. Qed.

Lemma NoDup_app_intro {W} (l l' : list W) :
  NoDup l -> NoDup l' -> (forall w, In w l -> ~ In w l') -> NoDup (l ++ l').
Proof.
  induction 1 as [|a l Ha N IH]; simpl; auto. intros N' D. constructor.
  - rewrite in_app_iff. intros [|]; [contradiction|]. apply (D a); auto.
  - apply IH; auto.
Qed.

(** Change of variables. *)
Lemma partial_bij {W W'} (h : W -> W') (A : W -> Prop) (A' : W' -> Prop) (f : W' -> R) :
  (forall w, A w -> A' (h w)) ->
  (forall u v, A u -> A v -> h u = h v -> u = v) ->
  (forall w', A' w' -> exists w, A w /\ h w = w') ->
  forall s, partial A' f s <-> partial A (fun w => f (h w)) s.
Proof.
  intros H1 H2 H3 s. split; intros (l & N & F & ->).
  - assert (E : exists m, Forall A m /\ map h m = l).
    { clear N. induction F as [|w' l Hw' F (m & Fm & Em)].
      - exists []; auto.
      - destruct (H3 w' Hw') as (w & Hw & <-). exists (w :: m). simpl. split; [auto|congruence]. }
    destruct E as (m & Fm & <-). exists m. repeat split; auto.
    + eapply NoDup_map_inv; eauto.
    + apply fsum_map.
  - exists (map h l). repeat split.
    + clear - N F H2. induction N as [|a l Ha N IH]; simpl; constructor.
      * inversion F; subst. rewrite Forall_forall in *. intros I. apply in_map_iff in I.
        destruct I as (b & E & Hb). apply H2 in E; subst; auto.
      * apply IH. inversion F; auto.
    + apply Forall_map. eapply Forall_impl; [|exact F]. auto.
    + symmetry. apply fsum_map.
Qed.

Lemma Sum_bij {W W'} (h : W -> W') (A : W -> Prop) (A' : W' -> Prop) (f : W' -> R) :
  (forall w, A w -> A' (h w)) ->
  (forall u v, A u -> A v -> h u = h v -> u = v) ->
  (forall w', A' w' -> exists w, A w /\ h w = w') ->
  Sum A' f = Sum A (fun w => f (h w)) /\ (summable A' f <-> summable A (fun w => f (h w))).
Proof.
  intros H1 H2 H3. pose proof (partial_bij h A A' f H1 H2 H3) as E. split.
  - unfold Sum. f_equal. apply Lub_Rbar_eqset, E.
  - split; intros [P [M HM]]; split.
    + auto.
    + exists M. intros l N F. assert (X : partial A (fun w => f (h w)) (fsum (fun w => f (h w)) l)) by
        (exists l; auto).
      apply E in X. destruct X as (l' & N' & F' & ->). auto.
    + intros w' Hw'. destruct (H3 w' Hw') as (w & Hw & <-). auto.
    + exists M. intros l N F. assert (X : partial A' f (fsum f l)) by (exists l; auto).
      apply E in X. destruct X as (l' & N' & F' & ->). auto.
Qed.

(** Tonelli: a sum over pairs is an iterated sum. *)
Section Tonelli.
Context {A B : Type} (eqB : forall b b' : B, {b = b'} + {b <> b'}).
Variables (P : A * B -> Prop) (Q : B -> Prop) (f : A * B -> R).
Hypothesis PQ : forall a b, P (a, b) -> Q b.
Let slice (b : B) : R := Sum (fun a => P (a, b)) (fun a => f (a, b)).

Lemma tonelli_le lb l : (forall b, Q b -> summable (fun a => P (a, b)) (fun a => f (a, b))) ->
  NoDup lb -> Forall Q lb -> NoDup l -> Forall P l -> (forall w, In w l -> In (snd w) lb) ->
  fsum f l <= fsum slice lb.
Proof.
  intros S. revert l; induction lb as [|b lb IH]; intros l Nb Qb Nl Pl I; simpl.
  - destruct l as [|w l]; simpl; [lra|]. destruct (I w); now left.
  - inversion Nb; inversion Qb; subst.
    set (p := fun w : A * B => if eqB (snd w) b then true else false).
    rewrite (fsum_split f p). apply Rplus_le_compat.
    + set (l1 := filter p l).
      assert (E : forall w, In w l1 -> w = (fst w, b)).
      { intros [a b'] Hw. apply filter_In in Hw. unfold p in Hw; simpl in *.
        destruct (eqB b' b); [congruence|destruct Hw; discriminate]. }
      assert (fsum f l1 = fsum (fun a => f (a, b)) (map fst l1)) as ->.
      { rewrite fsum_map. apply fsum_ext. intros w Hw. now rewrite <- (E w Hw). }
      apply Sum_ub; auto.
      * assert (N1 : NoDup l1) by (apply NoDup_filter; auto). clearbody l1. clear - N1 E.
        induction N1 as [|w l1 Hw N IH]; simpl; constructor.
        -- intros X. apply in_map_iff in X. destruct X as (v & Ev & Hv). apply Hw.
           rewrite (E w (or_introl eq_refl)), <- Ev, <- (E v (or_intror Hv)). auto.
        -- apply IH. intros v Hv. apply E. now right.
      * apply Forall_map, Forall_forall. intros w Hw. rewrite <- (E w Hw).
        rewrite Forall_forall in Pl. apply Pl. apply filter_In in Hw. tauto.
    + apply IH; auto.
      * apply NoDup_filter; auto.
      * rewrite Forall_forall in *. intros w Hw. apply Pl. apply filter_In in Hw. tauto.
      * intros w Hw. apply filter_In in Hw. destruct Hw as [Hw Hp].
        destruct (I w Hw) as [->|]; auto. unfold p in Hp.
        destruct (eqB (snd w) (snd w)); [discriminate|tauto].
Qed.

Lemma tonelli_ge lb l : summable P f -> NoDup lb -> Forall Q lb -> NoDup l -> Forall P l ->
  (forall w, In w l -> ~ In (snd w) lb) -> fsum f l + fsum slice lb <= Sum P f.
Proof.
  intros S. revert l; induction lb as [|b lb IH]; intros l Nb Qb Nl Pl I; simpl.
  - pose proof (Sum_ub P f l S Nl Pl). lra.
  - inversion Nb; inversion Qb; subst.
    enough (slice b <= Sum P f - fsum f l - fsum slice lb) by lra.
    apply Sum_least; [intros; now apply S|]. intros l1 N1 F1.
    enough (X : fsum f (map (fun a => (a, b)) l1 ++ l) + fsum slice lb <= Sum P f)
      by (rewrite fsum_app, fsum_map in X; lra).
    apply IH; auto.
    + apply NoDup_app_intro; auto.
      * apply FinFun.Injective_map_NoDup; auto. congruence.
      * intros w Hw Hl. apply in_map_iff in Hw. destruct Hw as (a & <- & _).
        apply (I _ Hl). now left.
    + apply Forall_app; split; auto. apply Forall_map; auto.
    + intros w Hw. apply in_app_iff in Hw. destruct Hw as [Hw|Hw].
      * apply in_map_iff in Hw. destruct Hw as (a & <- & _). auto.
      * intros X. apply (I w Hw). now right.
Qed.

Lemma slice_summable b : summable P f -> summable (fun a => P (a, b)) (fun a => f (a, b)).
Proof.
  intros [Pos [M HM]]. split; [auto|]. exists M. intros l N F.
  rewrite <- (fsum_map (fun a => (a, b))). apply HM.
  - apply FinFun.Injective_map_NoDup; auto. congruence.
  - apply Forall_map; auto.
Qed.

Theorem tonelli : summable P f -> summable Q slice /\ Sum P f = Sum Q slice.
Proof.
  intros S.
  destruct (Sum_least Q slice (Sum P f)) as [S' L].
  { intros b _. apply Sum_nonneg, slice_summable; auto. }
  { intros lb N F. pose proof (tonelli_ge lb [] S N F) as X. simpl in X.
    rewrite Rplus_0_l in X. apply X; auto; constructor. }
  split; auto. apply Rle_antisym; auto.
  apply Sum_least; [apply S|]. intros l N F.
  assert (F' : Forall Q (nodup eqB (map snd l))).
  { apply Forall_forall. intros b Hb. apply nodup_In, in_map_iff in Hb.
    destruct Hb as ([a b'] & <- & Hb). rewrite Forall_forall in F. simpl. eauto. }
  apply Rle_trans with (fsum slice (nodup eqB (map snd l))).
  - apply tonelli_le; auto using NoDup_nodup.
    + intros; apply slice_summable; auto.
    + intros w Hw. apply nodup_In, in_map; auto.
  - apply Sum_ub; auto using NoDup_nodup.
Qed.

Theorem tonelli_summable : (forall b, Q b -> summable (fun a => P (a, b)) (fun a => f (a, b))) ->
  summable Q slice -> summable P f.
Proof.
  intros S S'. apply (Sum_least P f (Sum Q slice)).
  - intros [a b] H. apply (S b); eauto.
  - intros l N F.
    assert (F' : Forall Q (nodup eqB (map snd l))).
    { apply Forall_forall. intros b Hb. apply nodup_In, in_map_iff in Hb.
      destruct Hb as ([a b'] & <- & Hb). rewrite Forall_forall in F. simpl. eauto. }
    apply Rle_trans with (fsum slice (nodup eqB (map snd l))).
    + apply tonelli_le; auto using NoDup_nodup. intros w Hw. apply nodup_In, in_map; auto.
    + apply Sum_ub; auto using NoDup_nodup.
Qed.
End Tonelli.

Lemma Sum_prod {A B} (eqB : forall b b' : B, {b = b'} + {b <> b'})
  (P : A -> Prop) (Q : B -> Prop) (f : A -> R) (g : B -> R) :
  summable P f -> summable Q g ->
  let PQ := fun w => P (fst w) /\ Q (snd w) in
  let fg := fun w => f (fst w) * g (snd w) in
  summable PQ fg /\ Sum PQ fg = Sum P f * Sum Q g.
Proof.
  intros Sf Sg PQ fg.
  assert (SL : forall b, Q b -> summable (fun a => PQ (a, b)) (fun a => fg (a, b)) /\
      Sum (fun a => PQ (a, b)) (fun a => fg (a, b)) = Sum P f * g b).
  { intros b Hb. unfold PQ, fg; simpl.
    destruct (Sum_scal P f (g b)) as [S E]; [apply Sg; auto|auto|].
    rewrite Rmult_comm, <- E. split.
    - destruct S as [X [M HM]]. split.
      + intros w [Hw _]. rewrite Rmult_comm. auto.
      + exists M. intros l N F. rewrite (fsum_ext _ (fun w => g b * f w)) by (intros; apply Rmult_comm).
        apply HM; auto. eapply Forall_impl; [|exact F]. simpl; tauto.
    - apply Sum_ext; [tauto|]. intros; apply Rmult_comm. }
  destruct (Sum_scal Q g (Sum P f)) as [S E]; [apply Sum_nonneg; auto|auto|].
  assert (S2 : summable Q (fun b => Sum (fun a => PQ (a, b)) (fun a => fg (a, b)))).
  { destruct S as [X [M HM]]. split.
    - intros b Hb. rewrite (proj2 (SL b Hb)). auto.
    - exists M. intros l N F.
      rewrite (fsum_ext _ (fun b => Sum P f * g b)); auto.
      intros b Hb. apply SL. rewrite Forall_forall in F; auto. }
  assert (S3 : summable PQ fg).
  { apply (tonelli_summable eqB PQ Q fg); auto.
    - intros a b [_ H]; auto.
    - intros b Hb. apply SL; auto. }
  split; auto.
  destruct (tonelli eqB PQ Q fg) as [_ ->]; auto.
  - intros a b [_ H]; auto.
  - rewrite <- E. apply Sum_ext; [tauto|]. intros b Hb. apply SL; auto.
Qed.

(** Laws *)
Lemma Sum_pos {W} (A : W -> Prop) f v : summable A f -> A v -> 0 < f v -> 0 < Sum A f.
Proof.
  intros S Hv Hf. pose proof (Sum_ub A f [v] S) as X. simpl in X.
  assert (f v + 0 <= Sum A f); [|lra].
  apply X; repeat constructor; auto.
Qed.

Lemma normalise_law {W} (A : W -> Prop) w v :
  summable A w -> A v -> 0 < w v -> is_law A (normalise A w).
Proof.
  intros S Hv Hw. pose proof (Sum_pos A w v S Hv Hw) as P.
  destruct (Sum_scal A w (/ Sum A w)) as [S' E]; [left; apply Rinv_0_lt_compat; auto|auto|].
  assert (X : forall v, normalise A w v = / Sum A w * w v) by (intros; unfold normalise; field; lra).
  split.
  - destruct S' as [Pos [M HM]]. split.
    + intros u Hu. rewrite X. auto.
    + exists M. intros l N F. rewrite (fsum_ext _ (fun w0 => / Sum A w * w w0)); auto.
  - rewrite (Sum_ext A A _ (fun u => / Sum A w * w u)); [|tauto|auto]. rewrite E. field. lra.
Qed.

Lemma prodlaw_Sum {Y} (eqY : forall a b : Y, {a = b} + {a <> b}) (A : Y -> Prop) fs :
  Forall (summable A) fs ->
  summable (vec A (length fs)) (prodlaw fs) /\
  Sum (vec A (length fs)) (prodlaw fs) = fold_right (fun f s => Sum A f * s) 1 fs.
Proof.
  induction 1 as [|f fs Sf F [SS E]].
  - simpl. destruct (Sum_finite (vec A 0) (prodlaw (@nil (Y -> R))) [[]]) as [S E].
    + repeat constructor. auto.
    + intros w. unfold vec. simpl. split.
      * intros [L _]. left. destruct w; [auto|discriminate].
      * intros [<-|[]]. auto.
    + intros w [L _]. destruct w; simpl; [lra|discriminate].
    + split; auto. etransitivity; [exact E|]. simpl; lra.
  - simpl length. simpl fold_right.
    destruct (Sum_prod (list_eq_dec eqY) A (vec A (length fs)) f (prodlaw fs) Sf SS) as [S1 E1].
    destruct (Sum_bij (fun u : Y * list Y => fst u :: snd u)
      (fun u => A (fst u) /\ vec A (length fs) (snd u)) (vec A (S (length fs))) (prodlaw (f :: fs))) as [E2
          S2].
    + intros [a l] [Ha [L Fl]]. split; simpl in *; auto.
    + intros [a l] [a' l'] _ _ E'. simpl in *. congruence.
    + intros l [L Fl]. destruct l as [|a l]; [discriminate|]. exists (a, l). simpl in *.
      inversion Fl; subst. unfold vec. auto.
    + split; [apply S2; exact S1|]. rewrite E2. etransitivity; [exact E1|]. rewrite E. reflexivity.
Qed.

Corollary prodlaw_law {Y} (eqY : forall a b : Y, {a = b} + {a <> b}) (A : Y -> Prop) fs :
  Forall (is_law A) fs -> is_law (vec A (length fs)) (prodlaw fs).
Proof.
  intros F. destruct (prodlaw_Sum eqY A fs) as [S E].
  { eapply Forall_impl; [|exact F]. intros f [S _]; auto. }
  split; auto. rewrite E. clear S E. induction F as [|f fs [_ E] F IH]; simpl; auto. rewrite E, IH. lra.
Qed.

Lemma prod_law {A B} (eqB : forall b b' : B, {b = b'} + {b <> b'}) (P : A -> Prop) (Q : B -> Prop) f g :
  is_law P f -> is_law Q g ->
  is_law (fun w => P (fst w) /\ Q (snd w)) (fun w => f (fst w) * g (snd w)).
Proof.
  intros [Sf Ef] [Sg Eg]. destruct (Sum_prod eqB P Q f g Sf Sg) as [S E]. split; auto. rewrite E, Ef, Eg. lra.
Qed.

(** ** A sum over a set of which only the words of a list count *)
Lemma Sum_support {W} (A : W -> Prop) f l : NoDup l -> Forall A l ->
  (forall w, A w -> 0 <= f w) -> (forall w, A w -> ~ In w l -> f w = 0) ->
  (forall u v : W, {u = v} + {u <> v}) ->
  summable A f /\ Sum A f = fsum f l.
Proof.
  intros N F P Z eqW.
  destruct (Sum_least A f (fsum f l) P) as [S L].
  { intros l' N' F'.
    rewrite (fsum_split f (fun w => if in_dec eqW w l then true else false)).
    assert (E : fsum f (filter (fun w => negb (if in_dec eqW w l then true else false)) l') = 0).
    { clear N'. induction F' as [|w l' Hw F' IH]; simpl; auto.
      destruct (in_dec eqW w l); simpl; auto. rewrite IH, Z; auto. lra. }
    rewrite E, Rplus_0_r. apply fsum_incl.
    - apply NoDup_filter; auto.
    - intros w Hw. apply filter_In in Hw. destruct Hw as [_ Hw].
      destruct (in_dec eqW w l); [auto|discriminate].
    - eapply Forall_impl; [|exact F]. auto. }
  split; auto. apply Rle_antisym; auto. apply Sum_ub; auto.
Qed.

(** ** Lists: changing entry t *)

Section Upd.
Context {Y : Type}.
Implicit Types (l : list Y) (f g : Y -> Y).
Lemma upd_length t f l : length (upd t f l) = length l.
Proof. revert t; induction l; intros [|t]; simpl; auto. Qed.
Lemma upd_upd t f g l : upd t f (upd t g l) = upd t (fun a => f (g a)) l.
Proof. revert t; induction l; intros [|t]; simpl; auto; f_equal; auto. Qed.
Lemma upd_ext t f g l : (forall a, f a = g a) -> upd t f l = upd t g l.
Proof. intros E; revert t; induction l; intros [|t]; simpl; auto; f_equal; auto. Qed.
Lemma upd_id t f l : (forall a, f a = a) -> upd t f l = l.
Proof. intros E; revert t; induction l; intros [|t]; simpl; auto; f_equal; auto. Qed.
Lemma upd_nth_same t f l a : (t < length l)%nat -> nth t (upd t f l) a = f (nth t l a).
Proof. revert t; induction l; intros [|t]; simpl; intros; auto; try lia. apply IHl. lia. Qed.
Lemma upd_nth_other t i f l a : i <> t -> nth i (upd t f l) a = nth i l a.
Proof. revert t i; induction l; intros [|t] [|i] H; simpl; auto; try lia. Qed.
Lemma upd_const_nth t l a : upd t (fun _ => nth t l a) l = l.
Proof. revert t; induction l; intros [|t]; simpl; auto; f_equal; auto. Qed.
Lemma upd_vec t f l (A : Y -> Prop) n : (forall a, A a -> A (f a)) -> vec A n l -> vec A n (upd t f l).
Proof.
  intros H [L F]. split; [now rewrite upd_length|]. clear L. revert t.
  induction F; intros [|t]; simpl; auto.
Qed.
End Upd.

(** The law of person t factors out of a product; the rest does not depend on her. *)
Lemma prodlaw_upd {Y} (A : Y -> Prop) (p0 : Y -> R) t ps ps' ys :
  length ps = length ps' -> (forall i, i <> t -> nth i ps p0 = nth i ps' p0) ->
  (t < length ps)%nat -> length ys = length ps -> Forall A ys ->
  Forall (fun p => forall y, A y -> 0 <= p y) ps ->
  exists C, 0 <= C /\ forall y,
    prodlaw ps  (upd t (fun _ => y) ys) = C * nth t ps  p0 y /\
    prodlaw ps' (upd t (fun _ => y) ys) = C * nth t ps' p0 y.
Proof.
  revert t ps' ys; induction ps as [|p ps IH]; intros t [|p' ps'] [|y1 ys] L Nb Ht Ly FA P;
    simpl in *; try lia; try discriminate.
  inversion P as [|? ? P1 P2]; inversion FA as [|? ? A1 A2]; subst.
  destruct t as [|t].
  - assert (ps = ps') as <-.
    { apply nth_ext with p0 p0; [lia|]. intros i _. apply (Nb (S i)). lia. }
    exists (prodlaw ps ys). split.
    + clear - P2 A2. revert ys A2; induction P2; intros [|y ys] A2; simpl; try lra.
      inversion A2; subst. apply Rmult_le_pos; auto.
    + intros y. simpl. split; ring.
  - assert (p = p') as <- by (apply (Nb O); lia).
    destruct (IH t ps' ys) as (C & HC & E); try lia; auto.
    { intros i Hi. apply (Nb (S i)). lia. }
    exists (p y1 * C). split; [apply Rmult_le_pos; auto|].
    intros y. destruct (E y) as [E1 E2]. simpl. rewrite E1, E2. split; ring.
Qed.

Lemma Forall_repeat {Y} (P : Y -> Prop) y n : P y -> Forall P (repeat y n).
Proof. intros H. induction n; simpl; auto. Qed.

Lemma Forall_any {Y} (l : list Y) : Forall any l.
Proof. apply Forall_forall. intros; exact I. Qed.

Lemma prodlaw_nonneg {Y} (A : Y -> Prop) (fs : list (Y -> R)) l :
  Forall (fun f => forall z, A z -> 0 <= f z) fs -> Forall A l -> 0 <= prodlaw fs l.
Proof.
  intros P. revert l; induction P as [|f fs Pf P IH]; intros [|z l] F; simpl; try lra.
  inversion F; subst. apply Rmult_le_pos; auto.
Qed.
