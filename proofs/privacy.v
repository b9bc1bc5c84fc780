(** * The theorem: any coin behind masks

    Whatever the others answered, whoever else's cards are known, whichever sums are asked for: if
    the coin lets through at most K when seen through weights whose slope is a + b + e, then nothing
    that the adversary sees is more than K times as likely with one answer of person t as with
    another. e is the most that the rates of the sums with her card in them add up to. *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith FinFun.
From JRR Require Import laws model person masks announcements.
Import ListNotations.
Open Scope R_scope.

Lemma nth_map {X Y} (f : X -> Y) l i d :
  nth i (map f l) d = match nth_error l i with Some x => f x | None => d end.
Proof. revert i; induction l; intros [|i]; simpl; auto. Qed.

Definition eq_zs : forall u v : list Z, {u = v} + {u <> v} := list_eq_dec Z.eq_dec.
Definition eq_dealt : forall u v : list (list Z) * list Z, {u = v} + {u <> v}.
Proof. decide equality; apply list_eq_dec; [apply Z.eq_dec|apply eq_zs]. Defined.

Theorem dealer_law a b es J n : 0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  is_law (dealt J n (length es)) (dealer a b es J n).
Proof.
  intros Ha Hb He.
  apply (prod_law eq_zs (vec (cards n) J) (vec any (length es))
    (prodlaw (repeat (deck a b n) J)) (prodlaw (map lap es))).
  - rewrite <- (repeat_length (deck a b n) J) at 1. apply prodlaw_law; [apply eq_zs|].
    apply Forall_repeat, deck_law; auto.
  - rewrite <- (map_length lap es). apply prodlaw_law; [apply Z.eq_dec|].
    apply Forall_map. eapply Forall_impl; [|exact He]. apply lap_law.
Qed.

(** The probabilities of the claim add up to 1. *)
Theorem world_law {X} (coin : X -> list Z -> R) a b es J xs :
  0 < a -> 0 <= b -> Forall (fun e => 0 < e) es ->
  Forall (fun x => is_law (vec any J) (coin x)) xs ->
  is_law (fun v => vec (vec any J) (length xs) (fst v) /\ dealt J (length xs) (length es) (snd v))
    (fun v => prodlaw (map coin xs) (fst v) * dealer a b es J (length xs) (snd v)).
Proof.
  intros Ha Hb He L. apply (prod_law eq_dealt).
  - rewrite <- (map_length coin xs). apply prodlaw_law; [apply eq_zs|]. apply Forall_map; auto.
  - apply dealer_law; auto.
Qed.

Section Masked.
Context {X : Type} (coin : X -> list Z -> R) (a b e : R) (es : list R) (J t : nat).
Context (ask : seen -> asking) (xs xs' : list X).
Hypotheses (Ha : 0 < a) (Hb : 0 <= b) (He : Forall (fun e => 0 < e) es).
Hypothesis budget : forall s, within (ask s) t es [] (fun _ => e).
Hypothesis Laws : Forall (fun x => is_law (vec any J) (coin x)) xs.
Hypothesis Laws' : Forall (fun x => is_law (vec any J) (coin x)) xs'.
Hypotheses (Nb : neighbours t xs xs') (Ht : (t < length xs)%nat).

Let n := length xs.
Let o := repeat 0%Z J.
Let B := vec (@any Z) J.
Let ok := dealt J n (length es).
Let show (us : list (list Z)) (u : list Z) (r : list (list Z) * list Z) :=
  let zss := addto t u (fst r) in
  (zss, shift (ask (first_view J t us zss)) t u [] (fst r) (snd r)).
Let hide (us : list (list Z)) (u : list Z) (r : list (list Z) * list Z) :=
  (addto t (neg u) (fst r), shift (ask (first_view J t us (fst r))) t (neg u) [] (fst r) (snd r)).

Lemma neg_length u : length u = J -> length (neg u) = J.
Proof. intros. unfold neg. rewrite map_length. auto. Qed.

Lemma ok_show us u r : B u -> ok r -> ok (show us u r).
Proof.
  intros [Lu _] [Hz [Lh _]]. split; simpl.
  - apply addto_vec; auto.
  - split; [rewrite shift_length; auto|apply Forall_any].
Qed.

Lemma ok_hide us u r : B u -> ok r -> ok (hide us u r).
Proof.
  intros [Lu _] [Hz [Lh _]]. split; simpl.
  - apply addto_vec; auto. apply neg_length; auto.
  - split; [rewrite shift_length; auto|apply Forall_any].
Qed.

Lemma hide_show us u r : B u -> ok r -> hide us u (show us u r) = r.
Proof.
  intros [Lu _] [Hz [Lh _]]. destruct r as [zss hs]; unfold hide, show; simpl in *.
  rewrite addto_neg by (destruct Hz; lia). rewrite (shift_neg _ n J); auto.
Qed.

Lemma show_hide us u r : B u -> ok r -> show us u (hide us u r) = r.
Proof.
  intros [Lu _] [Hz [Lh _]]. destruct r as [zss hs]; unfold hide, show; simpl in *.
  rewrite addto_neg' by (destruct Hz; lia). rewrite (shift_neg' _ n J); auto.
Qed.

Lemma view us r : vec B n us -> ok r -> let us0 := upd t (fun _ => o) us in
  full_view J t ask us r = full_view J t ask us0 (show us0 (nth t us o) r).
Proof.
  intros Hu [Hz [Lh _]] us0. destruct r as [zss hs]; unfold full_view, show; simpl in *.
  assert (Lt : length (nth t us o) = J).
  { destruct Hu as [L F]. rewrite Forall_forall in F. apply (F (nth t us o)), nth_In. lia. }
  unfold us0. unfold o. rewrite <- (first_view_moves J n t us zss) by auto. fold o.
  rewrite (announce_shift _ n J); auto.
Qed.

Let ps := map coin xs.
Let ps' := map coin xs'.
Lemma same_laws i : i <> t -> nth i ps (fun _ => 0) = nth i ps' (fun _ => 0).
Proof. intros Hi. unfold ps, ps'. rewrite !nth_map, (proj2 Nb); auto. Qed.

Lemma laws_ok ys : Forall (fun x => is_law (vec any J) (coin x)) ys -> Forall (is_law B) (map coin ys).
Proof. intros. apply Forall_map. auto. Qed.

Theorem masked K : 0 <= K ->
  (forall x x', nth_error xs t = Some x -> nth_error xs' t = Some x' -> lets J coin (a + b + e) K x x') ->
  forall E, Pr coin a b es J t ask xs E <= K * Pr coin a b es J t ask xs' E.
Proof.
  intros HK Hlets E. unfold Pr. rewrite <- (proj1 Nb). fold n.
  apply (one_person eq_zs eq_dealt o n t B ok (dealer a b es J n) show hide (full_view J t ask) E);
    auto; try (intros; apply ok_show; auto); try (intros; apply ok_hide; auto);
    try (intros; apply hide_show; auto); try (intros; apply show_hide; auto).
  - split; [apply repeat_length|apply Forall_any].
  - apply dealer_law; auto.
  - exact view.
  - rewrite map_length; auto.
  - rewrite map_length. symmetry. apply Nb.
  - apply laws_ok; auto.
  - apply laws_ok; auto.
  - exact same_laws.
  - intros us r Hu Hr S1 S2. rewrite !nth_map in *.
    destruct (nth_error xs t) as [x|] eqn:Ex; [|apply nth_error_None in Ex; lia].
    destruct (nth_error xs' t) as [x'|] eqn:Ex'.
    2:{ apply nth_error_None in Ex'. destruct Nb as [L _]. lia. }
    destruct r as [zss hs].
    destruct (dealer_weights a b es e (ask (first_view J t us zss)) J n t zss hs)
      as (k & fs & Hk & Lf & Sf & Ef); auto.
    assert (R : forall q, (forall u, B u -> q u * dealer a b es J n (hide us u (zss, hs)) =
        k * (q u * prodlaw fs u))).
    { intros q u [Lu _]. unfold hide; simpl. rewrite Ef by auto. ring. }
    assert (SS : forall q, summable B (fun u => q u * dealer a b es J n (hide us u (zss, hs))) ->
        summable B (fun u => q u * prodlaw fs u)).
    { intros q Sq. pose proof (Rinv_0_lt_compat _ Hk) as Hi.
      apply (summable_ext _ (fun u => / k * (q u * dealer a b es J n (hide us u (zss, hs))))).
      - intros u Bu. rewrite R by auto. field. lra.
      - apply Sum_scal; auto. lra. }
    apply SS in S1. apply SS in S2.
    rewrite (Sum_ext B B _ (fun u => k * (coin x u * prodlaw fs u))) by (try tauto; auto).
    rewrite (Sum_ext B B (fun u => coin x' u * _) (fun u => k * (coin x' u * prodlaw fs u)))
      by (try tauto; auto).
    rewrite (proj2 (Sum_scal B _ k (Rlt_le _ _ Hk) S1)), (proj2 (Sum_scal B _ k (Rlt_le _ _ Hk) S2)).
    rewrite <- Rmult_assoc, (Rmult_comm K k), Rmult_assoc.
    apply Rmult_le_compat_l; [lra|]. apply (Hlets x x'); auto.
Qed.
(** One view that leaves nothing open but person t's outcome: its probability is a sum over outcomes. *)
Theorem masked_view us r : vec B n us -> nth t us o = o -> ok r ->
  (forall us' r', vec B n us' -> nth t us' o = o -> ok r' ->
    full_view J t ask us' r' = full_view J t ask us r -> (us', r') = (us, r)) ->
  exists C, 0 <= C /\
  Pr coin a b es J t ask xs (fun v => v = full_view J t ask us r) =
    C * Sum B (fun u => nth t ps (fun _ => 0) u * dealer a b es J n (hide us u r)) /\
  Pr coin a b es J t ask xs' (fun v => v = full_view J t ask us r) =
    C * Sum B (fun u => nth t ps' (fun _ => 0) u * dealer a b es J n (hide us u r)).
Proof.
  intros Hu Hn Hr One. unfold Pr. rewrite <- (proj1 Nb). fold n.
  apply (one_view eq_zs eq_dealt o n t B ok (dealer a b es J n) show hide (full_view J t ask)
    (fun v => v = full_view J t ask us r));
    auto; try (intros; apply ok_show; auto); try (intros; apply ok_hide; auto);
    try (intros; apply hide_show; auto); try (intros; apply show_hide; auto).
  all: try (split; [apply repeat_length|apply Forall_any]; fail).
  all: try (apply dealer_law; auto; fail).
  all: try exact view.
  all: try (unfold ps; rewrite map_length; auto; fail).
  all: try (unfold ps'; rewrite map_length; symmetry; apply Nb; fail).
  all: try (apply laws_ok; auto; fail).
  all: try exact same_laws.
  intros [us' r'] [[H1 H2] [H3 H4]]; simpl in *. apply One; auto.
Qed.
End Masked.
