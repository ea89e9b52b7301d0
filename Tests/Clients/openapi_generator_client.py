"""Drives Ferry with the client that openapi-generator generates from openapi.yaml for Python.

usage: openapi_generator_client.py SERVICE ORIGIN, with the package ferry_client in PYTHONPATH"""
import importlib, pkgutil, sys, time
import ferry_client as ferry

for each in pkgutil.walk_packages(ferry.__path__, "ferry_client."):
    importlib.import_module(each.name)
service, origin = sys.argv[1:]
client = ferry.ApiClient(ferry.Configuration(host=service))
sessions, tasks, bodies, files = (each(client) for each in (ferry.SessionsApi, ferry.TasksApi, ferry.BodiesApi, ferry.FilesApi))

session = sessions.create_session(ferry.SessionCreation(
    description="generated", configuration=ferry.SessionConfigurationCreation(timeoutIntervalForRequest=20)))
assert sessions.get_session(session.id).description == "generated"
assert session.id in [each.id for each in sessions.list_sessions(limit=500).items]

creation = ferry.TaskCreation(kind=ferry.TaskKind.DOWNLOAD, resume=True, request=ferry.RequestCreation(url=origin))
task = tasks.create_task(session.id, creation, prefer="wait=20")
assert task.state == ferry.TaskState.COMPLETED and task.error is None, task
assert task.response.status == 200 and task.body.size == len(bodies.get_body(task.id)) > 0
assert tasks.get_metrics(task.id).transaction_metrics
assert [each.id for each in tasks.list_tasks(session.id).items] == [task.id]

stored = files.create_file(body=b"generated", _content_type="application/octet-stream")
assert stored.size == 9 and files.get_file(stored.id, _headers={"Accept": "*/*"}) == b"generated"
upload = tasks.create_task(session.id, ferry.TaskCreation(kind=ferry.TaskKind.UPLOAD, request=ferry.RequestCreation(
    url=origin, method="PUT", body=ferry.RequestBodyCreation(file=stored.id))))
assert upload.state == ferry.TaskState.SUSPENDED
tasks.cancel_task(upload.id)
end = time.monotonic() + 20
while (cancelled := tasks.get_task(upload.id)).state != ferry.TaskState.COMPLETED:
    assert time.monotonic() < end, cancelled
assert cancelled.error.name == "cancelled"
files.delete_file(stored.id)

try:
    sessions.delete_session(session.id)
    raise AssertionError("a session was deleted before it was invalid")
except ferry.ApiException as refusal:
    assert refusal.status == 409 and refusal.data.type == "/problems/conflict", refusal
sessions.invalidate_session(session.id, ferry.Invalidation(mode="cancelTasks"))
sessions.delete_session(session.id)
assert ferry.OperationsApi(client).get_version().name == "ferry"
print("driven")
