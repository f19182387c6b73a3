"""The bundled robots, one module each; `phistar.io.bundled` lists them."""
