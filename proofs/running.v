(** * What runs: cards of 16 bits, reports brought into a range, one dealer after another, others who react

    [model.v] adds a card to what the coin says. What runs differs in three ways. A card is cut at -C
    and C before it is given away, and the sums that are announced are sums of cut cards. Reports are
    brought into -B..B+m, also after the card of each dealer where there are several. And the others
    need not answer as they are asked: what they send may depend on all that they have seen. None of
    this raises the bound. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model person masks announcements privacy coins asked composition surveys.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)
Definition into (low high v : Z) : Z := Z.max low (Z.min high v).
Definition cut (C : Z) : Z -> Z := into (- C) C.
(** Add a card and bring the number into the range of reports. *)
Definition add_card (B m : Z) (v z : Z) : Z := into (- B) (B + m) (v + z).
(** Neighbours stay neighbours. *)
Definition gentle (g : Z -> Z) : Prop := forall v, (Z.abs (g (v + 1) - g v) <= 1)%Z.
Fixpoint each (gs : list (Z -> Z)) (u : list Z) : list Z :=
  match gs, u with g :: gs', v :: u' => g v :: each gs' u' | _, _ => [] end.

(** Lemma 13.4 of docs/theory.md. *)
Lemma into_gentle low high : gentle (into low high).
Proof. intros v. unfold into. lia. Qed.

Lemma gentle_after f g : gentle f -> gentle g -> gentle (fun v => f (g v)).
Proof.
  intros F G v. specialize (G v). destruct (Z.eq_dec (g (v + 1)%Z) (g v)) as [->|N]; [lia|].
  destruct (Z.eq_dec (g (v + 1)%Z) (g v + 1)) as [->|N']; [apply F|].
  replace (g v) with (g (v + 1) + 1)%Z by lia. specialize (F (g (v + 1))%Z). lia.
Qed.

Lemma cards_gentle B m zs : gentle (fun v => fold_left (add_card B m) zs v).
Proof.
  induction zs as [|z zs IH]; simpl; [intros v; lia|].
  apply (gentle_after (fun v => fold_left (add_card B m) zs v) (fun v => add_card B m v z)); auto.
  intros v. unfold add_card, into. lia.
Qed.

Lemma cards_range B m zs v : (0 <= B)%Z -> (0 <= m)%Z -> (- B <= v <= B + m)%Z ->
  (- B <= fold_left (add_card B m) zs v <= B + m)%Z.
Proof.
  intros HB Hm. revert v; induction zs as [|z zs IH]; intros v Hv; simpl; auto.
  apply IH. unfold add_card, into. lia.
Qed.

(** A cut that lies beyond the range does not show. *)
Lemma cut_hidden B m C low high v z : (low <= v <= high)%Z -> (0 <= B)%Z -> (0 <= m)%Z -> (0 <= C)%Z ->
  (high + B <= C)%Z -> (B + m - low <= C)%Z ->
  add_card B m v (cut C z) = into (- B) (B + m) (v + z).
Proof. unfold add_card, cut, into. lia. Qed.

Lemma each_length gs u : length gs = length u -> length (each gs u) = length u.
Proof. revert u; induction gs; intros [|v u] L; simpl in *; try lia. rewrite IHgs; lia. Qed.

Lemma each_nth gs u j : length gs = length u -> (j < length u)%nat ->
  nth j (each gs u) 0%Z = nth j gs (fun v => v) (nth j u 0%Z).
Proof. revert u j; induction gs; intros [|v u] [|j] L H; simpl in *; try lia. apply IHgs; lia. Qed.

Fixpoint through_each (fs : list (Z -> R)) (gs : list (Z -> Z)) : list (Z -> R) :=
  match fs, gs with f :: fs', g :: gs' => (fun v => f (g v)) :: through_each fs' gs' | _, _ => [] end.

Lemma slope_gentle c f g : 0 <= c -> slope c f -> gentle g -> slope c (fun v => f (g v)).
Proof.
  intros Hc F G v. split; [apply F|]. specialize (G v).
  assert (H1 : 1 <= exp c) by (pose proof (exp_ineq1_le c); lra).
  destruct (Z.eq_dec (g (v + 1)%Z) (g v)) as [->|N].
  { destruct (F (g v)) as [P _]. split; nra. }
  destruct (Z.eq_dec (g (v + 1)%Z) (g v + 1)) as [->|N']; [split; apply F|].
  replace (g v) with (g (v + 1) + 1)%Z by lia. split; apply F.
Qed.

Lemma through_each_slope c fs gs : 0 <= c -> Forall (slope c) fs -> Forall gentle gs ->
  Forall (slope c) (through_each fs gs).
Proof.
  intros Hc F. revert gs; induction F; intros gs G; simpl; auto. destruct G; auto.
  constructor; auto. apply slope_gentle; auto.
Qed.

Lemma through_each_prod fs gs u : length fs = length gs -> length u = length gs ->
  prodlaw (through_each fs gs) u = prodlaw fs (each gs u).
Proof.
  revert gs u; induction fs; intros [|g gs] [|v u] L1 L2; simpl in *; try lia; auto.
  rewrite IHfs; auto; lia.
Qed.

Lemma through_each_length fs gs : length fs = length gs -> length (through_each fs gs) = length fs.
Proof. revert gs; induction fs; intros [|g gs] L; simpl in *; try lia. rewrite IHfs; lia. Qed.

(** ** Sums of cards that are changed before they are added up *)
Section Kept.
Context (keep : Z -> Z) (Hkeep : gentle keep).
Definition kept (zss : list (list Z)) : list (list Z) := map (map keep) zss.

(** By how much the sum of number j grows where her card grows by u. *)
Definition growth (t j : nat) (u : list Z) (zss : list (list Z)) : Z :=
  (let z := nth t (col j zss) 0 in keep (z + nth j u 0) - keep z)%Z.
Fixpoint shift_kept (ask : asking) (t : nat) (u past : list Z) (zss : list (list Z)) (hs : list Z) : list Z :=
  match hs with
  | [] => []
  | h :: hs' => let '(j, G) := ask past in
      (h - (if G t then growth t j u zss else 0))%Z ::
      shift_kept ask t u ((sumover G (col j (kept zss)) + h)%Z :: past) zss hs'
  end.

Lemma col_kept j zss : col j (kept zss) = map keep (col j zss).
Proof. unfold col, kept. change (@nil Z) with (map keep []) at 1. apply map_nth. Qed.

Lemma sumover_change G t f zs : (t < length zs)%nat ->
  sumover G (upd t f zs) = (sumover G zs + if G t then f (nth t zs 0) - nth t zs 0 else 0)%Z.
Proof.
  revert t G; induction zs as [|z zs IH]; intros [|t] G H; simpl in *; try lia.
  - destruct (G O); lia.
  - rewrite IH by lia. lia.
Qed.

Lemma map_upd t f zs : map keep (upd t f zs) = upd t (fun _ => keep (f (nth t zs 0%Z))) (map keep zs).
Proof. revert t; induction zs as [|z zs IH]; intros [|t]; simpl; auto. f_equal. auto. Qed.

Section Shift.
Context (ask : asking) (n J t : nat) (zss : list (list Z)).
Hypotheses (Ht : (t < n)%nat) (Hz : vec (cards n) J zss).

Lemma col_there j : (j < J)%nat -> length (col j zss) = n.
Proof.
  destruct Hz as [L F]. intros H. rewrite Forall_forall in F. apply (F (col j zss)), nth_In. lia.
Qed.

Lemma sumover_kept G j u : length u = J ->
  sumover G (col j (kept (addto t u zss))) =
  (sumover G (col j (kept zss)) + if G t then growth t j u zss else 0)%Z.
Proof.
  intros Lu. rewrite !col_kept, col_addto by (destruct Hz; lia). unfold growth.
  destruct (lt_dec j J) as [H|H].
  - rewrite map_upd, sumover_change by (rewrite map_length, col_there by auto; auto).
    rewrite (nth_indep (map keep (col j zss)) 0%Z (keep 0%Z)) by (rewrite map_length, col_there by auto; auto).
    rewrite map_nth. reflexivity.
  - unfold col. rewrite !nth_overflow with (l := zss) by (destruct Hz; lia).
    rewrite (nth_overflow u) by lia. simpl. destruct t, (G _); simpl; rewrite ?Z.add_0_r; lia.
Qed.

Lemma shift_kept_length u past hs : length (shift_kept ask t u past zss hs) = length hs.
Proof. revert past; induction hs; intros; simpl; auto. destruct (ask past). simpl. auto. Qed.

Lemma announce_kept u past hs : length u = J ->
  announce ask past (kept (addto t u zss)) (shift_kept ask t u past zss hs) = announce ask past (kept zss) hs.
Proof.
  intros Lu. revert past; induction hs as [|h hs IH]; intros past; simpl; auto.
  destruct (ask past) as [j G] eqn:Q. simpl. rewrite Q. rewrite sumover_kept by auto.
  rewrite <- IH. f_equal. f_equal. destruct (G t); lia.
Qed.

Lemma growth_back j u : length u = J ->
  growth t j (neg u) (addto t u zss) = (- growth t j u zss)%Z.
Proof.
  intros Lu. unfold growth. rewrite nth_neg, col_addto by (destruct Hz; lia).
  destruct (lt_dec j J) as [H|H].
  - rewrite upd_nth_same by (rewrite col_there; auto).
    replace (nth t (col j zss) 0 + nth j u 0 + - nth j u 0)%Z with (nth t (col j zss) 0%Z) by lia. lia.
  - rewrite (nth_overflow u) by lia. rewrite Z.add_0_r, !Z.sub_diag.
    replace (- 0)%Z with 0%Z by lia. rewrite Z.add_0_r. lia.
Qed.

Lemma shift_kept_neg u past hs : length u = J ->
  shift_kept ask t (neg u) past (addto t u zss) (shift_kept ask t u past zss hs) = hs.
Proof.
  intros Lu. revert past; induction hs as [|h hs IH]; intros past; simpl; auto.
  destruct (ask past) as [j G] eqn:Q. simpl. rewrite Q. f_equal.
  - rewrite growth_back by auto. destruct (G t); lia.
  - rewrite sumover_kept by auto.
    match goal with |- shift_kept _ _ _ (?x :: _) _ _ = _ =>
      replace x with (sumover G (col j (kept zss)) + h)%Z by (destruct (G t); lia) end.
    apply IH.
Qed.
End Shift.

Lemma noise_weights_kept ask t zss J es : Forall (fun e => 0 < e) es ->
  forall past left hs, length hs = length es -> within ask t es past left ->
  exists k gs, 0 < k /\ length gs = J /\
    (forall j, (j < J)%nat -> slope (left j) (nth j gs (fun _ => 0))) /\
    forall u, length u = J ->
      prodlaw (map lap es) (shift_kept ask t (neg u) past zss hs) = k * prodlaw gs u.
Proof.
  induction 1 as [|e es He P IH]; intros past left [|h hs] L W; simpl in L; try discriminate.
  - exists 1, (repeat (fun _ => 1) J). split; [lra|split; [apply repeat_length|split]].
    + intros j Hj. replace (nth j (repeat (fun _ : Z => 1) J) (fun _ => 0)) with (fun _ : Z => 1).
      { apply slope_const; [apply W|lra]. }
      symmetry. apply repeat_spec with J. apply nth_In. rewrite repeat_length. auto.
    + simpl. intros u <-. rewrite Rmult_1_l. clear. induction u; simpl; auto. rewrite <- IHu. lra.
  - simpl in W |- *. destruct (ask past) as [j G]. set (told := (sumover G (col j (kept zss)) + h)%Z).
    destruct (IH _ _ hs ltac:(lia) (W told)) as (k & gs & Hk & Lg & Sg & Eg).
    destruct (G t).
    + destruct (lt_dec j J) as [Hj|Hj].
      * set (z := nth t (col j zss) 0%Z).
        exists k, (upd j (fun g v => lap e (h - (keep (z - v) - keep z)) * g v) gs).
        split; auto. split; [rewrite upd_length; auto|]. split.
        -- intros i Hi. pose proof (Sg i Hi) as Si. simpl in Si. destruct (Nat.eqb_spec i j) as [E|N]; [subst i|].
           ++ rewrite upd_nth_same by lia. replace (left j) with (e + (left j - e)) by ring.
              apply slope_mult; auto. intros v. split; [left; apply lap_pos; auto|].
              pose proof (Hkeep (z - v - 1)%Z) as Gk. replace (z - v - 1 + 1)%Z with (z - v)%Z in Gk by lia.
              replace (z - (v + 1))%Z with (z - v - 1)%Z by lia.
              split; apply lap_step; auto; lia.
           ++ rewrite upd_nth_other; auto.
        -- intros u Lu. rewrite Eg, prodlaw_at by lia. unfold growth. fold z. rewrite nth_neg.
           replace (z + - nth j u 0)%Z with (z - nth j u 0)%Z by lia. ring.
      * exists (lap e h * k), gs. pose proof (lap_pos e h He). split; [apply Rmult_lt_0_compat; auto|].
        split; auto. split.
        -- intros i Hi. pose proof (Sg i Hi) as Si. simpl in Si. destruct (Nat.eqb_spec i j); [lia|auto].
        -- intros u Lu. rewrite Eg by auto. unfold growth. rewrite nth_neg, (nth_overflow u) by lia.
           rewrite Z.add_0_r, Z.sub_diag. replace (h - 0)%Z with h by lia. ring.
    + exists (lap e h * k), gs. pose proof (lap_pos e h He). split; [apply Rmult_lt_0_compat; auto|].
      split; auto. split; auto. intros u Lu. rewrite Eg by auto.
      replace (h - 0)%Z with h by lia. ring.
Qed.

Lemma dealer_weights_kept a b es e ask J n t zss hs : 0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  (t < n)%nat -> dealt J n (length es) (zss, hs) -> within ask t es [] (fun _ => e) ->
  exists k fs, 0 < k /\ length fs = J /\ Forall (slope (a + b + e)) fs /\
    forall u, length u = J ->
      dealer a b es J n (addto t (neg u) zss, shift_kept ask t (neg u) [] zss hs) = k * prodlaw fs u.
Proof.
  intros Ha Hb He Ht [[Lz Fz] [Lh _]] W. simpl in *.
  destruct (noise_weights_kept ask t zss J es He [] _ hs Lh W) as (k & gs & Hk & Lg & Sg & Eg).
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

(** ** Her outcome is moved by gs, which may depend on the cards of all others, before her card is
    added; sums are of cards as they are kept *)
Definition view_kept (gs : list (list Z) -> list (Z -> Z)) (J t : nat) (ask : seen -> asking)
  (us : list (list Z)) (r : list (list Z) * list Z) : seen * list Z :=
  let s := first_view J t (upd t (each (gs (map (others t) (fst r)))) us) (fst r) in (s, announce (ask s) [] (kept (fst r)) (snd r)).

Section Masked.
Context {X : Type} (coin : X -> list Z -> R) (gs : list (list Z) -> list (Z -> Z)) (a b e : R) (es : list R) (J t : nat).
Context (ask : seen -> asking) (xs xs' : list X).
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es) (He0 : 0 <= e).
Hypotheses (Lgs : forall zss, length (gs zss) = J) (Hgs : forall zss, Forall gentle (gs zss)).
Hypothesis budget : forall s, within (ask s) t es [] (fun _ => e).
Hypothesis Laws : Forall (fun x => is_law (vec any J) (coin x)) xs.
Hypothesis Laws' : Forall (fun x => is_law (vec any J) (coin x)) xs'.
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat).

Let n := length xs.
Let o := repeat 0%Z J.
Let B := vec (@any Z) J.
Let ok := dealt J n (length es).
Let rest (us : list (list Z)) := upd t (fun _ => o) us.
(** What it looks like from outside if she sends her card grown by v, and back. *)
Let out (us : list (list Z)) (v : list Z) (r : list (list Z) * list Z) :=
  let zss := addto t v (fst r) in
  (zss, shift_kept (ask (first_view J t (rest us) zss)) t v [] (fst r) (snd r)).
Let back (us : list (list Z)) (v : list Z) (r : list (list Z) * list Z) :=
  (addto t (neg v) (fst r), shift_kept (ask (first_view J t (rest us) (fst r))) t (neg v) [] (fst r) (snd r)).
(** How her outcome is moved, and that her own card does not tell. *)
Let moved (r : list (list Z) * list Z) := each (gs (map (others t) (fst r))).
Let show (us : list (list Z)) (u : list Z) r := back us (moved r o) (out us (moved r u) r).
Let hide (us : list (list Z)) (u : list Z) r := back us (moved r u) (out us (moved r o) r).

Lemma Lo : length o = J. Proof. apply repeat_length. Qed.
Lemma Lneg v : length v = J -> length (neg v) = J.
Proof. intros. unfold neg. rewrite map_length. auto. Qed.

Lemma ok_out us v r : length v = J -> ok r -> ok (out us v r).
Proof.
  intros Lv [Hz [Lh _]]. split; simpl.
  - apply addto_vec; auto.
  - split; [rewrite shift_kept_length; auto|apply Forall_any].
Qed.

Lemma ok_back us v r : length v = J -> ok r -> ok (back us v r).
Proof.
  intros Lv [Hz [Lh _]]. split; simpl.
  - apply addto_vec; auto. apply Lneg; auto.
  - split; [rewrite shift_kept_length; auto|apply Forall_any].
Qed.

Lemma back_out us v r : length v = J -> ok r -> back us v (out us v r) = r.
Proof.
  intros Lv [Hz [Lh _]]. destruct r as [zss hs]; unfold back, out; simpl in *.
  rewrite addto_neg by (destruct Hz; lia). rewrite (shift_kept_neg _ n J); auto.
Qed.

Lemma out_back us v r : length v = J -> ok r -> out us v (back us v r) = r.
Proof.
  intros Lv [Hz [Lh _]]. destruct r as [zss hs]; unfold back, out; simpl in *.
  rewrite addto_neg' by (destruct Hz; lia). f_equal.
  rewrite <- (neg_neg v) at 1. rewrite (shift_kept_neg _ n J); auto. apply Lneg; auto.
Qed.

Lemma Leach r u : length u = J -> length (moved r u) = J.
Proof. intros. unfold moved. rewrite each_length; rewrite ?Lgs; lia. Qed.

Lemma moved_out us v r : length v = J -> ok r -> moved (out us v r) = moved r.
Proof. intros Lv [[Lz _] _]. unfold moved, out; simpl. rewrite others_addto by lia. auto. Qed.

Lemma moved_back us v r : length v = J -> ok r -> moved (back us v r) = moved r.
Proof.
  intros Lv [[Lz _] _]. unfold moved, back; simpl.
  rewrite others_addto by (rewrite (Lneg v Lv); lia). auto.
Qed.

Lemma rest_rest us u : rest (upd t (fun _ => u) us) = rest us.
Proof. unfold rest. apply upd_upd. Qed.

Lemma view us r : vec B n us -> ok r -> let us0 := upd t (fun _ => o) us in
  view_kept gs J t ask us r = view_kept gs J t ask us0 (show us0 (nth t us o) r).
Proof.
  intros Hu Or us0.
  assert (Lt : length (nth t us o) = J).
  { destruct Hu as [L F]. rewrite Forall_forall in F. apply (F (nth t us o)), nth_In. fold n in Ht. lia. }
  assert (Core : forall vs q, vec B n vs -> ok q ->
      view_kept gs J t ask vs q =
      let q1 := out vs (moved q (nth t vs o)) q in
      let s := first_view J t (rest vs) (fst q1) in (s, announce (ask s) [] (kept (fst q1)) (snd q1))).
  { intros vs [zss hs] Hv [Hz [Lh _]]; simpl in Hz, Lh. unfold view_kept. cbv zeta. simpl fst. simpl snd.
    assert (Lv : length (nth t vs o) = J).
    { destruct Hv as [L F]. rewrite Forall_forall in F. apply (F (nth t vs o)), nth_In. fold n in Ht. lia. }
    set (g := each (gs (map (others t) zss))).
    assert (Lg : forall u, length u = J -> length (g u) = J) by apply (Leach (zss, hs)).
    assert (Hm : vec (vec any J) n (upd t g vs)).
    { apply upd_vec; auto. intros u [Lu _]. split; [apply Lg; auto|apply Forall_any]. }
    assert (FV : first_view J t (upd t g vs) zss =
        first_view J t (rest vs) (addto t (g (nth t vs o)) zss)).
    { rewrite (first_view_moves J n t) by auto. fold o. rewrite upd_upd.
      rewrite upd_nth_same by (destruct Hv; fold n in Ht; lia). reflexivity. }
    rewrite FV. f_equal. symmetry. apply (announce_kept _ n J); auto; apply Lg; auto. }
  assert (Or0 : ok (show us0 (nth t us o) r)).
  { unfold show. apply ok_back; [apply Leach, Lo|]. apply ok_out; auto. apply Leach; auto. }
  assert (Hu0 : vec B n us0).
  { apply upd_vec; auto. intros; split; [apply Lo|apply Forall_any]. }
  rewrite (Core us r Hu Or), (Core us0 _ Hu0 Or0). cbv zeta.
  assert (N0 : nth t us0 o = o) by (unfold us0; rewrite upd_nth_same; auto; destruct Hu; fold n in Ht; lia).
  assert (M0 : moved (show us0 (nth t us o) r) = moved r).
  { unfold show. rewrite moved_back, moved_out; auto; try apply Leach; auto using Lo.
    apply ok_out; auto. apply Leach; auto. }
  rewrite N0, M0. unfold show.
  rewrite out_back; [|apply Leach, Lo|apply ok_out; auto; apply Leach; auto].
  assert (R0 : rest us0 = rest us) by apply rest_rest.
  unfold out. rewrite R0. reflexivity.
Qed.

Theorem moved_private K : 0 <= K ->
  (forall x x', nth_error xs t = Some x -> nth_error xs' t = Some x' -> lets J coin (a + b + e) K x x') ->
  dp K (worlds J n (length es)) (fun v => view_kept gs J t ask (fst v) (snd v))
    (joint_law_of coin a b es J n xs) (joint_law_of coin a b es J n xs').
Proof.
  intros HK Hlets E.
  assert (Hc : 0 <= a + b + e) by lra.
  apply (one_person eq_zs eq_dealt o n t B ok (dealer a b es J n) show hide (view_kept gs J t ask) E
    Ht).
  - split; [apply Lo|apply Forall_any].
  - apply dealer_law; auto.
  - intros us u r _ [Lu _] Or. apply ok_back; [apply Leach, Lo|]. apply ok_out; auto. apply Leach; auto.
  - intros us u r _ [Lu _] Or. apply ok_back; [apply Leach; auto|]. apply ok_out; auto. apply Leach, Lo.
  - intros us u r _ [Lu _] Or. unfold hide, show.
    assert (O1 : ok (out us (moved r u) r)) by (apply ok_out; auto; apply Leach; auto).
    rewrite moved_back, moved_out by (auto; apply Leach; auto; apply Lo).
    rewrite out_back, back_out; auto; apply Leach; auto; apply Lo.
  - intros us u r _ [Lu _] Or. unfold hide, show.
    assert (O1 : ok (out us (moved r o) r)) by (apply ok_out; auto; apply Leach, Lo).
    rewrite moved_back, moved_out by (auto; apply Leach; auto; apply Lo).
    rewrite out_back, back_out; auto; apply Leach; auto; apply Lo.
  - exact view.
  - exact HK.
  - rewrite map_length; auto.
  - rewrite map_length. symmetry. apply Nb.
  - apply Forall_map; auto.
  - apply Forall_map; auto.
  - intros i Hi. rewrite !nth_map, (proj2 Nb); auto.
  - intros us r Hu Hr S1 S2. rewrite !nth_map in *.
    destruct (nth_error xs t) as [x|] eqn:Ex; [|apply nth_error_None in Ex; lia].
    destruct (nth_error xs' t) as [x'|] eqn:Ex'.
    2:{ apply nth_error_None in Ex'. destruct Nb as [L _]. lia. }
    assert (O1 : ok (out us (moved r o) r)) by (apply ok_out; auto; apply Leach, Lo).
    unfold hide in *. destruct (out us (moved r o) r) as [zss hs].
    destruct (dealer_weights_kept a b es e (ask (first_view J t (rest us) zss)) J n t zss hs)
      as (k & fs & Hk & Lf & Sf & Ef); auto.
    set (g := gs (map (others t) (fst r))) in *.
    assert (Lg : length g = J) by apply Lgs. assert (Gg : Forall gentle g) by apply Hgs.
    set (fg := through_each fs g) in *.
    assert (Lfg : length fg = J) by (unfold fg; rewrite through_each_length; lia).
    assert (Sfg : Forall (slope (a + b + e)) fg) by (apply through_each_slope; auto).
    assert (R : forall q, (forall u, B u -> q u * dealer a b es J n (back us (moved r u) (zss, hs)) =
        k * (q u * prodlaw fg u))).
    { intros q u [Lu _]. unfold back; simpl. rewrite Ef by (apply Leach; auto).
      unfold fg. rewrite through_each_prod by lia. unfold moved. fold g. ring. }
    assert (SS : forall q, summable B (fun u => q u * dealer a b es J n (back us (moved r u) (zss, hs))) ->
        summable B (fun u => q u * prodlaw fg u)).
    { intros q Sq. pose proof (Rinv_0_lt_compat _ Hk) as Hi.
      apply (summable_ext _ (fun u => / k * (q u * dealer a b es J n (back us (moved r u) (zss, hs))))).
      - intros u Bu. rewrite R by auto. field. lra.
      - apply Sum_scal; auto. lra. }
    apply SS in S1. apply SS in S2.
    rewrite (Sum_ext B B _ (fun u => k * (coin x u * prodlaw fg u))) by (try tauto; auto).
    rewrite (Sum_ext B B (fun u => coin x' u * _) (fun u => k * (coin x' u * prodlaw fg u)))
      by (try tauto; auto).
    rewrite (proj2 (Sum_scal B _ k (Rlt_le _ _ Hk) S1)), (proj2 (Sum_scal B _ k (Rlt_le _ _ Hk) S2)).
    rewrite <- Rmult_assoc, (Rmult_comm K k), Rmult_assoc.
    apply Rmult_le_compat_l; [lra|]. apply (Hlets x x'); auto.
Qed.
End Masked.
End Kept.

(** ** The theorem.
    o is all that is drawn by anybody but person t and the one dealer who keeps his cards to himself.
    The cards of other dealers, some added before his and some after, are chosen in any way from o and
    from his cards of all others, for these people may be the other dealers' friends. What she sends: her outcome (a number 0..m), one card after another added, brought into the range after
    each. The adversary knows o, what she sent, and all cards but hers. What the others send may be
    anything that can be computed from this, so it tells nothing new; and which sums are told may
    depend on all of it. *)
Section Running.
Context {X S : Type} (eqS : forall u v : S, {u = v} + {u <> v}).
Context (coin : X -> list Z -> R) (a b e : R) (es : list R) (J t : nat) (B m C : Z).
Context (earlier later : S -> list (list Z) -> nat -> list Z) (Q : S -> Prop) (q : S -> R).
Definition sent (o : S) (us zss : list (list Z)) : list Z := map (fun j =>
  let theirs := map (others t) zss in
  fold_left (add_card B m) (earlier o theirs j ++ cut C (nth t (col j zss) 0%Z) :: later o theirs j)
    (into 0 m (nth j (nth t us []) 0%Z))) (seq 0 J).
Definition known (p : outcome * S) : S * list Z * list (list Z) :=
  let '((us, (zss, hs)), o) := p in (o, sent o us zss, map (others t) zss).
Definition seen_running (ask : S * list Z * list (list Z) -> asking) (p : outcome * S) :=
  let '((us, (zss, hs)), o) := p in
  (known p, announce (ask (known p)) [] (map (map (cut C)) zss) hs).

Context (ask : S * list Z * list (list Z) -> asking) (xs xs' : list X).
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es) (He0 : 0 <= e).
Hypothesis budget : forall v, within (ask v) t es [] (fun _ => e).
Hypothesis Laws : Forall (fun x => is_law (vec any J) (coin x)) xs.
Hypothesis Laws' : Forall (fun x => is_law (vec any J) (coin x)) xs'.
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat) (Lq : is_law Q q).
Hypotheses (HB : (0 <= B)%Z) (Hm : (0 <= m)%Z).
Hypothesis HC : (2 * B + m <= C)%Z \/ ((B + m <= C)%Z /\ forall o theirs j, earlier o theirs j = []).

Let gs (o : S) (theirs : list (list Z)) : list (Z -> Z) :=
  map (fun j v => fold_left (add_card B m) (earlier o theirs j) (into 0 m v)) (seq 0 J).
Let finish (o : S) (s : seen) : list Z := map (fun j =>
  fold_left (add_card B m) (later o (snd s) j) (into (- B) (B + m) (nth t (nth j (fst s) []) 0%Z)))
  (seq 0 J).

Lemma gs_gentle o theirs : Forall gentle (gs o theirs).
Proof.
  apply Forall_map, Forall_forall. intros j _.
  apply (gentle_after (fun v => fold_left (add_card B m) (earlier o theirs j) v) (into 0 m));
    [apply cards_gentle|apply into_gentle].
Qed.

Lemma sent_hidden o theirs j u z :
  fold_left (add_card B m) (earlier o theirs j ++ cut C z :: later o theirs j) (into 0 m u) =
  fold_left (add_card B m) (later o theirs j)
    (into (- B) (B + m) (fold_left (add_card B m) (earlier o theirs j) (into 0 m u) + z)).
Proof.
  rewrite fold_left_app. simpl. f_equal.
  assert (R0 : (0 <= into 0 m u <= m)%Z) by (unfold into; lia).
  destruct HC as [H|[H N]].
  - apply cut_hidden with (- B)%Z (B + m)%Z; try lia. apply cards_range; lia.
  - rewrite N. simpl. apply cut_hidden with 0%Z m; lia.
Qed.

Lemma nth_plus us zs i : (i < length us)%nat -> length us = length zs ->
  nth i (plus us zs) 0%Z = (nth i us 0 + nth i zs 0)%Z.
Proof. revert zs i; induction us; intros [|z zs] [|i] H L; simpl in *; try lia; auto. apply IHus; lia. Qed.

Lemma finish_sent o us zss : vec (vec any J) (length xs) us -> vec (cards (length xs)) J zss ->
  finish o (first_view J t (upd t (each (gs o (map (others t) zss))) us) zss) = sent o us zss.
Proof.
  intros [Lu Fu] [Lz Fz]. unfold finish, sent. apply map_ext_in. intros j Hj. apply in_seq in Hj.
  cbv zeta. rewrite sent_hidden. set (theirs := map (others t) zss).
  change (snd (first_view J t (upd t (each (gs o theirs)) us) zss)) with theirs.
  f_equal. f_equal. unfold first_view, reports; simpl fst.
  rewrite (nth_indep _ [] (plus (column 0 (upd t (each (gs o theirs)) us)) (col 0 zss)))
    by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun j => plus (column j (upd t (each (gs o theirs)) us)) (col j zss))), seq_nth by lia.
  assert (Lc : length (col j zss) = length xs).
  { rewrite Forall_forall in Fz. apply (Fz (col j zss)), nth_In. lia. }
  assert (Lt : length (nth t us []) = J).
  { rewrite Forall_forall in Fu. apply (Fu (nth t us [])), nth_In. lia. }
  simpl. unfold column. rewrite nth_plus; rewrite ?map_length, ?upd_length; try lia.
  f_equal.
  rewrite (nth_indep _ 0%Z ((fun u => nth j u 0%Z) [])) by (rewrite map_length, upd_length; lia).
  rewrite (map_nth (fun u => nth j u 0%Z)), upd_nth_same by lia.
  assert (Lg : length (gs o theirs) = J) by (unfold gs; rewrite map_length, seq_length; auto).
  rewrite each_nth by lia. unfold gs.
  rewrite (nth_indep _ _ (fun v => fold_left (add_card B m) (earlier o theirs 0) (into 0 m v)))
    by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun j v => fold_left (add_card B m) (earlier o theirs j) (into 0 m v))), seq_nth by lia.
  reflexivity.
Qed.

Theorem what_runs K : 0 <= K ->
  (forall x x', nth_error xs t = Some x -> nth_error xs' t = Some x' -> lets J coin (a + b + e) K x x') ->
  dp K (fun p => worlds J (length xs) (length es) (fst p) /\ Q (snd p)) (seen_running ask)
    (fun p => joint_law_of coin a b es J (length xs) xs (fst p) * q (snd p))
    (fun p => joint_law_of coin a b es J (length xs) xs' (fst p) * q (snd p)).
Proof.
  intros HK Hl.
  set (ask' := fun o (s : seen) => ask (o, finish o s, snd s)).
  assert (LL : forall ys, length ys = length xs -> Forall (fun x => is_law (vec any J) (coin x)) ys ->
      is_law (worlds J (length xs) (length es)) (joint_law_of coin a b es J (length xs) ys)).
  { intros ys Ly Fy. rewrite <- Ly. apply world_law; auto. }
  assert (D : dp (K * 1) (fun p : outcome * S => worlds J (length xs) (length es) (fst p) /\ Q (snd p))
      (fun p => (view_kept (cut C) (gs (snd p)) J t (ask' (snd p)) (fst (fst p)) (snd (fst p)), snd p))
      (fun p => joint_law_of coin a b es J (length xs) xs (fst p) * q (snd p))
      (fun p => joint_law_of coin a b es J (length xs) xs' (fst p) * q (snd p))).
  { apply (compose eqS eqS Q (worlds J (length xs) (length es)) (fun o => o)
      (fun o v => view_kept (cut C) (gs o) J t (ask' o) (fst v) (snd v)) 1 K q q
      (fun _ => joint_law_of coin a b es J (length xs) xs)
      (fun _ => joint_law_of coin a b es J (length xs) xs')); auto; try lra.
    - intros _. apply LL; auto. symmetry. apply Nb.
    - intros E. lra.
    - intros o _. apply moved_private with (e := e); auto.
      + apply into_gentle.
      + intros theirs. unfold gs. rewrite map_length, seq_length. auto.
      + intros theirs. apply gs_gentle.
      + intros s. apply budget. }
  rewrite Rmult_1_r in D. intros E.
  specialize (D (fun w => E ((snd w, finish (snd w) (fst (fst w)), snd (fst (fst w))), snd (fst w)))).
  set (V := fun p : outcome * S => view_kept (cut C) (gs (snd p)) J t (ask' (snd p)) (fst (fst p)) (snd (fst p))).
  assert (EQ : forall f, Sum (fun p => (worlds J (length xs) (length es) (fst p) /\ Q (snd p)) /\
        E (seen_running ask p)) f =
      Sum (fun p => (worlds J (length xs) (length es) (fst p) /\ Q (snd p)) /\
        E (snd p, finish (snd p) (fst (V p)), snd (fst (V p)), snd (V p))) f).
  { unfold V. intros f. apply Sum_ext; [|auto]. intros [[us [zss hs]] o].
    split; intros [[W Ho] H]; split; auto; destruct W as [Hu [Hz Hh]]; simpl in Hu, Hz, Hh, H |- *;
      unfold ask', kept in *; simpl in *; rewrite finish_sent in *; auto. }
  rewrite !EQ. exact D.
Qed.
End Running.

(** Questions of a survey: every person is asked some of the items, with one coin for her items (numbers
    0 and 1). This is what runs by default; yes and no, and one of k answers, are blocks of one item. *)
Corollary survey_runs {S} (eqS : forall u v : S, {u = v} + {u <> v}) a b e es J t B C
  (earlier later : S -> list (list Z) -> nat -> list Z) (Q : S -> Prop) (q : S -> R)
  (ask : S * list Z * list (list Z) -> asking) k x x' (xs xs' : list (question * nat)) :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es -> 0 <= e ->
  (forall v, within (ask v) t es [] (fun _ => e)) ->
  Forall (well_asked J) xs -> Forall (well_asked J) xs' ->
  neighbours t xs xs' -> nth_error xs t = Some (k, x) -> nth_error xs' t = Some (k, x') ->
  is_law Q q -> (0 <= B)%Z ->
  (2 * B + 1 <= C)%Z \/ ((B + 1 <= C)%Z /\ forall o theirs j, earlier o theirs j = []) ->
  dp (block_bound (sizes k) (p k) (asked.q k) (a + b + e))
    (fun w => worlds J (length xs) (length es) (fst w) /\ Q (snd w))
    (seen_running J t B 1 C earlier later ask)
    (fun w => joint_law_of partial_coin a b es J (length xs) xs (fst w) * q (snd w))
    (fun w => joint_law_of partial_coin a b es J (length xs) xs' (fst w) * q (snd w)).
Proof.
  intros Ha Hb He He0 W Ok Ok' Nb X X' Lq HB HC.
  assert (Ht : (t < length xs)%nat) by (apply nth_error_Some; congruence).
  assert (Law : forall ys, Forall (well_asked J) ys -> Forall (fun x => is_law (vec any J) (partial_coin x)) ys).
  { intros ys F. eapply Forall_impl; [|exact F]. intros [k' y] (Lk & Ck & _ & Coin & Hy).
    apply asked_law; auto. }
  assert (Hc : 0 <= a + b + e) by lra.
  assert (O1 : well_asked J (k, x)) by (rewrite Forall_forall in Ok; apply Ok; apply nth_error_In with t; auto).
  assert (O2 : well_asked J (k, x')) by (rewrite Forall_forall in Ok'; apply Ok'; apply nth_error_In with t; auto).
  destruct O1 as (Lk & Ck & Hs & Coin & Hx), O2 as (_ & _ & _ & _ & Hx').
  simpl fst in *. simpl snd in *.
  apply (what_runs eqS partial_coin a b e es J t B 1 C earlier later Q q ask xs xs'); auto; try lia.
  - apply block_bound_nonneg; auto.
  - intros y y' Y Y'. rewrite X in Y. rewrite X' in Y'. injection Y as <-. injection Y' as <-.
    apply asked_lets; auto.
Qed.

(** Whoever has no card sends what the bare coin says; so K is p / q of that coin, whatever is known of
    all others, their cards and coins. *)
Corollary without_card a b es J t k x x' (xs xs' : list (question * nat)) :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  Forall (well_asked J) xs -> Forall (well_asked J) xs' -> 0 < q k ->
  neighbours t xs xs' -> nth_error xs t = Some (k, x) -> nth_error xs' t = Some (k, x') ->
  dp (p k / q k) (worlds J (length xs) (length es)) (fun v => v)
    (joint_law_of partial_coin a b es J (length xs) xs) (joint_law_of partial_coin a b es J (length xs) xs').
Proof.
  intros Ha Hb He Ok Ok' Hq Nb X X'.
  assert (Ht : (t < length xs)%nat) by (apply nth_error_Some; congruence).
  assert (Law : forall ys, Forall (well_asked J) ys -> Forall (fun x => is_law (vec any J) (partial_coin x)) ys).
  { intros ys F. eapply Forall_impl; [|exact F]. intros [k' y] (Lk & Ck & _ & Coin & Hy).
    apply asked_law; auto. }
  assert (O1 : well_asked J (k, x)) by (rewrite Forall_forall in Ok; apply Ok; apply nth_error_In with t; auto).
  destruct O1 as (_ & _ & _ & (Hpq & Hp & _) & _). simpl fst in *.
  apply (dealer_sees partial_coin a b es J t); auto.
  - unfold Rdiv. apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. auto.
  - intros y y' u Y Y' _. rewrite X in Y. rewrite X' in Y'. injection Y as <-. injection Y' as <-.
    apply partial_dealer. lra.
Qed.

(** ** Questions and waves, as they run.
    Stage i may depend on all that was seen in the stages before it: who is asked what, the answers, what
    others and other dealers draw, which sums are asked for. t i is person t's place in stage i. *)
Section Stages.
Context {X S : Type} (eqS : forall u v : S, {u = v} + {u <> v}) (o0 : S).
Let T : Type := ((S * list Z * list (list Z)) * list Z)%type.
Context (coin : nat -> X -> list Z -> R) (a b e K : nat -> R) (es : nat -> list R).
Context (J n t : nat -> nat) (B m C : nat -> Z) (earlier later : list T -> S -> list (list Z) -> nat -> list Z).
Context (Q : nat -> S -> Prop) (q : list T -> S -> R).
Context (ask : list T -> S * list Z * list (list Z) -> asking) (xs xs' : list T -> list X).
Hypotheses (Ha : forall i, 0 < a i) (Hb : forall i, 0 <= b i) (He0 : forall i, 0 <= e i) (HK : forall i, 0 <= K i).
Hypothesis He : forall i, Forall (fun e => 0 < e) (es i).
Hypothesis budget : forall v s, within (ask v s) (t (length v)) (es (length v)) [] (fun _ => e (length v)).
Hypothesis Laws : forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (xs v).
Hypothesis Laws' : forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (xs' v).
Hypothesis Lq : forall v, is_law (Q (length v)) (q v).
Hypothesis People : forall v, length (xs v) = n (length v) /\ (t (length v) < n (length v))%nat.
Hypothesis Nb : forall v, neighbours (t (length v)) (xs v) (xs' v).
Hypotheses (HB : forall i, (0 <= B i)%Z) (Hm : forall i, (0 <= m i)%Z).
Hypothesis HC : forall v, let i := length v in
  (2 * B i + m i <= C i)%Z \/ ((B i + m i <= C i)%Z /\ forall o theirs j, earlier v o theirs j = []).
Hypothesis Let : forall v x x', let i := length v in
  nth_error (xs v) (t i) = Some x -> nth_error (xs' v) (t i) = Some x' ->
  lets (J i) (coin i) (a i + b i + e i) (K i) x x'.

Let stage (i : nat) (w : outcome * S) : Prop := worlds (J i) (n i) (length (es i)) (fst w) /\ Q i (snd w).
Let seen_at (v : list T) : outcome * S -> T := let i := length v in
  seen_running (J i) (t i) (B i) (m i) (C i) (earlier v) (later v) (ask v).
Let law_at_stage (ys : list T -> list X) (v : list T) (w : outcome * S) : R := let i := length v in
  joint_law_of (coin i) (a i) (b i) (es i) (J i) (n i) (ys v) (fst w) * q v (snd w).

Theorem questions_run k :
  dp (prodK K k) (stages stage k) (views seen_at) (history seen_at (law_at_stage xs))
    (history seen_at (law_at_stage xs')).
Proof.
  assert (LL : forall ys : list T -> list X, (forall v, length (ys v) = n (length v)) ->
      (forall v, Forall (fun x => is_law (vec any (J (length v))) (coin (length v) x)) (ys v)) ->
      forall v, is_law (stage (length v)) (law_at_stage ys v)).
  { intros ys Ly Fy v. apply (prod_law eqS); auto. rewrite <- (Ly v). apply world_law; auto. }
  assert (eqW : forall u v : outcome * S, {u = v} + {u <> v}) by (decide equality; apply eq_outcome).
  assert (eqT : forall u v : T, {u = v} + {u <> v}).
  { unfold T. repeat decide equality. }
  apply (compose_many eqW eqT stage seen_at K (law_at_stage xs) (law_at_stage xs')); auto.
  - apply LL; auto. intros v. apply People.
  - apply LL; auto. intros v. rewrite <- (proj1 (Nb v)). apply People.
  - intros v. destruct (People v) as [Ln Ht]. unfold stage, law_at_stage, seen_at. rewrite <- Ln.
    apply (what_runs eqS (coin (length v)) (a (length v)) (b (length v)) (e (length v))); auto.
    rewrite Ln. auto.
  - exact ((o0, [], []), []).
Qed.
End Stages.
