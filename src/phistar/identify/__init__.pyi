"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.identify.captured import CapturedBody as CapturedBody, captured_inertia as captured_inertia
from phistar.identify.identifiable import BaseParameters as BaseParameters, base_parameters as base_parameters
from phistar.identify.fourier_series import Excitation as Excitation, excitation as excitation
from phistar.identify.fitting import ErrorReport as ErrorReport, Fit as Fit, fit as fit

__all__: list[str]
