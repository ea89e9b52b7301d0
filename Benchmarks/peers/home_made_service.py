"""Downloads as a service: FastAPI for clients, aiohttp for transfers, SQLite for storage. Nothing is synced to disk."""
import asyncio, contextlib, os, sqlite3, uuid
import aiohttp
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

AT_ONCE = int(os.environ["AT_ONCE"])
PIECE = 1 << 16

database = sqlite3.connect(os.path.join(os.environ["DIRECTORY"], "tasks.db"), isolation_level=None)
database.executescript("""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS task (id TEXT PRIMARY KEY, url TEXT, path TEXT, state TEXT, size INTEGER, error TEXT);
CREATE INDEX IF NOT EXISTS task_by_state ON task (state);
""")
waiting = asyncio.Queue()


class Task(BaseModel):
    url: str
    path: str


async def fetch(client, url, path):
    size = 0
    async with client.get(url) as reply:
        reply.raise_for_status()
        with open(path, "wb") as f:
            async for piece in reply.content.iter_chunked(PIECE):
                size += f.write(piece)
    return size


async def work(client):
    while True:
        task, url, path = await waiting.get()
        database.execute("UPDATE task SET state = 'running' WHERE id = ?", (task,))
        try:
            size = await fetch(client, url, path)
            database.execute("UPDATE task SET state = 'done', size = ? WHERE id = ?", (size, task))
        except (aiohttp.ClientError, OSError) as error:
            database.execute("UPDATE task SET state = 'failed', error = ? WHERE id = ?", (str(error), task))


@contextlib.asynccontextmanager
async def life(_):
    for row in database.execute("SELECT id, url, path FROM task WHERE state IN ('waiting', 'running')"):
        waiting.put_nowait(row)
    connector, timeout = aiohttp.TCPConnector(limit=AT_ONCE), aiohttp.ClientTimeout(total=None, sock_read=120)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as client:
        workers = [asyncio.create_task(work(client)) for _ in range(AT_ONCE)]
        yield
        for worker in workers:
            worker.cancel()


app = FastAPI(lifespan=life)


@app.post("/tasks", status_code=201)
async def create(task: Task):
    name = uuid.uuid4().hex
    database.execute("INSERT INTO task (id, url, path, state) VALUES (?, ?, ?, 'waiting')", (name, task.url, task.path))
    waiting.put_nowait((name, task.url, task.path))
    return {"id": name, "state": "waiting"}


@app.get("/tasks/{name}")
async def read(name: str):
    row = database.execute("SELECT state, size, error FROM task WHERE id = ?", (name,)).fetchone()
    if row is None:
        raise HTTPException(404)
    return dict(zip(("state", "size", "error"), row), id=name)


@app.get("/counts")
async def counts():
    return dict(database.execute("SELECT state, count(*) FROM task GROUP BY state"))
