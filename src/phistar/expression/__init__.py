"""Expressions: statements of the algebra together with the robot they are about."""

from phistar.expression.binding import Algebra, algebra, setting_of, symbols_of
from phistar.expression.given import check_frames
from phistar.expression.own_laws import law
from phistar.expression.own_values import checked_operators, operators_or_inputs
from phistar.expression.several import RobotsAlgebra, RobotStatement
from phistar.expression.stacked import CompiledDerivative, LogDeterminant, OperatorDerivative, Trace
from phistar.expression.statement import Expression

__all__ = ["Algebra", "CompiledDerivative", "Expression", "LogDeterminant", "OperatorDerivative", "RobotStatement"]
__all__ += ["RobotsAlgebra", "Trace", "algebra", "check_frames", "checked_operators", "law", "operators_or_inputs"]
__all__ += ["setting_of", "symbols_of"]
