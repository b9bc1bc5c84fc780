(** * What is done, and what is seen: the definitions that the theorems speak of

    n people hold answers xs. The device of each draws J whole numbers u from the law [coin x] of her
    answer x (yes/no: J = 1). To each number it adds a card, a whole number that a dealer drew; she
    sends the J sums. The cards of one number are a column: n cards, with
        P(z_1..z_n) proportional to exp(-a sum|z_i| - b |sum z_i|)            (b = 0: independent),
    and the J columns are independent. Of the cards the dealer then announces sums, one after another,
    of whatever subset of one column he is asked for, each with own noise P(h) proportional to
    exp(-e|h|). Who asks (the adversary: the rule [ask]) may choose from all that he has seen.

    The adversary sees all reports, all cards of everybody but person t, and all announced sums. *)

From Coq Require Import Reals ZArith List Bool Arith.
From JRR Require Import laws.
Import ListNotations.
Open Scope R_scope.

(** ** The dealer *)
Fixpoint sumZ (zs : list Z) : Z := match zs with [] => 0%Z | z :: r => (z + sumZ r)%Z end.
Fixpoint sumabs (zs : list Z) : Z := match zs with [] => 0%Z | z :: r => (Z.abs z + sumabs r)%Z end.

(** A column of n cards; its law. *)
Definition cards (n : nat) : list Z -> Prop := vec any n.
Definition deckw (a b : R) (zs : list Z) : R :=
  exp (- a * IZR (sumabs zs) - b * IZR (Z.abs (sumZ zs))).
Definition deck (a b : R) (n : nat) : list Z -> R := normalise (cards n) (deckw a b).

(** Discrete Laplace noise; one for each announced sum, with its own rate. *)
Definition lapw (e : R) (h : Z) : R := exp (- e * IZR (Z.abs h)).
Definition lap (e : R) : Z -> R := normalise any (lapw e).

(** All of the dealer's randomness: J columns, and the noises of the announcements with rates es. *)
Definition dealt (J n m : nat) (r : list (list Z) * list Z) : Prop :=
  vec (cards n) J (fst r) /\ vec any m (snd r).
Definition dealer (a b : R) (es : list R) (J n : nat) (r : list (list Z) * list Z) : R :=
  prodlaw (repeat (deck a b n) J) (fst r) * prodlaw (map lap es) (snd r).

(** ** Reports *)
Fixpoint plus (us zs : list Z) : list Z :=
  match us, zs with u :: us', z :: zs' => (u + z)%Z :: plus us' zs' | _, _ => [] end.
(** Number j of everybody's outcome. *)
Definition column (j : nat) (us : list (list Z)) : list Z := map (fun u => nth j u 0%Z) us.
Definition col (j : nat) (zss : list (list Z)) : list Z := nth j zss [].
Definition reports (J : nat) (us zss : list (list Z)) : list (list Z) :=
  map (fun j => plus (column j us) (col j zss)) (seq 0 J).

(** ** What the adversary sees, before and with the announcements *)
Definition others (t : nat) (zs : list Z) : list Z := upd t (fun _ => 0%Z) zs.
Definition seen : Type := list (list Z) * list (list Z).
Definition first_view (J t : nat) (us zss : list (list Z)) : seen :=
  (reports J us zss, map (others t) zss).

(** The sum of the cards of a group G of the people (given by a test). *)
Fixpoint sumover (G : nat -> bool) (zs : list Z) : Z :=
  match zs with
  | [] => 0%Z
  | z :: zs' => ((if G O then z else 0) + sumover (fun i => G (S i)) zs')%Z
  end.

(** A rule of asking: from the sums told so far (the last one first), the number j and the subset
    whose sum is told next. *)
Definition asking : Type := list Z -> nat * (nat -> bool).
Fixpoint announce (ask : asking) (past : list Z) (zss : list (list Z)) (hs : list Z) : list Z :=
  match hs with
  | [] => past
  | h :: hs' => let '(j, G) := ask past in
      announce ask ((sumover G (col j zss) + h)%Z :: past) zss hs'
  end.
Definition full_view (J t : nat) (ask : seen -> asking)
  (us : list (list Z)) (r : list (list Z) * list Z) : seen * list Z :=
  let s := first_view J t us (fst r) in (s, announce (ask s) [] (fst r) (snd r)).

(** The budget of announcements: whatever is told, the rates of those sums of number j that contain
    person t's card add up to at most [left j]. *)
Fixpoint within (ask : asking) (t : nat) (es : list R) (past : list Z) (left : nat -> R) : Prop :=
  match es with
  | [] => forall j, 0 <= left j
  | e :: es' => let '(j, G) := ask past in
      forall told : Z, within ask t es' (told :: past)
        (if G t then fun i => if Nat.eqb i j then left i - e else left i else left)
  end.

(** ** The claim: the probability that what the adversary sees lies in the event E *)
Definition Pr {X} (coin : X -> list Z -> R) (a b : R) (es : list R) (J t : nat)
  (ask : seen -> asking) (xs : list X) (E : seen * list Z -> Prop) : R :=
  let n := length xs in
  Sum (fun v => (vec (vec any J) n (fst v) /\ dealt J n (length es) (snd v)) /\
                E (full_view J t ask (fst v) (snd v)))
      (fun v => prodlaw (map coin xs) (fst v) * dealer a b es J n (snd v)).

(** Two lists of answers that differ at most in that of person t. *)
Definition neighbours {X} (t : nat) (xs xs' : list X) : Prop :=
  length xs = length xs' /\ forall i, i <> t -> nth_error xs i = nth_error xs' i.

(** ** What a coin lets through masks.
    [slope c f]: from one whole number to the next, f changes by a factor of at most e^c. *)
Definition slope (c : R) (f : Z -> R) : Prop :=
  forall v, 0 <= f v /\ f (v + 1)%Z <= exp c * f v /\ f v <= exp c * f (v + 1)%Z.
(** [lets J coin c K x x']: seen through any weights that are products of such functions, the answer x
    is at most K times as likely as the answer x'. *)
Definition lets {X} (J : nat) (coin : X -> list Z -> R) (c K : R) (x x' : X) : Prop :=
  forall fs, length fs = J -> Forall (slope c) fs ->
  summable (vec any J) (fun u => coin x u * prodlaw fs u) ->
  summable (vec any J) (fun u => coin x' u * prodlaw fs u) ->
  Sum (vec any J) (fun u => coin x u * prodlaw fs u) <=
  K * Sum (vec any J) (fun u => coin x' u * prodlaw fs u).
