"""Dynamics as estimation (R87): filters, smoothers and covariances that are the dynamics."""

from phistar.estimation.filtering import Filtered, forward_dynamics

__all__ = ["Filtered", "forward_dynamics"]
