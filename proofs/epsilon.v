(** * e^epsilon in its usual forms *)

From Coq Require Import Reals Lra Lia ZArith List Bool Arith.
From JRR Require Import laws model masks coins.
Import ListNotations.
Open Scope R_scope.

(** Yes or no: p and 1 - p. *)
Definition eps (c d : R) : R := ln ((1 + exp (c + d)) / (exp c + exp d)).

Lemma exp_eps c d : exp (eps c d) = (1 + exp (c + d)) / (exp c + exp d).
Proof.
  unfold eps. apply exp_ln. pose proof (exp_pos c). pose proof (exp_pos d). pose proof (exp_pos (c + d)).
  unfold Rdiv. apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat. lra.
Qed.

Lemma tanh_half u : tanh (u / 2) = (exp u - 1) / (exp u + 1).
Proof.
  unfold tanh, sinh, cosh.
  assert (E : exp u = exp (u / 2) * exp (u / 2)) by (rewrite <- exp_plus; f_equal; lra).
  rewrite E, exp_Ropp. pose proof (exp_pos (u / 2)). field. repeat split; nra.
Qed.

Theorem eps_tanh c d : tanh (eps c d / 2) = tanh (d / 2) * tanh (c / 2).
Proof.
  rewrite !tanh_half, exp_eps, exp_plus.
  pose proof (exp_pos c). pose proof (exp_pos d). field. repeat split; nra.
Qed.

Theorem eps_unique c d e : tanh (e / 2) = tanh (d / 2) * tanh (c / 2) -> e = eps c d.
Proof.
  rewrite <- eps_tanh, !tanh_half. intros H. apply exp_inv.
  pose proof (exp_pos e). pose proof (exp_pos (eps c d)).
  apply (f_equal (fun u => u * ((exp e + 1) * (exp (eps c d) + 1)))) in H. field_simplify in H; lra.
Qed.

(** A coin for yes or no whose own loss is d. *)
Theorem bound_yes_no p q c d : 0 < q -> p = exp d * q -> block_bound [2%nat] p q c = exp (eps c d).
Proof.
  intros Hq ->. rewrite exp_eps, exp_plus. unfold block_bound, E. simpl.
  pose proof (exp_pos c). pose proof (exp_pos d). field. split; nra.
Qed.

(** One of k answers, k at least 3. *)
Theorem bound_k_answers k p q c : (3 <= k)%nat -> 0 <= q -> 0 < p ->
  block_bound [k] p q c =
  (p * exp (2 * c) + q * (INR k - 1)) / (p + q * exp (2 * c) + q * (INR k - 2)).
Proof.
  intros Hk Hq Hp. unfold block_bound, E. cbn [fold_right]. destruct (Nat.eqb_spec k 2); [lia|].
  f_equal; ring.
Qed.

(** m items of two answers each. *)
Theorem bound_bits m p q c :
  block_bound (repeat 2%nat m) p q c =
  (q * (exp c + 1) ^ m + (p - q) * exp c ^ m) / (q * (exp c + 1) ^ m + (p - q)).
Proof.
  unfold block_bound.
  assert (F : fold_right (fun k r => E c k * r) 1 (repeat 2%nat m) = exp c ^ m).
  { induction m; simpl; auto. rewrite IHm. reflexivity. }
  assert (S : fold_right (fun k r => (E c k + INR k - 1) * r) 1 (repeat 2%nat m) = (exp c + 1) ^ m).
  { clear F. induction m; simpl; auto. rewrite IHm. unfold E. simpl. ring. }
  rewrite F, S. f_equal; ring.
Qed.
