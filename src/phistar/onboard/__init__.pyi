"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.onboard.capture_c import export_capture as export_capture, plan_row as plan_row
from phistar.onboard.datagrams import MessageLink as MessageLink
from phistar.onboard.fmu import export_fmu as export_fmu
from phistar.onboard.joint_states import JointState as JointState, JointStateLink as JointStateLink
from phistar.onboard.paced import Connection as Connection, PacedRun as PacedRun, drive as drive
from phistar.onboard.remote_pair import LateLink as LateLink, RemotePair as RemotePair
from phistar.onboard.rules_c import export_rules as export_rules
from phistar.onboard.scene_fmu import export_scene_fmu as export_scene_fmu
from phistar.onboard.teleoperation import (
    Answer as Answer,
    FollowerSide as FollowerSide,
    LeaderSide as LeaderSide,
    Port as Port,
    energy_of as energy_of,
)
