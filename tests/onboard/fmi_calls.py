"""An FMU by FMI 3's own calls, as any tool makes them."""

import ctypes
import zipfile
from xml.etree import ElementTree

import numpy as np

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)


class Fmu:
    """An instance of an FMU that is unpacked to a folder; `told` are the sentences it logs."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        self.description = ElementTree.parse(folder / "modelDescription.xml").getroot()
        self.library = ctypes.CDLL(str(next(folder.glob("binaries/*/*"))))
        self.told = []
        self._log = LOG(lambda environment, status, category, message: self.told.append(message.decode()))
        self.resources = str(folder / "resources").encode() + b"/"
        self.places, self.names = {"input": [], "output": [], "independent": []}, {}
        for each in self.description.iter("Float64"):
            self.places[each.get("causality")].append(int(each.get("valueReference")))
            self.names[each.get("name")] = int(each.get("valueReference"))
        self.own = None

    def instance(self, token):
        create = self.library.fmi3InstantiateCoSimulation
        create.restype = ctypes.c_void_p
        given = [self.resources, 0, 0, 0, 0, None, ctypes.c_size_t(0), None, self._log, None]
        return create(b"one", token.encode(), *given)

    def begin(self):
        self.own = ctypes.c_void_p(self.instance(self.description.get("instantiationToken")))
        nothing = 0, ctypes.c_double(0), ctypes.c_double(0), 0, ctypes.c_double(0)
        assert self.library.fmi3EnterInitializationMode(self.own, *nothing) == 0
        return self.library.fmi3ExitInitializationMode(self.own)

    def set(self, values, places=None):
        places = np.array(self.places["input"] if places is None else places, dtype=np.uint32)
        values, many = np.array(values, dtype=float), ctypes.c_size_t(len(values))
        pointers = ctypes.c_void_p(places.ctypes.data), many, ctypes.c_void_p(values.ctypes.data), many
        return self.library.fmi3SetFloat64(self.own, *pointers)

    @property
    def outputs(self):
        places = np.array(self.places["output"], dtype=np.uint32)
        made, many = np.zeros(len(places)), ctypes.c_size_t(len(places))
        pointers = ctypes.c_void_p(places.ctypes.data), many, ctypes.c_void_p(made.ctypes.data), many
        assert self.library.fmi3GetFloat64(self.own, *pointers) == 0
        return made

    def step(self, time, length):
        flags, reached = [ctypes.c_int() for _ in range(3)], ctypes.c_double()
        pointers = [ctypes.byref(each) for each in (*flags, reached)]
        status = self.library.fmi3DoStep(self.own, ctypes.c_double(time), ctypes.c_double(length), 1, *pointers)
        self.over = bool(flags[1].value)
        return status

    def reset(self):
        return self.library.fmi3Reset(self.own)

    def free(self):
        self.library.fmi3FreeInstance(self.own)
