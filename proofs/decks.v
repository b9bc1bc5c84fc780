(** * Cards that lean a coin: what a collector and some people whose cards it knows learn (JRR, DRR)

    A deck of cards is shuffled and dealt, one card to each person. The report of person t has the
    law chan c x, given her card c and her answer x. The adversary sees this report and the cards
    of all people of G. What counts is a belief about her card ([cards_view]): of each kind c, of
    which the deck has d, it lies between max(0, d - M) / (N - M) and d / (N - M) and is at most 1,
    M being the number of people of G and N that of cards. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith Permutation FinFun.
From JRR Require Import laws.
Import ListNotations.
Open Scope R_scope.

Lemma Sum_plus {W} (eqW : forall u v : W, {u = v} + {u <> v}) (A : W -> Prop) f g :
  summable A f -> summable A g ->
  summable A (fun w => f w + g w) /\ Sum A (fun w => f w + g w) = Sum A f + Sum A g.
Proof.
  intros Sf Sg.
  assert (add : forall l, fsum (fun w => f w + g w) l = fsum f l + fsum g l).
  { induction l; simpl; lra. }
  destruct (Sum_least A (fun w => f w + g w) (Sum A f + Sum A g)) as [S L].
  - intros w Hw. pose proof (proj1 Sf w Hw). pose proof (proj1 Sg w Hw). lra.
  - intros l N F. rewrite add. pose proof (Sum_ub A f l Sf N F). pose proof (Sum_ub A g l Sg N F). lra.
  - split; auto. apply Rle_antisym; auto.
    assert (both : forall l l', NoDup l -> Forall A l -> NoDup l' -> Forall A l' ->
      fsum f l + fsum g l' <= Sum A (fun w => f w + g w)).
    { intros l l' N F N' F'. set (u := nodup eqW (l ++ l')).
      assert (Fu : Forall A u).
      { apply Forall_forall. intros w Hw. apply nodup_In, in_app_iff in Hw.
        rewrite Forall_forall in F, F'. destruct Hw; auto. }
      assert (P : forall h, summable A h -> Forall (fun w => 0 <= h w) u).
      { intros h Sh. eapply Forall_impl; [|exact Fu]. apply Sh. }
      assert (fsum f l <= fsum f u).
      { apply fsum_incl; auto. intros w Hw. apply nodup_In, in_app_iff. auto. }
      assert (fsum g l' <= fsum g u).
      { apply fsum_incl; auto. intros w Hw. apply nodup_In, in_app_iff. auto. }
      assert (Nu : NoDup u) by apply NoDup_nodup.
      pose proof (Sum_ub A _ u S Nu Fu) as U. rewrite add in U. lra. }
    assert (one : forall l, NoDup l -> Forall A l -> fsum f l <= Sum A (fun w => f w + g w) - Sum A g).
    { intros l N F. assert (Sum A g <= Sum A (fun w => f w + g w) - fsum f l); [|lra].
      apply (proj2 (Sum_lub A g Sg)). intros s (l' & N' & F' & ->).
      specialize (both l l' N F N' F'). lra. }
    assert (Sum A f <= Sum A (fun w => f w + g w) - Sum A g); [|lra].
    apply (proj2 (Sum_lub A f Sf)). intros s (l & N & F & ->). auto.
Qed.

(** A finite sum of sums. *)
Lemma Sum_fsum {W I} (eqW : forall u v : W, {u = v} + {u <> v}) (A : W -> Prop) (f : I -> W -> R) l :
  summable A (fun _ => 0) -> (forall i, In i l -> summable A (f i)) ->
  summable A (fun w => fsum (fun i => f i w) l) /\
  Sum A (fun w => fsum (fun i => f i w) l) = fsum (fun i => Sum A (f i)) l.
Proof.
  intros S0; induction l as [|i l IH]; intros H; simpl.
  - split; auto. destruct (Sum_scal A (fun _ => 0) 0 (Rle_refl 0) S0) as [_ E].
    transitivity (Sum A (fun _ => 0 * 0)); [apply Sum_ext; [tauto|intros; lra]|].
    etransitivity; [exact E|ring].
  - destruct IH as [S E]; [intros; apply H; right; auto|].
    destruct (Sum_plus eqW A (f i) (fun w => fsum (fun i => f i w) l)) as [S' E']; auto.
    { apply H. left; auto. }
    rewrite E', E. auto.
Qed.

Lemma fsum_perm {W} (f : W -> R) l l' : Permutation l l' -> fsum f l = fsum f l'.
Proof. induction 1; simpl; lra. Qed.

Lemma fsum_const {W} (k : R) (l : list W) : fsum (fun _ => k) l = INR (length l) * k.
Proof. induction l; [simpl; lra|]. cbn [length fsum]. rewrite IHl, S_INR. lra. Qed.

Lemma fsum_most {W} (f : W -> R) l w : (forall v, 0 <= f v) -> In w l -> f w <= fsum f l.
Proof.
  intros P. induction l as [|v l IH]; [intros []|]. intros [->|H]; simpl.
  - assert (0 <= fsum f l) by (apply fsum_pos, Forall_forall; auto). lra.
  - specialize (IH H). specialize (P v). lra.
Qed.

Section Decks.
Context {C X Y : Type} (eqC : forall a b : C, {a = b} + {a <> b}) (eqY : forall a b : Y, {a = b} + {a <> b}).
Context (deck kinds : list C) (d : C) (G : nat -> bool) (t : nat) (reports : list Y).
Context (chan : C -> X -> Y -> R).
Let N := length deck.
Hypotheses (Kinds : NoDup kinds) (Deck : incl deck kinds) (Ht : (t < N)%nat) (Gt : G t = false).
Hypotheses (Reports : NoDup reports) (Chan : forall c x y, 0 <= chan c x y).

(** What is dealt, what is seen of it, and how many cards of a kind there are. *)
Definition is_dealt (zs : list C) : Prop := Permutation deck zs.
Definition shown (zs : list C) : list (option C) :=
  map (fun i => if G i then Some (nth i zs d) else None) (seq 0 N).
Definition unknown : list nat := filter (fun i => negb (G i)) (seq 0 N).
Definition is (c z : C) : R := if eqC z c then 1 else 0.
Definition many (c : C) : R := fsum (is c) deck.

(** Every order has the same chance. *)
Definition shuffled : list C -> R := normalise is_dealt (fun _ => 1).
Definition told_law (x : X) (w : list C * Y) : R := shuffled (fst w) * chan (nth t (fst w) d) x (snd w).

Definition belief (b : C -> R) : Prop :=
  fsum b kinds = 1 /\
  forall c, 0 <= b c /\ many c - (INR N - INR (length unknown)) <= INR (length unknown) * b c <= many c.
Definition mixed (b : C -> R) (x : X) (y : Y) : R := fsum (fun c => b c * chan c x y) kinds.

Let eqZ := list_eq_dec eqC.

Lemma dealt_length zs : is_dealt zs -> length zs = N.
Proof. intros H. symmetry. apply Permutation_length. auto. Qed.

Lemma orders : summable is_dealt (fun _ => 1).
Proof.
  destruct (prodlaw_Sum eqC (fun c => In c kinds) (repeat (fun _ => 1) N)) as [S _].
  { apply Forall_forall. intros f Hf. apply repeat_spec in Hf. subst.
    apply (Sum_finite _ _ kinds); auto; intros; try lra; tauto. }
  rewrite repeat_length in S.
  apply (summable_sub _ is_dealt) in S.
  - eapply summable_ext; [|exact S]. intros zs Hz. simpl.
    rewrite <- (dealt_length zs Hz). clear. induction zs; simpl; auto. rewrite IHzs. lra.
  - intros zs Hz. split; [apply dealt_length; auto|]. apply Forall_forall. intros c Hc. apply Deck.
    apply Permutation_sym in Hz. apply (Permutation_in c Hz Hc).
Qed.

(** Two people of whom no card is known change cards. *)
Definition other (i k : nat) : nat := if Nat.eqb k i then t else if Nat.eqb k t then i else k.
Definition swap (i : nat) (zs : list C) : list C := map (fun k => nth (other i k) zs d) (seq 0 N).

Lemma other_other i k : other i (other i k) = k.
Proof.
  unfold other. destruct (Nat.eqb_spec k i) as [->|H].
  - destruct (Nat.eqb_spec t i) as [->|]; auto. rewrite Nat.eqb_refl. auto.
  - destruct (Nat.eqb_spec k t) as [->|H'].
    + rewrite Nat.eqb_refl. auto.
    + rewrite (proj2 (Nat.eqb_neq k i)), (proj2 (Nat.eqb_neq k t)); auto.
Qed.

Lemma other_less i k : (i < N)%nat -> (k < N)%nat -> (other i k < N)%nat.
Proof. intros. unfold other. destruct (Nat.eqb k i), (Nat.eqb k t); auto. Qed.

Lemma nth_seq_map {Z} (f : nat -> Z) k z : (k < N)%nat -> nth k (map f (seq 0 N)) z = f k.
Proof.
  intros H. rewrite (nth_indep _ z (f O)) by (rewrite map_length, seq_length; auto).
  rewrite map_nth, seq_nth; auto.
Qed.

Lemma nth_swap i k zs : (k < N)%nat -> nth k (swap i zs) d = nth (other i k) zs d.
Proof. intros H. unfold swap. rewrite nth_seq_map; auto. Qed.

Lemma list_of_nth zs : length zs = N -> map (fun k => nth k zs d) (seq 0 N) = zs.
Proof.
  intros L. apply (nth_ext _ _ d d); [rewrite map_length, seq_length; auto|].
  intros k Hk. rewrite map_length, seq_length in Hk. apply (nth_seq_map (fun k => nth k zs d)); auto.
Qed.

Lemma swap_dealt i zs : (i < N)%nat -> is_dealt zs -> is_dealt (swap i zs).
Proof.
  intros Hi Hz. unfold is_dealt. apply Permutation_trans with zs; auto.
  rewrite <- (list_of_nth zs (dealt_length zs Hz)) at 1. unfold swap.
  rewrite <- (map_map (other i) (fun k => nth k zs d)). apply Permutation_map.
  apply NoDup_Permutation; [apply seq_NoDup| |].
  - apply Injective_map_NoDup; [|apply seq_NoDup]. intros u v H.
    rewrite <- (other_other i u), H, other_other. auto.
  - intros k. rewrite in_map_iff. split.
    + intros Hk. apply in_seq in Hk. exists (other i k). split; [apply other_other|].
      apply in_seq. split; [lia|]. simpl. apply other_less; auto. lia.
    + intros (u & <- & Hu). apply in_seq in Hu. apply in_seq. split; [lia|]. simpl.
      apply other_less; auto. lia.
Qed.

Lemma swap_swap i zs : (i < N)%nat -> length zs = N -> swap i (swap i zs) = zs.
Proof.
  intros Hi L. rewrite <- (list_of_nth zs L) at 2. apply map_ext_in. intros k Hk.
  apply in_seq in Hk. rewrite nth_swap, other_other; auto. apply other_less; auto. lia.
Qed.

Lemma swap_shown i zs : (i < N)%nat -> G i = false -> shown (swap i zs) = shown zs.
Proof.
  intros Hi Gi. apply map_ext_in. intros k Hk. apply in_seq in Hk.
  destruct (G k) eqn:Gk; auto. rewrite nth_swap by lia. unfold other.
  destruct (Nat.eqb_spec k i) as [->|]; [congruence|].
  destruct (Nat.eqb_spec k t) as [->|]; [congruence|]. auto.
Qed.

Lemma shuffle_sum (f : C -> R) zs : is_dealt zs -> fsum (fun i => f (nth i zs d)) (seq 0 N) = fsum f deck.
Proof.
  intros Hz. rewrite <- (fsum_map (fun i => nth i zs d)), (list_of_nth zs (dealt_length zs Hz)).
  symmetry. apply fsum_perm, Hz.
Qed.

Lemma is_bounds c z : 0 <= is c z <= 1.
Proof. unfold is. destruct (eqC z c); lra. Qed.

Lemma fsum_bounds {I} (f : I -> R) l : (forall i, 0 <= f i <= 1) -> 0 <= fsum f l <= INR (length l).
Proof.
  intros H. induction l as [|i l IH]; [simpl; lra|]. cbn [length fsum]. rewrite S_INR. specialize (H i). lra.
Qed.

Lemma filter_lengths {I} (p : I -> bool) l :
  (length (filter p l) + length (filter (fun i => negb (p i)) l) = length l)%nat.
Proof. induction l as [|i l IH]; simpl; auto. destruct (p i); simpl; lia. Qed.

(** Cards of one kind that are not known: what is left of them. *)
Lemma left_over c zs : is_dealt zs ->
  many c - (INR N - INR (length unknown)) <= fsum (fun i => is c (nth i zs d)) unknown <= many c.
Proof.
  intros Hz. pose proof (shuffle_sum (is c) zs Hz) as T. fold (many c) in T.
  rewrite (fsum_split _ (fun i => negb (G i))) in T. fold unknown in T.
  set (k := filter (fun w => negb (negb (G w))) (seq 0 N)) in T.
  pose proof (fsum_bounds (fun i => is c (nth i zs d)) k (fun i => is_bounds c _)) as B.
  pose proof (filter_lengths (fun i => negb (G i)) (seq 0 N)) as L. rewrite seq_length in L.
  fold unknown k in L. rewrite <- L, plus_INR. lra.
Qed.

Lemma one_kind z : In z kinds -> fsum (fun c => is c z) kinds = 1.
Proof.
  clear Deck. induction kinds as [|c l IH]; intros H; [destruct H|]. inversion Kinds; subst. simpl.
  unfold is at 1. destruct (eqC z c) as [->|Hc].
  - assert (E : fsum (fun c' => is c' c) l = 0).
    { clear - H2. induction l as [|c' l IH]; simpl; auto.
      rewrite IH by (intros H; apply H2; right; auto). unfold is. destruct (eqC c c') as [->|]; [|lra].
      exfalso. apply H2. left; auto. }
    rewrite E. lra.
  - destruct H as [->|H]; [congruence|]. rewrite IH; auto. lra.
Qed.

Lemma chosen z f : In z kinds -> fsum (fun c => is c z * f c) kinds = f z.
Proof.
  intros H. rewrite <- (Rmult_1_r (f z)), <- (one_kind z H), <- fsum_scal. apply fsum_ext.
  intros c _. unfold is. destruct (eqC z c) as [->|]; lra.
Qed.

(** ** All that fits to what is known of the others' cards *)
Section Seen.
Context (E : list (option C) -> Prop).
Let fits (zs : list C) : Prop := is_dealt zs /\ E (shown zs).

Lemma fits_summable f : (forall zs, is_dealt zs -> 0 <= f zs <= 1) -> summable fits f.
Proof.
  intros H. apply (summable_sub is_dealt); [intros zs Hz; apply Hz|].
  apply (Sum_mono is_dealt f (fun _ => 1)); auto using orders.
Qed.

Let all : R := Sum fits (fun _ => 1).
Let hers (c : C) : R := Sum fits (fun zs => is c (nth t zs d)).

Lemma all_summable : summable fits (fun _ => 1).
Proof. apply fits_summable. intros; lra. Qed.

Lemma kind_summable i c : summable fits (fun zs => is c (nth i zs d)).
Proof. apply fits_summable. intros; apply is_bounds. Qed.

Lemma alike i c : In i unknown -> Sum fits (fun zs => is c (nth i zs d)) = hers c.
Proof.
  intros Hi. apply filter_In in Hi. destruct Hi as [Hi Gi]. apply in_seq in Hi.
  assert (Li : (i < N)%nat) by lia. apply negb_true_iff in Gi.
  assert (Sw : forall zs, fits zs -> fits (swap i zs)).
  { intros zs [Hz He]. split; [apply swap_dealt; auto|rewrite swap_shown; auto]. }
  destruct (Sum_bij (swap i) fits fits (fun zs => is c (nth i zs d))) as [Q _]; auto.
  - intros u v [Hu _] [Hv _] H. rewrite <- (swap_swap i u Li (dealt_length u Hu)), H.
    apply swap_swap; auto. apply dealt_length; auto.
  - intros zs Hz. exists (swap i zs). split; auto. apply swap_swap; auto. apply dealt_length, Hz.
  - rewrite Q. apply Sum_ext; [tauto|]. intros zs _. rewrite nth_swap by auto.
    unfold other. rewrite Nat.eqb_refl. auto.
Qed.

Lemma hers_between c :
  (many c - (INR N - INR (length unknown))) * all <= INR (length unknown) * hers c <= many c * all.
Proof.
  assert (S0 : summable fits (fun _ => 0)) by (apply fits_summable; intros; lra).
  destruct (Sum_fsum eqZ fits (fun i zs => is c (nth i zs d)) unknown S0) as [S Q].
  { intros i _. apply kind_summable. }
  assert (T : fsum (fun i => Sum fits (fun zs => is c (nth i zs d))) unknown = INR (length unknown) * hers c).
  { rewrite (fsum_ext _ (fun _ => hers c)) by (intros; apply alike; auto).
    apply fsum_const. }
  rewrite <- T, <- Q.
  assert (P : 0 <= fsum (fun i => Sum fits (fun zs => is c (nth i zs d))) unknown).
  { apply fsum_pos, Forall_forall. intros i _. apply Sum_nonneg, kind_summable. }
  assert (A0 : 0 <= all) by (apply Sum_nonneg, all_summable).
  split.
  - destruct (Rle_dec 0 (many c - (INR N - INR (length unknown)))) as [H|H]; [|nra].
    unfold all. destruct (Sum_scal fits (fun _ => 1) _ H all_summable) as [_ <-].
    apply (Sum_mono fits _ (fun zs => fsum (fun i => is c (nth i zs d)) unknown)); auto.
    intros zs [Hz _]. pose proof (left_over c zs Hz). lra.
  - assert (H : 0 <= many c) by (apply fsum_pos, Forall_forall; intros; apply is_bounds).
    unfold all. destruct (Sum_scal fits (fun _ => 1) _ H all_summable) as [S1 <-].
    apply (Sum_mono fits (fun zs => fsum (fun i => is c (nth i zs d)) unknown)); auto.
    intros zs [Hz _]. pose proof (left_over c zs Hz).
    pose proof (fsum_bounds (fun i => is c (nth i zs d)) unknown (fun i => is_bounds c _)). lra.
Qed.

Lemma her_kind zs : is_dealt zs -> In (nth t zs d) kinds.
Proof.
  intros Hz. apply Deck, (Permutation_in _ (Permutation_sym Hz)), nth_In.
  rewrite (dealt_length zs Hz). auto.
Qed.

Lemma by_kind (f : C -> R) : (forall c, 0 <= f c) ->
  Sum fits (fun zs => f (nth t zs d)) = fsum (fun c => hers c * f c) kinds.
Proof.
  intros F.
  rewrite (Sum_ext fits fits _ (fun zs => fsum (fun c => f c * is c (nth t zs d)) kinds)).
  - destruct (Sum_fsum eqZ fits (fun c zs => f c * is c (nth t zs d)) kinds) as [_ ->].
    + apply fits_summable; intros; lra.
    + intros c _. apply Sum_scal, kind_summable. auto.
    + apply fsum_ext. intros c _. rewrite (proj2 (Sum_scal fits _ _ (F c) (kind_summable t c))).
      unfold hers. ring.
  - tauto.
  - intros zs [Hz _]. rewrite <- (chosen _ f (her_kind zs Hz)). apply fsum_ext. intros; ring.
Qed.

Lemma chan_summable x y : summable fits (fun zs => chan (nth t zs d) x y).
Proof.
  apply (summable_ext fits (fun zs => fsum (fun c => chan c x y * is c (nth t zs d)) kinds)).
  - intros zs [Hz _]. rewrite <- (chosen _ (fun c => chan c x y) (her_kind zs Hz)). apply fsum_ext. intros; ring.
  - apply (Sum_fsum eqZ fits (fun c zs => chan c x y * is c (nth t zs d)) kinds).
    + apply fits_summable; intros; lra.
    + intros c _. apply Sum_scal; [apply Chan|apply kind_summable].
Qed.

Lemma total : fsum hers kinds = all.
Proof.
  rewrite (fsum_ext hers (fun c => hers c * 1)) by (intros; ring).
  rewrite <- (by_kind (fun _ => 1)) by (intros; lra). auto.
Qed.

(** Whatever is known of the others' cards, what is left is a belief about hers. *)
Lemma one_report K x x' y : 0 <= K ->
  (forall b, belief b -> mixed b x y <= K * mixed b x' y) ->
  Sum fits (fun zs => chan (nth t zs d) x y) <= K * Sum fits (fun zs => chan (nth t zs d) x' y).
Proof.
  intros HK H. rewrite (by_kind (fun c => chan c x y)), (by_kind (fun c => chan c x' y)) by auto.
  assert (H0 : forall c, 0 <= hers c) by (intros; apply Sum_nonneg, kind_summable).
  assert (A0 : 0 <= all) by (apply Sum_nonneg, all_summable).
  destruct (Req_dec all 0) as [Z|Z].
  - assert (Zc : forall c, In c kinds -> hers c = 0).
    { intros c _. apply Rle_antisym; auto. rewrite <- Z.
      apply (Sum_mono fits (fun zs => is c (nth t zs d)) (fun _ => 1)); auto using all_summable.
      intros; apply is_bounds. }
    assert (Q : forall z, fsum (fun c => hers c * chan c z y) kinds = 0).
    { intros z. rewrite (fsum_ext _ (fun _ => 0)) by (intros c Hc; rewrite Zc by auto; ring).
      rewrite fsum_const. ring. }
    rewrite !Q. lra.
  - assert (Ap : 0 < all) by lra. pose proof (Rinv_0_lt_compat _ Ap) as Ip.
    specialize (H (fun c => hers c / all)).
    assert (M : forall z, mixed (fun c => hers c / all) z y = / all * fsum (fun c => hers c * chan c z y) kinds).
    { intros z. unfold mixed. rewrite <- fsum_scal. apply fsum_ext. intros; unfold Rdiv; ring. }
    rewrite !M in H. apply (Rmult_le_reg_l (/ all)); auto.
    apply Rle_trans with (K * (/ all * fsum (fun c => hers c * chan c x' y) kinds)); [apply H|right; ring].
    split.
    + rewrite (fsum_ext _ (fun c => / all * hers c)) by (intros; unfold Rdiv; ring).
      rewrite fsum_scal, total. field. auto.
    + intros c. split; [apply Rmult_le_pos; auto; lra|].
      pose proof (hers_between c) as [L U].
      assert (D : INR (length unknown) * (hers c / all) = INR (length unknown) * hers c * / all)
        by (unfold Rdiv; ring).
      rewrite D. split; apply (Rmult_le_reg_r all); auto; rewrite ?Rmult_assoc, Rinv_l by auto; lra.
Qed.
End Seen.

(** The chances of all that can be dealt and reported add up to 1, so the theorem is not empty. *)
Lemma summed x y : summable is_dealt (fun zs => chan (nth t zs d) x y).
Proof.
  apply (summable_sub (fun zs => is_dealt zs /\ True)); [tauto|].
  apply (chan_summable (fun _ => True) x y).
Qed.

Lemma told_summable x y : summable is_dealt (fun zs => told_law x (zs, y)) /\
  Sum is_dealt (fun zs => told_law x (zs, y)) =
  / Sum is_dealt (fun _ => 1) * Sum is_dealt (fun zs => chan (nth t zs d) x y).
Proof.
  assert (Z0 : 0 <= / Sum is_dealt (fun _ => 1)).
  { left. apply Rinv_0_lt_compat. apply (Sum_pos _ _ deck); [apply orders|apply Permutation_refl|lra]. }
  destruct (Sum_scal _ _ _ Z0 (summed x y)) as [S' <-].
  assert (E : forall zs, told_law x (zs, y) = / Sum is_dealt (fun _ => 1) * chan (nth t zs d) x y).
  { intros. unfold told_law, shuffled, normalise; simpl. unfold Rdiv. ring. }
  split; [eapply summable_ext; [|exact S']|apply Sum_ext; [tauto|]]; intros; rewrite E; auto.
Qed.

Theorem told_is_law x : (forall c, fsum (chan c x) reports = 1) ->
  is_law (fun w => is_dealt (fst w) /\ In (snd w) reports) (told_law x).
Proof.
  intros H.
  set (P := fun w : list C * Y => is_dealt (fst w) /\ In (snd w) reports).
  set (Q := fun y => In y reports).
  assert (Z1 : 0 < Sum is_dealt (fun _ => 1)).
  { apply (Sum_pos _ _ deck); [apply orders|apply Permutation_refl|lra]. }
  assert (B : forall y, summable (fun zs => P (zs, y)) (fun zs => told_law x (zs, y))).
  { intros y. apply (summable_sub is_dealt); [intros zs Hz; apply Hz|apply told_summable]. }
  assert (S : summable Q (fun y => Sum (fun zs => P (zs, y)) (fun zs => told_law x (zs, y)))
    /\ Sum Q (fun y => Sum (fun zs => P (zs, y)) (fun zs => told_law x (zs, y))) =
       fsum (fun y => Sum (fun zs => P (zs, y)) (fun zs => told_law x (zs, y))) reports).
  { apply (Sum_finite Q _ reports); auto; [intros; tauto|]. intros y _. apply Sum_nonneg, B. }
  destruct S as [S T].
  assert (S1 : summable P (told_law x)).
  { apply (tonelli_summable eqY P Q (told_law x)); auto. intros zs y Hw; apply Hw. }
  split; auto.
  destruct (tonelli eqY P Q (told_law x) (fun zs y (Hw : P (zs, y)) => proj2 Hw) S1) as [_ ->].
  rewrite T.
  rewrite (fsum_ext _ (fun y => / Sum is_dealt (fun _ => 1) * Sum is_dealt (fun zs => chan (nth t zs d) x y))).
  2:{ intros y Hy. rewrite <- (proj2 (told_summable x y)). apply Sum_ext; [unfold P; simpl; tauto|auto]. }
  rewrite fsum_scal.
  assert (S0 : summable is_dealt (fun _ => 0)).
  { apply (Sum_mono is_dealt _ (fun _ => 1)); [intros; lra|apply orders]. }
  rewrite <- (proj2 (Sum_fsum eqZ is_dealt (fun y zs => chan (nth t zs d) x y) reports
    S0 (fun y _ => summed x y))).
  rewrite (Sum_ext is_dealt is_dealt (fun zs => fsum (fun y => chan (nth t zs d) x y) reports) (fun _ => 1));
    [field; lra|tauto|intros; apply H].
Qed.

(** ** The theorem: the report and all known cards together *)
Theorem cards_view K x x' : 0 <= K ->
  (forall b y, belief b -> In y reports -> mixed b x y <= K * mixed b x' y) ->
  dp K (fun w => is_dealt (fst w) /\ In (snd w) reports) (fun w => (shown (fst w), snd w))
    (told_law x) (told_law x').
Proof.
  intros HK H E.
  assert (Z0 : 0 <= / Sum is_dealt (fun _ => 1)).
  { left. apply Rinv_0_lt_compat. apply (Sum_pos _ _ deck); [apply orders|apply Permutation_refl|lra]. }
  set (P := fun w : list C * Y => (is_dealt (fst w) /\ In (snd w) reports) /\ E (shown (fst w), snd w)).
  set (Q := fun y => In y reports).
  assert (B : forall z y, summable (fun zs => P (zs, y)) (fun zs => told_law z (zs, y))).
  { intros z y. unfold told_law, shuffled, normalise; simpl.
    apply (summable_sub is_dealt); [intros zs Hz; apply Hz|].
    set (m := fsum (fun c => chan c z y) kinds).
    assert (Hm : forall c, In c kinds -> chan c z y <= m).
    { intros c Hc. apply (fsum_most (fun c => chan c z y)); auto. }
    assert (M0 : 0 <= m) by (apply fsum_pos, Forall_forall; auto).
    apply (Sum_mono is_dealt _ (fun _ => / Sum is_dealt (fun _ => 1) * m * 1)).
    - intros zs Hz. specialize (Hm _ (her_kind zs Hz)). specialize (Chan (nth t zs d) z y).
      unfold Rdiv. rewrite Rmult_1_l. split; [apply Rmult_le_pos; auto|].
      rewrite Rmult_1_r. apply Rmult_le_compat_l; auto.
    - apply Sum_scal; [apply Rmult_le_pos; auto|apply orders]. }
  assert (S : forall z, summable Q (fun y => Sum (fun zs => P (zs, y)) (fun zs => told_law z (zs, y)))).
  { intros z. apply (Sum_finite Q _ reports); auto; [intros; tauto|]. intros y _. apply Sum_nonneg, B. }
  assert (T : forall z, Sum P (told_law z) = Sum Q (fun y => Sum (fun zs => P (zs, y)) (fun zs => told_law z (zs, y)))).
  { intros z. apply (tonelli eqY P Q (told_law z)); [intros zs y Hw; apply Hw|].
    apply (tonelli_summable eqY P Q (told_law z)); auto. intros zs y Hw; apply Hw. }
  change (Sum P (told_law x) <= K * Sum P (told_law x')). rewrite !T.
  destruct (Sum_scal Q _ K HK (S x')) as [S' <-]. apply Sum_mono; auto. intros y Hy. split.
  { apply Sum_nonneg, B. }
  assert (R : forall z, Sum (fun zs => P (zs, y)) (fun zs => told_law z (zs, y)) =
      / Sum is_dealt (fun _ => 1) *
      Sum (fun zs => is_dealt zs /\ E (shown zs, y)) (fun zs => chan (nth t zs d) z y)).
  { intros z. rewrite <- (proj2 (Sum_scal _ _ _ Z0 (chan_summable (fun v => E (v, y)) z y))).
    apply Sum_ext; [unfold P; simpl; tauto|]. intros zs _. unfold told_law, shuffled, normalise; simpl.
    unfold Rdiv. ring. }
  rewrite !R. rewrite <- Rmult_assoc, (Rmult_comm K), Rmult_assoc. apply Rmult_le_compat_l; auto.
  apply (one_report (fun v => E (v, y)) K x x' y HK). intros b Hb. auto.
Qed.
End Decks.

Lemma free_pos {C} (deck : list C) G t : (t < length deck)%nat -> G t = false ->
  0 < INR (length (unknown deck G)).
Proof.
  intros Ht Gt. apply (lt_INR 0). assert (I : In t (unknown deck G)).
  { apply filter_In. split; [apply in_seq; lia|]. rewrite Gt. auto. }
  destruct (unknown deck G); [destruct I|simpl; lia].
Qed.

(** ** DRR: the truth with chance lambda, the card with beta, a value of her own, any of k, with gamma *)
Section Decoys.
Context (deck : list nat) (d : nat) (G : nat -> bool) (t k : nat) (lambda beta gamma pi : R).
Definition decoyed (c x y : nat) : R :=
  lambda * is Nat.eq_dec x y + beta * is Nat.eq_dec c y + gamma / INR k.
Let free : R := INR (length (unknown deck G)).
Hypotheses (Values : Forall (fun c => (c < k)%nat) deck) (Ht : (t < length deck)%nat) (Gt : G t = false).
Hypotheses (Hl : 0 <= lambda) (Hb : 0 <= beta) (Hg : 0 <= gamma) (Hp : 0 <= pi) (Hs : 0 < beta * pi + gamma / INR k).
(** max(0, d_y - M) / (N - M) is at least pi, for every y *)
Hypothesis Least : forall y, (y < k)%nat ->
  pi * free <= Rmax 0 (many Nat.eq_dec deck y - (INR (length deck) - free)).

Lemma mixed_decoys b x y : belief Nat.eq_dec deck (seq 0 k) G b -> (y < k)%nat ->
  mixed (seq 0 k) decoyed b x y = lambda * is Nat.eq_dec x y + beta * b y + gamma / INR k.
Proof.
  intros [B1 _] Hy. unfold mixed, decoyed.
  rewrite (fsum_ext _ (fun c => (lambda * is Nat.eq_dec x y + gamma / INR k) * b c +
    beta * (is Nat.eq_dec y c * b c))).
  - assert (A : forall f g l, fsum (fun c : nat => f c + g c) l = fsum f l + fsum g l).
    { intros f g l; induction l; simpl; lra. }
    rewrite A, !fsum_scal, B1.
    assert (Q : fsum (fun c => is Nat.eq_dec y c * b c) (seq 0 k) = b y).
    { rewrite <- (chosen Nat.eq_dec (seq 0 k) (seq_NoDup k 0) y b) by (apply in_seq; lia).
      apply fsum_ext. intros c _. unfold is. destruct (Nat.eq_dec y c), (Nat.eq_dec c y); subst; tauto || lra. }
    rewrite Q. ring.
  - intros c _. unfold is. destruct (Nat.eq_dec c y), (Nat.eq_dec y c); subst; tauto || (ring).
Qed.

Corollary drr_cards x x' :
  dp (1 + lambda / (beta * pi + gamma / INR k)) (fun w => is_dealt deck (fst w) /\ In (snd w) (seq 0 k))
    (fun w => (shown deck d G (fst w), snd w))
    (told_law deck d t decoyed x) (told_law deck d t decoyed x').
Proof.
  pose proof (free_pos deck G t Ht Gt) as F. pose proof (Rinv_0_lt_compat _ Hs) as Is.
  set (s := beta * pi + gamma / INR k) in *.
  assert (K0 : 0 <= lambda / s) by (apply Rmult_le_pos; lra).
  assert (Ik : 0 <= gamma / INR k).
  { apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat, lt_0_INR.
    rewrite Forall_forall in Values. specialize (Values (nth t deck O) (nth_In deck O Ht)). lia. }
  apply (cards_view Nat.eq_dec Nat.eq_dec deck (seq 0 k) d G t (seq 0 k) decoyed); auto using seq_NoDup; try lra.
  - intros c Hc. rewrite Forall_forall in Values. specialize (Values c Hc). apply in_seq. lia.
  - intros c z y. unfold decoyed. pose proof (is_bounds Nat.eq_dec z y). pose proof (is_bounds Nat.eq_dec c y). nra.
  - intros b y Bel Hy. apply in_seq in Hy. assert (Ly : (y < k)%nat) by lia.
    rewrite !mixed_decoys by auto. destruct Bel as [_ Bel]. specialize (Bel y). fold free in Bel.
    specialize (Least y Ly).
    assert (B : pi <= b y).
    { apply (Rmult_le_reg_l free); auto. rewrite (Rmult_comm free pi). eapply Rle_trans; [exact Least|].
      apply Rmax_lub; [apply Rmult_le_pos; [left; exact F|apply Bel]|apply Bel]. }
    pose proof (is_bounds Nat.eq_dec x y). pose proof (is_bounds Nat.eq_dec x' y).
    assert (G1 : lambda <= lambda / s * (beta * b y + gamma / INR k)).
    { apply Rle_trans with (lambda / s * s); [right; field; lra|].
      apply Rmult_le_compat_l; auto. unfold s. nra. }
    assert (G2 : 0 <= lambda * is Nat.eq_dec x' y) by nra.
    assert (G3 : lambda * is Nat.eq_dec x y <= lambda) by nra.
    assert (G4 : 0 <= lambda / s * (lambda * is Nat.eq_dec x' y)) by (apply Rmult_le_pos; auto).
    lra.
Qed.
End Decoys.

(** ** JRR: the truth with chance plus or minus, by her card, else any other of k answers *)
Section Leaning.
Context (deck : list bool) (d : bool) (G : nat -> bool) (t k : nat) (plus minus low high K : R).
Definition leaning (c : bool) (x y : nat) : R :=
  let p := if c then plus else minus in if Nat.eq_dec y x then p else (1 - p) / (INR k - 1).
Let free : R := INR (length (unknown deck G)).
Let M : R := INR (length deck) - free.
Let trues : R := many bool_dec deck true.
Hypotheses (Hk : (2 <= k)%nat) (Ht : (t < length deck)%nat) (Gt : G t = false).
Hypotheses (H0 : 0 <= minus <= plus) (H1 : plus <= 1) (HK : 1 <= K).
(** her card is plus with chance low to high, whatever is known: max(0, D - M) / (N - M) to min(1, D / (N - M)) *)
Hypotheses (Low : low * free <= Rmax 0 (trues - M)) (High : Rmin free trues <= high * free).
Let least : R := minus + low * (plus - minus).
Let most : R := minus + high * (plus - minus).
(** K is the larger of the two quotients of the truth and one lie. *)
Hypotheses (Most : most * (INR k - 1) <= K * (1 - most)) (Least : 1 - least <= K * ((INR k - 1) * least)).

Lemma mixed_leaning b x y : belief bool_dec deck [true; false] G b ->
  let p := minus + b true * (plus - minus) in
  mixed [true; false] leaning b x y = if Nat.eq_dec y x then p else (1 - p) / (INR k - 1).
Proof.
  intros [B1 _] p. simpl in B1. unfold mixed, leaning, p; simpl.
  assert (Bf : b false = 1 - b true) by lra. rewrite Bf. unfold Rdiv.
  destruct (Nat.eq_dec y x); ring.
Qed.

Corollary jrr_cards x x' :
  dp K (fun w => is_dealt deck (fst w) /\ In (snd w) (seq 0 k))
    (fun w => (shown deck d G (fst w), snd w))
    (told_law deck d t leaning x) (told_law deck d t leaning x').
Proof.
  pose proof (free_pos deck G t Ht Gt) as F. fold free in F.
  assert (K1 : 1 <= INR k - 1).
  { assert (INR 2 <= INR k) by (apply le_INR; auto). simpl in H. lra. }
  apply (cards_view bool_dec Nat.eq_dec deck [true; false] d G t (seq 0 k) leaning); auto using seq_NoDup; try lra.
  - repeat constructor; simpl; intuition discriminate.
  - intros [] _; simpl; auto.
  - intros c z y. unfold leaning.
    assert (P : 0 <= (if c then plus else minus) <= 1) by (destruct c; lra).
    destruct (Nat.eq_dec y z); [lra|]. apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  - intros b y Hb _. rewrite !mixed_leaning by auto. destruct Hb as [B1 Hb]. simpl in B1.
    pose proof (proj1 (Hb false)) as Bf. specialize (Hb true). fold free trues M in Hb.
    assert (L : low <= b true).
    { apply (Rmult_le_reg_l free); auto. rewrite (Rmult_comm free low). eapply Rle_trans; [exact Low|].
      apply Rmax_lub; [apply Rmult_le_pos; [left; exact F|apply Hb]|apply Hb]. }
    assert (U : b true <= high).
    { apply (Rmult_le_reg_l free); auto. rewrite (Rmult_comm free high). eapply Rle_trans; [|exact High].
      apply Rmin_glb; [|apply Hb]. rewrite <- (Rmult_1_r free) at 2.
      apply Rmult_le_compat_l; [left; exact F|lra]. }
    set (p := minus + b true * (plus - minus)).
    assert (P : least <= p <= most) by (unfold p, least, most; split; nra).
    assert (P1 : 0 <= p <= 1) by (unfold p; split; nra).
    assert (I : 0 < / (INR k - 1)) by (apply Rinv_0_lt_compat; lra).
    assert (R : forall q, q = q * (INR k - 1) * / (INR k - 1)) by (intros; field; lra).
    destruct (Nat.eq_dec y x), (Nat.eq_dec y x').
    + nra.
    + rewrite (R p) at 1. unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
      assert (p * (INR k - 1) <= most * (INR k - 1)) by (apply Rmult_le_compat_r; lra).
      assert (K * (1 - most) <= K * (1 - p)) by (apply Rmult_le_compat_l; lra). lra.
    + rewrite (R (K * p)). unfold Rdiv. apply Rmult_le_compat_r; [lra|].
      assert ((INR k - 1) * least <= (INR k - 1) * p) by (apply Rmult_le_compat_l; lra).
      assert (K * ((INR k - 1) * least) <= K * ((INR k - 1) * p)) by (apply Rmult_le_compat_l; lra). lra.
    + assert (0 <= (1 - p) / (INR k - 1)) by (apply Rmult_le_pos; lra). nra.
Qed.
End Leaning.
