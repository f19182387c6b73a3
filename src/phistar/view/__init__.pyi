"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.view import replay as replay
from phistar.view.live import Live as Live
from phistar.view.offscreen import film as film
from phistar.view.offscreen import render as render
from phistar.view.pictures import operator_picture as operator_picture
from phistar.view.report_picture import Camera as Camera
from phistar.view.rerun_files import write_rerun as write_rerun
from phistar.view.robot_page import simulating_page as simulating_page
from phistar.view.viewer import Viewer as Viewer

__all__: list[str]
