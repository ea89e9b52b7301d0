#!/usr/bin/env python3
"""Writes the generated files of the clients for Python and TypeScript from openapi.yaml. Needs the package ruamel.yaml.
usage: generate.py           writes the files
       generate.py --check   fails if a file differs from a new generation"""
import pathlib, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "generator"))
import contract, python, typescript

given = contract.Contract()
files = {
    HERE / "python/src/ferry_client/models.py": python.models(given),
    HERE / "python/src/ferry_client/operations.py": python.operations(given),
    HERE / "typescript/src/models.ts": typescript.models(given),
    HERE / "typescript/src/operations.ts": typescript.operations(given),
}
stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
if "--check" in sys.argv[1:]:
    if stale:
        sys.exit("these files differ from openapi.yaml; run clients/generate.py:\n" + "\n".join(map(str, stale)))
    print("the clients agree with openapi.yaml")
else:
    for path in stale:
        path.write_text(files[path])
        print(path.relative_to(HERE))
