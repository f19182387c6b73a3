"""What users hold: a statement of the algebra together with the robot it is about."""

from phistar.expression.binding import Algebra, algebra, setting_of, symbols_of
from phistar.expression.given import check_frames
from phistar.expression.own_laws import law
from phistar.expression.own_values import checked_operators, operators_or_inputs
from phistar.expression.stacked import CompiledDerivative, LogDeterminant, OperatorDerivative, Trace
from phistar.expression.statement import Expression

__all__ = ["Algebra", "CompiledDerivative", "Expression", "LogDeterminant", "OperatorDerivative", "Trace", "algebra"]
__all__ += ["check_frames", "checked_operators", "law", "operators_or_inputs", "setting_of", "symbols_of"]
