"""Drives Ferry with the client that openapi-python-client generates from openapi.yaml.

usage: generated_client.py OPENAPI SERVICE ORIGIN DIRECTORY"""
import compileall, importlib, io, json, pathlib, pkgutil, subprocess, sys, time

openapi, service, origin, directory = sys.argv[1:]
client_directory = pathlib.Path(directory) / "client"
config = pathlib.Path(directory) / "config.json"
config.write_text(json.dumps({"post_hooks": []}))
made = subprocess.run(
    [sys.executable, "-m", "openapi_python_client", "generate", "--path", openapi, "--config", str(config),
     "--output-path", str(client_directory)], capture_output=True, text=True)
print(made.stdout, made.stderr)
assert made.returncode == 0
# The generator may omit bodies of unsupported types if it supports another type, but no operation and no schema.
assert "Endpoint will not be generated" not in made.stdout and "Unable to process" not in made.stdout
assert compileall.compile_dir(str(client_directory), quiet=1)
sys.path.insert(0, str(client_directory))
import ferry_client
from ferry_client import models as m

api = importlib.import_module("ferry_client.api")
operations = [name for _, name, is_package in pkgutil.walk_packages(api.__path__, "ferry_client.api.") if not is_package]


def call(name, *arguments, **named):
    """Calls an operation by its operationId in Python's spelling."""
    module = importlib.import_module(next(each for each in operations if each.endswith("." + name)))
    reply = module.sync_detailed(*arguments, client=client, **named)
    assert 200 <= reply.status_code < 300, (name, reply)
    return reply


client = ferry_client.Client(base_url=service, timeout=120)
session = call("create_session", body=m.SessionCreation(
    description="generated", configuration=m.SessionConfigurationCreation.from_dict({"timeoutIntervalForRequest": 20}))).parsed
assert call("get_session", session.id).parsed.description == "generated"
assert session.id in [each.id for each in call("list_sessions").parsed.items]

creation = m.TaskCreation(kind=m.TaskKind.DOWNLOAD, resume=True, request=m.RequestCreation(url=origin))
task = call("create_task", session.id, body=creation, prefer="wait=20").parsed
assert task.state == "completed" and task.error is None, task
assert task.response.status == 200 and task.body.size == len(call("get_body", task.id).content)
assert call("get_metrics", task.id).parsed.transaction_metrics
assert [each.id for each in call("list_tasks", session.id).parsed.items] == [task.id]

from ferry_client.types import File
stored = call("create_file", body=File(payload=io.BytesIO(b"generated"), mime_type="application/octet-stream")).parsed
assert stored.size == 9 and call("get_file", stored.id).status_code == 200
upload = m.TaskCreation(
    kind=m.TaskKind.UPLOAD, request=m.RequestCreation(url=origin, method="PUT", body=m.RequestBodyCreation(file=stored.id)))
suspended = call("create_task", session.id, body=upload).parsed
assert suspended.state == "suspended"
call("cancel_task", suspended.id)
end = time.monotonic() + 20
while (cancelled := call("get_task", suspended.id).parsed).state != "completed":
    assert time.monotonic() < end, cancelled
assert cancelled.error.name == "cancelled"
call("delete_file", stored.id)

call("invalidate_session", session.id, body=m.Invalidation.from_dict({"mode": "cancelTasks"}))
call("delete_session", session.id)
assert call("get_version").parsed.name == "ferry"
print("driven")
